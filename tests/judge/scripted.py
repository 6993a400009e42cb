"""A judge that answers by a script and remembers what it was asked, and small trajectories and rubrics to judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rubricgrade.chat.contract import AskFailed, Finish, Reply, Request
from rubricgrade.evidence import Document
from rubricgrade.judge import Judged, JudgeOptions, Judging
from rubricgrade.result import Usage
from rubricgrade.rubric import Rubric
from rubricgrade.store.verdicts import VerdictCache
from rubricgrade.trajectory import Call, Step, Text, Trajectory

SPENT = Usage(calls=1, input_tokens=100, output_tokens=10, cost=0.01)


def said(answer: Any, *quotes: str, where: str = "", reasoning: str = "because") -> str:
    evidence = [{"where": where, "quote": quote} for quote in quotes]
    return json.dumps({"reasoning": reasoning, "evidence": evidence, "answer": answer})


def reply(text: str, finish: Finish = "stop") -> Reply:
    return Reply(text, finish, "scripted-1", SPENT)


Answer = str | Reply | AskFailed | Callable[[Request], str | Reply]


@dataclass
class Scripted:
    """Answers in order, and with its last entry from then on; an entry may look at the request."""

    answers: list[Answer]
    asked: list[Request] = field(default_factory=list)
    running: int = 0
    peaks: list[int] = field(default_factory=list)

    async def ask(self, request: Request) -> Reply:
        answer = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(request)
        self.running += 1
        self.peaks.append(self.running)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.running -= 1
        if isinstance(answer, AskFailed):
            raise answer
        if callable(answer):
            answer = answer(request)
        return reply(answer) if isinstance(answer, str) else answer


def step(role: str, text: str = "", **fields: Any) -> Step:
    return Step.model_validate({"role": role, "content": [Text(text=text)] if text else [], **fields})


def trajectory(*steps: Step, **fields: Any) -> Trajectory:
    return Trajectory(id="t1", steps=steps or EPISODE, **fields)


EPISODE = (
    step("user", "Sum up the travel costs and mail the CFO."),
    step("assistant", "I look at the sheet.", calls=(Call(name="read_sheet", arguments={"name": "travel"}),)),
    step("tool", "Sales 12.5L\nEngineering 35.7L", answers=(1, 1)),
    step("assistant", "The total is 48.2L. Two expenses lack sign-off: hotel Pune, taxi Goa."),
)


def rubric(*criteria: dict[str, Any], **fields: Any) -> Rubric:
    default = {"id": "c1", "description": "names the total travel cost", "points": 1, "judge": {}}
    return Rubric.model_validate({"id": "r1", "criteria": [{**default, **one} for one in criteria or ({},)], **fields})


def ask_once(
    answers: Answer | Iterable[Answer],
    *,
    judged: Rubric | None = None,
    episode: Trajectory | None = None,
    documents: tuple[Document, ...] | None = None,
    item: str | None = None,
    cache: VerdictCache | None = None,
    **options: Any,
) -> tuple[Judged, Scripted]:
    """Decide the first criterion with a scripted judge."""
    script = [answers] if isinstance(answers, str | Reply | AskFailed) or callable(answers) else list(answers)
    chat = Scripted(script)

    async def given(globs: Any, *, world: Any = (), pictures: bool = False) -> tuple[Document, ...]:
        return documents or ()

    async def decide() -> Judged:
        chosen = judged or rubric()
        given_options: dict[str, Any] = {"model": "m", **options}
        settings = JudgeOptions(**given_options)
        judging = Judging(episode or trajectory(), chosen, settings, chat=chat, verdicts=cache, documents=given)
        return await judging.decide(chosen.tops[0], item)

    return asyncio.run(decide()), chat
