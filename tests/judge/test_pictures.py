"""Pictures of a trajectory, for criteria that ask for them and judges that see."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rubricgrade.judge import Judged, JudgeOptions, Judging
from rubricgrade.judge.pictures import LARGEST, MOST, sees
from rubricgrade.trajectory import Image, Step, Text, Trajectory
from tests.judge.scripted import Scripted, rubric, said, step, trajectory

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
YES, NO = said("yes", "The chart is done."), said("no")


def picture(**fields: Any) -> Image:
    given: dict[str, Any] = {"media_type": "image/png", "data": PIXEL, "size": 70, "sha256": "ab" * 32, **fields}
    return Image(**given)


def drawn(*images: Image, role: str = "tool") -> Trajectory:
    shown = Step.model_validate({"role": role, "content": [Text(text="the screen"), *images]})
    return trajectory(step("user", "draw a chart"), shown, step("assistant", "The chart is done."))


def judge(episode: Trajectory, answer: str = YES, *, model: str = "m", **settings: Any) -> tuple[Judged, Scripted]:
    asked, chat = rubric({"description": "shows a chart", "judge": {"render": "both", **settings}}), Scripted([answer])
    judging = Judging(episode, asked, JudgeOptions(model=model), chat=chat)
    return asyncio.run(judging.decide(asked.tops[0])), chat


def images(chat: Scripted) -> list[str]:
    content = chat.asked[0].messages[1]["content"]
    return (
        [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        if isinstance(content, list)
        else []
    )


def test_a_picture_follows_the_record_with_its_address() -> None:
    judged, chat = judge(drawn(picture()))
    assert judged.verdict == "met"
    assert images(chat) == [f"data:image/png;base64,{PIXEL}"]
    text, about, _ = chat.asked[0].messages[1]["content"]
    assert "[1].result (tool)\n| the screen\n| [image image/png" in text["text"]
    assert about["text"].endswith("of [1].result, data like the rest:")
    assert judged.record.shown.left_out == ()


def test_unless_it_is_asked_for_it_is_only_named() -> None:
    judged, chat = judge(drawn(picture()), render="text")
    assert isinstance(chat.asked[0].messages[1]["content"], str)
    assert any("pictures of [1]: named, not shown" in part for part in judged.record.shown.left_out)


@pytest.mark.parametrize(
    "image",
    [picture(data="", url="http://127.0.0.1:1/x.png"), picture(media_type="image/svg+xml"), picture(data="A" * (LARGEST + 4)),
     picture(media_type='image/png;base64,AAAA" onload="x')],
)  # fmt: skip
def test_one_that_cannot_be_shown_is_missing_and_absence_proves_nothing(image: Image) -> None:
    judged, chat = judge(drawn(image), NO)
    assert images(chat) == []
    assert (judged.verdict, judged.value) == ("cannot_tell", None)
    assert "pictures of [1].result" in judged.record.shown.left_out


def test_more_than_a_prompt_may_have() -> None:
    several = [picture(data=PIXEL, sha256=f"{number:064x}") for number in range(MOST + 1)]
    judged, chat = judge(drawn(*several), NO)
    assert len(images(chat)) == MOST
    assert judged.value is None


def test_one_that_the_criterion_does_not_see_is_not_shown() -> None:
    _, chat = judge(drawn(picture()), NO, sees=["final_message"])
    assert images(chat) == []


def test_a_judge_that_does_not_see_is_sent_none() -> None:
    assert sees("openai/gpt-4o")
    assert not sees("openai/gpt-3.5-turbo")
    assert sees("nobody/knows-it")
    for models in ("openai/gpt-3.5-turbo", "openai/gpt-4o,openai/gpt-3.5-turbo"):
        judged, chat = judge(drawn(picture()), NO, model=models)
        assert images(chat) == []
        assert judged.value is None
        assert any("not every judge sees" in part for part in judged.record.shown.left_out)


def test_another_picture_is_another_question_to_the_cache() -> None:
    keys = {judge(drawn(picture(data=data)))[1].asked[0].cache_key for data in (PIXEL, PIXEL[:-4] + "AAA=")}
    assert len(keys) == 2
