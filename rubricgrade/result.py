"""What a grade says: for every gate and criterion the verdict, the reasoning and the evidence, and one score.

A grade is immutable. `status` is ``graded`` (score is a number), ``gated`` (a gate failed or a veto is met: score 0.0,
a real signal) or ``ungraded`` (the grader failed: no score, a `cause`, and `bounds` that hold whatever the open
verdicts would have been).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rubricgrade import digest

SCHEMA = "rubricgrade.grade/1"

Status = Literal["graded", "gated", "ungraded"]

Cause = Literal[
    "judge_failed",
    "judge_unparseable",
    "check_error",
    "sandbox_unavailable",
    "sandbox_lost",
    "template_missing",
    "trajectory_invalid",
    "cannot_tell",
    "no_judge",
    "needs_review",
    "nothing_applicable",
    "budget",
    "gate_failed",
    "timeout",
    "stopped",
    "fault",
]
"""Why something has no verdict. ``gate_failed`` is the one that is nobody's fault: it was not asked.

The last three are causes of a whole grade that a server was asked for and did not finish: the time given was over, the
server was stopped, or it met a defect of this package.
"""

Fixed = Literal["met", "not_met", "cannot_tell", "not_applicable", "not_run", "error"]
RECORDED = "recorded"
"""In the place of a judge's name: recorded verdicts decided, or were to."""

NO_VERDICT: frozenset[Fixed] = frozenset({"not_run", "error"})
"""What stands in a verdict's place where nothing was found out."""

Unit = Annotated[float, Field(ge=0, le=1)]


class Value(BaseModel):
    """A frozen part of a grade."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, serialize_by_alias=True)


class Evidence(Value):
    """A quote and where it stands.

    Attributes:
        quote: The text, as the judge or the check gave it.
        where: ``[12].call_1``, ``[14].result``, or a workspace path such as ``report.md:3``; None if nowhere.
        span: Start and end within that place's text, in characters; None if it was not found there.
        verified: ``verified`` word for word, ``near`` almost, ``not_found``, or ``code``: a check's own finding.
    """

    quote: str
    where: str | None = None
    span: tuple[int, int] | None = None
    verified: Literal["verified", "near", "not_found", "code"] = "code"


class Usage(Value):
    """What asking a judge took. `cost` in US dollars; None is unknown, not 0. A cache hit counts nothing."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        for one, rest in ((other, self), (self, other)):
            if not (one.calls or one.input_tokens or one.output_tokens or one.seconds or one.cost != 0):
                return rest
        unknown = self.cost is None or other.cost is None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=None if unknown else (self.cost or 0.0) + (other.cost or 0.0),
            seconds=self.seconds + other.seconds,
        )


NO_USAGE = Usage()
"""Nobody was asked."""


class Vote(Value):
    """One answer of one model."""

    answer: str
    model: str
    reply: str = ""
    cached: bool = False
    recorded_by: str | None = None


class Shown(Value):
    """What the judge was given, and what was left out.

    Attributes:
        parts: Names of the parts with their sizes in characters.
        left_out: What was not shown or cut, in words.
        characters: Length of the whole prompt.
    """

    parts: dict[str, int] = Field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    characters: int = 0


class JudgeRecord(Value):
    """How a verdict was reached by a model.

    Attributes:
        model: The model that was asked, or that a recorded verdict names.
        prompt: Hash of the prompt as sent; the text lies in the store.
        prompt_version: Version of our prompt's wording.
        question: Hash of what was asked about what, as recorded verdicts have it; empty if nobody came to be asked.
        votes: Every answer, in the order asked.
        shown: What the judge saw.
        usage: All calls for this criterion, failed ones included.
        recorded_by: Who or what recorded the verdict, when it was neither asked now nor before with this cache; names
            the file, where it was imported into the cache.
        note: Anything a reader must know, such as that a demo model decided.
    """

    model: str
    prompt: str = ""
    prompt_version: str = ""
    question: str = ""
    votes: tuple[Vote, ...] = ()
    shown: Shown = Field(default_factory=Shown)
    usage: Usage = Field(default_factory=Usage)
    recorded_by: str | None = None
    note: str = ""


RETURNED = {"NoVerdict": "returned no verdict", "NoItems": "returned no list of texts"}
"""What an author's code did where `Raised.error` is no exception of its own."""


class Raised(Value):
    """An exception that ended an author's check: its class, and the author's line, as ``checks/totals.py:14``.

    Where a function returned what is no verdict, that is ``NoVerdict`` (``NoItems`` if items were wanted), and the line
    is the function's first.
    """

    error: str
    place: str

    @property
    def did(self) -> str:
        """What the code did, for people: ``raised KeyError``, ``returned no verdict``."""
        return RETURNED.get(self.error, f"raised {self.error}")


class CheckRecord(Value):
    """How a verdict was reached by code.

    Attributes:
        kind: The kind of check.
        isolation: ``out-of-process``, ``in-process+twins`` or ``in-process`` where the agent's code ran; ``none`` where
            none of it did.
        seconds: Wall time.
        measured: The number that was measured, before bands or a threshold.
        fields: Named numbers that the check gave besides.
        passed: Of how many cases, where it counts any.
        total: Cases in all.
        raised: What the check itself raised, whosever fault that is; None if it did not.
    """

    kind: str
    isolation: Literal["none", "out-of-process", "in-process+twins", "in-process"] = "none"
    seconds: float = 0.0
    measured: float | None = None
    fields: dict[str, float] = Field(default_factory=dict)
    passed: int | None = None
    total: int | None = None
    raised: Raised | None = None


