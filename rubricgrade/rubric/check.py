"""What a check may ask: one model per kind, and `Check`, which holds exactly one of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, JsonValue, StringConstraints, Tag, model_validator

from rubricgrade.rubric.base import (
    PERCENT,
    Function,
    Many,
    Module,
    Part,
    Path,
    Pattern,
    Scalar,
    Some,
    Text,
    as_map,
    short_form,
)  # fmt: skip
from rubricgrade.rubric.files import (
    Contains,
    CsvCell,
    Exists,
    Image,
    JsonFile,
    Matches,
    Pdf,
    SqliteQuery,
    Table,
    XlsxCell,
)  # fmt: skip

Tolerance = Annotated[float, Field(ge=0)] | Annotated[str, StringConstraints(pattern=PERCENT)]
SHELL_SYNTAX = frozenset("|&;<>()$`\\\"'*?[]{}#~!\n")


class Expect(Part):
    """What a text must be. All that are given must hold."""

    equals: Scalar = None
    contains: Text | None = None
    matches: Pattern | None = None


class JsonPick(Part):
    """One value of a JSON text: `at` is a path such as ``$.totals[0].amount``."""

    at: Text = "$"
    equals: JsonValue = None


class Command(Part):
    """Run a program in the solution's sandbox and look at its exit code and output (compared on our side)."""

    run: Some[str]
    stdin: str = ""
    cwd: Path | None = None
    env: dict[str, str] = Field(default_factory=dict)
    exit_code: int = 0
    equals: Scalar = None
    contains: Text | None = None
    matches: Pattern | None = None
    json_: JsonPick | None = Field(default=None, alias="json")

    @model_validator(mode="before")
    @classmethod
    def _argv(cls, value: Any) -> Any:
        given = as_map(value)
        # Anything that is no map is taken as the command; what it must be is then said about 'run'.
        spec: Mapping[str, Any] = {"run": value} if given is None else given
        line = spec.get("run")
        if not isinstance(line, str):
            return spec
        if SHELL_SYNTAX & set(line):
            raise ValueError(
                "no shell is used: write the command as a list of words, or name the shell: [sh, -c, '...']"
            )
        return {**spec, "run": line.split()}


class Python(Part):
    """Call the author's function in the checker's sandbox: ``checks/report.py:total``."""

    function: Function

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return short_form(value, "function")

    @property
    def file(self) -> str:
        """The sealed file that holds the function."""
        return self.function.rpartition(":")[0]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.rpartition(":")[2]


class Comparator(Part):
    """The author's own comparison, called with what was found and what was expected; it returns True or False."""

    python: Python


def _own_or_word(value: Any) -> str:
    return "word" if as_map(value) is None and not isinstance(value, Comparator) else "own"


Comparing = Annotated[
    Annotated[Comparator, Tag("own")] | Annotated[Literal["exact", "unordered", "text"], Tag("word")],
    Discriminator(_own_or_word),
]


class Cases(Part):
    """The agent's function or program against sealed inputs and expected values; value = passed / total.

    The file is a JSON or YAML list. For a function each case has ``args`` and/or ``kwargs`` and ``expected`` or
    ``raises``; for a program ``args``, ``stdin``, ``files`` and ``stdout`` (text) or ``lines`` (list) and
    ``exit_code``.

    Attributes:
        forbid: Names that the function's code may not use.
        compare: How what was found is compared with what was expected.
        cwd: A folder below the work folder.
        isolate: What starts from a fresh copy of the agent's files: each ``case``, or the ``check`` as a whole (and, as
            always, each case that brings files).
    """

    file: Path
    function: Function | None = None
    program: Some[str] | None = None
    forbid: Many[Text] = ()
    compare: Comparing = "exact"
    cwd: Path | None = None
    isolate: Literal["case", "check"] = "check"

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.function is None) == (self.program is None):
            raise ValueError("needs exactly one of 'function' and 'program'")
        return self


