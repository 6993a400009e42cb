"""`rubricgrade sandbox ...` and `rubricgrade doctor`, as a user runs them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import library
from tests.cli.program import Ran, run, write_episode, write_rubric


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def template(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "files").mkdir(parents=True)
    (folder / "files/data.txt").write_text("1\n")
    (folder / "setup.sh").write_text("cat data.txt data.txt > doubled.txt\n")
    (folder / "sandbox.yaml").write_text("description: For a test.\nfiles: files\nsetup: setup.sh\n")
    return folder


def sandbox(store: Path, *arguments: str | Path) -> Ran:
    return run("sandbox", *arguments, "--store", store)


def test_a_template_is_built_once_and_again_when_it_has_changed(store: Path, template: Path) -> None:
    first = sandbox(store, "build", template)
    assert first.code == 0, first.err
    assert first.out.startswith("mine sha256:")
    assert first.out.endswith(" built\n")
    assert sandbox(store, "build", template / "sandbox.yaml").out == first.out.replace("built", "was there already")
    (template / "files/data.txt").write_text("2\n")
    second = sandbox(store, "build", template, "--json").json
    assert (second["schema"], second["fresh"]) == ("rubricgrade.template-build/1", True)
    assert second["template"]["digest"] not in first.out
    layers = Path(second["template"]["folder"])
    assert sorted(path.read_text() for path in layers.rglob("*.txt")) == ["2\n", "2\n2\n"]
    assert {Path(each["folder"]).parent for each in sandbox(store, "list", "--json").json["templates"]} == {store}


def test_the_list_shows_what_is_there_and_what_could_be(store: Path, template: Path) -> None:
    ready = [folder.name for folder in library.ready("sandboxes")]
    empty = sandbox(store, "list", "--json").json
    assert (empty["templates"], empty["ready"]) == ([], ready)
    assert sandbox(store, "build", "office").code == 0
    assert sandbox(store, "build", template).code == 0
    listed = sandbox(store, "list").out.splitlines()
    assert [line.split()[0] for line in listed] == ["mine", "office", *(name for name in ready if name != "office")]
    about = sandbox(store, "list", "--json").json["templates"]
    assert [(each["name"], each["base"]["kind"], each["changed"]) for each in about] == [
        ("mine", "host", ""),
        ("office", "host", ""),
    ]


def test_what_is_removed_is_gone(store: Path, template: Path) -> None:
    digest = sandbox(store, "build", template, "--json").json["template"]["digest"]
    assert sandbox(store, "remove", "nothing").code == 2
    removed = sandbox(store, "remove", digest[:20], "--json")
    assert (removed.code, removed.json["removed"]) == (0, {digest: True})
    assert sandbox(store, "list", "--json").json["templates"] == []


def test_faults_are_told_where_they_stand(store: Path, template: Path) -> None:
    (template / "sandbox.yaml").write_text("description: x\nbase: nowhere\nsetup: missing.sh\nmemory: 1\n")
    done = sandbox(store, "build", template)
    assert done.code == 2
    assert f"{template}/sandbox.yaml:2:" in done.err
    assert f"{template}/sandbox.yaml:4:1: unknown key 'memory'" in done.err
    assert not store.exists()


def test_a_failing_script_shows_what_it_said_as_plain_text(store: Path, template: Path) -> None:
    (template / "setup.sh").write_text("printf 'red: \\033[31m\\n'; exit 9\n")
    done = sandbox(store, "build", template)
    assert done.code == 2
    assert "exit code 9" in done.err
    assert "red: " in done.err
    assert "\033" not in done.err


def test_what_a_template_needs_and_the_host_lacks_is_named(store: Path, template: Path) -> None:
    (template / "sandbox.yaml").write_text("requires: {packages: [no-such-package]}\n")
    assert "pip install no-such-package" in sandbox(store, "build", template).err
    (template / "sandbox.yaml").write_text("requires: {programs: [no-such-program]}\n")
    assert "needs the program 'no-such-program'" in sandbox(store, "build", template).err


def test_what_others_should_know_of_a_template_is_said(store: Path, template: Path) -> None:
    (template / "sandbox.yaml").write_text("network: host\n")
    assert "note: its forks reach everything that this host reaches" in sandbox(store, "build", template).err


def test_a_folder_of_somebody_else_is_no_store(store: Path, template: Path) -> None:
    store.mkdir()
    store.chmod(0o777)
    assert sandbox(store, "build", template).code == 3


def test_grade_takes_a_template_or_the_one_that_the_trajectory_names(
    store: Path, template: Path, tmp_path: Path
) -> None:
    gate = '{id: doubled, description: "-", check: {command: {run: [cat, doubled.txt], equals: "1\\n1\\n"}}}'
    rubric = write_rubric(tmp_path / "rubric", gates=[gate])
    at = write_episode(tmp_path / "episode", made__txt="x")
    environment = {"RUBRICGRADE_TEMPLATES": str(store)}

    def graded(*arguments: str | Path) -> Any:
        return run("grade", rubric, at, "--no-store", "--json", *arguments, env=environment)

    assert graded("--template", template).json["grades"][0]["score"] == 1
    assert graded().json["grades"][0]["score"] == 0
    wrong = graded("--template", tmp_path / "nothing")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no such template" in wrong.err
    named = json.loads((at / "trajectory.json").read_text())
    for hash_, cause in (
        (sandbox(store, "build", template, "--json").json["template"]["digest"], None),
        ("x", "template_missing"),
    ):
        (at / "trajectory.json").write_text(json.dumps({**named, "template": {"name": "mine", "hash": hash_}}))
        assert graded().json["grades"][0]["cause"] == cause


def test_check_tells_how_a_provider_does_here() -> None:
    done = run("sandbox", "check", "bubblewrap", "--json")
    assert (done.code, done.json["ok"]) == (0, True)
    assert {each["problem"] for each in done.json["checks"]} == {""}
    assert len(done.json["checks"]) >= 17
    unknown = run("sandbox", "check", "nobody")
    assert unknown.code == 2
    assert "bubblewrap, " in unknown.err


def test_check_fails_where_nothing_works(tmp_path: Path) -> None:
    done = run("sandbox", "check", env={"TMPDIR": str(tmp_path / "missing")})
    assert done.code == 3
    assert "set TMPDIR" in done.out
    assert "bubblewrap: 0 of" in done.out


def test_reap_leaves_what_lives(store: Path) -> None:
    store.mkdir(mode=0o700)
    left = store / (".making-" + "0" * 64 + "-abcd")
    left.mkdir()
    done = sandbox(store, "reap", "--label", "a label that nobody uses", "--json")
    assert (done.code, done.json["sandboxes"], done.json["builds"]) == (0, 0, 1)
    assert not left.exists()
    assert sandbox(store, "reap", "--label", "a label that nobody uses").out == "0 sandboxes removed\n"


def test_doctor_says_what_holds_here_and_never_a_key(tmp_path: Path) -> None:
    secret = "never-to-be-shown-4711"
    environment = {"OPENAI_API_KEY": secret, "ANTHROPIC_API_KEY": ""}
    done = run("doctor", env=environment)
    assert done.code == 0, done.out
    assert "OPENAI_API_KEY" in done.out
    assert "ANTHROPIC_API_KEY" not in done.out
    asked = run("doctor", "--json", env=environment)
    assert secret not in done.out + done.err + asked.out + asked.err
    document = asked.json
    assert (document["healthy"], document["keys"]) == (True, ["OPENAI_API_KEY"])
    states = {finding["name"]: finding["state"] for finding in document["findings"]}
    for name in (
        "bubblewrap",
        "sandbox",
        "system-call filter",
        "overlay, changes in memory",
        "overlay, changes on disk",
    ):
        assert states[name] == "ok"
    assert {"docker", "podman", "memory limit"} <= set(states)
    assert document["versions"]["rubricgrade"]


def test_doctor_fails_with_the_remedy_where_no_sandbox_can_be_made(tmp_path: Path) -> None:
    done = run("doctor", env={"TMPDIR": str(tmp_path / "missing")})
    assert done.code == 3
    assert "NO  sandbox: can't be made here" in done.out
    assert "set TMPDIR to a folder that you may write to" in done.out


def test_doctor_tells_an_engine_that_does_not_answer(tmp_path: Path) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    done = run("doctor", "--json", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    docker = next(finding for finding in done.json["findings"] if finding["name"] == "docker")
    assert docker["state"] == "weak"
    assert "Cannot connect to the daemon" in docker["says"]
    assert done.code == 0
