"""Sandboxes: isolated places where an agent's code, the code under test, and authors' checks run.

`contract` says what a sandbox is; `bubblewrap` is the default way to make one.
"""

from __future__ import annotations

from typing import Any

from rubricgrade.sandbox.bubblewrap import BubblewrapProvider
from rubricgrade.sandbox.choosing import default_provider
from rubricgrade.sandbox.contract import Done, Isolation, Layer, Limits, Process, Provider, Sandbox, Template

__all__ = [
    "BubblewrapProvider",
    "Done",
    "Isolation",
    "Layer",
    "Limits",
    "Process",
    "Provider",
    "Sandbox",
    "Template",
    "base_template",
    "default_provider",
]


def base_template(**overrides: Any) -> Template:
    """The smallest template: the host's programs, this Python with its packages, an empty work folder.

    Args:
        **overrides: Fields of `Template` to set.
    """
    return Template(**overrides)
