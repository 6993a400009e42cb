"""What the process that carries out a check may say to the host: strictly shaped, bounded, and of finite numbers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Base64Bytes, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from rubricgrade.misfits import first_misfit
from rubricgrade.result import Evidence

MOST_EVIDENCE, QUOTE, MOST_FIELDS = 50, 500, 1000


def clean(text: object, limit: int = QUOTE) -> str:
    """A text that may have come from the agent: at most `limit` characters, lone surrogates as escapes."""
    return str(text)[:limit].encode("utf-8", "backslashreplace").decode()


def _short(value: object) -> object:
    return clean(value) if isinstance(value, str) else value


Short = Annotated[str, BeforeValidator(_short)]


class Message(BaseModel):
    """One message."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Run(Message):
    """Run a program of the solution; see `inside.solution.Solution.run`."""

    op: Literal["run"]
    argv: Annotated[list[str], Field(min_length=1)]
    stdin: Base64Bytes
    files: dict[str, Base64Bytes]
    env: dict[str, str]
    cwd: str | None
    timeout: float | None
    fresh: bool


class Call(Message):
    """Call a function of the solution; see `inside.solution.Solution.ask`."""

    op: Literal["call"]
    file: str
    function: str
    args: list[JsonValue]
    kwargs: dict[str, JsonValue]
    forbid: list[str]
    cwd: str | None
    timeout: float | None
    fresh: bool


class TestRun(Message):
    """One test to run: its module as it is to lie there, the path of it, and the test's name in it."""

    __test__ = False

    module: str
    file: str
    select: str


class Test(Message):
    """Run tests of a sealed suite with the agent's code; see `inside.solution.Solution.tests`."""

    __test__ = False

    op: Literal["test"]
    groups: Annotated[list[Annotated[list[TestRun], Field(min_length=1)]], Field(min_length=1)]
    files: dict[str, Base64Bytes]
    allow: list[str]
    keep: list[str]
    pythonpath: list[str]
    in_place: bool
    config: str
    plugins: list[str]
    timeout: float
    most: float
    pristine: bool


class Reading(Message):
    """A document is about to be read."""

    op: Literal["reading"]
    path: str
    world: bool


class Read(Message):
    """A document was read; the fields of `evidence.Document`."""

    op: Literal["read"]
    path: str
    text: str
    note: str
    digest: str
    world: bool
    complete: bool
    withheld: bool
    pictures: tuple[Base64Bytes, ...]


class Finding(Message):
    """One piece of evidence."""

    quote: Short
    where: Short | None


class Found(Message):
    """The check's result. The value may be any finite number: what to make of it is decided elsewhere."""

    op: Literal["found"]
    value: float | None
    measured: float | None
    fields: Annotated[dict[str, float], Field(max_length=MOST_FIELDS)]
    evidence: Annotated[list[Finding], Field(max_length=MOST_EVIDENCE)]
    message: Short
    passed: int | None
    total: int | None
    faulted: int
    twinned: bool = False


class Listed(Message):
    """The items of a ``for_each``."""

    op: Literal["listed"]
    items: list[str]


class Ended(Message):
    """All documents were read."""

    op: Literal["ended"]


class Failed(Message):
    """There is no result; `place` is the author's line that raised, as ``checks/totals.py:14``, if one did."""

    op: Literal["failed"]
    origin: Literal["agent", "grader", "unclear"]
    kind: Short
    message: Short
    place: Short = ""
    evidence: Annotated[list[Finding], Field(max_length=MOST_EVIDENCE)]


Said = Run | Call | Test | Reading | Read | Found | Listed | Ended | Failed
Last = Found | Listed | Ended


_SAID: TypeAdapter[Said] = TypeAdapter(Annotated[Said, Field(discriminator="op")])


def understand(line: bytes) -> Said:
    """A message. Raises `ValueError` when it is none of those above."""
    try:
        return _SAID.validate_json(line)
    except ValidationError as error:
        raise ValueError(first_misfit(error, shown=False)) from None


def evidence_of(findings: list[Finding]) -> tuple[Evidence, ...]:
    """Evidence as a grade keeps it."""
    return tuple(Evidence(quote=finding.quote, where=finding.where) for finding in findings)
