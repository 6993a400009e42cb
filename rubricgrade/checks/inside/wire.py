"""The line to the host: one JSON text a line, over private copies of standard input and output.

What the author's code prints goes to standard error, so that nothing it prints can be taken for a verdict.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

SEALED = "/sealed"
WORKSPACE = "/workspace"
WORLD = "/world"
FACTS = "/facts/case.json"
LEFT_OUT = "/facts/left_out.json"
LINKS = "/facts/links.json"
"""Where links of the workspace that stay in it lead to, by path."""
LINK = "is a symbolic link to "
"""Begins what `LEFT_OUT` says of a link."""


class Wire:
    """A conversation in which each side answers what the other asks."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = os.fdopen(incoming, "rb")
        self._outgoing = outgoing

    @classmethod
    def taken(cls) -> Wire:
        """Take standard input and output for the conversation; everybody else gets nothing and standard error."""
        incoming, outgoing = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        sys.stdin, sys.stdout = open(0, encoding="utf-8", closefd=False), sys.stderr  # noqa: SIM115 - lives as long as we do
        return cls(incoming, outgoing)

    def say(self, message: Mapping[str, Any]) -> None:
        """Send one message; a lone surrogate becomes a question mark. Raises `ValueError` for NaN and other no JSON."""
        self._send(json.dumps(message, allow_nan=False, ensure_ascii=False))

    def _send(self, text: str) -> None:
        left = memoryview(text.encode("utf-8", "replace") + b"\n")
        while left:
            left = left[os.write(self._outgoing, left) :]

    def next(self) -> dict[str, Any] | None:
        """Wait for one message; None when the host has hung up."""
        line = self._incoming.readline()
        return json.loads(line) if line else None

    def hear(self) -> dict[str, Any]:
        """Wait for an answer. Raises `EOFError` when the host has hung up."""
        if (message := self.next()) is None:
            raise EOFError
        return message

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a question, to the letter, and wait for its answer."""
        self._send(json.dumps(message, allow_nan=False))
        return self.hear()


def no_constant(name: str) -> NoReturn:
    """For `json.loads`: refuse NaN and the infinities, which are no JSON. Raises `ValueError`."""
    raise ValueError(f"{name} is no JSON")
