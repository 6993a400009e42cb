"""Importing a host's own package, when its adapter is used and not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rubricgrade.errors import MissingExtraError


def host(module: str, extra: str | None = None) -> Any:
    """A module of a host's package.

    Args:
        module: Its dotted name.
        extra: The extra of this package that installs it; None for a host that brings its own environment.

    Raises:
        MissingExtraError: It is not installed, and the extra would install it.
        ModuleNotFoundError: It is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # Something else that is missing inside the host is the host's own trouble, and says so.
        if extra is None or error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise
        raise MissingExtraError(f"rubricgrade.integrations for {module.partition('.')[0]}", extra) from error
