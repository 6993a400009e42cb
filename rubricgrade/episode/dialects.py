"""Tasks in other shapes, made into task directories: a vendor's folder, and rows of SWE-bench."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rubricgrade.episode.beginning import begun
from rubricgrade.episode.copying import copied, links_out
from rubricgrade.episode.harbor import NAME
from rubricgrade.episode.task import BUILT_IN
from rubricgrade.errors import Fault, InputError
from rubricgrade.loading import read_data

VENDOR = ("task.yaml", "Dockerfile", "tools.json", "tests", "solution.patch", "grade.sh")
TOLD = frozenset({"instruction", "prompt", "tools", "max_steps", "timeout", "workdir", "id"})
"""Keys of a ``task.yaml`` that mean something to us. All others are metadata, which the agent never sees."""
UNSAFE = (
    "beside the agent's code, which can make them pass: `rubricgrade redteam` shows how; "
    "a pytest check in tests/rubric.yaml is safer"
)
"""What is said of a script that is taken over as it is."""

SWE_KEYS = ("instance_id", "problem_statement", "FAIL_TO_PASS", "PASS_TO_PASS")
COMMIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,199}\Z")
"""A hash, a branch or a tag. What begins with '-' is an option to git."""
SOLVE = """#!/bin/bash
set -e
git apply --whitespace=nowarn /solution/solution.patch
"""
GRADE = """#!/bin/bash
# Restores the sealed tests over whatever the agent made of them, and rewards by the exit code of grade.sh.
mkdir -p /logs/verifier tests
cp -r /tests/tests/. tests/
if bash /tests/grade.sh; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
"""


@dataclass(frozen=True, slots=True)
class Imported:
    """A task that was imported.

    Attributes:
        folder: The new task directory.
        notes: What could not be carried over, or works otherwise than before.
    """

    folder: Path
    notes: tuple[str, ...]


def import_vendor(source: Path, target: Path) -> Imported:
    """Make a task directory from a vendor's folder.

    Args:
        source: Holds ``task.yaml``, and ``Dockerfile``, ``tools.json``, ``tests/``, ``solution.patch``, ``grade.sh``;
            whatever else lies there is the build context.
        target: The task directory to make.

    Raises:
        InputError: It is no such folder, a link leads out of it, or the target is there.
    """
    if away := [*links_out(source)]:
        raise InputError(away)
    file = source / "task.yaml"
    about = _yaml(file)
    instruction: Any = about.get("instruction") or about.get("prompt")
    faults = [] if isinstance(instruction, str) else [Fault("has no instruction", str(file))]
    faults += [Fault("is needed", str(source / name)) for name in ("grade.sh", "tests") if not (source / name).exists()]
    if faults:
        raise InputError(faults)
    _check_name(target)
    with begun(target):
        tools, notes = _tools(source, about)
        settings = {"tools": tools, "max_steps": about.get("max_steps")}
        _write_task(target, cast("str", instruction), settings, {k: v for k, v in about.items() if k not in TOLD})
        environment = target / "environment"
        copied(source, environment, skip=lambda path: str(path) in VENDOR)
        workdir = str(about.get("workdir") or "/work")
        if (source / "Dockerfile").is_file():
            shutil.copy(source / "Dockerfile", environment / "Dockerfile")
        else:
            (environment / "Dockerfile").write_text(f"FROM python:3.13-slim\nWORKDIR {workdir}\nCOPY . {workdir}/\n")
        copied(source / "tests", target / "tests" / "tests")
        shutil.copy(source / "grade.sh", target / "tests" / "grade.sh")
        (target / "tests" / "test.sh").write_text(GRADE)
        notes.append(f"grade.sh runs {UNSAFE}")
        if (source / "solution.patch").is_file():
            _solution(target, (source / "solution.patch").read_text())
    return Imported(target, tuple(notes))


def import_swe_bench(row: Mapping[str, Any], target: Path, *, repository: Path | None = None) -> Imported:
    """Make a task directory from a row of SWE-bench.

    Args:
        row: As in the data set; ``FAIL_TO_PASS`` and ``PASS_TO_PASS`` are lists, or JSON text of lists.
        target: The task directory to make.
        repository: A clone of the row's repository, to take the files at its base commit from. Without one, the task
            needs a container image that has them.

    Raises:
        InputError: The row lacks what a task needs, its id or its commit is none, or the target is there.
    """
    if missing := [key for key in SWE_KEYS if not row.get(key) and key != "PASS_TO_PASS"]:
        raise InputError(f"no row of SWE-bench: it lacks {', '.join(missing)}")
    _check_row(row)
    tests = [*_list(row["FAIL_TO_PASS"]), *_list(row.get("PASS_TO_PASS") or [])]
    _check_name(target)
    with begun(target):
        names = ("repo", "base_commit", "version", "difficulty")
        # Without its files an agent could only fail, and that would look like a 0.
        settings = {} if repository is not None else {"needs_image": True}
        _write_task(target, str(row["problem_statement"]), settings, {key: row[key] for key in names if row.get(key)})
        image = row.get("image_name") or row.get("docker_image") or f"swebench/{row['instance_id']}"
        notes: list[str] = []
        lines = [f"FROM {image}", "WORKDIR /testbed"]
        if repository is None:
            notes.append(f"the files of {row.get('repo')} are in the image {image}, which is not fetched here")
            notes.append("to run it here, import it with --repository and a clone")
        else:
            _archive(repository, str(row.get("base_commit") or "HEAD"), target / "environment" / "files")
            lines.append("COPY files/ /testbed/")
        (target / "environment").mkdir(exist_ok=True)
        (target / "environment" / "Dockerfile").write_text("\n".join(lines) + "\n")
        (target / "tests").mkdir()
        (target / "tests" / "test.patch").write_text(str(row.get("test_patch") or ""))
        (target / "tests" / "test.sh").write_text(_swe_script(tests))
        if row.get("patch"):
            _solution(target, str(row["patch"]))
        notes.append(f"the tests, as in SWE-bench, run {UNSAFE}")
    return Imported(target, tuple(notes))


def _swe_script(tests: Sequence[str]) -> str:
    """Runs exactly the named tests: one that is skipped, renamed or gone is no pass."""
    return f"""#!/bin/bash
