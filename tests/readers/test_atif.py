"""ATIF: continuations, what it can't hold, and a document of ours that Harbor 0.26's own model took as valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import StoreError, TrajectoryError
from rubricgrade.readers import load_trajectories, load_trajectory, read_trajectory, to_atif, write_atif
from rubricgrade.readers.media import image_of
from rubricgrade.trajectory import Call, Image, Other, Step, Text, Trajectory, Usage
from tests.readers.made import PIXEL, SAMPLES, codes, loaded, written

GOLDEN = Path(__file__).parent / "golden_atif.json"
FIRST = "terminus_2_hello-world-context-summarization-linear-history.trajectory.json"


def document(*steps: Any, **more: Any) -> Any:
    return {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": list(steps), **more}


def said(message: Any, source: Any = "user", **more: Any) -> Any:
    return {"source": source, "message": message, **more}


def everything() -> Any:
    """An episode with all that a step can hold."""
    image = image_of(PIXEL, "image/png")
    assert image is not None
    return Trajectory(
        id="everything",
        task="Do it.",
        model="m-1",
        usage=Usage(input_tokens=10, output_tokens=5, cached_tokens=2, cost=0.25),
        steps=(
            Step(role="system", content=(Text(text="Be brief."),)),
            Step(role="user", content=(Text(text="see"), image), time="2026-01-01T00:00:00Z"),
            Step(
                role="assistant",
                content=(Text(text="Both."),),
                reasoning="two at once",
                calls=(
                    Call(id="c1", name="ls", arguments={"path": "/"}),
                    Call(id="c1", name="cat", raw='{"path": }'),
                ),
                usage=Usage(input_tokens=10, output_tokens=5),
            ),
            Step(role="tool", content=(Text(text="no"),), answers=(2, 2), tool="cat", failed=True),
            Step(role="tool", content=(Text(text="etc"),), answers=(2, 1), tool="ls", time="2026-01-01T00:00:01Z"),
            Step(role="tool", content=(Text(text="whose?"),), tool="ls"),
            Step(role="assistant", content=(Text(text="Done."),), time="yesterday", extra={"stop_reason": "end"}),
        ),
    )


def test_our_document_is_the_one_that_harbor_accepted(tmp_path: Path) -> None:
    expected = json.loads(GOLDEN.read_text())
    written_by_us = to_atif(everything())
    written_by_us.pop("notes")
    assert written_by_us == expected


def test_what_we_write_we_read(tmp_path: Path) -> None:
    file = write_atif(everything(), tmp_path / "t.json")
    assert (tmp_path / "images" / "c414cd0e204de974.png").stat().st_size == 70
    back, original = load_trajectory(file), everything()
    told = [(step.role, step.reasoning, step.failed) for step in back.steps]
    assert told == [(step.role, step.reasoning, step.failed) for step in original.steps]
    assert [(call.name, call.arguments, call.raw) for _, _, call in back.calls()] == [
        (call.name, call.arguments, call.raw) for _, _, call in original.calls()
    ]
    assert back.results == {(2, 2): 3, (2, 1): 4}
    assert [step.text for step in back.steps if step.role != "user"] == [
        step.text for step in original.steps if step.role != "user"
    ]
    assert (back.id, back.task, back.model, back.usage) == (original.id, original.task, original.model, original.usage)


def test_what_an_episode_may_hold_and_atif_may_not(tmp_path: Path) -> None:
    odd = Image(media_type="image/bmp", sha256="ab" * 32, size=7)
    steps = (
        Step(role="tool", content=(Text(text="first"),)),
        Step(role="user", content=(odd, Image(media_type="image/png", url="https://x.test/a.png"))),
        Step(role="user", content=(Other(kind="k", value={"b": 1}), odd), extra={"subagent_trajectory_ref": "x"}),
    )
    document = to_atif(Trajectory(id="x", steps=steps))
    assert [step["source"] for step in document["steps"]] == ["system", "user", "user"]
    assert document["steps"][0]["observation"] == {"results": [{"content": "first"}]}
    assert document["steps"][1]["message"] == [
        {"type": "text", "text": "[image image/bmp, 7 bytes, sha256 abababababab]"},
        {"type": "image", "source": {"media_type": "image/png", "path": "https://x.test/a.png"}},
    ]
    assert document["steps"][2]["message"] == '{"b":1}\n[image image/bmp, 7 bytes, sha256 abababababab]'
    with pytest.raises(StoreError, match="can't be written"):
        write_atif(everything(), Path("/proc/none/t.json"))


def test_calls_of_a_user_are_no_calls_of_the_agent() -> None:
    steps = (Step(role="user", calls=(Call(id="u", name="f", arguments={}),)), Step(role="tool", answers=(0, 1)))
    [step] = to_atif(Trajectory(id="x", steps=steps))["steps"]
    assert "tool_calls" not in step
    assert step["extra"]["tool_calls"][0]["function_name"] == "f"
    assert step["observation"]["results"] == [{"content": ""}]


def test_a_claude_code_session_is_written_as_harbor_converts_it() -> None:
    ours = to_atif(load_trajectory(SAMPLES / "claude_code/tool_call_conversation.jsonl"))
    theirs = json.loads((SAMPLES / "atif/claude_code_tool_call.harbor0.26_converted.json").read_text())

    def core(step: Any) -> Any:
        kept = {key: step.get(key) for key in ("step_id", "timestamp", "source", "message", "reasoning_content")}
        kept["calls"] = [
            {key: call[key] for key in ("tool_call_id", "function_name", "arguments")}
            for call in step.get("tool_calls", [])
        ]
        kept["results"] = [
            {key: result[key] for key in ("source_call_id", "content")}
            for result in step.get("observation", {}).get("results", [])
        ]
        metrics = step.get("metrics", {})
        kept["metrics"] = {key: metrics.get(key) for key in ("prompt_tokens", "completion_tokens", "cached_tokens")}
        return kept

    assert [core(step) for step in ours["steps"]] == [core(step) for step in theirs["steps"]]
    assert ours["session_id"] == theirs["session_id"]
    assert ours["agent"]["version"] == theirs["agent"]["version"]
    assert {key: ours["final_metrics"][key] for key in ("total_prompt_tokens", "total_completion_tokens")} == {
        "total_prompt_tokens": 600,
        "total_completion_tokens": 90,
    }


def test_a_continuation_is_appended_and_copied_context_is_not_said_twice() -> None:
    trajectory = load_trajectory(SAMPLES / "atif" / FIRST)
    # 5 steps and 3 results; then 7 of 8 steps (the first repeats the task) and 4 results; and a sub-agent's reference.
    assert len(trajectory.steps) == 20
    assert sum(step.text.startswith("You are an AI assistant tasked") for step in trajectory.steps) == 1
    assert codes(trajectory) == ["copied"]
    assert trajectory.usage is not None
    assert trajectory.usage.input_tokens == 7802
    alone = load_trajectory(SAMPLES / "atif" / FIRST.replace(".json", ".cont-1.json"))
    assert len(alone.steps) == 12


def test_a_continuation_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    trajectory = loaded(tmp_path, document(said("a"), continued_trajectory_ref="trajectory.cont-1.json"))
    assert codes(trajectory) == ["cut"]
    assert "the end of the episode is missing" in trajectory.warnings[0].message


def test_continuations_may_be_many_but_not_run_in_a_circle(tmp_path: Path) -> None:
    written(tmp_path, document(said("b"), continued_trajectory_ref="c.json"), "b.json")
    file = written(tmp_path, document(said("a"), continued_trajectory_ref="b.json"), "a.json")
    written(tmp_path, document(said("c")), "c.json")
    assert [step.text for step in load_trajectory(file).steps] == ["a", "b", "c"]
    written(tmp_path, document(said("c"), continued_trajectory_ref="b.json"), "c.json")
    with pytest.raises(TrajectoryError, match="circle"):
        load_trajectory(file)


@pytest.mark.parametrize("name", ["../b.json", "/etc/passwd"])
def test_a_continuation_stays_in_the_folder(tmp_path: Path, name: Any) -> None:
    written(tmp_path, document(said("b")), "b.json")
    (tmp_path / "home").mkdir()
    file = written(tmp_path / "home", document(said("a"), continued_trajectory_ref=name), "a.json")
    with pytest.raises(TrajectoryError, match="leads out of the folder"):
        load_trajectory(file)


def test_a_continuation_that_is_a_link_is_refused(tmp_path: Path) -> None:
    written(tmp_path, document(said("b")), "real.json")
    (tmp_path / "b.json").symlink_to(tmp_path / "real.json")
    file = written(tmp_path, document(said("a"), continued_trajectory_ref="b.json"), "a.json")
    with pytest.raises(TrajectoryError, match="symbolic link"):
        load_trajectory(file)


def test_observations_pair_by_id_within_any_step_or_by_order(tmp_path: Path) -> None:
    calls = [{"tool_call_id": f"c{n}", "function_name": "f", "arguments": {}} for n in (1, 2)]
    results = [{"source_call_id": "c2", "content": "2"}, {"content": "1"}]
    step = said("go", "agent", tool_calls=calls, observation={"results": results})
    trajectory = loaded(tmp_path, document(step))
    assert trajectory.results == {(0, 2): 1, (0, 1): 2}


def test_observations_without_calls_are_what_the_environment_said(tmp_path: Path) -> None:
    step = said("type ls", "agent", observation={"results": [{"content": "a.txt"}]})
    trajectory = loaded(tmp_path, document(step))
    assert [(one.role, one.text, one.answers) for one in trajectory.steps] == [
        ("assistant", "type ls", None),
        ("tool", "a.txt", None),
    ]
    assert trajectory.warnings == ()


def test_unknown_versions_and_fields_are_kept_and_noted(tmp_path: Path) -> None:
    step = said("a", mood="good", metrics={"prompt_tokens": 5, "logprobs": [0.1]})
    trajectory = loaded(tmp_path, document(step, schema_version="ATIF-v2.0", colour="red"))
    assert codes(trajectory) == ["version", "tokens"]
    assert trajectory.steps[0].extra == {"mood": "good"}
    assert trajectory.meta["colour"] == "red"


def test_a_step_of_unknown_source_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match=r"steps\[1\]: source is 'robot'; it must be one of system, user, agent"):
        load_trajectories(written(tmp_path, document(said("a"), said("b", "robot"))))


def test_image_parts_are_files_beside_the_document(tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"media_type": "image/png", "path": "i/a.png"}},
    ]
    image = loaded(tmp_path, document(said(parts))).steps[0].content[1]
    assert image.type == "image"
    assert (image.url, image.media_type, image.data) == ("i/a.png", "image/png", "")


def test_images_beside_the_file_come_back_and_others_stay_names(tmp_path: Path) -> None:
    image = image_of(PIXEL, "image/png")
    assert image is not None
    trajectory = Trajectory(id="t", steps=(Step(role="user", content=(Text(text="see"), image)),))
    read = load_trajectory(write_atif(trajectory, tmp_path / "t.json"))
    assert read.steps == trajectory.steps
    paths = ["images/none.png", "../secret.png", "https://example.test/a.png"]
    parts = [{"type": "image", "source": {"media_type": "image/png", "path": path}} for path in paths]
    read = load_trajectory(written(tmp_path, document(said(parts))))
    assert [part.url for part in read.steps[0].content if part.type == "image"] == paths
    assert codes(read) == ["image", "image"]


def test_what_calls_have_besides_tools_and_sub_agents_survive_reading_and_writing() -> None:
    calls = [{"tool_call_id": "c", "function_name": "f", "arguments": {}, "extra": {"status": "done"}}]
    results = [{"source_call_id": "c", "content": "r", "subagent_trajectory_ref": [{"trajectory_id": "sub"}]}]
    sub = document(said("found", "agent"), trajectory_id="sub")
    odd = [{"trajectory_id": "odd", "steps": []}, {"steps": []}, sub]
    source = document(
        said("do", "agent", tool_calls=calls, observation={"results": results}),
        agent={"name": "a", "version": "1", "tool_definitions": [{"name": "f"}]},
        subagent_trajectories=[sub, *odd],
    )
    trajectory = read_trajectory(source)
    assert trajectory.steps[0].extra == {"call_1": {"status": "done"}}
    written_again = to_atif(trajectory)
    assert written_again["steps"][0]["tool_calls"] == calls
    assert written_again["agent"]["tool_definitions"] == [{"name": "f"}]
    assert [one["trajectory_id"] for one in written_again["subagent_trajectories"]] == ["sub"]
    assert written_again["subagent_trajectories"][0]["steps"][0]["message"] == "found"
    assert read_trajectory(written_again).steps == trajectory.steps
