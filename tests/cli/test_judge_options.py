"""How `rubricgrade grade` judges: in batches, by panels, with a stronger judge in doubt, and what it would take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from rubricgrade.cli.app import app
from tests.chat.scripted import ON_ITS_WAY, ScriptedServer, Seen, Wire, completion, error, spread
from tests.cli.program import run, write_episode, write_rubric

CRITERIA = [
    json.dumps({"id": name, "points": 1, "description": f"{name} is true of the reply", "judge": {}})
    for name in ("one", "two", "three")
]
QUOTE = "The total is 48.2 lakh."
KEY = {"OPENAI_API_KEY": "sk-of-a-test"}


def said(answer: str, quote: str = QUOTE, **more: str) -> dict[str, Any]:
    return {**more, "reasoning": "so", "evidence": [{"where": "[1].text", "quote": quote}], "answer": answer}


def replying(**by_model: Any) -> Any:
    """Every model's own reply, to one question or to several."""

    def answer(seen: Seen) -> Wire:
        verdict = by_model[seen.body["model"]]
        question = seen.body["messages"][2]["content"]
        names = re.findall(r"^\[(q\d+)\]$", question, re.MULTILINE)
        if "stands the text" in question:
            verdict = by_model.get("canary", said("no"))
        found = {"answers": [{"id": name, **verdict} for name in names]} if names else verdict
        return completion(json.dumps(found))

    return [answer]


@pytest.fixture
def asked(tmp_path: Path, server: ScriptedServer) -> list[str | Path]:
    rubric = write_rubric(tmp_path / "r", criteria=CRITERIA)
    return [
        "grade",
        rubric,
        write_episode(tmp_path / "e"),
        "--api-base",
        server.base,
        "--no-cache",
        "--no-store",
        "--json",
    ]


def test_so_many_calls_a_minute(asked: list[str | Path], server: ScriptedServer) -> None:
    failing = iter([error(500), error(429, "slow down", {"retry-after": "0"})])
    server.script = [lambda _: next(failing, completion(json.dumps(said("yes"))))]
    done = run(*asked, "--judge", "openai/small", "--judge-rpm", "120", env=KEY)
    assert done.code == 0, done.err
    assert len(server.seen) == 5
    # What failed counts too: a provider's own limit counts it. Without a pace all is over in less than a second.
    assert spread(server) >= 0.5 * 4 - ON_ITS_WAY


def test_a_reply_is_bounded_and_may_be_the_answer_alone(asked: list[str | Path], server: ScriptedServer) -> None:
    cut = [completion("{", finish="length"), completion(json.dumps({"answer": "yes"}))]
    replies = iter(cut)
    server.script = [lambda _: next(replies, cut[-1])]
    done = run(*asked, "--judge", "openai/small", "--judge-max-tokens", "50", "--judge-style", "direct", env=KEY)
    assert done.code == 0, done.err
    # The others come when the first reply begins, so at any place beside its second try.
    assert sorted(seen.body["max_tokens"] for seen in server.seen) == [50, 50, 50, 200]
    schemas = [seen.body["response_format"]["json_schema"]["schema"] for seen in server.seen]
    assert [list(schema["properties"]) for schema in schemas] == [["answer"]] * 4
    assert run(*asked, "--judge", "openai/small", "--judge-max-tokens", "0", env=KEY).code == 2


def test_several_criteria_in_one_call(asked: list[str | Path], server: ScriptedServer) -> None:
    server.script = replying(small=said("yes"))
    done = run(*asked, "--judge", "openai/small", "--batch", "all", env=KEY)
    assert done.code == 0, done.err
    assert done.json["grades"][0]["score"] == 1
    assert len(server.seen) == 1
    assert done.json["summary"]["calls"] == 1


def test_a_panel_and_its_votes(asked: list[str | Path], server: ScriptedServer) -> None:
    server.script = replying(a=said("yes"), b=said("no"), c=said("yes"))
    done = run(*asked, "--judge", "openai/a,openai/b,openai/c", env=KEY)
    assert done.code == 0, done.err
    votes = done.json["grades"][0]["criteria"][0]["judge"]["votes"]
    assert sorted(vote["answer"] for vote in votes) == ["no", "yes", "yes"]


