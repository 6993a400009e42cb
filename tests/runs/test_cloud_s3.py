"""Runs on S3: the real program against a server that speaks the real protocol. `make test-cloud`."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import PROGRAM, SAYS_TOTAL, environment, run, write_episode, write_rubric

pytestmark = [pytest.mark.cloud, pytest.mark.timeout(600)]

SECRET = "very-secret-value-of-a-key"
BUCKET = "bucket"
RUN = f"s3://{BUCKET}/runs/first"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A server in a process of its own: this one forks and must hold no threads of it."""
    pytest.importorskip("moto", reason="group 'cloud' is not installed")
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL
    )
    for _ in range(300):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    server.kill()
    server.wait()


@pytest.fixture
def s3(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of a bucket that is empty; the environment names the server, as a user's would."""
    import boto3

    settings = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLEKEY",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    for name in names(client):
        client.delete_object(Bucket=BUCKET, Key=name)
    return client


def names(client: Any) -> list[str]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    return [found["Key"] for page in pages for found in page.get("Contents", [])]


def test_a_run_from_beginning_to_end(s3: Any, task: Path, tmp_path: Path) -> None:
    ran = run("run", task, "--agent", "oracle", "-n", "2", "-o", RUN)
    assert ran.code == 0, ran.err
    assert f"kept in {RUN}" in ran.err
    more = run("run", "--resume", RUN, "-n", "3", "-q")
    assert more.code == 0, more.err
    scored = run("score", RUN, "--json").json
    assert (scored["overall"]["rollouts"], scored["overall"]["solved"], scored["missing"]) == (3, 3, 0)

    rubric = task / "tests" / "rubric.yaml"
    rubric.write_text(rubric.read_text().replace("^42$", "^43$"))
    again = run("regrade", RUN)
    assert again.code == 0, again.err
    assert again.out.count("1 is now 0") == 3
    assert run("score", RUN, "--min-reward", "0.5").code == 1
    calibrated = run("calibrate", RUN, "--no-probe", "--json")
    assert calibrated.json["tasks"][0]["decision"] == "inspect"
    reported = run("report", RUN, "--format", "md")
    assert reported.code in {0, 3}, reported.err
    assert "3 graded" in reported.out
    exported = run("export", RUN, "--to", "jsonl", "-o", tmp_path / "run.jsonl")
    assert exported.code == 0, exported.err
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 3
    parts = [name for name in names(s3) if name.startswith("runs/first/trajectories/")]
    assert parts == [f"runs/first/trajectories/answer/{sample}.jsonl" for sample in range(3)]


def test_grades_of_stored_trajectories(s3: Any, tmp_path: Path) -> None:
    rubric = write_rubric(tmp_path, criteria=[SAYS_TOTAL])
    episodes = [write_episode(tmp_path / "episodes" / f"e{n}") for n in range(2)]
    graded = run("grade", rubric, *episodes, "-o", f"s3://{BUCKET}/grades", "--json")
    assert graded.code == 0, graded.err
    assert sorted(graded.json["files"]) == sorted(f"s3://{BUCKET}/{name}" for name in names(s3))
    again = run("grade", rubric, *episodes, "-o", f"s3://{BUCKET}/grades", "--json")
    assert len(names(s3)) == 4
    assert all(file.endswith("-2.json") for file in again.json["files"])


def test_agreement_reads_a_store(s3: Any, tmp_path: Path) -> None:
    rubric = write_rubric(tmp_path, criteria=["{id: polite, points: 1, description: thanks the user, judge: {}}"])
    episode = write_episode(tmp_path / "e0")
    assert run("grade", rubric, episode, "-o", f"s3://{BUCKET}/grades").code == 3
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        '{"schema": "rubricgrade.label/1", "trajectory": "e0", "criterion": "polite", "by": "a", "verdict": "met"}\n'
    )
    near, far = (run("agreement", place, "--labels", labels) for place in (tmp_path / "none", f"s3://{BUCKET}/grades"))
    assert "no such folder" in near.err
    # The label belongs to a grade in the store, which nobody has judged.
    assert far.code == 0, far.err
    assert "nothing judged" in far.out


def test_no_key_is_printed_or_stored(s3: Any, task: Path) -> None:
    said = [run("run", task, "--agent", "oracle", "-o", RUN), run("score", RUN), run("run", "--resume", RUN)]
    refused = run("score", RUN, env={"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    assert refused.code == 3
    assert "can't read" in refused.err
    assert not any(SECRET in one.out + one.err for one in [*said, refused])
    for name in names(s3):
        data = s3.get_object(Bucket=BUCKET, Key=name)["Body"].read()
        assert SECRET.encode() not in data
        assert b"AKIAEXAMPLEKEY" not in data


@pytest.mark.parametrize(
    ("place", "changed", "code", "said"),
    [
        (f"s3://{BUCKET}/none", {}, 2, "is no run: there is no run.json"),
        (RUN, {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, 3, "Unable to locate credentials"),
        ("s3://", {}, 2, "names no folder"),
    ],
)
def test_what_is_wrong_is_said(s3: Any, place: str, changed: dict[str, str], code: int, said: str) -> None:
    ran = run("score", place, env=changed)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_a_bucket_that_is_not_there_is_told_before_anything_is_made(s3: Any, task: Path) -> None:
    ran = run("run", task, "--agent", "oracle", "-o", "s3://no-such-bucket/run")
    assert ran.code == 2
    assert ran.err.startswith("error: can't ")
    assert ran.err.endswith("The specified bucket does not exist\n")


def start(task: Path, *, samples: int) -> subprocess.Popen[bytes]:
    arguments = ["run", str(task), "--agent", "oracle", "-n", str(samples), "--concurrency", "3", "-o", RUN]
    return subprocess.Popen(
        [PROGRAM, *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_killed_at_any_moment_it_goes_on_with_what_is_missing(s3: Any, task: Path) -> None:
    draw = random.Random(1)
    for lines in (0, 1, 2):
        process = start(task, samples=8)
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(0 if lines else 1 + draw.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
    ran = run("run", "--resume", RUN, "-n", "8", "-q")
    assert ran.code == 0, ran.err
    scored = run("score", RUN, "--json").json
    assert (scored["overall"]["rollouts"], scored["missing"]) == (8, 0)
    parts = [name for name in names(s3) if "/trajectories/" in name]
    assert len(parts) == 8


def test_several_writers_share_a_run(s3: Any, task: Path) -> None:
    writers = [start(task, samples=6) for _ in range(2)]
    shares = [len(writer.communicate()[0].splitlines()) for writer in writers]
    # Each prints the attempts that it made, then a table of three lines.
    assert sum(shares) == 6 + 2 * 3
    scored = run("score", RUN, "--json").json
    assert (scored["overall"]["rollouts"], scored["overall"]["solved"]) == (6, 6)


def test_the_first_of_two_writers_counts(s3: Any) -> None:
    """The store itself refuses the second one: nobody else could."""
    from fsspec.core import url_to_fs

    files, root = url_to_fs(RUN)
    files.pipe_file(f"{root}/x", b"first", mode="create")
    with pytest.raises(FileExistsError):
        files.pipe_file(f"{root}/x", b"second", mode="create")
    assert files.cat_file(f"{root}/x") == b"first"
