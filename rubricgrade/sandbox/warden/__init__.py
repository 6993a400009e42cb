"""Sandboxes that somebody else runs (an engine, a vendor): a small process of ours inside keeps the contract there.

`inside` is what runs in there, `bundle` turns it into one command, `sandbox` is the host's side over any `asking.Link`.
"""

from rubricgrade.sandbox.warden.asking import Greeting, Link
from rubricgrade.sandbox.warden.bundle import Orders, program
from rubricgrade.sandbox.warden.sandbox import WardenSandbox

__all__ = ["Greeting", "Link", "Orders", "WardenSandbox", "program"]
