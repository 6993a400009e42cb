"""What two tasks are compared by: short runs of words and of code, blind to names, numbers and upper case.

Prose is reduced to its content words (lower case, cut to stems, numbers alike), code to the kinds of its tokens (every
name alike, every number, every string), so that a task that was renamed, reworded a little or given other numbers keeps
most of its shingles. A shingle is kept as 8 bytes of BLAKE2b of its text.
"""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path

from rubricgrade import tree
from rubricgrade.evidence.folding import compatible

STEM = 6
"""Characters that are kept of a word: enough to tell words apart, few enough that endings don't."""
CODE_RUN = 7
"""Tokens of one shingle of code."""
FILE_LIMIT = 256 << 10
"""Bytes from which on a file is taken for data, by which no task is recognised."""

STOP = frozenset(
    "a an and are as at be but by can do does for from has have if in into is it its no not of on one or out so than "  # noqa: SIM905 - one word a line would fill a page
    "that the their them then there these they this to up use was what when where which will with you your".split()
)
WORD = re.compile(r"[^\W\d_]+|\d[\d.,]*")
TOKEN = re.compile(
    r"(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|(?P<name>[^\W\d]\w*)|(?P<number>\d[\w.]*)|(?P<mark>[^\w\s])"
)
COMMENT = re.compile(r"(?m)(?:#|//).*$")
KEYWORDS = frozenset(keyword.kwlist) | frozenset(
    "function const let var new switch case default do throw catch public private static void int float double char "  # noqa: SIM905 - as above
    "struct fn mut impl match use package func type interface export then fi done esac local echo".split()
)


@dataclass(frozen=True, slots=True)
class Sketch:
    """A task as it is compared.

    Attributes:
        task: Its id.
        instruction: Shingles of what the agent is told.
        solution: Of the reference solution.
        files: Of the files that the agent starts with.
    """

    task: str
    instruction: frozenset[int]
    solution: frozenset[int] = frozenset()
    files: frozenset[int] = frozenset()


def sketch(name: str, folder: Path) -> Sketch:
    """Read what a task is compared by: its instruction, ``solution/`` (if it is there) and ``environment/``."""
    instruction = tree.read(folder, "instruction.md", FILE_LIMIT).decode("utf-8", "replace")
    return Sketch(name, prose(instruction), _code_below(folder / "solution"), _code_below(folder / "environment"))


def prose(text: str) -> frozenset[int]:
    """The content words of a text and the pairs of neighbours among them."""
    found = (match.group() for match in WORD.finditer(compatible(text).casefold()))
    words = ["0" if word[0].isdigit() else word[:STEM] for word in found if word not in STOP]
    return frozenset(map(_hash, (*words, *(f"{one} {two}" for one, two in pairwise(words)))))


def code(text: str) -> frozenset[int]:
    """Runs of `CODE_RUN` tokens of a source file, without its comments; a shorter file is one run."""
    kinds = [_kind(match) for match in TOKEN.finditer(COMMENT.sub("", text))]
    runs = zip(*(islice(kinds, start, None) for start in range(CODE_RUN)), strict=False)
    return frozenset(_hash(" ".join(run)) for run in (runs if len(kinds) >= CODE_RUN else [kinds] if kinds else []))


def jaccard(one: frozenset[int], two: frozenset[int]) -> float:
    """Shared shingles of all, 0 to 1; 0 when both are empty, since nothing speaks for a likeness then."""
    shared = len(one & two)
    return shared / (len(one) + len(two) - shared) if shared else 0.0


def _kind(match: re.Match[str]) -> str:
    if match.lastgroup == "name":
        return match.group() if match.group() in KEYWORDS else "n"
    return {"string": "s", "number": "0"}.get(match.lastgroup or "", match.group())


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _code_below(folder: Path) -> frozenset[int]:
    return frozenset(chain.from_iterable(map(code, _texts(folder))))


def _texts(folder: Path) -> Iterator[str]:
    if not folder.is_dir():
        return
    for path in _sources(folder):
        try:
            yield tree.read(folder, path, FILE_LIMIT).decode("utf-8")
        except UnicodeDecodeError:
            continue


def _sources(folder: Path) -> Iterable[str]:
    return [entry.path for entry in tree.walk(folder).entries if entry.kind == "file" and entry.size <= FILE_LIMIT]
