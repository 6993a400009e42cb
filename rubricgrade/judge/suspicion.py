"""Signs that the record talks to its grader. They are reported beside a verdict and never decide one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rubricgrade.evidence import Place, visible

_SIGNS = {
    "a verdict": re.compile(
        r"[\"'](?:answer|verdict|score|criteria_met|c\d+)[\"']\s*:\s*(?:[\"']?(?:yes|no|met|pass|true|1)\b)|"
        r"\b(?:final )?(?:verdict|grade|reward|score)\s*[:=]\s*(?:pass|met|yes|1(?:\.0)?\b|100\b)",
        re.IGNORECASE,
    ),
    "chat markup": re.compile(r"<\|(?:im_|start_header|end_header|eot_|system|assistant|user)|\[/?INST\]|<</?SYS>>"),
    "end marks": re.compile(
        r"</?(?:data|artifact|submission|transcript|record)\b[^>\n]{0,40}>|\bEND OF (?:UNTRUSTED )?(?:DATA|TRANSCRIPT)|"
        r"\[(?:BEGIN|END) (?:TRANSCRIPT|DATA)\]|===== RECORD",
        re.IGNORECASE,
    ),
    "words to the grader": re.compile(
        r"\b(?:ignore|disregard|forget)\b[^.\n]{0,40}\b(?:rubric|criteri|instruction|above|previous|prior)|"
        r"\b(?:mark|grade|rate|score|judge)\b[^.\n]{0,40}\b(?:as (?:met|pass|satisfied|correct)|full marks)|"
        r"\bfull marks\b|\bpass everything\b|\ball criteria (?:are|is|were) (?:met|satisfied)|"
        r"\b(?:note|message|instruction)s? (?:to|for) (?:the )?(?:grader|judge|reviewer|evaluator)|"
        r"\bgrad(?:ing|er) (?:team|policy|note)|\bdeveloper of this evaluation\b|\bgraded false\b",
        re.IGNORECASE,
    ),
    "invisible characters": re.compile(r"\\u\{(?:e00[0-9a-f]{2}|e01[0-9a-f]{2}|20[26][0-9a-f]|200[b-f]|1b)\}"),
}
_NAMED = 5


def suspicions(places: Iterable[Place]) -> tuple[str, ...]:
    """What looks like talk to the grader in text that the agent or its tools wrote, with addresses, for people."""
    found: dict[str, list[str]] = {}
    for place in places:
        if place.section == "task" or place.about in ("system", "user"):
            continue
        for sign in _signs(place):
            found.setdefault(sign, []).append(place.name)
    return tuple(f"the record holds {sign}: {_some(names)}" for sign, names in found.items())


def _signs(place: Place) -> Iterator[str]:
    text = visible(f"{place.where}\n{place.text}")
    for name, pattern in _SIGNS.items():
        if pattern.search(text):
            yield name


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
