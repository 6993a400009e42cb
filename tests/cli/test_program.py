from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rubricgrade.version import __version__
from tests.cli.program import PROGRAM, SHORT, environment, run, write_episode, write_rubric

VERBS = ("grade", "lint", "show", "schema", "cache", "sandbox")


def test_version() -> None:
    assert run("--version").out == f"rubricgrade {__version__}\n"


def test_help_names_every_verb_and_exit_code() -> None:
    done = run("--help")
    assert done.code == 0
    for word in (*VERBS, "0 done", "1 below", "2 bad input", "3 something is ungraded", "4 the cost cap", "130"):
        assert word in " ".join(done.out.split())


def _grouped(text: str) -> dict[str, list[str]]:
    """The verbs of a page of help under each of its headings."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and line[0] != " ":
            found[line] = []
        elif line.startswith("  ") and found and line[2] != " ":
            found[list(found)[-1]].append(line.split()[0])
    return found


def test_verbs_stand_under_what_a_person_does() -> None:
    groups = _grouped(run("--help").out)
    assert list(groups)[2:] == [
        f"{name}:" for name in ("Grade", "Run", "Review", "Author", "Deliver", "Serve", "Maintain")
    ]
    assert groups["Grade:"] == ["grade", "show", "report", "diff"]
    assert {"task", "redteam", "deliver", "uplift"} == {*groups["Deliver:"]}


@pytest.mark.parametrize("verb", [(), ("task",), ("deliver",), ("judge",), ("cache",), ("sandbox",)])
def test_no_line_of_a_list_of_verbs_is_cut(verb: tuple[str, ...]) -> None:
    done = run(*verb, "--help", env={"COLUMNS": "80"})
    assert done.code == 0
    assert "..." not in done.out.partition("\n\nOptions:")[2]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    done = run(verb, "--help")
    assert done.code == 0
    assert "Usage:" in done.out


@pytest.mark.parametrize("arguments", [["--nonsense"], ["grdae"], ["grade"], ["grade", "a.yaml"], ["schema", "x"]])
def test_wrong_use_is_bad_input(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert "Usage:" in done.err


def loaded_by(*arguments: str) -> set[str]:
    code = "import sys, atexit; atexit.register(lambda: sys.stderr.write('\\n'.join(['MODULES', *sys.modules])))\n"
    code += "from rubricgrade.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment(), check=False
    )
    return {module.partition(".")[0] for module in done.stderr.partition("MODULES\n")[2].split()}


def test_help_loads_no_model_client_no_reader_and_no_sandbox() -> None:
    loaded = loaded_by("--help")
    assert "typer" in loaded
    assert not loaded & {"litellm", "openai", "aiohttp", "httpx", "pydantic", "yaml", "rich", "asyncio", "jinja2"}


def test_lint_loads_no_model_client(tmp_path: Path) -> None:
    loaded = loaded_by("lint", str(write_rubric(tmp_path, criteria=[SHORT])))
    assert "yaml" in loaded
    assert not loaded & {"litellm", "openai", "aiohttp", "httpx", "openpyxl", "pypdf"}


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        [PROGRAM, "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as gone:
        assert gone.stdout is not None
        assert gone.stderr is not None
        gone.stdout.close()
        assert gone.stderr.read() == b""


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_text_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    episode = write_episode(tmp_path / "Grüße 日本 ✅", reply="日本 ✅ \ud800 \x1b[31m")
    rubric = write_rubric(
        tmp_path,
        criteria=['{id: ist-höflich, points: 1, description: "Grüße 日本 ✅", check: {trajectory: {max_steps: 2}}}'],
    )
    env = {"PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    done = subprocess.run(
        [PROGRAM, "grade", rubric, episode, "--no-store"], capture_output=True, env=environment(**env), check=False
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode(encoding)
    assert ("日本 ✅" if encoding == "utf-8" else r"\u65e5\u672c \u2705") in text
    assert "\x1b" not in text


@pytest.mark.parametrize("kind", ["rubric", "grade", "trajectory", "verdict"])
def test_schemas(kind: str) -> None:
    done = run("schema", kind)
    assert done.code == 0
    assert done.json["type"] == "object"


def test_reaping_says_how_many() -> None:
    done = run("sandbox", "reap", "--label", "no-such-label")
    assert done.code == 0
    assert done.out == "0 sandboxes removed\n"
