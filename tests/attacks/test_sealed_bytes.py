"""No sealed byte is in any place that the agent or its code can see: both search everything that they can reach."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import Grade, agrade
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Layer, Provider, base_template
from rubricgrade.trajectory import Step, Text, Trajectory

# Every file that was written since the search began to be prepared, whatever its place; of /proc everything that every
# process shows. The pattern is put together here so that it does not find itself.
SEARCH = """
import os, re, subprocess, sys
MARK = re.compile(b'SEA' + b'LED-[0-9a-f]{32}')
SINCE = float(open('/work/since.txt').read())

def texts():
    newer = ['-newerct', f'@{SINCE}', '-print0']
    paths = subprocess.run(['find', '/', '-path', '/proc', '-prune', '-o', *newer], capture_output=True).stdout.split(b'\\0')
    for folder, names, files in os.walk('/proc', followlinks=False):
        if folder.count('/') > 3 and not folder.endswith('/fd'): names[:] = []
        paths += [os.fsencode(os.path.join(folder, name)) for name in (*files, *names)]
    for path in paths:
        yield path
        shown = not path.startswith(b'/proc/') or path.endswith((b'/cmdline', b'/environ', b'/maps', b'/mountinfo', b'/comm'))
        try:
            if os.path.islink(path): yield os.readlink(path)
            elif shown and os.path.isfile(path):
                with open(path, 'rb') as file: yield file.read(1 << 24)
        except OSError: pass
    yield repr(dict(os.environ)).encode()
    yield repr(sys.argv).encode()
    frame = sys._getframe()
    while frame := frame.f_back:
        yield repr((frame.f_locals, frame.f_globals)).encode('utf-8', 'replace')
        for constant in frame.f_code.co_consts: yield repr(constant).encode('utf-8', 'replace')

def found():
    return len({mark for text in texts() for mark in MARK.findall(text)})

if __name__ == '__main__':
    print(found())
"""


def mark() -> str:
    return f"SEALED-{secrets.token_hex(16)}"


SUITE = f"""
'''{mark()}'''
import pytest
from search import found

def test_other():
    assert found() == "{mark()}"

@pytest.mark.parametrize("what,want", [("{mark()}", 1), ("", 0), ("{mark()}", 2)])
def test_search(what, want):  # {mark()}
    '''{mark()}'''
    assert found() - want == 0, "no twin: it would search for nothing"
"""
SEALED = {
    "answer.txt": mark(),
    "cases.json": json.dumps([{"id": mark(), "args": [], "expected": 0}, {"args": [], "raises": mark()}]),
    "programs.json": json.dumps([{"id": mark(), "stdout": "0"}]),
    "test_search.py": SUITE,
    "check.py": f"# {mark()}\ndef check(case):\n    return case.solution.call('search.py:found').value == 0\n",
    "table.csv": f"id,amount\n1,{mark()}\n",
}
CHECKS: list[dict[str, Any]] = [
    {"command": {"run": ["python3", "search.py"], "equals": 0}},
    {"cases": {"file": "programs.json", "program": ["python3", "search.py"]}},
    {"python": "check.py:check"},
    {"pytest": {"files": ["test_search.py"], "pass_to_pass": ["test_search.py::test_search[-0]"]}},
    # One case wants what can't be: half of the value is that the other finds nothing.
    {"cases": {"file": "cases.json", "function": "search.py:found"}},
]
VALUES = [1.0, 1.0, 1.0, 1.0, 0.5]


def grade(provider: Provider, workspace: Path, checks: list[dict[str, Any]] = CHECKS) -> Grade:
    criteria = [
        {"id": f"c{number}", "description": "d", "points": 1, "check": check} for number, check in enumerate(checks)
    ]
    rubric = Rubric.build({"id": "r", "criteria": criteria}, {path: text.encode() for path, text in SEALED.items()})
    task = Step(role="user", content=(Text(text="Search."),))
    trajectory = Trajectory(id="t", steps=(task,)).located(workspace=workspace)
    return asyncio.run(agrade(trajectory, rubric, provider=provider))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "search.py").write_text(SEARCH)
    (folder / "since.txt").write_text(str(folder.stat().st_ctime))
    return folder


def values(graded: Grade) -> Mapping[str, Any]:
    return {item.id: (item.value, item.message, [seen.quote for seen in item.evidence]) for item in graded.criteria}


def test_the_solution_finds_no_sealed_byte(provider: Provider, workspace: Path) -> None:
    graded = grade(provider, workspace)
    assert [item.value for item in graded.criteria] == VALUES, values(graded)


def test_the_search_finds_what_lies_there(provider: Provider, workspace: Path) -> None:
    (workspace / "leaked.txt").write_text(SEALED["answer.txt"])
    graded = grade(provider, workspace, CHECKS[:1])
    assert [item.value for item in graded.criteria] == [0.0], values(graded)


def test_the_agent_finds_no_sealed_byte(provider: Provider, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "sealed").mkdir()
    for path, text in SEALED.items():
        (tmp_path / "sealed" / path).write_text(text)

    async def search() -> bytes:
        async with provider.stage(workspace) as work:
            agent = await provider.open(base_template(layers=(Layer(work, "/work", "overlay"),)))
            try:
                return (await agent.exec(["python3", "search.py"])).stdout
            finally:
                await agent.close()

    assert asyncio.run(search()) == b"0\n"
