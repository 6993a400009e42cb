"""A small run that was never graded by a model: trajectories, a rubric, and grades with the verdicts that a test wants."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rubricgrade.evidence import Sources, locate, select
from rubricgrade.grading.assembly import assemble
from rubricgrade.loading import load_rubric
from rubricgrade.readers import load_trajectory
from rubricgrade.result import CriterionResult, GateResult, Isolation, JudgeRecord, Subject, Usage, Vote
from rubricgrade.review.desk import Desk
from rubricgrade.review.episodes import find_episodes
from rubricgrade.rubric import Rubric
from rubricgrade.store.grades import write_grade

RUBRIC = """\
id: replies
title: Replies to customers
gates:
  - {id: answered, description: the customer got an answer, check: {exists: answer.txt}}
criteria:
  - {id: polite, points: 2, description: the reply is polite, judge: {guidance: Thanks and a greeting are enough.}}
  - {id: complete, points: 3, description: every question is answered, judge: {}}
  - {id: leaks, points: -2, description: internal notes are passed on, judge: {}}
  - id: tone
    points: 1
    description: how warm the reply is
    judge:
      scale:
        - {choice: cold, value: 0, description: no word for the person}
        - {choice: neutral, value: 0.5}
        - {choice: warm, value: 1, description: it speaks to the person}
  - {id: approved, points: 1, description: the team lead would send it, human: {guidance: Ask yourself.}}
"""

JUDGED = ("polite", "complete", "leaks", "tone")


@dataclass(frozen=True)
class Said:
    """What the judge said of one criterion."""

    verdict: str
    reasoning: str = ""
    quotes: Sequence[str] = ()
    votes: Sequence[str] = ("yes",)


@dataclass(frozen=True)
class Made:
    """One episode to make."""

    steps: Sequence[Mapping[str, object]]
    judge: Mapping[str, Said] = field(default_factory=dict[str, Said])
    model: str = "stub/judge-1"
    cost: float = 0.01


def steps(*texts: str) -> list[dict[str, object]]:
    """A user and an assistant in turn."""
    return [
        {"role": "user" if number % 2 == 0 else "assistant", "content": [{"type": "text", "text": text}]}
        for number, text in enumerate(texts)
    ]


def write_run(folder: Path, episodes: Mapping[str, Made], *, rubric: str = RUBRIC) -> Path:
    """Write a run's folder, with its rubric in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rubric.yaml").write_text(rubric)
    for name, made in episodes.items():
        place = folder / name
        place.mkdir(exist_ok=True)
        document = {"schema": "rubricgrade.trajectory/1", "id": name, "steps": list(made.steps)}
        (place / "trajectory.json").write_text(json.dumps(document))
        write_made_grade(place, load_rubric(folder / "rubric.yaml"), made)
    return folder


def write_made_grade(place: Path, rubric: Rubric, made: Made) -> Path:
    """Write a grade beside a trajectory, with what the judge is to have said; polite and complete if nothing is."""
    trajectory = load_trajectory(place)
    sources = Sources(select(trajectory))
    results = [_result(rubric, leaf.id, made, sources) for leaf in rubric.leaves()]
    gates = [GateResult(id=gate.id, description=gate.description, verdict="met", value=1.0) for gate in rubric.gates]
    judge = Subject(id=made.model, hash=f"sha256:{made.model.encode().hex():0<64}")
    grade = assemble(
        rubric, trajectory, gates, results, judge=judge, workspace=None, isolation=Isolation(), seconds=1.0
    )
    return write_grade(grade, place)


def _result(rubric: Rubric, name: str, made: Made, sources: Sources) -> CriterionResult:
    leaf = next(leaf for leaf in rubric.leaves() if leaf.id == name)
    blank = CriterionResult(
        id=name, description=leaf.description, verdict="not_run", by=leaf.decided_by, points=leaf.points, veto=leaf.veto
    )
    if leaf.human is not None:
        return blank.model_copy(update={"cause": "needs_review"})
    said = made.judge.get(name, Said("warm" if name == "tone" else "not_met" if name == "leaks" else "met"))
    scale = (leaf.judge and leaf.judge.scale) or ()
    values = {"met": 1.0, "not_met": 0.0} | {choice.choice: choice.value for choice in scale}
    return blank.model_copy(
        update={
            "verdict": said.verdict,
            "value": values.get(said.verdict),
            "cause": None if said.verdict in values else "cannot_tell",
            "reasoning": said.reasoning,
            "evidence": tuple(locate(quote, sources) for quote in said.quotes),
            "judge": JudgeRecord(
                model=made.model,
                votes=tuple(Vote(answer=answer, model=made.model) for answer in said.votes),
                usage=Usage(calls=len(said.votes), input_tokens=100 * len(said.votes), cost=made.cost),
            ),
        }
    )


def desk_of(folder: Path, *, blind: bool = True) -> Desk:
    """The run as it is reviewed."""
    return Desk(folder, find_episodes(folder), blind=blind)
