"""Grades through a server are the grades of the library, whatever way the episode came."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import Grade, JudgeOptions, RewardClient, Rubric, Trajectory, grade, load_rubric, load_trajectory, tree
from rubricgrade.readers import read_trajectory, to_atif, write_trajectory
from tests.chat.scripted import ScriptedServer
from tests.server.conftest import SAID, messages
from tests.server.running import Running

ROOT = Path(__file__).parents[2]
RUBRICS = sorted([*ROOT.glob("examples/*/rubric.yaml"), *ROOT.glob("rubrics/*/rubric.yaml")])


@pytest.fixture
def client(server: Running) -> RewardClient:
    return RewardClient(server.url, timeout=60)


@pytest.fixture
def episode(tmp_path: Path) -> Path:
    """An episode's folder, with a workspace and a world."""
    folder = tmp_path / "episode"
    write_trajectory(read_trajectory(messages()), folder / "trajectory.json")
    (folder / "workspace").mkdir()
    (folder / "workspace" / "report.md").write_text(f"# Travel\n{SAID}\n")
    (folder / "workspace" / "run.sh").write_text("true")
    (folder / "workspace" / "run.sh").chmod(0o755)
    (folder / "world").mkdir()
    (folder / "world" / "outbox.json").write_text("[]")
    return folder


@pytest.fixture
def options(judge: ScriptedServer) -> JudgeOptions:
    return JudgeOptions(
        model="openai/some-judge", api_base=judge.base, api_key="k", cache=False, concurrency=64, extra={}
    )


def test_a_judged_grade_is_the_same_to_the_byte(
    client: RewardClient, rubrics: Path, options: JudgeOptions, episode: Path
) -> None:
    far = client.grade(episode, "judged")
    near = grade(episode, rubrics / "judged", judge=options)
    assert far.score == 1.0
    assert far.canonical() == near.canonical()


@pytest.mark.parametrize("archived", [False, True], ids=["folder", "archive"])
@pytest.mark.parametrize("report", [SAID, "nothing"], ids=["right", "wrong"])
def test_files_go_along(client: RewardClient, rubrics: Path, episode: Path, archived: bool, report: str) -> None:
    (episode / "workspace" / "report.md").write_text(report)
    if archived:
        tree.pack(episode / "workspace", episode / "workspace.tar.zst")
        tree.remove(episode / "workspace")
    far = client.grade(episode, "checked")
    near = grade(episode, rubrics / "checked")
    assert near.score == (1.0 if report == SAID else 0.25)
    assert far.canonical() == near.canonical()
    whole = client.grade(load_trajectory(episode), rubrics / "checked")
    assert whole.canonical() == near.canonical()


