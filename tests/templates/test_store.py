"""The store: entries appear whole, once, and stay while somebody has forks of them."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rubricgrade import digest
from rubricgrade.errors import StoreError
from rubricgrade.templates import Built, Store
from rubricgrade.templates.store import default_folder, matching

ONE, TWO = digest.of_value(1), digest.of_value(2)
CHILD = """
import asyncio, sys
from pathlib import Path
from rubricgrade.templates import Store

async def main():
    async with Store(Path(sys.argv[1])).making(sys.argv[2]) as scratch:
        (scratch / "template.json").write_text("half")
        print("making", flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""


def built(hash_: str = ONE, name: str = "one", at: str = "2026-01-01") -> Built:
    return Built(name=name, digest=hash_, base={"kind": "image"}, workdir="/work", limits={}, built=at)


async def put(store: Store, what: Built) -> None:
    async with store.making(what.digest) as scratch:
        assert scratch is not None
        (scratch / "layer-0").mkdir()
        store.put(scratch, what)


def test_what_was_put_is_found(store: Store) -> None:
    async def main() -> None:
        for each in (built(), built(TWO, "two"), built(digest.of_value(3), "one", "2026-01-02")):
            await put(store, each)
        assert store.find(ONE) == built()
        assert store.find(digest.of_value(4)) is None
        assert [(each.name, each.built) for each in store.all()] == [
            ("one", "2026-01-02"),
            ("one", "2026-01-01"),
            ("two", "2026-01-01"),
        ]
        assert list(matching(store.all(), "two")) == [built(TWO, "two")]
        assert list(matching(store.all(), TWO)) == [built(TWO, "two")]
        assert list(matching(store.all(), TWO[:20])) == [built(TWO, "two")]
        assert list(matching(store.all(), TWO[7:10])) == []

    asyncio.run(main())


def test_nothing_is_left_of_a_build_that_fails(store: Store) -> None:
    async def fail() -> None:
        async with store.making(ONE) as scratch:
            assert scratch is not None
            (scratch / "half").write_text("")
            raise ZeroDivisionError

    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            await fail()
        assert store.find(ONE) is None
        assert not list(store.folder.glob("*/*"))
        await put(store, built())

    asyncio.run(main())


def test_of_two_builders_one_builds(store: Store) -> None:
    async def builder() -> bool:
        async with store.making(ONE) as scratch:
            if scratch is None:
                return False
            await asyncio.sleep(0.1)
            store.put(scratch, built())
            return True

    async def main() -> None:
        assert sorted(await asyncio.gather(*(builder() for _ in range(3)))) == [False, False, True]

    asyncio.run(main())


def test_a_builder_does_not_wait_for_those_who_use_what_it_wanted_to_build(store: Store) -> None:
    async def builder() -> bool:
        async with store.making(ONE) as scratch:
            return scratch is not None

    async def main() -> None:
        await put(store, built())
        async with store.use(ONE):
            assert await asyncio.wait_for(builder(), 10) is False

    asyncio.run(main())


def test_a_template_in_use_stays(store: Store) -> None:
    async def main() -> None:
        await put(store, built())
        async with store.use(ONE) as first, store.use(ONE) as second:
            assert first == second
            assert first is not None
            assert store.remove(ONE) is False
        assert store.find(ONE) is not None
        assert store.remove(ONE) is True
        assert store.find(ONE) is None
        async with store.use(ONE) as gone:
            assert gone is None

    asyncio.run(main())


def test_a_killed_builder_leaves_nothing_for_long(store: Store) -> None:
    store.folder.mkdir(mode=0o700)
    argv = [sys.executable, "-c", CHILD, str(store.folder), ONE]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
        assert child.stdout
        assert child.stdout.readline() == b"making\n"
        assert store.reap() == 0
        assert [path.read_text() for path in store.folder.glob(".making-*/*")] == ["half"]
        assert store.all() == []
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert store.reap() == 1
    assert not list(store.folder.glob(".making-*"))
    asyncio.run(put(store, built()))


def test_a_damaged_entry_is_told_and_never_used(store: Store) -> None:
    asyncio.run(put(store, built()))
    (store.entry(ONE) / "template.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        store.find(ONE)


@pytest.mark.parametrize("hash_", ["", "sha256:", "../../etc", "sha256:" + "g" * 64, "A" * 64, "0" * 63])
def test_what_is_no_hash_never_becomes_a_path(store: Store, hash_: str) -> None:
    with pytest.raises(ValueError, match="not a hash"):
        store.find(hash_)


def test_a_folder_that_others_can_write_to_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(StoreError, match="only this user"):
        asyncio.run(put(Store(tmp_path / "open"), built()))
    made = Store(tmp_path / "made")
    asyncio.run(put(made, built()))
    made.folder.chmod(0o770)
    with pytest.raises(StoreError, match="only this user"):
        made.find(ONE)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="can't be made"):
        asyncio.run(put(Store(tmp_path / "file"), built()))


def test_where_the_store_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUBRICGRADE_TEMPLATES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert default_folder() == Path("/cache/rubricgrade/templates")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_folder() == Path("/home/somebody/.cache/rubricgrade/templates")
    monkeypatch.setenv("RUBRICGRADE_TEMPLATES", "/here")
    assert Store().folder == Path("/here")
