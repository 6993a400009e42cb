"""The author's API: one graded episode, as a check sees it, inside the checker's sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricgrade.checks.inside import artifacts, compare, readers
from rubricgrade.checks.inside.artifacts import Folder
from rubricgrade.checks.inside.finding import AgentFault, AuthorFault, BadArtifact, CheckResult, Seen
from rubricgrade.checks.inside.solution import Called, Ran, Solution
from rubricgrade.checks.inside.steps import Call, Step, read_calls, read_steps
from rubricgrade.checks.inside.wire import FACTS, LEFT_OUT, SEALED, WORKSPACE, WORLD

if TYPE_CHECKING:
    from rubricgrade.checks.inside.mailbox import Mail

__all__ = [
    "AgentFault",
    "AuthorFault",
    "BadArtifact",
    "Call",
    "Called",
    "Case",
    "CheckResult",
    "Ran",
    "Seen",
    "Step",
]


class Case:
    """What a check may look at.

    Everything that the agent wrote is hostile: read its files with the `read_...` functions, which raise `BadArtifact`
    (the agent's fault, so the worst value) for anything that can't be read.

    Attributes:
        args: The check's ``with``.
        vars: The rubric's variables, as the task set them.
        within: The check's tolerance, the default of `same`.
        timeout: Seconds that the solution may take.
        any_number: Whether bands turn what is measured into a value, so that it need not be from 0 to 1.
        solution: The agent's code, in its own sandbox.
        sealed: Folder of the sealed files.
    """

    args: dict[str, Any]
    vars: dict[str, Any]
    within: float | str | None
    timeout: float
    any_number: bool
    solution: Solution
    sealed: Path

    def __init__(self, request: Mapping[str, Any], solution: Solution) -> None:
        self.args = request["args"]
        self.vars = request["vars"]
        self.within = request["within"]
        self.timeout = request["timeout"]
        self.any_number = request["any_number"]
        self.solution = solution
        self.sealed = Path(SEALED)
        self._has: dict[str, bool] = {"workspace": request["workspace"], "world": request["world"]}

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return json.loads(Path(FACTS).read_bytes())

    @property
    def task(self) -> str:
        """The instruction that the agent was given."""
        return self._facts["task"]

    @property
    def final_message(self) -> str | None:
        """Text of the agent's last message; None if the episode did not end with one that says something."""
        return self._facts["final_message"]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every message of the episode."""
        return read_steps(self._facts)

    def calls(self, name: str | None = None) -> list[Call]:
        """Tool calls in order, of one tool or of all."""
        return [call for call in read_calls(self._facts) if name is None or call.name == name]

    @property
    def workspace(self) -> Path:
        """What the agent left, read-only, links taken out. Raises `AuthorFault` when the trajectory has no files."""
        return Path(self._folder("workspace").root)

    @property
    def world(self) -> Path:
        """State that tools kept outside the sandbox, read-only. Raises `AuthorFault` when there is none."""
        return Path(self._folder("world").root)

    def exists(self, path: str, *, world: bool = False) -> bool:
        """Whether a regular file or a folder is at a path."""
        return self._files(world).has(path)

    def size(self, path: str, *, world: bool = False) -> int | None:
        """Bytes of a regular file; None when there is none."""
        return self._files(world).size(path)

    def glob(self, pattern: str, *, world: bool = False, all_known: bool = True) -> list[str]:
        """Paths of regular files that match, sorted; ``**`` goes over folders.

        Where the agent has left more or deeper folders than are taken, and one of these could match, that is a
        `BadArtifact`, unless a part is enough (`all_known`).
        """
        return self._files(world).find(pattern, all_known=all_known)

    def no_file(self, pattern: str, *, world: bool = False) -> None:
        """Make sure that nothing is there where no file was found: a link, a FIFO or a folder is a `BadArtifact`."""
        self._files(world).no_file(pattern)

    def read_bytes(self, path: str, *, world: bool = False) -> bytes:
        """Bytes of a file, at most 64 MiB."""
        return self._files(world).data(path)

    def read_text(self, path: str, *, world: bool = False) -> str:
        """Text of a file: UTF-8, or UTF-16 with a byte order mark. Any other bytes, and NUL, are a `BadArtifact`."""
        return readers.text(self.read_bytes(path, world=world), path)

    def read_json(self, path: str, *, world: bool = False) -> Any:
        """Value of a JSON file; NaN and keys that stand twice are refused."""
        return readers.json_value(self.read_bytes(path, world=world), path)

    def read_csv(self, path: str, *, world: bool = False) -> list[dict[str, str]]:
        """Rows of a CSV file by its header."""
        return readers.csv_records(self.read_bytes(path, world=world), path)

    def read_xlsx(self, path: str, sheet: str | None = None, *, world: bool = False) -> list[list[Any]]:
        """Rows of a workbook's sheet (the first unless named), as last saved."""
        return readers.sheet_rows(self.read_bytes(path, world=world), path, sheet)

    def read_pdf(self, path: str, *, world: bool = False) -> list[str]:
        """Text of each page of a PDF."""
        return readers.pdf_pages(self.read_bytes(path, world=world), path)

    def mail(self) -> list[Mail]:
        """Every mail in the world's outbox, by file name."""
        from rubricgrade.checks.inside.mailbox import read_mail  # noqa: PLC0415 - the mail parser is slow to load

        return [read_mail(self.read_bytes(path, world=True), path) for path in self.glob("outbox/*.eml", world=True)]

    def same(self, found: Any, expected: Any, within: float | str | None = None) -> bool:
        """Whether two values are the same by type and value; numbers within a tolerance (by default the check's)."""
        return compare.same(found, expected, self.within if within is None else within)

    def same_text(self, found: str, expected: Any) -> bool:
        """Whether a text, such as a CSV cell, says a value; numbers within the check's tolerance."""
        return compare.same_text(found, expected, self.within)

    def _files(self, world: bool) -> Folder:
        return self._folder("world" if world else "workspace")

    def _folder(self, name: str) -> Folder:
        if not self._has[name]:
            what = {"workspace": "the files that the agent left", "world": "the state that tools kept (world)"}[name]
            raise AuthorFault(f"this check needs {what}, and the trajectory has none")
        return artifacts.Folder(WORKSPACE, self._left_out) if name == "workspace" else artifacts.Folder(WORLD)

    @cached_property
    def _left_out(self) -> dict[str, str]:
        return json.loads(Path(LEFT_OUT).read_bytes())
