"""What can go wrong, named by the boundary at which it went wrong.

RubricgradeError                  exit code 2
├── InputError (ValueError)           what the caller gave can't be used; nothing was spent
│   ├── RubricError                   rubric YAML or its sealed files, with file:line:column for every fault
│   ├── TrajectoryError               a trajectory file, its workspace or its world
│   └── TemplateError                 a sandbox template
├── SandboxError (RuntimeError)   3   the grader's own sandbox
│   ├── SandboxUnavailable            this host can't make one; says what to do
│   └── SandboxLost                   one died under us
├── JudgeError (RuntimeError)     3   a model gave no usable verdict; `cause` says which kind
├── CheckError (RuntimeError)     3   the author's check code or its set-up failed
├── StoreError (OSError)          3   a grade or a cache could not be read or written
└── MissingExtraError (ImportError)   an optional dependency is absent; says which to install

A fault while grading is data (`Grade.cause`), not one of these: `grade()` raises only for input that can't be used.
Every error can be pickled, so that it survives a process pool.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import ClassVar, Self

OF_THE_HOST = frozenset({
    errno.EBADMSG, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ENOSPC,
    errno.ENOTCONN, errno.EREMOTEIO, errno.EROFS, errno.ESTALE, errno.ETIMEDOUT, errno.EUCLEAN,
})  # fmt: skip
"""Numbers of system errors that tell of the state of the host, whichever file was asked for."""


def is_of_the_host(error: OSError) -> bool:
    """Whether an error that came while a file was read says nothing of that file, nor of who left it there."""
    return error.errno in OF_THE_HOST


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with an input file.

    Attributes:
        message: What is wrong and what to do about it, in one sentence.
        file: The file it stands in, as the caller named it.
        line: 1-based; 0 when it has no place in the file.
        column: 1-based; 0 when it has no place in the file.
        code: A stable code such as ``RG001``.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    code: str = "RG000"

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{place}: {self.message}" if place else self.message


class RubricgradeError(Exception):
    """The root: catch this to catch everything that this package raises on purpose."""

    exit_code: ClassVar[int] = 2


class InputError(RubricgradeError, ValueError):
    """What the caller gave can't be used. Lists every fault that was found, not only the first."""

    def __init__(self, faults: str | Fault | list[Fault]) -> None:
        if isinstance(faults, str):
            faults = Fault(faults)
        self.faults: list[Fault] = [faults] if isinstance(faults, Fault) else list(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[Self], tuple[list[Fault]]]:
        return type(self), (self.faults,)


class RubricError(InputError):
    """A rubric, or a file that it names, can't be used."""


class TrajectoryError(InputError):
    """A trajectory, its workspace or its world can't be used."""


class TemplateError(InputError):
    """A sandbox template can't be used."""


class SandboxError(RubricgradeError, RuntimeError):
    """The grader's own sandbox failed."""

    exit_code = 3


class SandboxUnavailable(SandboxError):
    """This host can't make a sandbox. The message says what would change that.

    Attributes:
        short: Whether it could, and only lacks room for one: that may pass.
    """

    def __init__(self, message: str, *, short: bool = False) -> None:
        super().__init__(message)
        self.short = short

    def __reduce__(self) -> tuple[type[Self], tuple[str], dict[str, bool]]:
        return type(self), (str(self),), {"short": self.short}


class SandboxLost(SandboxError):
    """A sandbox died while it was in use, or what ran in it can't be believed.

    Attributes:
        by_host: Whether the host has measured that it was itself what failed: nothing that ran in the sandbox can bring
            that about.
    """

    def __init__(self, message: str, *, by_host: bool = False) -> None:
        super().__init__(message)
        self.by_host = by_host

    def __reduce__(self) -> tuple[type[Self], tuple[str], dict[str, bool]]:
        return type(self), (str(self),), {"by_host": self.by_host}


class JudgeError(RubricgradeError, RuntimeError):
    """A model gave no usable verdict.

    Attributes:
        cause: One of the causes of ``result.Cause``: ``judge_failed``, ``judge_unparseable``, ``budget``, ``no_judge``.
    """

    exit_code = 3

    def __init__(self, message: str, cause: str = "judge_failed") -> None:
        super().__init__(message)
        self.cause = cause

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (str(self), self.cause)


class CheckError(RubricgradeError, RuntimeError):
    """The author's check code, or what it needs, failed. Never the agent's doing."""

    exit_code = 3


class StoreError(RubricgradeError, OSError):
    """A grade, a cache or a record could not be read or written."""

    exit_code = 3


class MissingExtraError(RubricgradeError, ImportError):
    """An optional dependency is absent."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency: pip install 'rubricgrade[{extra}]'")
        self.feature = feature
        self.extra = extra

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (self.feature, self.extra)
