"""A verdict cache on a disk that is full: votes are lost with notice, and nothing is wrong once there is room again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from rubricgrade.sandbox.launch import bwrap

TRIES = """
import json, sys
from pathlib import Path
from rubricgrade.errors import StoreError
from rubricgrade.store.recorded import Verdict
from rubricgrade.store.verdicts import VerdictCache

def put(cache, key):
    try:
        cache.put(Verdict(question=key, answer="yes", reasoning="so " * 700, recorded_by="m", key=key))
    except StoreError as error:
        return str(error)

found = []
disk = Path(sys.argv[1])
for free in range(40, 200, 4):
    ballast = disk / "ballast"
    ballast.write_bytes(bytes((1000 - free) * 1024))
    cache = VerdictCache(disk / "v.sqlite")
    refused = [text for number in range(30) if (text := put(cache, f"k{number}"))]
    cache.close()
    ballast.unlink()
    refused_later = put(cache, "later")
    found.append([free, len(refused), refused_later or cache.info().entries, sorted(set(refused))])
    cache.close()
    for file in disk.iterdir():
        file.unlink()
print(json.dumps(found))
"""


def test_once_there_is_room_again_it_works_and_holds_what_was_not_refused(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    small = ["--dev-bind", "/", "/", "--size", str(1000 * 1024), "--tmpfs", str(disk)]
    done = subprocess.run(
        [bwrap(), *small, "--", sys.executable, "-c", TRIES, str(disk)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    for free, refused, entries, _ in found:
        assert entries == 30 - refused + 1, free
    assert found[0][1] == 30
    assert 0 < found[-1][1] < 30
    assert any("full" in text for text in found[-1][3])
