"""The rubrics of a server: those it was started with, by name, and those that a request may bring."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from rubricgrade import tree
from rubricgrade.errors import Fault, InputError, RubricError
from rubricgrade.grading.asked import names_judge
from rubricgrade.loading import parse_rubric
from rubricgrade.loading.document import MAX_BYTES
from rubricgrade.rewards.rubrics import Rubrics
from rubricgrade.rubric import Rubric
from rubricgrade.server.refusing import Refused
from rubricgrade.server.scratch import Scratch
from rubricgrade.server.shapes import Inline

INLINE = "inline"
"""What the server calls a rubric that came with a request."""
FILE = "rubric.yaml"
BUDGET = tree.Budget(entries=10_000, total=128 << 20, file=32 << 20)


class Shelf:
    """See the module's text.

    Args:
        named: Paths by name.
        inline: Whether a request may bring a rubric.
        judge: Whether the server has a judge of its own.

    Raises:
        RubricError: A rubric can't be used.
    """

    def __init__(self, named: Mapping[str, Path], *, inline: bool, judge: bool) -> None:
        self._named = {name: Rubrics(path) for name, path in named.items()}
        self._inline = inline
        self._judge = judge

    @property
    def only(self) -> str | None:
        """The name of the only rubric, if there is one."""
        return next(iter(self._named)) if len(self._named) == 1 else None

    @property
    def known(self) -> tuple[Rubric, ...]:
        """The rubrics that it was started with, without a request's values."""
        return tuple(rubric for rubrics in self._named.values() for rubric in rubrics.known or ())

    def knows(self, name: object) -> bool:
        """Whether there is a rubric of this name."""
        return isinstance(name, str) and name in self._named

    def named_by(self, row: Mapping[str, Any]) -> str:
        """The rubric that a host's row names in its ``rubric``, else the only one; empty if there is neither."""
        name = row.get("rubric")
        return name if isinstance(name, str) and name in self._named else self.only or ""

    def of_row(self, name: str, row: Mapping[str, Any]) -> Rubric:
        """A named rubric with the values of a host's row.

        Raises:
            RubricError: It can't be used with them, or there is none.
        """
        if name not in self._named:
            raise RubricError(f"the row names no rubric of this server in its 'rubric'; it has: {self._known()}")
        return self._named[name].of(row)

    def wanted(self, wanted: str | Inline | None, values: Mapping[str, Any], scratch: Scratch) -> tuple[str, Rubric]:
        """The rubric that a request asks for, and what the server calls it.

        Raises:
            Refused: There is no such rubric, or the server takes none.
            RubricError: It can't be used.
        """
        if isinstance(wanted, Inline):
            return INLINE, self._brought(wanted, values, scratch)
        name = wanted if wanted is not None else self.only
        if name is None or name not in self._named:
            what = "the request names no rubric" if name is None else f"there is no rubric {name!r}"
            raise Refused(HTTPStatus.NOT_FOUND, "unknown_rubric", f"{what}; this server has: {self._known()}")
        return name, self._named[name].given(values)

    def _known(self) -> str:
        return ", ".join(sorted(self._named)) or "none"

    def _brought(self, brought: Inline, values: Mapping[str, Any], scratch: Scratch) -> Rubric:
        if not self._inline:
            message = "this server takes no rubrics in requests; name one that it has"
            raise Refused(HTTPStatus.FORBIDDEN, "no_inline_rubrics", message)
        if (brought.yaml is None) == (brought.archive is None):
            raise InputError(Fault("rubric: give either 'yaml' or 'archive'", "request"))
        text, folder = brought.yaml or "", None
        if brought.archive is not None:
            folder = unpacked(brought.archive, "rubric", scratch, BUDGET)[1]
            try:
                # Through no link: the archive is a stranger's, and a fault's message shows what was read.
                text = tree.read(folder, FILE, MAX_BYTES + 1)
            except (OSError, ValueError) as error:
                raise RubricError(Fault(f"can't be read from the archive: {error}", FILE)) from None
        rubric = parse_rubric(text, file=FILE, folder=folder, vars=values or None, examples=False)
        if not self._judge and (model := names_judge(rubric)) is not None:
            message = f"judge: a rubric in a request can't choose the judge ({model!r}), and this server has none"
            raise RubricError(Fault(message, FILE))
        return rubric


def unpacked(data: str, name: str, scratch: Scratch, budget: tree.Budget) -> tuple[Path, Path]:
    """An archive that came as base64, as a file and as the folder that it holds.

    Raises:
        InputError: It is no archive, or more than the budget allows.
    """
    file = scratch.path(f"{name}.tar.zst")
    try:
        file.write_bytes(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError) as error:
        raise InputError(Fault(f"{name}: is not base64: {error}", "request")) from None
    return file, unpacked_file(file, name, scratch, budget)


def unpacked_file(file: Path, name: str, scratch: Scratch, budget: tree.Budget) -> Path:
    """The folder that an archive holds, unpacked beside it.

    Raises:
        InputError: It is no archive, or more than the budget allows.
        Refused: The request's archives hold more than there can be room for.
    """
    folder = file.with_name(f"{name}.folder")
    try:
        listing = tree.unpack(file, folder, budget)
    except ValueError as error:
        raise InputError(Fault(f"{name}: {error}", "request")) from None
    scratch.unpacked += sum(entry.size for entry in listing.entries)
    # Before the next one is unpacked: a small request may hold very many.
    scratch.share.check(scratch.unpacked)
    return folder
