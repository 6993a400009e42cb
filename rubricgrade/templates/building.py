"""Builds a template once into a store: base, files, set-up script, in this order, whole or not at all."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from rubricgrade import tree
from rubricgrade.errors import Fault, TemplateError
from rubricgrade.sandbox import Limits, Provider, Sandbox, default_provider
from rubricgrade.sandbox.launch import KERNEL_UID
from rubricgrade.sandbox.live import BubblewrapSandbox
from rubricgrade.templates.definition import Image, split
from rubricgrade.templates.identity import BUDGET, Identity, identify
from rubricgrade.templates.reading import FILE, Source
from rubricgrade.templates.rootfs import copy_rootfs
from rubricgrade.templates.store import Built, Store, StoredLayer
from rubricgrade.tree.making import Builder
from rubricgrade.tree.visiting import chunks, visit

ROOT = "/"
SCRIPT = "/tmp/setup.sh"  # noqa: S108  # a path inside
SHOWN = 2000
"""Bytes of a failed script's output that are shown, of each stream."""
NETWORK = "its forks reach everything that this host reaches, the host's own services included"
ALLOWED = "its forks reach, by HTTP and HTTPS: {hosts}"
SETUP_NETWORK = "its set-up script had the network: building it again may give something else"
UNPINNED = "its image is named without @sha256:..., so that what it stands for can change"


async def build(source: Source, store: Store, *, provider: Provider | None = None) -> tuple[Built, bool]:
    """Build a template, unless the store has it already.

    Args:
        source: What to build.
        store: Where to put it.
        provider: Runs the set-up script, and owns the files; default: the one of this host.

    Returns:
        What is in the store now, and whether it was built by this call.

    Raises:
        TemplateError: It can't be built here, or its set-up script failed.
        SandboxUnavailable: It has something to run, and there is no sandbox on this host.
        StoreError: The store can't be used.
    """
    identity = await asyncio.to_thread(identify, source)
    if (found := store.find(identity.digest)) is not None:
        return found, False
    async with store.making(identity.digest) as scratch:
        if scratch is None:
            return await build(source, store, provider=provider)
        built = await _Build(source, identity, scratch, provider or default_provider()).run()
        # Its files may have been changed while they were copied; then this would not be what its hash says.
        if await asyncio.to_thread(identify, source) != identity:
            raise TemplateError(Fault("was changed while it was built; build it again", str(source.folder)))
        store.put(scratch, built)
    return built, True