def test_offline_it_takes_what_is_recorded_beside_its_rubrics(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "rubrics" / "tool-use"
    options = JudgeOptions(offline=True, cache=False, verdicts=(folder / "verdicts.jsonl",))
    near = grade(folder / "examples" / "good", folder, judge=options)
    with Running(("--rubric", "tool-use", "--offline", "--no-cache"), {"HOME": str(tmp_path)}) as running:
        far = RewardClient(running.url, timeout=60).grade(folder / "examples" / "good", "tool-use")
    assert far.score == 1.0
    assert far.canonical() == near.canonical()


def test_a_gate_that_fails_is_a_real_zero(client: RewardClient, episode: Path) -> None:
    (episode / "workspace" / "report.md").unlink()
    found = client.grade(episode, "checked")
    assert (found.status, found.score) == ("gated", 0.0)


def test_an_answer_names_its_request(server: Running) -> None:
    body = {"trajectory": messages(), "rubric": "checked"}
    answer = server.post("/grade", body, {"content-type": "application/json", "rubricgrade-request": "one"})
    assert (answer.status, answer.headers["rubricgrade-request"]) == (200, "one")
    assert "rubricgrade-request" not in server.post("/grade", body).headers


def test_what_can_not_be_graded_has_no_score(client: RewardClient) -> None:
    found = client.grade(read_trajectory(messages()), "checked")
    assert (found.status, found.score, found.cause, found.bounds) == ("ungraded", None, "check_error", (0.0, 1.0))


@pytest.mark.parametrize("file", RUBRICS, ids=lambda file: file.parent.name)
def test_a_rubric_keeps_its_hash_on_the_way(client: RewardClient, file: Path) -> None:
    rubric = load_rubric(file, partial=True)
    if any(value is None for value in rubric.vars.values()):
        pytest.skip("needs a task's values")
    found = client.grade(read_trajectory(messages()), rubric)
    assert found.rubric.hash == rubric.hash


def test_values_of_vars_are_given(client: RewardClient, rubrics: Path) -> None:
    values = {"file": "other.md"}
    far = client.grade(read_trajectory(messages()), "checked", vars=values)
    assert far.rubric.hash == load_rubric(rubrics / "checked", vars=values).hash
    assert far.rubric.hash != load_rubric(rubrics / "checked").hash


def _native(trajectory: Trajectory, path: Path) -> Any:
    return json.loads(write_trajectory(trajectory, path / "t.json").read_text())


@pytest.mark.parametrize(
    "form",
    [lambda _t, _p: messages(), lambda t, _p: to_atif(t), _native],
    ids=["messages", "atif", "native"],
)
def test_trajectories_of_several_formats(
    server: Running, tmp_path: Path, form: Callable[[Trajectory, Path], Any]
) -> None:
    given = form(read_trajectory(messages()), tmp_path)
    answer = server.post("/grade", {"rubric": "judged", "trajectory": given})
    assert answer.status == 200
    assert answer.json["score"] == 1.0


def test_a_form_with_files(server: Running, episode: Path, rubrics: Path, tmp_path: Path) -> None:
    near = grade(episode, rubrics / "checked")
    asked = {"rubric": "checked", "trajectory": _native(load_trajectory(episode), tmp_path)}
    body = b'--cut\r\ncontent-disposition: form-data; name="request"\r\n\r\n' + json.dumps(asked).encode() + b"\r\n"
    for name in ("workspace", "world"):
        archive = tmp_path / f"{name}.tar.zst"
        tree.pack(episode / name, archive)
        head = f'--cut\r\ncontent-disposition: form-data; name="{name}"; filename="../../{name}"\r\n\r\n'
        body += head.encode() + archive.read_bytes() + b"\r\n"
    answer = server.post("/grade", body + b"--cut--\r\n", {"content-type": "multipart/form-data; boundary=cut"})
    assert Grade.model_validate_json(answer.body).canonical() == near.canonical()


def test_a_batch_has_its_grades_in_order(server: Running) -> None:
    episodes = [{"trajectory": messages("first")}, {"trajectory": messages("second")}]
    answer = server.post("/grade/batch", {"rubric": "judged", "episodes": episodes})
    assert answer.json["schema"] == "rubricgrade.grades/1"
    hashes = [each["trajectory"]["hash"] for each in answer.json["grades"]]
    assert hashes == [read_trajectory(each["trajectory"]).hash for each in episodes]


def test_openrlhf_gets_numbers_and_a_flag(server: Running, judge: ScriptedServer) -> None:
    body = {
        "query": [f"Sum it up.{SAID}", f"Sum it up.{SAID}"],
        "prompts": ["Sum it up.", "Sum it up."],
        "labels": ['{"rubric": "judged"}', '{"rubric": "checked"}'],
    }
    answer = server.post("/openrlhf", body)
    assert answer.json["rewards"] == [1.0, -7.0]
    assert answer.json["extra_logs"]["graded"] == [1.0, 0.0]
    assert server.post("/openrlhf/judged", body).json["rewards"] == [1.0, 1.0]
    assert server.post("/openrlhf/nowhere", body).error == "unknown_rubric"
    assert server.post("/openrlhf", {**body, "labels": ["x"]}).error == "bad_request"


def test_nemo_gym_gets_its_request_back_and_a_mask(server: Running) -> None:
    content = [{"type": "output_text", "text": SAID, "annotations": []}]
    output = [{"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": content}]
    body = {
        "responses_create_params": {"input": [{"role": "user", "content": "Sum it up.", "type": "message"}]},
        "response": {"id": "r", "object": "response", "output": output},
        "rubric": "judged",
        "column": 7,
    }
    right = server.post("/verify", body).json
    assert (right["reward"], right["mask_sample"], right["failure_kind"]) == (1.0, False, None)
    assert right["column"] == 7
    masked = server.post("/verify", {**body, "rubric": "checked"}).json
    assert (masked["reward"], masked["mask_sample"], masked["failure_kind"]) == (0.0, True, "rubricgrade:check_error")
    nothing = server.post("/verify/judged", {"responses_create_params": {}, "response": {}}).json
    assert (nothing["mask_sample"], nothing["failure_kind"]) == (True, "rubricgrade:trajectory_invalid")


def test_no_reply_is_lost_among_hundreds(client: RewardClient, judge: ScriptedServer) -> None:
    episodes = [read_trajectory(messages(f"number {number}")) for number in range(256)]
    done: list[int] = []
    grades = asyncio.run(client.agrade_all(episodes, "judged", on_grade=lambda index, _grade: done.append(index)))
    assert [each.trajectory.hash for each in grades] == [each.hash for each in episodes]
    assert {each.score for each in grades} == {1.0}
    assert sorted(done) == list(range(256))


def test_a_rubric_of_a_request_can_not_reach_the_servers_files(server: Running, tmp_path: Path) -> None:
    (tmp_path / "rubric").mkdir()
    secret = tmp_path / "secret.yaml"
    secret.write_text("secret: words")
    (tmp_path / "rubric" / "rubric.yaml").symlink_to(secret)
    tree.pack(tmp_path / "rubric", tmp_path / "r.tar.zst")
    archive = base64.b64encode((tmp_path / "r.tar.zst").read_bytes()).decode()
    for brought in ({"archive": archive}, {"yaml": json.dumps({"id": "r", "gates": [
        {"id": "g", "description": "d", "check": {"python": "../secret.yaml:f"}}]})}):  # fmt: skip
        answer = server.post("/grade", {"rubric": brought, "trajectory": messages()})
        assert (answer.status, answer.error) == (422, "rubric_invalid")
        assert b"words" not in answer.body


def test_an_inline_rubric_is_checked_like_a_file(server: Running) -> None:
    answer = server.post("/grade", {"rubric": {"yaml": "id: r\ncriteria: []\n"}, "trajectory": messages()})
    assert (answer.status, answer.error) == (422, "rubric_invalid")
    assert answer.json["error"]["faults"][0]["line"] == 2


def test_the_client_can_not_name_a_path_as_text(client: RewardClient, rubrics: Path) -> None:
    with pytest.raises(RuntimeError, match="there is no rubric"):
        client.grade(read_trajectory(messages()), str(rubrics / "judged"))


def test_a_rubric_object_is_sent_whole(client: RewardClient) -> None:
    rubric = Rubric.model_validate(
        {
            "id": "r",
            "criteria": [{"id": "c", "description": "names: \x85 \u2028 'it'", "points": 1, "judge": {}}],
        }
    )
    assert client.grade(read_trajectory(messages()), rubric).rubric.hash == rubric.hash
