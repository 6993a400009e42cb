"""Rubrics and verdicts for property tests, and short ways to write them down."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from rubricgrade.rubric import Rubric

CHECK = {"command": ["true"]}


def gate(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "description": "a gate", "check": CHECK, **more}


def item(name: str, points: float | None = 1, **more: Any) -> dict[str, Any]:
    way = {} if "criteria" in more or "check" in more else {"human": {}}
    given_points = {} if points is None else {"points": points}
    return {"id": name, "description": "a criterion", **given_points, **way, **more}


def rubric(*criteria: dict[str, Any], **more: Any) -> Rubric:
    return Rubric.model_validate({"id": "r", "criteria": list(criteria), **more})


POINTS = st.sampled_from([-3, -2, -0.5, 0, 0.1, 0.2, 1, 2.5, 3])
VALUES = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))


@st.composite
def rubrics(draw: st.DrawFn, *, gates: bool = True, escapable: bool = True) -> Rubric:
    """Rubrics with groups, needs, conditions, vetoes and thresholds.

    `escapable` lets a penalty have `needs`, which makes it fall away when something good is missed.
    """
    wanted: list[str] = []
    counter = iter(range(10**6))

    def criterion(depth: int, sign: int, *, positive: bool) -> dict[str, Any]:
        points = abs(draw(POINTS)) or 1 if positive else draw(POINTS)
        own = sign if points >= 0 else -sign
        made = item(f"c{next(counter)}", points)
        if draw(st.booleans()):
            made["at_least"] = draw(st.sampled_from([0.3, 0.5, 1]))
        if wanted and (escapable or own > 0) and draw(st.booleans()):
            made["needs"] = [draw(st.sampled_from(wanted))]
        if draw(st.integers(0, 3)) == 0:
            made["when"] = draw(st.sampled_from(["vars.x", "not vars.x"]))
        if depth < 2 and draw(st.integers(0, 2)) == 0:
            del made["human"]
            made["criteria"] = [criterion(depth + 1, own, positive=n == 0) for n in range(draw(st.integers(1, 3)))]
            if draw(st.booleans()):
                made["full_at"] = draw(st.sampled_from([0.1, 1, 2]))
        elif own > 0:
            wanted.append(made["id"])
        return made

    tops = [criterion(0, 1, positive=n == 0) for n in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()):
        tops.append(item("veto", None, veto=True))
    some = [gate(f"g{n}", at_least=draw(st.sampled_from([0.5, 1]))) for n in range(draw(st.integers(0, 2)))]
    return rubric(*tops, gates=some if gates else [], vars={"x": draw(st.booleans())})


def asked(of: Rubric) -> list[str]:
    return [one.id for one in of.gates] + [leaf.id for leaf in of.leaves()]


@st.composite
def verdicts(draw: st.DrawFn, of: Rubric) -> dict[str, float | None]:
    return {name: draw(VALUES) for name in asked(of)}


@st.composite
def graded(draw: st.DrawFn, **kinds: bool) -> tuple[Rubric, dict[str, float | None]]:
    of = draw(rubrics(**kinds))
    return of, draw(verdicts(of))
