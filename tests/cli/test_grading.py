from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from rubricgrade.result import Grade
from rubricgrade.store.grades import grade_files, latest_grade
from tests.chat.scripted import ScriptedServer, completion, error
from tests.cli.program import (
    HAS_REPORT,
    POLITE,
    PROGRAM,
    SAYS_TOTAL,
    SHORT,
    environment,
    run,
    write_episode,
    write_rubric,
)


def answer(verdict: str, quote: str = "The total is 48.2 lakh.") -> str:
    reply = {"reasoning": "It is so.", "evidence": [{"quote": quote, "where": "[1].text"}], "answer": verdict}
    return json.dumps(reply)


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    return write_rubric(tmp_path / "rubrics", criteria=[SAYS_TOTAL, SHORT])


def test_one_trajectory_is_graded_shown_whole_and_kept(rubric: Path, episode: Path) -> None:
    done = run("grade", rubric, episode)
    assert done.code == 0, done.err
    assert "     1  graded    first  4 of 4 points" in done.out
    assert "1 grade: 1 graded, 0 gated, 0 ungraded" in done.out
    assert "mean score 1 over 1 graded or gated" in done.out
    assert "everything is graded" in done.out
    assert "3/3    says-total: says the total" in done.out
    assert "3 + 1 = 4 of 4 -> 1" in done.out
    (file,) = grade_files(episode)
    assert Grade.model_validate_json(file.read_text()).score == 1
    assert str(file) in done.err


def test_json_is_one_document_and_nothing_else(rubric: Path, tmp_path: Path) -> None:
    write_episode(tmp_path / "episodes" / "a")
    write_episode(tmp_path / "episodes" / "b", reply="no idea")
    done = run("grade", rubric, tmp_path / "episodes", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json["schema"] == "rubricgrade.grades/1"
    grades = [Grade.model_validate(each) for each in done.json["grades"]]
    assert [(grade.trajectory.id, grade.score) for grade in grades] == [("a", 1.0), ("b", 0.25)]
    assert [Grade.model_validate_json(Path(file).read_text()) for file in done.json["files"]] == grades
    summary = done.json["summary"]
    assert (summary["n"], summary["graded"], summary["mean"], summary["exit_code"]) == (2, 2, 0.625, 0)


def test_several_trajectories_get_a_line_each_and_no_whole_grade(rubric: Path, tmp_path: Path) -> None:
    episodes = [write_episode(tmp_path / name) for name in ("b", "a")]
    done = run("grade", rubric, *episodes)
    assert [line.split()[2] for line in done.out.splitlines()[:2]] == ["b", "a"]
    assert "Criteria" not in done.out
    assert "2 grades written" in done.err


@pytest.mark.parametrize(("bar", "code", "words"), [("0.6", 0, "reached"), ("0.9", 1, "below")])
def test_the_bar_is_the_mean_and_text_json_and_exit_code_agree(
    rubric: Path, tmp_path: Path, bar: str, code: int, words: str
) -> None:
    episodes = [write_episode(tmp_path / "a"), write_episode(tmp_path / "b", reply="no idea")]
    text = run("grade", rubric, *episodes, "--no-store", "--min-score", bar)
    document = run("grade", rubric, *episodes, "--no-store", "--min-score", bar, "--json")
    assert (text.code, document.code, document.json["summary"]["exit_code"]) == (code, code, code)
    assert f"mean score 0.625 of 2 grades, asked for at least {bar}: {words}" in text.out
    assert document.json["summary"]["verdict"] in text.out


def test_a_failed_gate_is_a_score_of_zero_and_no_error(tmp_path: Path) -> None:
    rubric = write_rubric(tmp_path / "r", gates=[HAS_REPORT], criteria=[SHORT])
    with_report = write_episode(tmp_path / "with", report__md="# Report\n")
    without = write_episode(tmp_path / "without", other__md="nothing here\n")
    done = run("grade", rubric, with_report, without, "--json")
    assert done.code == 0
    assert [grade["score"] for grade in done.json["grades"]] == [1, 0]
    assert done.json["summary"]["gated"] == 1
    gated = done.json["grades"][1]
    assert gated["criteria"][0]["verdict"] == "not_run"
    ungated = run("grade", rubric, without, "--json", "--ungated").json["grades"][0]
    assert (ungated["score"], ungated["criteria"][0]["verdict"]) == (0, "met")


def test_without_a_judge_the_grade_is_ungraded_with_bounds(tmp_path: Path, episode: Path) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=[SAYS_TOTAL, SHORT, POLITE])
    done = run("grade", rubric, episode, "--min-score", "0.1")
    assert done.code == 3
    assert "     -  ungraded  first  no_judge, 1 open, score 0.5 to 1" in done.out
    assert "ungraded because: no_judge 1" in done.out
    assert "mean score" not in done.out
    assert "1 of 1 ungraded" in done.out