class _Build:
    """One build, and the layers that it has so far."""

    def __init__(self, source: Source, identity: Identity, scratch: Path, provider: Provider) -> None:
        self._source = source
        self._definition = source.definition
        self._identity = identity
        self._scratch = scratch
        self._provider = provider
        self._owner: int | None = getattr(provider, "kernel_uid", KERNEL_UID) if os.geteuid() == 0 else None
        self._layers: list[StoredLayer] = []
        self._notes: list[str] = []

    async def run(self) -> Built:
        """Do all of it; what results is in the folder."""
        await asyncio.to_thread(self._copy)
        await self._programs()
        await self._set_up()
        return self._built()

    def _copy(self) -> None:
        if (rootfs := self._source.rootfs) is not None:
            left = copy_rootfs(rootfs, self._layer(ROOT, "overlay"), self._owner)
            self._notes += [f"left out of the root file system: {item}" for item in left]
        for files in self._definition.files:
            fixed = files.to.startswith("/")
            to = self._layer(files.to if fixed else self._definition.workdir, "read" if fixed else "overlay")
            _lay(self._source.folder / files.source, to, "." if fixed else files.to, self._owner)

    def _layer(self, target: str, mode: str) -> Path:
        """The folder of one more layer, not made yet."""
        layer = StoredLayer.model_validate({"folder": f"layer-{len(self._layers)}", "target": target, "mode": mode})
        self._layers.append(layer)
        return self._scratch / layer.folder

    async def _programs(self) -> None:
        """See that the programs that it requires are there, where its forks will look for them."""
        programs = self._definition.requires.programs
        if not programs:
            return
        sandbox = await self._provider.open(self._built().template(self._scratch), label="template")
        try:
            found = {name: await sandbox.exec(["sh", "-c", 'command -v "$1"', "sh", name]) for name in programs}
        finally:
            await sandbox.close()
        missing = [name for name in programs if not found[name].ok]
        where = "install it below /usr on this host" if self._definition.base == "host" else "put it into the base"
        if missing:
            raise TemplateError(
                [Fault(f"needs the program {name!r}, which is not there: {where}", self._file) for name in missing]
            )

    async def _set_up(self) -> None:
        """Run the set-up script, and keep what it has changed as one more layer."""
        setup = self._definition.setup
        if setup is None:
            return
        network, allow = split(setup.network)
        template = replace(self._built().template(self._scratch), network=network, allow=allow, upper="disk")
        script = (self._source.folder / setup.script).read_bytes()
        sandbox = await self._provider.open(template, label="template")
        try:
            await sandbox.write(SCRIPT, script)
            done = await sandbox.exec(["sh", "-eu", SCRIPT], timeout=setup.timeout)
            if not done.ok:
                why = f"no end after {setup.timeout:g} s" if done.timed_out else done.error or f"exit code {done.code}"
                said = (done.stdout[-SHOWN:] + done.stderr[-SHOWN:]).decode("utf-8", "replace").strip()
                raise TemplateError(Fault(f"the set-up script failed ({why}): {said or 'it said nothing'}", self._file))
            await self._keep(sandbox)
        finally:
            await sandbox.close()

    async def _keep(self, sandbox: Sandbox) -> None:
        archive = self._scratch / "set-up.tar.zst"
        places = [self._definition.workdir]
        if self._source.rootfs is not None and isinstance(sandbox, BubblewrapSandbox):
            places.append(ROOT)
        for place in places:
            listing = await (
                sandbox.snapshot(archive, place=place)
                if isinstance(sandbox, BubblewrapSandbox)
                else sandbox.snapshot(archive)
            )
            if listing.skipped:
                raise TemplateError(
                    [
                        Fault(f"the set-up script left {item.path!r}: {item.reason}", self._file)
                        for item in listing.skipped
                    ]
                )
            if listing.entries:
                to = self._layer(place, "overlay")
                await asyncio.to_thread(tree.unpack, archive, to, BUDGET, owner=self._owner, layer=True)
                to.chmod(0o755)
            archive.unlink()

    def _built(self) -> Built:
        """The template as it is so far."""
        definition, setup = self._definition, self._definition.setup
        image = definition.base.image if isinstance(definition.base, Image) else ""
        network, allow = split(definition.network)
        notes = [
            *self._notes,
            *([NETWORK] if network == "host" else []),
            *([ALLOWED.format(hosts=", ".join(allow))] if allow else []),
            *([SETUP_NETWORK] if setup is not None and setup.network != "none" else []),
            *([UNPINNED] if image and "@sha256:" not in image else []),
        ]
        return Built(
            name=self._source.name,
            description=definition.description,
            digest=self._identity.digest,
            base=self._identity.base,
            image=image,
            layers=tuple(self._layers),
            env=definition.env,
            workdir=definition.workdir,
            limits=asdict(Limits(**definition.limits.model_dump())),
            network=network,
            allow=allow,
            upper=definition.upper,
            owner=self._owner,
            built=datetime.now(UTC).isoformat(timespec="milliseconds"),
            notes=tuple(notes),
        )

    @property
    def _file(self) -> str:
        return str(self._source.folder / FILE)


def _lay(source: Path, to: Path, path: str, owner: int | None) -> None:
    """Make a folder that holds a copy of a file or of a folder's content at a path."""
    with Builder(to, owner=owner) as builder:
        if source.is_file():
            name = source.name if path == "." else path
            data = source.read_bytes()
            builder.add(tree.Entry(name, "file", len(data), source.stat().st_mode & 0o777), [data])
        else:
            if path != ".":
                builder.add(tree.Entry(path, "folder", mode=0o755))
            with closing(visit(source, BUDGET)) as found:
                for item in found:
                    if isinstance(item, tree.Skipped):
                        raise TemplateError(Fault(f"{item.path!r}: {item.reason}", str(source)))
                    entry, handle = item
                    placed = replace(entry, path=str(PurePosixPath(path, entry.path)))
                    builder.add(placed, chunks(handle, entry.size) if entry.kind == "file" else ())
    to.chmod(0o755)
