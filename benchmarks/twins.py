"""How long near twins take to find and a split takes to make, at 1,000 and at 4,000 tasks; prints a table.

    python benchmarks/twins.py [SIZE...]

Every fifth task is a twin of another one: its names changed, its numbers, one word of five, or all of it. A missed pair
is one that the split put on both sides.
"""

from __future__ import annotations

import random
import re
import sys
import time
from dataclasses import dataclass

from rubricgrade.delivery.shingles import Sketch, code, prose
from rubricgrade.delivery.splitting import Item, split
from rubricgrade.delivery.twins import crossing, near_twins

CATEGORIES = ("bugs", "migrations", "performance", "features")
DIFFICULTIES = ("easy", "medium", "hard")
SYLLABLES = [one + two for one in "bcdfghjklmnprstvwz" for two in "aeiou"]


@dataclass(frozen=True)
class Made:
    sketches: list[Sketch]
    items: list[Item]
    twins: list[tuple[str, str]]


def made(size: int, seed: int = 0) -> Made:
    """So many tasks with their planted pairs of twins."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(2, 4))) for _ in range(4000)]
    weights = [1 / (rank + 20) for rank in range(len(words))]
    texts: dict[str, tuple[str, str]] = {}
    twins: list[tuple[str, str]] = []
    while len(texts) < size:
        name = f"task-{len(texts):05}"
        if texts and len(texts) % 5 == 4:
            of = draw.choice(list(texts))
            texts[name] = _twin(draw, words, *texts[of])
            twins.append((of, name))
        else:
            prompt = " ".join([*draw.choices(words, weights, k=draw.randint(30, 90)), str(draw.randint(1, 99))])
            texts[name] = prompt, _program(draw, words)
    sketches = [Sketch(name, prose(prompt), code(program)) for name, (prompt, program) in texts.items()]
    labels = {name: (draw.choice(CATEGORIES), draw.choice(DIFFICULTIES)) for name in texts}
    return Made(sketches, [Item(name, *labels[name]) for name in texts], twins)


def _program(draw: random.Random, words: list[str]) -> str:
    lines = [f"def {draw.choice(words)}({', '.join(draw.choices(words, k=draw.randint(1, 4)))}):"]
    shapes = (
        "{a} = {b}({c}, {n})", "if {a} > {n}:\n        {b} = {c}[{n}]", "for {a} in {b}({c}):\n        {a}.{b}({n})",
        "{a}, {b} = {c}.split({n})", "return {a} + {b} * {n}", "while {a}:\n        {a} -= {n}",
        "assert {a}({b}) == {n}", "{a} = [{b} for {b} in {c} if {b} != {n}]", "{a} = {{'{b}': {n}, '{c}': {n}}}",
        "raise {a}({b} % {n})",
    )  # fmt: skip
    for _ in range(draw.randint(8, 25)):
        a, b, c = draw.choices(words, k=3)
        lines.append("    " + draw.choice(shapes).format(a=a, b=b, c=c, n=draw.randint(0, 999)))
    return "\n".join(lines)


def _twin(draw: random.Random, words: list[str], prompt: str, program: str) -> tuple[str, str]:
    how = draw.choice(("renamed", "reworded", "renumbered", "all"))
    if how in {"reworded", "all"}:
        prompt = re.sub(r"[a-z]+", lambda m: draw.choice(words) if draw.random() < 0.2 else m.group(), prompt)
    if how in {"renamed", "all"}:
        program = re.sub(r"\b[a-z]{4,}\b(?<!while)(?<!return)(?<!assert)(?<!raise)", lambda m: m.group()[::-1], program)
    if how in {"renumbered", "all"}:
        prompt, program = (re.sub(r"\d+", lambda m: str(int(m.group()) + 3), text) for text in (prompt, program))
    return prompt, program


def main() -> None:
    sizes = [int(arg) for arg in sys.argv[1:]] or [1000, 4000]
    print(" tasks   twins s  split s  verify s  pairs  planted  parted  held out")
    for size in sizes:
        plan = made(size)
        start = time.process_time()
        pairs = list(near_twins(plan.sketches))
        found = time.process_time()
        parts = split(plan.items, [(pair.one, pair.two) for pair in pairs], fraction=0.2, seed=0)
        cut = time.process_time()
        held = set(parts.heldout)
        across = list(
            crossing((s for s in plan.sketches if s.task in held), (s for s in plan.sketches if s.task not in held))
        )
        end = time.process_time()
        parted = sum((one in held) != (two in held) for one, two in plan.twins) + len(across)
        times = f"{found - start:>8.1f} {cut - found:>8.1f} {end - cut:>9.1f}"
        print(f"{size:>6}  {times} {len(pairs):>6} {len(plan.twins):>8} {parted:>7} {len(held) / size:>9.1%}")


if __name__ == "__main__":
    main()
