"""OpenRLHF: the file for ``--reward.remote_url examples/hosts/openrlhf_reward.py``. Needs torch."""

from __future__ import annotations

from pathlib import Path

from rubricgrade.integrations.openrlhf import reward_function

HERE = Path(__file__).resolve().parent

# A sample's label is its row as JSON: {"answer": "4", "rubric": "rubric.yaml"}.
reward_func = reward_function(lambda row: HERE / row["rubric"], ungraded=0.0)
