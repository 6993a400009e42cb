"""An episode while it is read: steps are added in order, results are paired with calls, oddities are noted."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.misfits import misfits
from rubricgrade.readers.shapes import as_label
from rubricgrade.trajectory import ID_LENGTH, RESERVED, Call, Part, Role, Step, Trajectory, Usage
from rubricgrade.trajectory import Warning as Remark

Address = tuple[int, int]


class Draft:
    """The steps read so far.

    Results are paired by the key of their call (its id, unless the format pairs by something else); where a key was
    used more than once, with the latest step that has such a call open. Without a key, by order: with the first open
    call of the latest calling step, of the same tool if the result names one. All of it takes time in proportion to the
    number of calls, whatever a file holds.

    Attributes:
        line: The line that is read now, in formats of one event on each line; it goes into warnings and faults.
    """

    def __init__(self) -> None:
        self.line = 0
        self.steps: list[Step] = []
        self.warnings: list[Remark] = []
        self.faults: list[Fault] = []
        self._keyed: dict[str, list[deque[Address]]] = {}
        self._open: dict[Address, str | None] = {}
        self._queue: deque[Address] = deque()
        self._named: dict[str, deque[Address]] = {}
        self._places: dict[int, str] = {}

    def warn(self, place: str, message: str, code: str = "") -> None:
        """Note something that could not be carried over as it was."""
        where = ": ".join(part for part in (f"line {self.line}" if self.line else "", place) if part)
        self.warnings.append(Remark(place=where, message=message, code=code))

    def fault(self, place: str, message: str) -> None:
        """Note something that makes the episode unreadable; `finish` raises it with all others."""
        self.faults.append(Fault(f"{place}: {message}" if place else message, line=self.line, code="TR003"))

    def say(
        self,
        role: Role,
        content: Sequence[Part] = (),
        *,
        place: str = "",
        reasoning: str | None = None,
        calls: Sequence[Call] = (),
        keys: Sequence[str | None] | None = None,
        time: str | None = None,
        usage: Usage | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Add a step of anybody but a tool.

        Args:
            role: Who wrote it.
            content: Its parts.
            place: Where it stands in the source.
            reasoning: The agent's private reasoning.
            calls: Tool calls.
            keys: What results name each call by; the calls' ids by default.
            time: ISO 8601.
            usage: Tokens.
            extra: What the source has besides.
        """
        index = len(self.steps)
        if calls:
            self._queue.clear()
            self._named.clear()
            self._places[index] = place or (f"line {self.line}" if self.line else "")
        for number, (call, key) in enumerate(zip(calls, keys or [call.id for call in calls], strict=True), 1):
            address = (index, number)
            self._open[address] = key
            self._queue.append(address)
            self._named.setdefault(call.name, deque()).append(address)
            if key is not None:
                turns = self._keyed.setdefault(key, [])
                if turns and turns[-1] and turns[-1][-1][0] == index:
                    turns[-1].append(address)
                else:
                    turns.append(deque([address]))
        self.steps.append(
            Step(
                role=role,
                content=tuple(content),
                reasoning=reasoning or None,
                calls=tuple(calls),
                time=time,
                usage=usage,
                extra=extra or {},
            )
        )

    def answer(
        self,
        content: Sequence[Part] = (),
        *,
        place: str = "",
        key: str | None = None,
        tool: str | None = None,
        failed: bool | None = None,
        time: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Add a tool step and pair it with its call. One that answers no call is kept, with a warning.

        Args:
            content: Its parts.
            place: Where it stands in the source.
            key: What it names its call by; None if the source has no such thing.
            tool: The tool's name.
            failed: Whether the source marks it as an error.
            time: ISO 8601.
            extra: What the source has besides.
        """
        address = self._pair(key, tool)
        if address is None:
            known = key is not None and key in self._keyed
            reason = "the call has a result already" if known else "no call before it matches"
            self.warn(place, f"tool result for call {key or 'without an id'}: {reason}; kept unpaired", "orphan_result")
        else:
            del self._open[address]
            tool = tool or self.steps[address[0]].calls[address[1] - 1].name
        self.steps.append(
            Step(
                role="tool",
                content=tuple(content),
                answers=address,
                tool=tool,
                failed=failed,
                time=time,
                extra=extra or {},
            )
        )

    def observe(self, content: Sequence[Part], *, time: str | None = None, extra: dict[str, Any] | None = None) -> None:
        """Add a tool step that answers no call, in formats where the environment speaks without being called."""
        self.steps.append(Step(role="tool", content=tuple(content), time=time, extra=extra or {}))

    def waits(self) -> bool:
        """Whether a call of the latest calling step has no result yet."""
        return any(address in self._open for address in self._queue)

    def expects(self, key: str | None) -> bool:
        """Whether a call with this key has been made."""
        return key in self._keyed

    def skip(self, key: str | None) -> None:
        """Mark the call with this key as answered by something that is no step."""
        if (address := self._pair(key, None)) is not None:
            del self._open[address]

    def finish(self, *, id: str, **facts: Any) -> Trajectory:  # noqa: A002 - the field's name
        """The trajectory.

        Args:
            id: Names it; made fit to be one.
            **facts: Other fields of `Trajectory`; what does not fit them is a fault.

        Raises:
            TrajectoryError: A message could not be read, there is none, or a fact has the wrong type.
        """
        self.line = 0
        if not self.steps and not self.faults:
            self.fault("", "has no messages; a trajectory has at least one")
        if self.faults:
            raise TrajectoryError(self.faults)
        unanswered: dict[int, list[int]] = {}
        for step, number in self._open:
            unanswered.setdefault(step, []).append(number)
        for step, numbers in unanswered.items():
            calls = ", ".join(f"[{step}].call_{number}" for number in numbers[:10])
            self.warn(self._places[step], f"no result for {calls}{' ...' * (len(numbers) > 10)}", "unanswered_call")  # noqa: PLR2004 - as many as above
        try:
            return Trajectory(id=fit_id(id), steps=tuple(self.steps), warnings=tuple(self.warnings), **facts)
        except ValidationError as error:
            raise TrajectoryError([Fault(told, code="TR003") for told in misfits(error)]) from None

    def _pair(self, key: str | None, tool: str | None) -> Address | None:
        if key is not None:
            turns = self._keyed.get(key)
            while turns:
                while turns[-1]:
                    address = turns[-1].popleft()
                    if address in self._open:
                        return address
                turns.pop()
            if turns is not None:
                return None
        queue = self._queue if tool is None else self._named.get(tool, deque())
        while queue and queue[0] not in self._open:
            queue.popleft()
        if not queue or (key is not None and self._open[queue[0]] is not None):
            return None
        return queue.popleft()


def fit_id(text: str) -> str:
    """The text as an id: a hyphen for what no folder's name may hold, a number behind the names of an episode's own."""
    kept = "".join(letter if letter.isalnum() or letter in "._@+=-" else "-" for letter in text)
    name = kept.strip("-.")[:ID_LENGTH] or "episode"
    return f"{name}-1" if name.casefold() in RESERVED else name


def label_of(fields: dict[str, Any], *names: str) -> str | None:
    """The first of these fields that holds a text or a whole number, as text."""
    return next((label for label in (as_label(fields.get(name)) for name in names) if label is not None), None)