class ItemResult(Value):
    """The verdict on a gate or a criterion.

    Attributes:
        verdict: ``met``, ``not_met``, a choice of a scale, ``cannot_tell``, ``not_applicable``, ``not_run``, ``error``.
        value: 0 to 1 once decided; None while open.
        cause: Why it is open.
        fault: Whose fault decided or opened it, if anything went wrong: the agent's (a value) or the grader's (open).
        message: One sentence on what happened, for people.
        reasoning: The judge's reasoning, written before its verdict.
        evidence: Quotes and findings.
    """

    id: str
    description: str
    tags: tuple[str, ...] = ()
    verdict: str
    value: Unit | None = None
    cause: Cause | None = None
    fault: Literal["agent", "grader"] | None = None
    message: str = ""
    reasoning: str = ""
    evidence: tuple[Evidence, ...] = ()
    check: CheckRecord | None = None

    @property
    def open(self) -> bool:
        """Whether it has no value although it applies."""
        return self.value is None and self.verdict != "not_applicable"


class GateResult(ItemResult):
    """A gate passes when its value reaches `at_least`."""

    at_least: float = 1.0


class CriterionResult(ItemResult):
    """A criterion earns `points` times its value.

    Attributes:
        by: What decides it; ``criteria`` is a group.
        points: As in the rubric; None for a veto and for one item of a `for_each`.
        earned: Points times value; None while open, and inside a group or a `for_each`.
        veto: Met, it makes the score 0.
        judge: How a model decided.
        parts: Results inside a group, or one per item of a `for_each`.
    """

    by: Literal["check", "judge", "human", "criteria"]
    points: float | None = None
    earned: float | None = None
    veto: bool = False
    judge: JudgeRecord | None = None
    parts: tuple[CriterionResult, ...] = ()


class Subject(Value):
    """What was graded, by content: names for people, hashes that identify."""

    id: str
    hash: str
    version: str | None = None


class Isolation(Value):
    """What confined the agent's code and the checks: provider, kernel uid, limits in force."""

    provider: str = "none"
    kernel_uid: int | None = None
    memory: str = "none"
    processes: str = "none"
    seccomp: bool = False
    network: str = "none"


class Grade(Value):
    """The result of grading one trajectory with one rubric.

    Attributes:
        status: See the module's text.
        score: 0 to 1; None when ungraded.
        ratio: Points earned over positive points before clipping to 0..1; None while anything is open.
        bounds: Lowest and highest score that the open verdicts still allow; both equal the score once graded.
        cause: Why it is ungraded: the first of `causes`.
        causes: Every cause of an open verdict, by weight of consequence.
        judge: Model and settings that were asked for, by content; None without a judge.
        workspace: Hash of what the agent left; None without a workspace.
        template: What the checks ran the agent's code in; None for the plain base.
        isolation: What confined the checks.
        usage: Everything that judging took.
        warnings: Of the trajectory's reader, and of grading.
        seconds: Wall time.
        created: ISO 8601, UTC.
        versions: Of this package and of Python.
    """

    schema_: Literal["rubricgrade.grade/1"] = Field(default=SCHEMA, alias="schema")
    status: Status
    score: Unit | None
    ratio: float | None = None
    bounds: tuple[Unit, Unit]
    cause: Cause | None = None
    causes: tuple[Cause, ...] = ()
    rubric: Subject
    trajectory: Subject
    workspace: str | None = None
    template: Subject | None = None
    judge: Subject | None = None
    gates: tuple[GateResult, ...] = ()
    criteria: tuple[CriterionResult, ...] = ()
    isolation: Isolation = Field(default_factory=Isolation)
    usage: Usage = Field(default_factory=Usage)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    created: str = ""
    versions: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.score is None) != (self.status == "ungraded"):
            raise ValueError(f"score: is {_named(self.score)}, and the status {self.status!r}")
        if self.score and self.status == "gated":
            raise ValueError(f"score: is {self.score:g}, and that of a gated grade is 0")
        low, high = self.bounds
        if not low <= (high if self.score is None else self.score) <= high:
            told = "" if self.score is None else f" with {_named(self.score)} between them"
            raise ValueError(f"bounds: are the lowest and the highest score{told}, not {low:g} and {high:g}")
        return self

    def leaves(self) -> Iterator[CriterionResult]:
        """Every criterion that was decided by itself; groups are walked into, a `for_each` is one."""
        yield from _leaves(self.criteria)

    def to_json(self) -> str:
        """The grade file's text: keys in a fixed order, strict JSON."""
        return self.model_dump_json(indent=2, exclude_none=False) + "\n"

    def canonical(self) -> bytes:
        """A form without times, costs and cache facts, so that two grades can be compared byte by byte."""
        return digest.canonical(_timeless(self.model_dump(mode="json", exclude={"created", "versions", "seconds"})))


def _named(score: float | None) -> str:
    return "null" if score is None else f"{score:g}"


TIMELY = frozenset({"seconds", "usage", "cost", "cached", "created", "versions"})


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return {key: _timeless(item) for key, item in named.items() if key not in TIMELY}
    if isinstance(value, list):
        return [_timeless(item) for item in cast("list[Any]", value)]
    return value


def _leaves(results: tuple[CriterionResult, ...]) -> Iterator[CriterionResult]:
    for result in results:
        if result.by == "criteria":
            yield from _leaves(result.parts)
        else:
            yield result
