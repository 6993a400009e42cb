"""From a Dockerfile to a template, in the real sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.episode.recipe import read_recipe
from rubricgrade.episode.site import template_hash
from rubricgrade.episode.task import Task
from rubricgrade.errors import TemplateError
from tests.episode.making import in_fork, write, write_task


def text(task: Path, command: str) -> str:
    done = in_fork(task, lambda sandbox: sandbox.exec(["sh", "-c", command]))
    assert done.ok, done
    return done.stdout.decode()


def test_files_env_workdir_and_commands(tmp_path: Path) -> None:
    dockerfile = """
FROM ubuntu:24.04
# a comment
ARG where=/app
ENV GREETING="hello there" \\
    PLACE=${where}
WORKDIR /app
RUN apt-get update && apt-get install -y curl
COPY files/question.txt renamed.txt
COPY files/*.txt files/sub /app/all/
COPY ["files/sub", "/data"]
RUN echo built > built.txt && rm all/question.txt
CMD ["bash"]
"""
    task = write_task(
        tmp_path / "one", {"environment/Dockerfile": dockerfile, "environment/files/sub/deep.txt": "deep"}
    )
    shown = text(task, "pwd; cat renamed.txt built.txt; ls all; cat /data/deep.txt; echo; echo $GREETING $PLACE")
    assert shown.split("\n") == ["/app", "six times sevenbuilt", "deep.txt", "deep", "hello there /app", ""]
    notes = " ".join(read_recipe(task / "environment").notes)
    assert "ubuntu:24.04" in notes
    assert "apt-get" in notes


def test_a_fork_changes_nothing_for_the_next(task: Path) -> None:
    assert text(task, "echo spoilt > question.txt; cat question.txt") == "spoilt\n"
    assert text(task, "cat question.txt") == "six times seven"


def test_without_a_dockerfile_all_files_are_taken(tmp_path: Path) -> None:
    task = write_task(tmp_path / "one")
    (task / "environment" / "Dockerfile").unlink()
    assert text(task, "pwd; cat files/question.txt") == "/work\nsix times seven"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("FROM other AS second", "several stages"),
        ("COPY --from=builder /a /b", "another stage"),
        ("COPY nothing.txt /work/", "no 'nothing.txt'"),
        ("COPY ../task.toml /work/", "in the build context"),
        ("ADD https://a.test/x /work/", "from the network"),
        ("RUN false", "RUN cd /work && false"),
        ("ONBUILD RUN true", "ONBUILD can't be followed"),
        ("COPY files/question.txt /etc/shadow", "'/etc'"),
    ],
)
def test_what_cannot_be_followed_is_refused(tmp_path: Path, line: str, words: str) -> None:
    dockerfile = f"FROM a\nWORKDIR /work\n{line}\n"
    task = write_task(tmp_path / "one", {"environment/Dockerfile": dockerfile})
    with pytest.raises(TemplateError, match=words.replace("(", "\\(")):
        text(task, "true")


def test_the_hash_follows_the_content(task: Path) -> None:
    before = template_hash(Task.load(task))
    assert template_hash(Task.load(task)) == before
    write(task, {"environment/files/question.txt": "another"})
    assert template_hash(Task.load(task)) != before