def test_a_stronger_judge_in_doubt(asked: list[str | Path], server: ScriptedServer) -> None:
    server.script = replying(weak=said("cannot_tell"), strong=said("yes"))
    done = run(*asked, "--judge", "openai/weak", "--escalate", "openai/strong", env=KEY)
    assert done.code == 0, done.err
    assert "decided instead: the judge could not tell" in done.json["grades"][0]["criteria"][0]["judge"]["note"]


def test_answers_whose_quotes_are_not_found(asked: list[str | Path], server: ScriptedServer) -> None:
    server.script = replying(small=said("yes", "words that nobody wrote"))
    assert run(*asked, "--judge", "openai/small", env=KEY).code == 3
    done = run(*asked, "--judge", "openai/small", "--unverified", "flag", env=KEY)
    assert done.code == 0, done.err
    assert done.json["grades"][0]["criteria"][0]["evidence"][0]["verified"] == "not_found"


def test_a_judge_that_says_yes_to_anything(asked: list[str | Path], server: ScriptedServer) -> None:
    server.script = replying(small=said("yes"), canary=said("yes"))
    done = run(*asked, "--judge", "openai/small", "--canary", env=KEY)
    assert done.code == 3
    assert {item["value"] for item in done.json["grades"][0]["criteria"]} == {None}


def test_a_dry_run_calls_nobody(asked: list[str | Path], server: ScriptedServer) -> None:
    done = run(*asked, "--judge", "openai/gpt-4o-mini", "--dry-run", env=KEY)
    assert done.code == 0, done.err
    assert server.seen == []
    assert done.json["schema"] == "rubricgrade.plan/1"
    assert list(done.json["criteria"]) == ["one", "two", "three"]
    assert done.json["total"]["calls"] == [3, 3]
    low, high = done.json["total"]["cost"]
    assert 0 < low < high < 0.1


def test_a_dry_run_in_words(asked: list[str | Path]) -> None:
    done = run(*(each for each in asked if each != "--json"), "--judge", "openai/nobody-knows-it", "--dry-run", env=KEY)
    assert done.code == 0, done.err
    assert re.search(r"^one +1 +\d[\d,]* to \d[\d,]* +\d+ to 4,096 +unknown$", done.out, re.MULTILINE)
    assert "no model was called" in done.out
    assert "--judge-price IN/OUT" in done.out


def test_a_dry_run_for_no_judge_counts_and_says_that_none_is_named(asked: list[str | Path]) -> None:
    done = run(*(each for each in asked if each != "--json"), "--dry-run")
    assert done.code == 0, done.err
    assert re.search(r"^all +3 +\d[\d,]* to \d[\d,]* +\d+ to 12,288 +unknown$", done.out, re.MULTILINE)
    assert "No judge is named, so nobody would be asked" in done.out
    assert "input_cost_per_token" not in done.out
    assert run(*asked, "--dry-run", "--offline").json["notes"] == {"offline: not recorded, and nobody is asked": 3}


def test_a_dry_run_names_the_criteria_for_which_nobody_is_named(tmp_path: Path) -> None:
    own = json.dumps({**json.loads(CRITERIA[0]), "judge": {"model": "openai/gpt-4o-mini"}})
    rubric = write_rubric(tmp_path / "r", criteria=[own, *CRITERIA[1:]])
    done = run("grade", rubric, write_episode(tmp_path / "e"), "--no-cache", "--no-store", "--dry-run", env=KEY)
    assert done.code == 0, done.err
    assert "No judge is named for two, three, so nobody would be asked about them" in done.out
    whole = write_rubric(tmp_path / "w", criteria=CRITERIA)
    batched = run("grade", whole, tmp_path / "e", "--no-cache", "--no-store", "--dry-run", "--batch", "all")
    assert "No judge is named, so nobody" in batched.out