class Pytest(Part):
    """A sealed pytest suite that imports the agent's code; value 1 if every planned test passes, else 0.

    The share that passes is what is measured (for bands), also apart for both lists (`pick`).

    Attributes:
        files: Sealed files of the suite: tests, and what they need beside them.
        root: The folder of these files that stands for the work folder: they are laid over the agent's work at their
            place in it, and run there. Default: they lie in a folder of their own.
        shown: Those of the files that the agent may see, since the template has them as well.
        fail_to_pass: Tests that the work is to make pass, as ``test_x.py::test_y`` or ``test_x.py::test_y[1-2]``.
        pass_to_pass: Tests that have to go on passing.
        allow: Globs of what is taken of the agent's work. Default: everything but tests, test configuration, and what
            Python runs by itself, which are never taken.
        keep: Globs of what is not taken either, so that it stays as the template has it.
        pythonpath: Folders of the work folder to import from.
        config: A sealed file with pytest's settings (``[pytest]``). No other is read.
        plugins: Modules of pytest plugins that the suite needs. They must be installed where the agent's code runs.
        isolate: What has a process of its own: each ``test`` (the default), each ``file`` of tests, or the ``suite``.
    """

    files: Some[Path]
    root: Path | None = None
    shown: Many[Path] = ()
    fail_to_pass: Many[Text] = ()
    pass_to_pass: Many[Text] = ()
    allow: Many[Path] = ()
    keep: Many[Path] = ()
    pythonpath: Some[Path] = (".",)
    config: Path | None = None
    plugins: Many[Module] = ()
    isolate: Literal["test", "file", "suite"] = "test"

    @model_validator(mode="after")
    def _sane(self) -> Self:
        planned = (*self.fail_to_pass, *self.pass_to_pass)
        if not planned:
            raise ValueError("plans no test: give 'fail_to_pass', 'pass_to_pass' or both")
        for test in planned:
            if "::" not in test or not test.partition("::")[0].endswith(".py"):
                raise ValueError(f"{test!r} names no test; write file.py::test_name")
            if planned.count(test) > 1:
                raise ValueError(f"{test!r} is planned twice")
        if self.root is not None and (outside := [path for path in self.files if not path.startswith(f"{self.root}/")]):
            raise ValueError(f"{outside[0]!r} does not lie in the root {self.root!r}")
        if unknown := sorted({*self.shown} - {*self.files}):
            raise ValueError(f"shown: {unknown[0]!r} is none of the files")
        return self


class TrajectoryRule(Part):
    """What the agent did: tool used, never, how often, with which arguments or result, in which order; step counts."""

    tool: Text | None = None
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    argument_matches: dict[str, Pattern] = Field(default_factory=dict)
    result: Expect | None = None
    never: bool = False
    at_least: Annotated[int, Field(ge=0)] | None = None
    at_most: Annotated[int, Field(ge=0)] | None = None
    before: Text | None = None
    after: Text | None = None
    order: Many[Text] = ()
    max_steps: Annotated[int, Field(ge=1)] | None = None
    final_message: Expect | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return short_form(value, "tool")

    @model_validator(mode="after")
    def _sane(self) -> Self:
        asks_of_tool = self.arguments or self.argument_matches or self.result or self.never or self.before or self.after
        asks_of_tool = asks_of_tool or self.at_least is not None or self.at_most is not None
        if self.tool is None and asks_of_tool:
            raise ValueError("needs 'tool' for what it asks of a tool's calls")
        if self.tool is None and not self.order and self.max_steps is None and self.final_message is None:
            raise ValueError("asks nothing: give 'tool', 'order', 'max_steps' or 'final_message'")
        if self.never and (self.at_least or self.at_most or self.before or self.after):
            raise ValueError("'never' can't be combined with counts or order")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError("'at_least' is larger than 'at_most'")
        return self


