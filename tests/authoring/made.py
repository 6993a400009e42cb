"""A rubric with examples, recorded verdicts for them, and an episode or two."""

from __future__ import annotations

import json
from pathlib import Path

from rubricgrade.loading import load_rubric
from rubricgrade.loading.document import Document, read_document
from rubricgrade.rubric import Rubric

RUBRIC = """\
id: totals
title: What did we spend?
gates:
  - id: answered
    description: the agent ends with a message
    check: {trajectory: {final_message: {matches: "\\\\S"}}}
criteria:
  - id: says-total
    points: 3
    description: says the total
    check: {trajectory: {final_message: {contains: "48.2"}}}
    examples:
      - {text: it is 48.2 lakh, expect: met, why: the number is there}
      - {text: it is a lot, expect: not_met}
  - id: curses
    points: -1
    needs: [says-total]
    when: not vars.mild
    description: curses
    check: {trajectory: {final_message: {contains: damn}}}
    examples:
      - {trajectory: bad, expect: met}
examples:
  - {trajectory: good, at_least: 1}
  - {trajectory: bad, at_most: 0.1, why: nothing is said}
vars: {mild: true}
"""


def write_episode(folder: Path, reply: str) -> None:
    folder.mkdir(parents=True)
    steps = [{"role": "user", "content": "What did we spend?"}, {"role": "assistant", "content": reply}]
    (folder / "trajectory.json").write_text(json.dumps(steps))


def write_rubric(folder: Path, text: str = RUBRIC) -> Path:
    write_episode(folder / "good", "it is 48.2 lakh")
    write_episode(folder / "bad", "damn")
    path = folder / "rubric.yaml"
    path.write_text(text)
    return path


def opened(path: Path) -> tuple[Rubric, Document]:
    return load_rubric(path), read_document(path.read_bytes(), str(path))
