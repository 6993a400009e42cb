"""Known cheats against a task: which of them earn more than doing nothing, and what in the rubric would close that.

An attack is a scripted agent: it needs no model. It knows what a cheating model could find out, the instruction and the
fork's files, and besides which files the reference solution changes, since a patient attacker finds that out too.
"""

from rubricgrade.redteam.attack import Attack, Plan, Target
from rubricgrade.redteam.library import ATTACKS
from rubricgrade.redteam.reporting import AttackResult, TaskReport
from rubricgrade.redteam.trying import red_team

__all__ = ["ATTACKS", "Attack", "AttackResult", "Plan", "Target", "TaskReport", "red_team"]