def test_a_judge_decides_and_its_quote_is_verified(tmp_path: Path, episode: Path, server: ScriptedServer) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=[POLITE])
    server.script = [completion(answer("yes"))]
    options = ("--judge", "openai/small", "--api-base", server.base, "--cache", tmp_path / "cache.sqlite")
    env = {"OPENAI_API_KEY": "sk-of-a-test"}
    done = run("grade", rubric, episode, *options, env=env)
    assert done.code == 0, done.err
    assert '"The total is 48.2 lakh." [verified] [1].text' in done.out
    assert "sk-of-a-test" not in done.out + done.err + "".join(file.read_text() for file in grade_files(episode))
    prompt = run("show", episode, "--criterion", "polite", "--prompt", "--cache", tmp_path / "cache.sqlite")
    assert prompt.code == 0, prompt.err
    sent = [message["content"] for message in server.seen[0].body["messages"]]
    assert prompt.out == "".join(f"[message {place} of 3]\n{text}\n" for place, text in enumerate(sent, 1))
    elsewhere = run("show", episode, "-c", "polite", "--prompt", "--cache", tmp_path / "other.sqlite")
    assert (elsewhere.code, elsewhere.out) == (2, "")
    asked = len(server.seen)
    assert run("grade", rubric, episode, *options, env=env).code == 0
    assert len(server.seen) == asked, "a second run asks nothing"


def test_a_judge_that_fails_leaves_the_grade_open_and_exits_with_3(
    tmp_path: Path, episode: Path, server: ScriptedServer
) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=[SAYS_TOTAL, POLITE])
    server.script = [error(401, "bad key")]
    options = ("--judge", "openai/small", "--api-base", server.base, "--no-cache")
    done = run("grade", rubric, episode, *options, "--json", env={"OPENAI_API_KEY": "sk-wrong"})
    assert done.code == 3
    grade = done.json["grades"][0]
    assert (grade["status"], grade["score"], grade["cause"]) == ("ungraded", None, "judge_failed")
    assert grade["bounds"] == [pytest.approx(3 / 7), 1]
    assert latest_grade(episode) == Grade.model_validate(grade)


def test_a_cost_cap_has_an_exit_code_of_its_own(tmp_path: Path, episode: Path, server: ScriptedServer) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=[SAYS_TOTAL, POLITE])
    options = ("--judge", "openai/gpt-4o", "--api-base", server.base, "--no-cache", "--max-cost", "0")
    done = run("grade", rubric, episode, *options, env={"OPENAI_API_KEY": "sk-of-a-test"})
    assert done.code == 4
    assert server.seen == []
    assert "the cost cap stopped judging: 1 of 1 ungraded" in done.out


def test_bad_input_is_told_at_once_and_nothing_is_run_or_written(tmp_path: Path, episode: Path) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=["{id: a, weight: 3, description: x, judge: {}}"])
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "trajectory.json").write_text("{")
    before = sorted(tmp_path.rglob("*"))
    done = run("grade", rubric, episode, tmp_path / "second", tmp_path / "third", "--verdicts", tmp_path / "none.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "weight" in done.err
    assert f"{rubric}:3:" in done.err
    assert str(tmp_path / "second") in done.err
    assert f"{tmp_path / 'third'}: can't be read: No such file or directory" in done.err
    assert "none.jsonl" in done.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--judge", "openai/gpt-4o"), "OPENAI_API_KEY"),
        (("--judge", ""), "model must be a name"),  # a variable of the shell that is not set
        (("--judge", "openai/small", "--api-base", "ftp://example.test"), "no http(s) URL"),
        (("--judge", "hosted_vllm/small"), "HOSTED_VLLM_API_BASE"),
    ],
)
def test_a_judge_that_can_not_be_asked_stops_it_before_the_first_item(
    tmp_path: Path, episode: Path, options: tuple[str, ...], words: str
) -> None:
    done = run("grade", write_rubric(tmp_path / "r", criteria=[POLITE]), episode, *options)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert latest_grade(episode) is None


