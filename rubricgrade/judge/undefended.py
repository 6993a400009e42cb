"""A prompt without its defences: what they do to a judge on harmless text is known by asking both ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rubricgrade.chat.contract import Chat, Reply, Request
from rubricgrade.judge import wording
from rubricgrade.judge.record import MARGIN

_BAR = re.compile(rf"^{re.escape(MARGIN)}", re.MULTILINE)
_FENCE = re.compile(r"^===== RECORD [0-9a-f]{16} (?:BEGINS|ENDS) =====\n?", re.MULTILINE)
_SPELLED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


@dataclass(frozen=True, slots=True)
class Undefended:
    """A `Chat` that takes the defences out of our prompts: the fence, the bars, the escapes, and the words about them.

    Only for texts of our own, such as an exam's: whatever stands in the record may then talk to the judge.

    Attributes:
        chat: Makes the calls.
    """

    chat: Chat

    async def ask(self, request: Request) -> Reply:
        """As `Chat.ask`."""
        return await self.chat.ask(replace(request, messages=tuple(map(_bare, request.messages))))


def _bare(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message["content"]
    if message["role"] == "system":
        return {**message, "content": content.replace(wording.DEFENCE, "")}
    if not message.get("cache") or not isinstance(content, str):
        return message
    _, _, record = content.partition("\n\n")
    text = _SPELLED.sub(lambda match: chr(int(match[1], 16)), _BAR.sub("", _FENCE.sub("", record)))
    return {**message, "content": f"The record of the episode:\n\n{text}"}
