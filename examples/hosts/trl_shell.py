"""TRL: its real tool loop over a sandbox of ours. What the model "says" is written here, so that it calls the shell.

A random model would call nothing. Needs torch and trl; no GPU, no network. Run: ``python examples/hosts/trl_shell.py``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template
from trl_grpo import model, tokenizer

from rubricgrade.integrations.trl_environment import environment

HERE = Path(__file__).resolve().parent
RIGHT = {"name": "bash", "arguments": {"command": "printf 'def add(a, b):\\n    return a + b\\n' > solution.py; ls"}}
WRONG = {"name": "bash", "arguments": {"command": "printf 'def add(a, b):\\n    return a - b\\n' > solution.py; ls"}}


class ScriptedTrainer(GRPOTrainer):
    """The first reply of every episode is a call, the second is the end."""

    turns = 0

    def _generate_single_turn(self, prompt_ids: Any, *_given: Any, **_named: Any) -> tuple[list[list[int]], None]:
        self.turns += 1
        words = self.processing_class
        if self.turns % 2:
            calls = [json.dumps(RIGHT if index % 2 else WRONG) for index in range(len(prompt_ids))]
            texts = [f"<tool_call>\n{call}\n</tool_call>" for call in calls]
        else:
            texts = ["done"] * len(prompt_ids)
        return [[*words.encode(text, add_special_tokens=False), words.eos_token_id] for text in texts], None


def main() -> None:
    words = tokenizer()
    words.chat_template = qwen3_chat_template
    data = Dataset.from_list([{"prompt": [{"role": "user", "content": "Write add(a, b) into solution.py"}]}] * 2)
    with tempfile.TemporaryDirectory() as folder:
        trainer = ScriptedTrainer(
            model=model(len(words), words.eos_token_id),
            processing_class=words,
            train_dataset=data,
            environment_factory=environment(HERE.parent / "add" / "rubric.yaml"),
            args=GRPOConfig(
                output_dir=folder, max_steps=1, per_device_train_batch_size=2, num_generations=2,
                max_completion_length=400, use_cpu=True, bf16=False, report_to=[], logging_steps=1,
                save_strategy="no", disable_tqdm=True,
            ),
        )  # fmt: skip
        trainer.train()
        log = next(log for log in trainer.state.log_history if "loss" in log)
    print(json.dumps({"host": "trl", "calls": float(log["tools/call_frequency"]), "reward": float(log["reward"]),
                      "spread": float(log["reward_std"])}))  # fmt: skip


if __name__ == "__main__":
    main()