@pytest.mark.parametrize(
    "options", [("--max-cost", "nan"), ("--min-score", "nan"), ("--min-score", "2"), ("--votes", "0"), ("--votes", "x")]
)
def test_numbers_that_are_none_are_wrong_use(rubric: Path, episode: Path, options: tuple[str, ...]) -> None:
    done = run("grade", rubric, episode, *options)
    assert (done.code, done.out) == (2, "")
    assert options[0] in done.err


@pytest.mark.parametrize("option", ["-o", "--missing"])
def test_a_place_that_can_not_be_written_is_found_out_first(rubric: Path, episode: Path, option: str) -> None:
    done = run("grade", rubric, episode, option, rubric / "below" / "deeper")
    assert (done.code, done.out) == (2, "")
    assert f"{rubric}: is no folder" in done.err
    assert latest_grade(episode) is None


def test_an_episode_inside_an_agents_workspace_is_none(rubric: Path, tmp_path: Path) -> None:
    real = write_episode(tmp_path / "run" / "task" / "0")
    write_episode(real / "workspace" / "forged")
    done = run("grade", rubric, tmp_path / "run", "--json")
    assert [grade["trajectory"]["id"] for grade in done.json["grades"]] == ["0"]


def test_a_folder_without_episodes_is_bad_input(rubric: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run("grade", rubric, tmp_path / "empty")
    assert done.code == 2
    assert "is an empty folder, not a trajectory" in done.err


def many(path: Path, *names: str) -> Path:
    lines = [
        {"id": name, "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "48.2"}]}
        for name in names
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_one_of_many_in_a_file_has_no_folder_so_one_must_be_named(rubric: Path, tmp_path: Path) -> None:
    file = many(tmp_path / "many.jsonl", "x", "y")
    before = sorted(tmp_path.rglob("*"))
    refused = run("grade", rubric, file)
    assert refused.code == 2
    assert "-o DIR" in refused.err
    assert sorted(tmp_path.rglob("*")) == before
    done = run("grade", rubric, file, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["x", "y"]
    assert run("show", tmp_path / "out" / "y").code == 0
    assert run("grade", rubric, file, "--no-store").code == 0


def test_hostile_ids_stay_inside_the_output_folder_and_apart(rubric: Path, tmp_path: Path) -> None:
    names = ["../../up", "a/b", ".", "..", "x" * 3000, "x" * 3001, "nul\x00", "line\nend", "-o", "CON", "日本"]
    out = tmp_path / "deep" / "er" / "out"
    done = run("grade", rubric, many(tmp_path / "many.jsonl", *names), "-o", out)
    assert done.code == 0, done.err
    assert len(list(out.iterdir())) == len(names)
    assert len(list(tmp_path.rglob("grades/*.json"))) == len(list(out.glob("*/grades/*.json"))) == len(names)


def test_quiet_prints_the_summary_only(rubric: Path, episode: Path) -> None:
    done = run("grade", rubric, episode, "--quiet")
    assert "1 grade: 1 graded" in done.out
    assert "says-total" not in done.out
    assert done.err == ""


def test_vars_from_the_command_line_and_from_a_file(tmp_path: Path, episode: Path) -> None:
    rubric = write_rubric(
        tmp_path / "r",
        criteria=[
            SAYS_TOTAL,
            "{id: b, points: 1, description: x, when: not vars.easy, check: {trajectory: {final_message: {contains: never said}}}}",
        ],
    )
    rubric.write_text("vars: {easy: false}\n" + rubric.read_text())
    values = tmp_path / "vars.yaml"
    values.write_text("easy: true\n")
    for arguments, score in (((), 0.75), (("--vars", "easy=true"), 1), (("--vars", values), 1)):
        assert run("grade", rubric, episode, "--no-store", "--json", *arguments).json["grades"][0]["score"] == score
    unknown = run("grade", rubric, episode, "--no-store", "--vars", "eazy=true")
    assert unknown.code == 2
    assert "easy" in unknown.err
    assert run("grade", rubric, episode, "--no-store", "--vars", "easy=maybe").code == 2


def test_recorded_verdicts_answer_offline_and_what_is_missing_can_be_filled_in(tmp_path: Path, episode: Path) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=[POLITE])
    missing = tmp_path / "missing.jsonl"
    offline = ("--offline", "--no-cache", "--no-store", "--json")
    asked = run("grade", rubric, episode, *offline, "--missing", missing)
    assert asked.code == 3
    (line,) = [json.loads(line) for line in missing.read_text().splitlines()]
    assert line["criterion"] == "polite"
    line |= {
        "answer": "yes",
        "reasoning": "It states the total.",
        "evidence": [{"quote": "The total is 48.2 lakh."}],
        "recorded_by": "hand: a tester",
        "recorded_at": "2026-01-01T00:00:00Z",
    }
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.write_text(json.dumps(line) + "\n")
    done = run("grade", rubric, episode, *offline, "--verdicts", verdicts)
    assert done.code == 0, done.err
    (grade,) = done.json["grades"]
    assert grade["score"] == 1
    assert grade["criteria"][0]["judge"]["recorded_by"] == "hand: a tester"


def test_interrupting_keeps_what_is_done(tmp_path: Path, server: ScriptedServer) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=[SAYS_TOTAL, POLITE])
    episodes = [write_episode(tmp_path / name) for name in ("a", "b")]
    server.script = [completion(answer("yes")), type(completion())(b"", hang=True)]
    options = ["--judge", "openai/small", "--api-base", server.base, "--no-cache", "--concurrency", "1", "--json"]
    process = subprocess.Popen(
        [PROGRAM, "grade", rubric, *episodes, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(OPENAI_API_KEY="sk-of-a-test"),
        # Tests that run in the background have it ignored, and so would the program.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no thread of ours runs here
    )
    while len(server.seen) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    document = json.loads(out)
    assert [grade["trajectory"]["id"] for grade in document["grades"]] == ["a"]
    assert (document["summary"]["missing"], document["summary"]["exit_code"]) == (1, 130)
    assert latest_grade(episodes[0]) is not None
    assert latest_grade(episodes[1]) is None


def test_a_terminal_gets_progress_on_stderr_and_colour_unless_unwanted(rubric: Path, tmp_path: Path) -> None:
    episodes = [write_episode(tmp_path / name) for name in ("a", "b")]
    for more, colour in (({}, True), ({"NO_COLOR": "1"}, False)):
        out, err = on_terminals(
            [PROGRAM, "grade", rubric, *episodes, "--no-store"], environment(TERM="xterm-256color", **more)
        )
        assert "2 graded" in out
        assert ("\x1b[32m" in out) is colour
        assert "grading" in err
        assert "graded" not in err


def on_terminals(command: list[str | Path], env: dict[str, str]) -> tuple[str, str]:
    """What a program writes to two terminals, one as its stdout and one as its stderr."""
    pairs = [os.openpty() for _ in range(2)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pairs[0][1], stderr=pairs[1][1], env=env)
    process.wait(timeout=60)
    texts: list[str] = []
    for ours, theirs in pairs:
        os.set_blocking(ours, False)
        texts.append(os.read(ours, 1 << 20).decode())
        os.close(ours)
        os.close(theirs)
    return texts[0], texts[1]


def test_what_the_reader_could_not_carry_over_is_counted(tmp_path: Path) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=[SHORT])
    call = {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{"}}
    chats = [
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}],
    ]
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in chats))
    done = run("grade", rubric, tmp_path / "chats.jsonl", "--no-store", "--json")
    warnings = [grade["warnings"] for grade in done.json["grades"]]
    assert [bool(each) for each in warnings] == [False, True]
    assert (done.json["summary"]["warnings"], done.json["summary"]["warned"]) == (len(warnings[1]), 1)
    text = run("grade", rubric, tmp_path / "chats.jsonl", "--no-store").out
    first, second = text.splitlines()[:2]
    assert "warning" not in first
    assert f"{len(warnings[1])} warning" in second
    assert f"{len(warnings[1])} warnings on 1 of 2 grades" in text
    assert "rubricgrade show" in " ".join(text.split())
