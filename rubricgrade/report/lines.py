"""A paragraph of terminal text: indented, with a label to its left, wrapped so that nothing runs under the label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO

from rich.console import Console
from rich.text import Text

NARROWEST = 24


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph.

    Attributes:
        text: What it says; line ends are kept.
        indent: Columns to the left of all of it.
        label: Stands before the first line; the others begin where the text does.
    """

    text: Text = field(default_factory=Text)
    indent: int = 0
    label: Text = field(default_factory=Text)


def write(lines: Iterable[Line | Text], file: IO[str], *, wrap: bool = True) -> None:
    """Write paragraphs, in colour where `file` is a terminal that has it.

    Args:
        lines: Built from visible text; markup in them is not interpreted.
        file: Where to.
        wrap: At the terminal's width, 80 columns where there is none; otherwise every paragraph stays on its line.
    """
    console = Console(file=file, markup=False, emoji=False, highlight=False)
    for line in lines:
        for row in _rows(line if isinstance(line, Line) else Line(line), console, wrap=wrap):
            console.print(row, soft_wrap=True)


def _rows(line: Line, console: Console, *, wrap: bool) -> Iterable[Text]:
    left = line.indent + line.label.cell_len
    width = max(console.width - left, NARROWEST)
    rows = line.text.wrap(console, width) if wrap else [line.text]
    for index, row in enumerate(rows or [Text()]):
        row.rstrip()
        yield Text.assemble(" " * line.indent, line.label, row) if index == 0 else Text.assemble(" " * left, row)
