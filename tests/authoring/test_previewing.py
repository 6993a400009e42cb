"""One criterion on a few episodes, and again when the rubric is saved."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from pathlib import Path

import pytest

from tests.authoring.calling import run
from tests.authoring.made import RUBRIC, write_episode, write_rubric
from tests.cli.program import PROGRAM, environment


def test_its_examples_and_other_episodes_side_by_side(tmp_path: Path) -> None:
    path = write_rubric(tmp_path)
    write_episode(tmp_path / "more", "I don't know")
    done = run("preview", path, "-c", "says-total", "--on", tmp_path / "more", "--json")
    seen = [(one["episode"], one["expected"], one["result"]["verdict"]) for one in done.json["seen"]]
    assert seen == [
        ("it is 48.2 lakh", "met", "met"),
        ("it is a lot", "not_met", "not_met"),
        (str(tmp_path / "more"), None, "not_met"),
    ]
    text = run("preview", path, "-c", "says-total")
    assert "it is 48.2 lakh: met, expected met" in text.out


def test_several_episodes_of_one_file_are_told_apart(tmp_path: Path) -> None:
    chats = [[{"role": "user", "content": "how much?"}, {"role": "assistant", "content": text}] for text in ("a", "b")]
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in chats))
    done = run("preview", write_rubric(tmp_path), "-c", "says-total", "--on", tmp_path / "chats.jsonl", "--json")
    file = tmp_path / "chats.jsonl"
    assert [one["episode"] for one in done.json["seen"]][-2:] == [f"{file}: chats-1", f"{file}: chats-2"]


@pytest.mark.parametrize(
    ("criterion", "told"),
    [("x", "no criterion is called 'x'"), ("plain", "'plain' has no examples: name episodes to show it on with --on")],
)
def test_nothing_to_show(tmp_path: Path, criterion: str, told: str) -> None:
    plain = "\n  - {id: plain, points: 1, description: d, judge: {}}\nexamples:"
    done = run("preview", write_rubric(tmp_path, RUBRIC.replace("\nexamples:", plain)), "-c", criterion)
    assert done.code == 2
    assert told in done.err


def test_watching_shows_it_again_and_survives_a_half_written_rubric(tmp_path: Path) -> None:
    path = write_rubric(tmp_path)
    process = subprocess.Popen(
        [PROGRAM, "preview", path, "-c", "curses", "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    )
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def until(text: str) -> list[str]:
        seen: list[str] = []
        while not seen or text not in seen[-1]:
            seen.append(lines.get(timeout=60))
        return seen

    try:
        assert any("bad: met, expected met" in line for line in until("waiting for a change"))
        path.write_text("id: totals\ncriteria: [")
        assert any("error:" in line for line in until("waiting for a change"))
        path.write_text(RUBRIC.replace("contains: damn", "contains: darn"))
        assert any("bad: not_met, expected met" in line for line in until("waiting for a change"))
    finally:
        process.terminate()
        process.wait()
        reader.join()
        assert process.stdout is not None
        process.stdout.close()
