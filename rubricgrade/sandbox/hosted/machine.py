"""What is asked of a vendor: machines that run a shell command and hand back what it printed. Nothing more."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol

from rubricgrade.errors import MissingExtraError
from rubricgrade.sandbox.contract import Template

TTL = 3600.0
"""Seconds after which a vendor ends a machine by itself, unless told otherwise."""


class Machine(Protocol):
    """One machine of a vendor."""

    async def run(self, command: str, *, seconds: float) -> str:
        """Run a shell command to its end and return its standard output.

        Raises any error of the vendor's SDK, also when the command fails.

        Args:
            command: For ``sh``.
            seconds: When the vendor may give up on it.
        """
        ...

    async def end(self) -> None:
        """Delete it with everything on it."""
        ...


class Vendor(Protocol):
    """Makes machines.

    Attributes:
        name: Of the vendor.
        ttl: Seconds after which it ends a machine by itself.
    """

    name: str
    ttl: float

    async def create(self, template: Template, tag: str) -> Machine:
        """Make a machine without a network (unless the template asks for one), marked with a tag."""
        ...

    async def tags(self) -> Sequence[tuple[str, str]]:
        """(id, name or mark) of all machines of this account."""
        ...

    async def remove(self, identity: str) -> None:
        """Delete a machine by its id."""
        ...


def sdk(module: str, extra: str) -> Any:
    """A vendor's package, imported only now.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the sandbox provider {extra!r}", extra) from error
