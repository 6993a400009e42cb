"""Rows of SWE-bench: a repository at a commit, a patch of its tests, and the tests that the fix is to make pass."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

from rubricgrade.checks.inside.artifacts import is_glob
from rubricgrade.checks.suites import NEVER_TAKEN
from rubricgrade.episode.beginning import begun
from rubricgrade.episode.dialects.making import (
    UNSAFE,
    Imported,
    Unsealable,
    check_name,
    refusing,
    write_solution,
    write_task,
)
from rubricgrade.episode.dialects.patches import patched, plain_file
from rubricgrade.episode.dialects.sealing import Gate, Suite, file_of, seal
from rubricgrade.episode.dialects.settings import read_settings
from rubricgrade.episode.harbor import NAME
from rubricgrade.errors import Fault, InputError
from rubricgrade.twice import unique

KEYS = ("instance_id", "problem_statement", "FAIL_TO_PASS")
COMMIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,199}\Z")
"""A hash, a branch or a tag. What begins with '-' is an option to git."""
IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,499}")
OF_TESTS = re.compile(r"(?:.*[_.-])?(?:tests?|testing)(?:[_.-].*)?", re.IGNORECASE)
"""Names of folders that seem to be of tests alone."""
SETTINGS = re.compile(r"setup\.(?:cfg|py)|pyproject\.toml|tox\.ini|\.?pytest\.(?:ini|toml)", re.IGNORECASE)
"""Files that a fix may change besides, and that no test of it needs."""

MOST_FILES, MOST_BYTES = 500, 2 << 20
"""Of folders of tests that are sealed as a whole."""


def import_rows(file: Path, target: Path, repository: Path | None = None) -> tuple[list[Imported], list[Fault]]:
    """Make a task directory from each row of a file.

    Args:
        file: One row, a list of rows, or a row a line, in JSON.
        target: The folder for them; each is called by its ``instance_id``.
        repository: See `import_swe_bench`.

    Returns:
        What was made, and what is wrong with rows of which nothing was made.

    Raises:
        InputError: The file holds no rows.
    """
    made: list[Imported] = []
    faults: list[Fault] = []
    for number, row in _rows(file):
        try:
            fields = _fields(row)
            made.append(import_swe_bench(fields, target / str(fields.get("instance_id", "row")), repository=repository))
        except InputError as error:
            faults += [fault if fault.file else replace(fault, file=str(file), line=number) for fault in error.faults]
    return made, faults


def _rows(file: Path) -> list[tuple[int, Any]]:
    """The rows with the numbers of their lines, 0 in a list; a text says what is wrong with one."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror}", str(file))) from None
    if data.lstrip()[:1] == b"[":
        listed = _value(data)
        rows = [(0, row) for row in cast("list[Any]", listed)] if isinstance(listed, list) else [(0, listed)]
    else:
        # Not those of the text: it may hold signs that `str.splitlines` takes for the end of a line.
        lines = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
        rows = [(number, _value(line)) for number, line in lines]
    if not rows:
        raise InputError(Fault("holds no rows", str(file)))
    return rows


