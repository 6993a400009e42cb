"""Questions to a judge that lead to a verdict without being one; asked again once if the reply can't be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rubricgrade import digest
from rubricgrade.chat.contract import AskFailed, Request
from rubricgrade.errors import JudgeError
from rubricgrade.judge.asking import NO_ANSWER, Ask, again, not_read, planted_in, spoken, with_more_room
from rubricgrade.judge.memory import Memory
from rubricgrade.judge.reply import Unreadable, read_object
from rubricgrade.judge.view import View
from rubricgrade.result import NO_USAGE, Usage

MakeRequest = Callable[[str, View | str, str, Mapping[str, Any]], Request]
"""From the model, the shared first message, the question and the reply's schema."""


@dataclass(slots=True)
class Aside:
    """The questions on the way to one verdict.

    Attributes:
        ask: Makes one call.
        make: Makes a request.
        memory: Where replies are kept.
        model: Who is asked.
        usage: What the calls took so far.
        trouble: What went wrong with the memory.
    """

    ask: Ask
    make: MakeRequest
    memory: Memory
    model: str
    usage: Usage = NO_USAGE
    trouble: tuple[str, ...] = ()

    async def object(
        self, record: View | str, text: str, schema: Mapping[str, Any], key: str, *, entire: bool = False
    ) -> dict[str, Any] | None:
        """Ask for one JSON object.

        Args:
            record: The first message, which other questions share.
            text: The question.
            schema: Of the reply.
            key: The key that the object must have.
            entire: What stands under the key must be all that is said.

        Returns:
            The object; None if the judge would not answer, or two replies could not be read.

        Raises:
            JudgeError: No reply was to be had.
        """
        request = self.make(self.model, record, text, schema)
        name = digest.of_value([self.model, [message["content"] for message in request.messages]])
        kept, trouble = self.memory.reply(name)
        self.trouble += trouble
        if kept is not None:
            with suppress(Unreadable):  # a damaged one is asked for again
                return read_object(kept, set(schema["properties"]), key, entire=entire)
        for _ in range(2):
            try:
                reply = await self.ask(request)
            except JudgeError as error:
                if isinstance(error, AskFailed):
                    self.usage += error.usage
                raise
            self.usage += reply.usage
            if reply.finish in NO_ANSWER:
                return None
            if reply.finish == "length":
                request = with_more_room(request)
                continue
            try:
                planted = planted_in(record, text)
                found = read_object(spoken(reply), set(schema["properties"]), key, planted=planted, entire=entire)
            except Unreadable as fault:
                request = again(request, reply, not_read(reply, fault))
                continue
            self.trouble += self.memory.keep_reply(name, json.dumps(found))
            return found
        return None