def test_open_questions_are_written_also_when_nobody_is_named(asked: list[str | Path], tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    assert run(*asked, "--missing", missing).code == 3
    assert [json.loads(line)["criterion"] for line in missing.read_text().splitlines()] == ["one", "two", "three"]


def test_cached_tokens_are_in_the_summary(asked: list[str | Path], server: ScriptedServer) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 800}}
    server.script = [completion(json.dumps(said("yes")), usage=usage)]
    done = run(*asked, "--judge", "openai/small", env=KEY)
    summary = done.json["summary"]
    assert (summary["input_tokens"], summary["cached_tokens"], summary["output_tokens"]) == (3000, 2400, 60)
    plain = run(*(each for each in asked if each != "--json"), "--judge", "openai/small", env=KEY)
    assert "3,000 tokens in (80% cached), 60 out" in plain.out


def test_a_model_that_is_on_no_list_has_a_price_too(
    asked: list[str | Path], tmp_path: Path, server: ScriptedServer
) -> None:
    server.script = [completion(json.dumps(said("yes")), usage={"prompt_tokens": 1000, "completion_tokens": 20})]
    asked[asked.index("--no-cache")] = f"--cache={tmp_path / 'cache.sqlite'}"
    refused = run(*asked, "--judge", "openai/small", "--max-cost", "5", env=KEY)
    assert refused.code == 2
    assert "--judge-price" in refused.err
    done = run(*asked, "--judge", "openai/small", "--max-cost", "5", "--judge-price", "1/10", env=KEY)
    assert done.code == 0, done.err
    assert done.json["summary"]["cost"] == pytest.approx(3 * (1000e-6 + 20 * 10e-6))
    # What it costs is no part of what it was asked.
    assert run(*asked, "--judge", "openai/small", env=KEY).json["summary"]["calls"] == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--judge-price", "1"),
        ("--batch", "0"),
        ("--batch", "many"),
        ("--unverified", "maybe"),
        ("--judge", "a,,b"),
        ("--escalate", "a,b"),
    ],
)
def test_what_cannot_be_used_is_bad_input(asked: list[str | Path], option: str, value: str) -> None:
    done = run(*asked, option, value)
    assert done.code == 2


def test_nobody_is_escalated_from(asked: list[str | Path]) -> None:
    done = run(*asked, "--escalate", "openai/strong", env=KEY)
    assert done.code == 2
    assert "openai/strong is asked after another judge, and none is named" in done.err


# `judge check` asks the one model that it is about; `lint --llm` has a rubric read, and nothing judged.
ASKING = {"--judge-rpm", "--max-cost"}
JUDGING = ASKING | {
    "--judge",
    "--escalate",
    "--judge-api-base",
    "--votes",
    "--batch",
    "--unverified",
    "--judge-style",
    "--judge-max-tokens",
    "--judge-price",
    "--judge-tpm",
    "--judge-per-provider",
    "--canary",
    "--offline",
    "--verdicts",
    "--cache",
    "--no-cache",
}


def test_every_verb_that_judges_has_the_same_options() -> None:
    found = dict(verbs(get_command(app)))
    asking = {name for name, options in found.items() if "--judge" in options or name == "judge check"}
    assert {"run", "grade", "regrade", "serve", "test", "preview", "task check", "deliver verify"} <= asking
    assert {name: ASKING - found[name] for name in asking if ASKING - found[name]} == {}
    judging = asking - {"lint", "judge check"}
    assert {name: JUDGING - found[name] for name in judging if JUDGING - found[name]} == {}
    assert {"--judge-style", "--judge-max-tokens", "--judge-price", "--judge-tpm"} <= found["judge check"]
    # An agent's endpoint and pace are its own.
    assert {"--api-base", "--rpm"} <= found["run"]


def verbs(command: Any, *path: str) -> Iterator[tuple[str, set[str]]]:
    """Every verb with its options."""
    if isinstance(command, TyperGroup):
        for name, each in command.commands.items():
            yield from verbs(each, *path, name)
    else:
        yield " ".join(path), {option for parameter in command.params for option in parameter.opts}