def _fields(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise InputError(row if isinstance(row, str) else "a row is an object")
    return cast("dict[str, Any]", row)


def _value(data: bytes) -> Any:
    try:
        return json.loads(data, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        return f"is no row of JSON: {error}"


def import_swe_bench(row: Mapping[str, Any], target: Path, *, repository: Path | None = None) -> Imported:
    """Make a task directory from a row of SWE-bench.

    Args:
        row: As in the data set; ``FAIL_TO_PASS`` and ``PASS_TO_PASS`` are lists, or JSON text of lists.
        target: The task directory to make.
        repository: A clone of the row's repository, to take the files at its base commit from. Without one, the task
            needs a container image that has them.

    Raises:
        InputError: The row lacks what a task needs, its id or its commit is none, its patch of tests does not apply, or
            the target is there.
    """
    if missing := [key for key in KEYS if row.get(key) in (None, "")]:
        raise InputError(f"no row of SWE-bench: it lacks {', '.join(missing)}")
    name = str(row["instance_id"])
    with refusing(name):
        _check_row(row)
        if repository is not None and shutil.which("git") is None:
            raise InputError("git is needed to take files at a commit: install it")
        fails, passes = _list(row, "FAIL_TO_PASS"), _list(row, "PASS_TO_PASS")
        if not fails:
            raise InputError(f"{name}: FAIL_TO_PASS is empty: nothing would tell a solution from none")
        check_name(target)
        with begun(target):
            return Imported(target, tuple(_made(row, target, repository, fails, passes)))


def _made(
    row: Mapping[str, Any], target: Path, repository: Path | None, fails: Sequence[str], passes: Sequence[str]
) -> list[str]:
    """Fill the task directory; returns what whoever imports it should know."""
    names = ("repo", "base_commit", "version", "difficulty")
    # Without its files an agent could only fail, and that would look like a 0.
    settings = {} if repository is not None else {"needs_image": True}
    write_task(target, str(row["problem_statement"]), settings, {key: row[key] for key in names if row.get(key)})
    image = str(row.get("image_name") or row.get("docker_image") or f"swebench/{row['instance_id']}")
    if not IMAGE.fullmatch(image):
        raise InputError(f"{row['instance_id']}: {image!r} is no name of an image")
    notes: list[str] = []
    lines = [f"FROM {image}", "WORKDIR /testbed"]
    files = target / "environment" / "files"
    fixed: set[str] = set()
    if repository is None:
        notes.append(f"the files of {row.get('repo')} are in the image {image}, which is not fetched here")
        notes.append("to run it here, import it with --repository and a clone")
    else:
        if not row.get("base_commit"):
            notes.append("the row has no base_commit, so the files are those of HEAD")
        _archive(repository, row, files)
        lines.append("COPY files/ /testbed/")
        try:
            fixed = {*patched(files, str(row.get("patch") or ""), "its patch")}
        except InputError as error:
            notes.append(f"the reference can't solve it: {error.faults[0].message}")
    (target / "environment").mkdir(exist_ok=True)
    (target / "environment" / "Dockerfile").write_text("\n".join(lines) + "\n")
    (target / "tests").mkdir()
    try:
        suite = _suite(row, files if repository is not None else None, fails, passes, fixed)
        notes += seal(suite, target / "tests", str(row.get("repo") or target.name))
    except Unsealable as reason:
        (target / "tests" / "test.patch").write_text(str(row.get("test_patch") or ""))
        (target / "tests" / "test.sh").write_text(_script([*fails, *passes]))
        notes.append(f"{reason}, so the tests, as in SWE-bench, run {UNSAFE}")
    if row.get("patch"):
        write_solution(target, str(row["patch"]).encode())
    else:
        notes.append("the row has no patch, so nothing can show that the task can be solved")
    return notes


def _suite(
    row: Mapping[str, Any], files: Path | None, fails: Sequence[str], passes: Sequence[str], fixed: set[str]
) -> Suite:
    """The row's tests as they are at the base commit, with the patch of tests over them.

    Args:
        row: The row.
        files: The repository at the base commit, if it is here.
        fails: The tests that are to pass.
        passes: Those that are to go on passing.
        fixed: What the reference changes, as far as it can be told.

    Raises:
        InputError: That patch does not apply.
        Unsealable: They can't be sealed.
    """
    if files is None:
        raise Unsealable("the tests are not here")
    changes = patched(files, str(row.get("test_patch") or ""), f"{row['instance_id']}: test_patch")
    modules = dict.fromkeys(file_of(test) for test in (*fails, *passes))
    sealed = {path: data for path, data in changes.items() if data is not None}
    keep = tuple(dict.fromkeys(folder for path in modules for folder in _of_tests(path, fixed)))
    for path in (*modules, *_conftests(modules), *_beside(modules, keep, files)):
        data = changes[path] if path in changes else plain_file(files, path)
        if data is not None:
            sealed[path] = data
        elif path in modules:
            raise Unsealable(f"{path} is not there at the base commit with the patch of tests")
    for path in sorted(fixed - changes.keys()):
        parts = PurePosixPath(path).parts
        if any(map(NEVER_TAKEN.fullmatch, parts)) and not SETTINGS.fullmatch(parts[-1]):
            raise Unsealable(f"the reference changes {path}, and of such files nothing of an agent's is taken")
    settings = read_settings(list(modules), lambda path: plain_file(files, path))
    lists = (
        Gate("fail-to-pass", "fail_to_pass", "what was to be mended works: tests that failed before pass", fails),
        Gate("pass-to-pass", "pass_to_pass", "nothing else broke: tests that passed before still do", passes),
    )
    paths = tuple(dict.fromkeys((".", *settings.pythonpath, *_sources(files))))
    return Suite(
        sealed,
        [gate for gate in lists if gate.ids],
        settings,
        frozenset(path for path, data in sealed.items() if plain_file(files, path) == data),
        paths,
        keep,
        frozenset(_modules(files, fixed, paths)),
    )


def _modules(files: Path, fixed: set[str], paths: Sequence[str]) -> Iterator[str]:
    """Names of modules and packages in some folders, as the reference leaves them."""
    for path in paths:
        there = [place.name for place in (files / path).iterdir()] if (files / path).is_dir() else []
        new = [
            PurePosixPath(each).relative_to(path).parts[0] for each in fixed if PurePosixPath(each).is_relative_to(path)
        ]
        yield from (PurePosixPath(name).name.partition(".")[0] for name in (*there, *new))


def _conftests(modules: Iterable[str]) -> Iterator[str]:
    """Where a conftest.py above a module would be."""
    for module in modules:
        for folder in PurePosixPath(module).parents:
            yield str(folder / "conftest.py")


def _beside(modules: Iterable[str], keep: Sequence[str], files: Path) -> list[str]:
    """All files of the folders of tests that modules lie in: packages, data, modules that others import.

    They are in the agent's work folder as well, and stay there as they are. So when they are many nothing is lost here.
    """
    tops: dict[str, None] = {}
    for module in modules:
        folders = [*reversed(PurePosixPath(module).parents)]
        top = next((each for each in folders if NEVER_TAKEN.fullmatch(each.name) or str(each) in keep), None)
        if top is not None:
            tops[str(top)] = None
    found = [
        (place.relative_to(files).as_posix(), place.lstat().st_size)
        for top in tops
        for place in sorted((files / top).rglob("*"))
        if place.is_file() and not place.is_symlink() and place.suffix != ".pyc" and _is_plain(str(place))
    ]
    few = len(found) <= MOST_FILES and sum(size for _, size in found) <= MOST_BYTES
    return [path for path, _ in found if few or PurePosixPath(path).name == "__init__.py"]


def _is_plain(path: str) -> bool:
    """Whether a sealed file can lie at a path."""
    return path.isprintable() and "\\" not in path


def _of_tests(module: str, fixed: set[str]) -> Iterator[str]:
    """The nearest folder around a module that has tests and nothing of the solution, if its name alone says so."""
    for folder in PurePosixPath(module).parents:
        if OF_TESTS.fullmatch(folder.name):
            holds_solution = any(folder in PurePosixPath(path).parents for path in fixed)
            if not NEVER_TAKEN.fullmatch(folder.name) and not holds_solution and not is_glob(str(folder)):
                yield str(folder)
            return


def _sources(files: Path) -> Iterator[str]:
    """Folders that hold the repository's packages, where they are not its top."""
    for name in ("src", "lib"):
        if any((files / name).glob("*/__init__.py")) or (name == "src" and any((files / name).glob("*.py"))):
            yield name


def _script(tests: Sequence[str]) -> str:
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


def _list(row: Mapping[str, Any], key: str) -> list[str]:
    value: Any = row.get(key) or "[]"
    try:
        given: Any = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InputError(f"{row['instance_id']}: {key}: is no JSON: {error}") from None
    if not isinstance(given, list) or not all(isinstance(item, str) for item in cast("list[Any]", given)):
        raise InputError(f"{row['instance_id']}: {key}: a list of ids of tests is needed")
    return list(dict.fromkeys(cast("list[str]", given)))


def _check_row(row: Mapping[str, Any]) -> None:
    """See that what becomes a path, or a word of a command, is a mere name."""
    name, commit = str(row["instance_id"]), str(row.get("base_commit") or "HEAD")
    if not NAME.match(name):
        raise InputError(f"instance_id: {name!r} is no name for a task: letters, digits, '.', '_' and '-'")
    if not COMMIT.match(commit):
        raise InputError(f"{name}: base_commit: {commit!r} is no commit")
    for key in ("problem_statement", "patch", "test_patch"):
        text: Any = row.get(key, "")
        if text is not None and not isinstance(text, str):
            raise InputError(f"{name}: {key}: a text is needed")
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{name}: {key}: is no text: {error.reason}") from None


def _archive(repository: Path, row: Mapping[str, Any], to: Path) -> None:
    name, commit = row["instance_id"], str(row.get("base_commit") or "HEAD")
    to.mkdir(parents=True)
    command = ["git", "-C", str(repository), "archive", "--format=tar", "--end-of-options", commit]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as git:  # noqa: S603 - no shell
        out, err = git.communicate()
    if git.returncode:
        said = err.decode("utf-8", "replace").strip()
        raise InputError(f"{name}: base_commit {commit} can't be taken from {repository}: {said}")
    try:
        with tarfile.open(fileobj=io.BytesIO(out)) as tar:
            tar.extractall(to, filter="data")
    except tarfile.TarError as error:
        raise InputError(f"{name}: base_commit {commit} can't be taken from {repository}: {error}") from None
