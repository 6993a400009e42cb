"""Puts a template that was prepared elsewhere, a task's for one, into a store, so that its episodes find it again."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rubricgrade import tree
from rubricgrade.errors import TemplateError
from rubricgrade.sandbox import Template
from rubricgrade.templates.identity import BUDGET
from rubricgrade.templates.store import Built, Store, StoredLayer


async def keep(template: Template, store: Store, *, kind: str) -> bool:
    """Copy a template with its layers into a store, under its own hash; False when it was there already.

    Args:
        template: What to keep; whoever prepared it has made its hash from all that decides its content.
        store: Where to.
        kind: What prepared it, such as ``task``; for people.

    Raises:
        TemplateError: It has no hash, or a layer holds what can't be kept.
        StoreError: The store can't be used.
    """
    if not template.digest:
        raise TemplateError(f"template {template.name!r} has no hash to be kept by")
    async with store.making(template.digest) as scratch:
        if scratch is None:
            return False
        owner = await asyncio.to_thread(_copied, template, scratch)
        layers = [
            StoredLayer(folder=f"layer-{number}", target=layer.target, mode=layer.mode)
            for number, layer in enumerate(template.layers)
        ]
        built = Built(
            name=template.name,
            digest=template.digest,
            base={"kind": kind},
            image=template.image,
            layers=tuple(layers),
            env=dict(template.env),
            workdir=template.workdir,
            limits=asdict(template.limits),
            network=template.network,
            allow=template.allow,
            upper=template.upper,
            owner=owner,
            built=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        store.put(scratch, built)
    return True


def _copied(template: Template, scratch: Path) -> int | None:
    """Copy all layers, each for the user that it belonged to; returns who that is, if it is not us."""
    owner: int | None = None
    for number, layer in enumerate(template.layers):
        uid = layer.source.stat().st_uid
        other = uid if uid != os.geteuid() else None
        owner = owner if other is None else other
        to = scratch / f"layer-{number}"
        listing = tree.copy(layer.source, to, BUDGET, owner=other, layer=layer.mode == "overlay")
        if listing.skipped:
            first = listing.skipped[0]
            raise TemplateError(f"template {template.name!r} can't be kept: {first.path!r}: {first.reason}")
        to.chmod(0o755)
    return owner
