"""Sandboxes that vendors host: one small module each on the vendor's own SDK, one provider over them all.

None of them has been run against the vendor's live service: see `docs/providers.md`.
"""

from __future__ import annotations

import importlib
from typing import Any

from rubricgrade.sandbox.hosted.machine import Machine, Vendor
from rubricgrade.sandbox.hosted.provider import HostedProvider

__all__ = ["VENDORS", "HostedProvider", "Machine", "Vendor", "provider"]

VENDORS = {"archil": "Archil", "daytona": "Daytona", "e2b": "E2B", "modal": "Modal", "superserve": "Superserve"}
"""The class of each vendor, by the name of its module, which is the name of its extra too."""


def provider(name: str, **options: Any) -> HostedProvider:
    """A provider over one vendor; keys and addresses come from the environment, as its SDK reads them.

    Args:
        name: One of `VENDORS`.
        **options: Arguments of the vendor's class.

    Raises:
        MissingExtraError: Its SDK is not installed.
    """
    module = importlib.import_module(f"rubricgrade.sandbox.hosted.{name}")
    vendor: Vendor = getattr(module, VENDORS[name])(**options)
    return HostedProvider(vendor)
