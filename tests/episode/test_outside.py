"""A task's own tools: their state lies on our side, and nothing that an agent does can forge or break it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.episode.agents.replay import Replay
from rubricgrade.episode.playing import Episode
from rubricgrade.errors import CheckError
from tests.episode.making import EXAMPLES, play, write, write_task

TOML = '[metadata.rubricgrade]\noutside = "tools/post.py"\n'
TOOLS = '''
import os, time
from rubricgrade.episode.inside.desk import Desk, ToolFault

def send(desk: Desk, to: str, times: int = 1) -> str:
    """Send a letter."""
    if "@" not in to:
        raise ToolFault("no address")
    (desk.world / "outbox").mkdir(exist_ok=True)
    (desk.world / "outbox" / f"{len(list((desk.world / 'outbox').iterdir()))}.txt").write_text(to * times)
    print("this goes to nobody")
    return "sent"

def attach(desk: Desk, path: str) -> str:
    """Read a file of the work folder."""
    desk.write("receipt.txt", desk.read(path)[::-1])
    return "done"

def die(desk: Desk) -> str:
    """End the process."""
    os._exit(1)

def slip(desk: Desk) -> str:
    """Fail."""
    return str(1 / 0)

def uid(desk: Desk) -> str:
    """Say who runs this."""
    return f"{os.getuid()} {sorted(os.listdir('/work')) if os.path.exists('/work') else 'no /work'}"

def _private(desk: Desk) -> str:
    return "never called"
'''
CHECK = {"id": "sent", "description": "sent", "points": 1, "check": {"python": "checks/sent.py:sent"}}
SENT = "def sent(case):\n    return (case.world / 'outbox' / '0.txt').exists()\n"


def episode(tmp_path: Path, steps: str, folder: str = "episode") -> Episode:
    files = {"tools/post.py": TOOLS, "plays/0.yaml": f"steps:\n{steps}", "tests/checks/sent.py": SENT}
    task = write_task(tmp_path / "post", files, toml=TOML, rubric={"id": "r", "criteria": [CHECK]})
    return play(task, Replay(), tmp_path / folder)


def answers(made: Episode) -> list[str]:
    return [step.text for step in made.trajectory.steps if step.role == "tool"]


def test_what_a_tool_keeps_is_the_world(tmp_path: Path) -> None:
    made = episode(tmp_path, "  - calls: [{send: {to: a@b, times: 2}}, {send: {to: c@d}}]\n")
    assert answers(made) == ["sent", "sent"]
    assert made.trajectory.world == tmp_path / "episode" / "world"
    assert (tmp_path / "episode" / "world" / "outbox" / "0.txt").read_text() == "a@ba@b"
    assert made.grade.score == 1


def test_an_agent_cannot_forge_the_world(tmp_path: Path) -> None:
    forging = "mkdir -p /world/outbox world/outbox; echo x > /world/outbox/0.txt; echo x > world/outbox/0.txt"
    made = episode(tmp_path, f"  - calls: [{{bash: {{command: '{forging}'}}}}]\n")
    assert list((tmp_path / "episode" / "world").iterdir()) == []
    assert made.grade.score == 0


def test_files_go_between_the_workspace_and_a_tool(tmp_path: Path) -> None:
    steps = "  - calls: [{attach: {path: question.txt}}, {bash: {command: cat receipt.txt}}, {attach: {path: none}}]\n"
    given, shown, missing = answers(episode(tmp_path, steps))
    assert given == "done"
    assert shown.endswith("neves semit xis")
    assert "can't be read from the workspace" in missing


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("send: {to: nobody}", "error: no address"),
        ("send: {to: 7}", "error: 'to' must be text, not 7"),
        ("send: {}", "error: has no 'to'"),
        ("send: {to: a@b, cc: c@d}", "error: unknown key 'cc'"),
        ("slip: {}", "ZeroDivisionError"),
        ("_private: {}", "there is no tool '_private'"),
        ("die: {}", "die crashed"),
    ],
)
def test_a_call_that_fails_is_answered_and_the_next_one_works(tmp_path: Path, call: str, words: str) -> None:
    first, second = answers(episode(tmp_path, f"  - calls: [{{{call}}}, {{send: {{to: a@b}}}}]\n"))
    assert words in first
    assert second == "sent"


def test_tools_run_apart_from_the_agent(tmp_path: Path) -> None:
    (told,) = answers(episode(tmp_path, "  - calls: [{uid: {}}]\n"))
    assert told == "1000 no /work"


def test_tools_that_end_again_and_again_are_the_authors_fault(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="ended 6 times"):
        episode(tmp_path, "  - calls: [" + ", ".join(["{die: {}}"] * 6) + "]\n")


def test_tools_that_do_not_load_are_the_authors_fault(tmp_path: Path) -> None:
    task = write_task(tmp_path / "post", {"tools/post.py": "import nothing_of_that_name"}, toml=TOML)
    with pytest.raises(CheckError, match="nothing_of_that_name"):
        play(task, "nop")


def test_the_travel_task_sends_real_mail(tmp_path: Path) -> None:
    made = play(EXAMPLES / "travel-mis", Replay(), tmp_path / "episode")
    assert {gate.verdict for gate in made.grade.gates} == {"met"}
    (mail,) = (tmp_path / "episode" / "world" / "outbox").iterdir()
    assert b"To: cfo@acme.test" in mail.read_bytes()
    assert made.grade.cause == "no_judge"


def test_a_tool_takes_the_place_of_a_built_in_one(tmp_path: Path) -> None:
    tools = 'def bash(desk, command: str) -> str:\n    """Refuse."""\n    return "not here"\n'
    task = write_task(tmp_path / "post", {"tools/post.py": tools}, toml=TOML)
    write(task, {"plays/0.yaml": "steps:\n  - calls: [{bash: {command: ls}}]\n"})
    assert answers(play(task, "replay")) == ["not here"]
