"""verifiers 1: a task whose reward is a rubric, scored on traces made here. Needs verifiers.

Run: ``python examples/hosts/verifiers_task.py``.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.errors import TaskError
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import AgentInfo, TraceTask
from verifiers.v1.types import AssistantMessage, UserMessage

from rubricgrade.integrations.verifiers import reward

HERE = Path(__file__).resolve().parent


class SumData(vf.TaskData):
    answer: str
    rubric: str


class Sum(vf.Task[SumData, Any]):
    rubricgrade = reward(lambda row: HERE / row["rubric"], weight=0.5)


def trace_of(task: Sum, said: str) -> Any:
    trace = vf.Trace(
        task=TraceTask(type="Sum", data=task.data), agent=AgentInfo(config=AgentConfig(model="written-by-hand"))
    )
    trace.nodes = [
        MessageNode(parent=None, message=UserMessage(content=task.data.prompt)),
        MessageNode(parent=0, message=AssistantMessage(content=said), sampled=True),
    ]
    return trace


async def main() -> None:
    found: list[Any] = []
    for said, rubric in (("It is 4.", "rubric.yaml"), ("It is 5.", "rubric.yaml"), ("It is 4.", "judged.rubric.yaml")):
        task = Sum(SumData(prompt="What is 2 + 2?", answer="4", rubric=rubric))
        trace = trace_of(task, said)
        with suppress(TaskError):  # a real run records it on the trace
            await task.score(trace)
        given = trace.rewards["rubricgrade"]
        found.append([None if given is None else given.score, trace.reward, trace.metrics["rubricgrade_graded"]])
    print(json.dumps({"host": "verifiers", "rewards": found}))


if __name__ == "__main__":
    asyncio.run(main())