mkdir -p /logs/verifier
if [ -s /tests/test.patch ]; then
  git apply --whitespace=nowarn /tests/test.patch || patch -p1 < /tests/test.patch
fi
log=/logs/verifier/tests.txt
python3 -m pytest -q -rA -p no:cacheprovider {" ".join(shlex.quote(test) for test in tests)} > $log 2>&1
passed=$(grep -c '^PASSED ' $log)
if [ "$passed" -eq {len(tests)} ]; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
tail -n 20 $log
"""


def _list(value: Any) -> list[str]:
    given = json.loads(value) if isinstance(value, str) else value
    return [str(item) for item in given]


def _yaml(file: Path) -> dict[str, Any]:
    try:
        data = read_data(file.read_bytes(), str(file))
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror}", str(file))) from None
    if not isinstance(data, dict):
        raise InputError(Fault("a map is needed here", str(file)))
    return cast("dict[str, Any]", data)


def _tools(source: Path, about: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The built-in tools that are named, and a note on the others."""
    given: Any = about.get("tools")
    file = source / "tools.json"
    if given is None and file.is_file():
        given = json.loads(file.read_text())
    names = [_tool_name(item) for item in cast("list[Any]", given)] if isinstance(given, list) else list(BUILT_IN)
    unknown = [name for name in names if name not in BUILT_IN]
    notes = [f"no tool is called {', '.join(unknown)} here; write them in tools/"] if unknown else []
    return [name for name in names if name in BUILT_IN], notes


def _tool_name(item: Any) -> str:
    if isinstance(item, dict):
        fields = cast("dict[str, Any]", item)
        return str(fields.get("name") or cast("dict[str, Any]", fields.get("function") or {}).get("name"))
    return str(item)


def _check_name(target: Path) -> None:
    if not NAME.match(target.name):
        raise InputError(Fault("is no name for a task: letters, digits, '.', '_' and '-'", str(target)))


def _check_row(row: Mapping[str, Any]) -> None:
    """See that what becomes a path, or a word of a command, is a mere name."""
    name, commit = str(row["instance_id"]), str(row.get("base_commit") or "HEAD")
    if not NAME.match(name):
        raise InputError(f"instance_id: {name!r} is no name for a task: letters, digits, '.', '_' and '-'")
    if not COMMIT.match(commit):
        raise InputError(f"{name}: base_commit: {commit!r} is no commit")


def _write_task(target: Path, instruction: str, settings: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    lines = ['schema_version = "1.4"', "", "[task]", f"name = {_toml(f'imported/{target.name}')}", "", "[metadata]"]
    lines += [f"{key} = {_toml(value)}" for key, value in metadata.items() if key.replace("_", "").isalnum()]
    lines += ["", "[metadata.rubricgrade]"]
    lines += [f"{key} = {_toml(value)}" for key, value in settings.items() if value is not None]
    (target / "task.toml").write_text("\n".join(lines) + "\n")
    (target / "instruction.md").write_text(instruction.strip() + "\n")


def _toml(value: Any) -> str:
    """A scalar or a list of texts in TOML; anything else as text."""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in cast("list[Any]", value)) + "]"
    # What JSON escapes, TOML escapes alike.
    return json.dumps(str(value), ensure_ascii=False)


def _solution(target: Path, patch: str) -> None:
    (target / "solution").mkdir()
    (target / "solution" / "solution.patch").write_text(patch)
    (target / "solution" / "solve.sh").write_text(SOLVE)


def _archive(repository: Path, commit: str, to: Path) -> None:
    to.mkdir(parents=True)
    command = ["git", "-C", str(repository), "archive", "--format=tar", "--end-of-options", commit]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as git:  # noqa: S603 - no shell
        out, err = git.communicate()
    if git.returncode:
        raise InputError(Fault(err.decode("utf-8", "replace").strip(), str(repository)))
    try:
        with tarfile.open(fileobj=io.BytesIO(out)) as tar:
            tar.extractall(to, filter="data")
    except tarfile.TarError as error:
        raise InputError(Fault(f"{commit} can't be taken: {error}", str(repository))) from None