class Mail(Part):
    """Mails in the world's outbox: how many fit the description (at least one unless told)."""

    to: Text | None = None
    only_to: Many[Text] = ()
    subject: Expect | None = None
    body: Expect | None = None
    attachment: Text | None = None
    at_least: Annotated[int, Field(ge=0)] = 1
    at_most: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _sane(self) -> Self:
        if self.at_most is not None and self.at_least > self.at_most:
            raise ValueError("'at_least' is larger than 'at_most'")
        return self


KINDS = (
    "command", "python", "cases", "pytest", "trajectory", "exists", "contains", "matches", "json", "csv", "xlsx",
    "sqlite", "image", "pdf", "table", "mail", "not",
)  # fmt: skip


WITHOUT_NUMBERS = frozenset({"exists", "contains", "matches", "image", "pdf", "pytest"})
"""Kinds that compare no numbers, so that a tolerance would do nothing."""


class Check(Part):
    """One check: exactly one kind, and what all kinds share.

    Attributes:
        with_: Arguments of the author's function (`case.args`).
        timeout: Seconds that the solution (or the check on its files) may take.
        within: Tolerance of numbers: absolute, or relative such as ``0.5%``. Default: exact.
        not_: A nested check; value = 1 - its value.
    """

    command: Command | None = None
    python: Python | None = None
    cases: Cases | None = None
    pytest: Pytest | None = None
    trajectory: TrajectoryRule | None = None
    exists: Exists | None = None
    contains: Contains | None = None
    matches: Matches | None = None
    json_: JsonFile | None = Field(default=None, alias="json")
    csv: CsvCell | None = None
    xlsx: XlsxCell | None = None
    sqlite: SqliteQuery | None = None
    image: Image | None = None
    pdf: Pdf | None = None
    table: Table | None = None
    mail: Mail | None = None
    not_: Check | None = Field(default=None, alias="not")
    with_: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    timeout: Annotated[float, Field(gt=0, le=24 * 3600)] = 120
    within: Tolerance | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [kind for kind in KINDS if self._spec_of(kind) is not None]
        if len(given) != 1:
            found = f"has {' and '.join(given)}" if given else "has none"
            raise ValueError(f"needs exactly one kind of check, {found}; kinds: {', '.join(KINDS)}")
        if self.within is not None and given[0] in WITHOUT_NUMBERS:
            raise ValueError(f"'within' is a tolerance of numbers, and a check of kind {given[0]!r} compares none")
        if self.with_ and given != ["python"]:
            raise ValueError("'with' holds arguments of a python check; this is none")
        return self

    def _spec_of(self, kind: str) -> Part | None:
        return getattr(self, kind + "_" if kind in {"json", "not"} else kind)

    @cached_property
    def _given(self) -> tuple[str, Part]:
        return next((kind, spec) for kind in KINDS if (spec := self._spec_of(kind)) is not None)

    @property
    def kind(self) -> str:
        """The name of the one kind that is given."""
        return self._given[0]

    @property
    def spec(self) -> Part:
        """The one kind's own settings."""
        return self._given[1]

    @property
    def shown(self) -> tuple[str, ...]:
        """Those of its sealed files that the agent may see."""
        match self.spec:
            case Pytest() as spec:
                return spec.shown
            case Check() as inner:
                return inner.shown
            case _:
                return ()

    @property
    def sealed(self) -> tuple[str, ...]:
        """Paths of the sealed files that this check names, relative to the rubric."""
        match self.spec:
            case Python() as spec:
                return (spec.file,)
            case Cases() as spec:
                return (spec.file, spec.compare.python.file) if isinstance(spec.compare, Comparator) else (spec.file,)
            case Pytest() as spec:
                return spec.files if spec.config is None else (*spec.files, spec.config)
            case Table() as spec:
                return (spec.expected,)
            case Check() as inner:
                return inner.sealed
            case _:
                return ()
