"""Nothing is begun that can't be judged: who may be asked, what is said of who can't be, and when it does not matter."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rubricgrade import JudgeOptions, agrade, agrade_all, grade, grade_all, load_rubric
from rubricgrade.errors import InputError, RubricError
from rubricgrade.grading.asked import Asked, check_judge, may_be_asked
from rubricgrade.grading.judges import Judges
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import BubblewrapProvider, Template
from rubricgrade.store.verdicts import write_verdicts
from tests.chat.scripted import ScriptedServer, error
from tests.grading.episodes import episode, judge_by, rubric, said

TOTAL = {"id": "total", "description": "names the total", "points": 1, "judge": {}}
SAYS = {
    "id": "says", "description": "names Pune", "points": 1,
    "check": {"trajectory": {"final_message": {"contains": "Pune"}}},
}  # fmt: skip
HAS_REPORT = {"id": "has-report", "description": "a report is there", "check": {"exists": "report.txt"}}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def read(folder: Path, *criteria: Mapping[str, Any], **body: Any) -> Rubric:
    return load_rubric(rubric(folder, {"criteria": list(criteria), **body}))


def judged_by(criterion: str, model: str, **more: Any) -> dict[str, Any]:
    return {**TOTAL, "id": criterion, "judge": {"model": model}, **more}


def test_who_may_be_asked_and_who_names_them(tmp_path: Path) -> None:
    body = {"judge": {"model": "openai/a"}, "vars": {"late": False}}
    group = {"id": "group", "description": "g", "points": 1, "criteria": [judged_by("inner", "openai/b,openai/c")]}
    loaded = read(tmp_path, TOTAL, group, judged_by("never", "openai/d", when="vars.late"), SAYS, **body)
    named = {(each.model, each.named_by) for each in may_be_asked(JudgeOptions(escalate="openai/e"), [loaded])}
    assert named == {
        ("openai/a", "rubric r"),
        ("openai/b", "rubric r, criterion inner"),
        ("openai/c", "rubric r, criterion inner"),
        ("openai/e", "escalate"),
    }
    assert ("openai/d", "rubric r, criterion never") in {
        (each.model, each.named_by) for each in may_be_asked(JudgeOptions(), [loaded], varying=True)
    }
    # The caller's choice wins over every rubric's, and is all there is as long as no rubric is known.
    chosen = JudgeOptions(model="openai/x, openai/y")
    assert may_be_asked(chosen, [loaded]) == (Asked("openai/x", "judge"), Asked("openai/y", "judge"))
    assert may_be_asked(chosen, None) == may_be_asked(chosen, [loaded])
    assert may_be_asked(JudgeOptions(model="openai/x", offline=True), [loaded]) == ()
    assert may_be_asked(JudgeOptions(model="openai/x"), [read(tmp_path / "code", SAYS)]) == ()


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text("{\n")
    options = JudgeOptions(
        model="openai/gpt-5-mini,local:/nowhere.gguf",
        escalate="hosted_vllm/x",
        verdicts=(tmp_path / "v.jsonl",),
        cache=tmp_path,
    )
    with pytest.raises(InputError) as caught:
        check_judge(options, None)
    told = str(caught.value)
    assert "judge: openai/gpt-5-mini: no API key was given; set OPENAI_API_KEY" in told
    assert "judge: local:/nowhere.gguf: there is no file /nowhere.gguf" in told
    assert "escalate: hosted_vllm/x needs the API base" in told
    assert "v.jsonl:1" in told
    assert f"{tmp_path}: is a folder; the verdict cache is a file" in told
    assert "--offline" in told
    assert str(pickle.loads(pickle.dumps(caught.value))) == told


def test_what_a_rubric_names_is_the_rubrics_fault(tmp_path: Path) -> None:
    with pytest.raises(RubricError, match="rubric r, criterion total: openai/a: no API key"):
        check_judge(JudgeOptions(), [read(tmp_path, judged_by("total", "openai/a"))])


def test_a_cache_below_a_file_is_found_out_and_one_to_be_made_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    options = JudgeOptions(model="openai/x", api_key="k")
    with pytest.raises(InputError, match="is no folder, so the verdict cache"):
        check_judge(replace(options, cache=tmp_path / "file" / "cache.sqlite"), None)
    check_judge(replace(options, cache=tmp_path / "new" / "cache.sqlite"), None)


class Untouched(BubblewrapProvider):
    """Sandboxes for work that must not begin."""

    async def open(self, template: Template, *, label: str = "") -> NoReturn:
        raise AssertionError("something was begun")


CALLS: dict[str, Callable[..., object]] = {
    "grade": grade,
    "agrade": lambda place, *more, **given: asyncio.run(agrade(place, *more, **given)),
    "grade_all": lambda place, *more, **given: grade_all([place], *more, **given),
    "agrade_all": lambda place, *more, **given: asyncio.run(agrade_all([place], *more, **given)),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("named_in", ["options", "rubric"])
def test_nothing_is_run_or_written(call: str, named_in: str, tmp_path: Path) -> None:
    body: dict[str, Any] = {"gates": [HAS_REPORT], "criteria": [TOTAL]}
    judge = "openai/gpt-5-mini"
    if named_in == "rubric":
        body["judge"], judge = {"model": judge}, None
    path, place = rubric(tmp_path / "r", body), episode(tmp_path / "e", {})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        CALLS[call](place, path, judge=judge, store=tmp_path / "out", provider=Untouched())
    assert sorted(tmp_path.rglob("*")) == before


def test_who_is_not_asked_need_not_be_there(tmp_path: Path) -> None:
    place = episode(tmp_path / "e", {})
    assert grade(place, read(tmp_path / "code", SAYS), judge="openai/gpt-5-mini").score == 1
    judged = read(tmp_path / "judged", TOTAL)
    offline = grade(place, judged, judge=JudgeOptions(model="openai/gpt-5-mini", offline=True))
    assert (offline.status, offline.cause) == ("ungraded", "no_judge")
    assert grade(place, judged).cause == "no_judge"


def test_who_has_every_answer_cached_need_not_be_able_to_ask(tmp_path: Path, server: ScriptedServer) -> None:
    judge_by(server, {"names the total": said("yes")})
    options = JudgeOptions(model="openai/judge", api_base=server.base, cache=tmp_path / "cache.sqlite")
    loaded, place = read(tmp_path / "r", TOTAL), episode(tmp_path / "e", {})
    assert grade(place, loaded, judge=options).score == 1
    options = replace(options, escalate="local:/nowhere.gguf")
    assert [made.score for made in grade_all([place], loaded, judge=options)] == [1]
    assert grade(place, loaded, judge=options).score == 1
    assert len(server.seen) == 1
    # One more criterion has no answer yet.
    more = read(tmp_path / "more", TOTAL, {**TOTAL, "id": "hotel", "description": "names the hotel"})
    with pytest.raises(InputError, match="there is no file"):
        grade_all([place], more, judge=options)
    # A canary is asked anew each time.
    with pytest.raises(InputError, match="there is no file"):
        grade(place, loaded, judge=replace(options, canary=True))
    assert len(server.seen) == 1


def test_who_has_every_answer_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, place = read(tmp_path / "r", TOTAL), episode(tmp_path / "e", {})
    judges = Judges(JudgeOptions(offline=True))
    asyncio.run(agrade(place, loaded, judge=judges))
    (skeleton,) = judges.unanswered.values()
    filled = skeleton.model_copy(update={"answer": "no", "reasoning": "so", "recorded_by": "hand: me"})
    write_verdicts(tmp_path / "v.jsonl", [filled])
    options = JudgeOptions(model="openai/gpt-5-mini", verdicts=(tmp_path / "v.jsonl",))
    assert [made.score for made in grade_all([place, place], loaded, judge=options)] == [0, 0]
    assert grade(place, loaded, judge=options).score == 0
    # One question that is not recorded is enough, also when all others are.
    other = episode(tmp_path / "other", {}, messages=[{"role": "user", "content": "else"}])
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        grade_all([place, other], loaded, judge=options)


def test_a_key_that_is_revoked_later_is_no_number_and_one_warning(
    tmp_path: Path, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.script = [error(401, "revoked")]
    options = JudgeOptions(model="openai/judge", api_base=server.base, api_key="k", cache=False)
    places = [episode(tmp_path / name, {}) for name in ("a", "b", "c")]
    loaded = read(tmp_path / "r", TOTAL)
    with caplog.at_level(logging.WARNING, "rubricgrade"):
        assert [made.score for made in grade_all(places, loaded, judge=options)] == [None] * 3
    (record,) = caplog.records
    assert "3 of 3 have no score (None, which is not 0): judge_failed 3; the first:" in record.getMessage()
    assert "revoked" in record.getMessage()
    # Who looks at every grade is not told again.
    caplog.clear()
    grade_all(places, loaded, judge=options, on_grade=lambda _index, _grade: None)
    assert caplog.records == []


def test_what_waits_for_a_reviewer_is_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    human = {"id": "nice", "description": "is nice", "points": 1, "human": {}}
    assert grade_all([episode(tmp_path / "e", {})], read(tmp_path / "r", human))[0].cause == "needs_review"
    assert caplog.records == []
