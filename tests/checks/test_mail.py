"""Mails that the world's tools have sent for the agent."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any

import pytest

from tests.checks.conftest import Ask, Episode


def eml(to: str, *, cc: str = "", subject: str = "Q3 MIS", body: str = "Total 48.2", attachment: str = "") -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "agent@acme.test", to, subject
    if cc:
        mail["Cc"] = cc
    mail.set_content(body)
    if attachment:
        mail.add_attachment(b"a,b\n", maintype="text", subtype="csv", filename=attachment)
    return mail.as_bytes()


WORLD = {
    "outbox/1.eml": eml("CFO <cfo@acme.test>", attachment="mis.csv"),
    "outbox/2.eml": eml("cfo@acme.test", cc="all@acme.test", subject="Oops"),
    "outbox/note.txt": "no mail",
    "drafts/3.eml": eml("ceo@acme.test"),
}
CHECKS: list[tuple[dict[str, Any], float, float]] = [
    ({"to": "CFO@acme.test"}, 1.0, 2),
    ({"to": "cfo@acme.test", "attachment": "*.csv"}, 1.0, 1),
    ({"to": "cfo@acme.test", "attachment": "*.pdf"}, 0.0, 0),
    ({"to": "ceo@acme.test"}, 0.0, 0),
    ({"only_to": ["cfo@acme.test"]}, 1.0, 1),
    ({"only_to": ["cfo@acme.test"], "at_least": 2}, 0.0, 1),
    ({"to": "all@acme.test", "at_least": 0, "at_most": 0}, 0.0, 1),
    ({"to": "boss@acme.test", "at_least": 0, "at_most": 0}, 1.0, 0),
    ({"subject": {"equals": "Q3 MIS"}, "body": {"matches": r"48\.2"}}, 1.0, 1),
    ({"subject": {"contains": "Q4"}}, 0.0, 0),
    ({}, 1.0, 2),
]


@pytest.fixture(scope="module")
def outcomes(ask: Ask) -> list[Any]:
    return ask.all([{"mail": spec} for spec, _, _ in CHECKS], episode=Episode(world=WORLD))


@pytest.mark.parametrize("index", range(len(CHECKS)), ids=[str(spec) for spec, _, _ in CHECKS])
def test_mails_that_fit_are_counted(outcomes: list[Any], index: int) -> None:
    _, value, count = CHECKS[index]
    outcome = outcomes[index]
    assert (outcome.value, outcome.measured, outcome.fault) == (value, count, None), outcome.message


def test_the_evidence_says_what_a_mail_lacks(outcomes: list[Any]) -> None:
    assert [(item.quote, item.where) for item in outcomes[5].evidence] == [
        ("to cfo@acme.test: 'Q3 MIS' with mis.csv attached", "outbox/1.eml"),
        ("to cfo@acme.test, all@acme.test: 'Oops' with nothing attached: also to all@acme.test", "outbox/2.eml"),
    ]


@pytest.mark.parametrize(
    "to", ["cfo@acme.test; evil@x.test", "cfo@acme.test <evil@x.test>", "cfo@acme.test, <<evil@x.test", "evil@x.test\0"]
)
def test_recipients_that_can_be_read_in_two_ways_are_not_read(ask: Ask, to: str) -> None:
    world = {"outbox/1.eml": f"From: a@acme.test\nTo: {to}\nSubject: Q3 MIS\n\nTotal\n"}
    checks: list[dict[str, Any]] = [{"mail": {"to": "cfo@acme.test"}}, {"not": {"mail": {"to": "evil@x.test"}}}]
    for outcome in ask.all(checks, episode=Episode(world=world)):
        assert (outcome.value, outcome.fault) == (None, "agent"), outcome.message
        assert "header To" in outcome.message


@pytest.mark.parametrize(
    ("to", "read"),
    [
        ("J. R. Doe <DOE@acme.test>", "doe@acme.test"),
        ('"cfo@acme.test" <doe@acme.test>', "doe@acme.test"),
        ("=?utf-8?q?x=2C_cfo=40acme=2Etest?= <doe@acme.test>", "doe@acme.test"),
        ("team: doe@acme.test, b@acme.test;", "doe@acme.test, b@acme.test"),
        ("Doe, John <doe@acme.test>", "doe, doe@acme.test"),
    ],
)
def test_recipients_are_addresses_and_no_names(ask: Ask, to: str, read: str) -> None:
    world = {"outbox/1.eml": f"From: a@acme.test\nTo: {to}\nSubject: Q3 MIS\n\nTotal\n"}
    outcome = ask.one({"mail": {"to": "doe@acme.test"}}, episode=Episode(world=world))
    assert outcome.value == 1.0
    assert outcome.evidence[0].quote == f"to {read}: 'Q3 MIS' with nothing attached"


def test_no_mail_at_all(ask: Ask) -> None:
    outcome = ask.one({"mail": {"to": "cfo@acme.test"}}, episode=Episode(world={"log.txt": ""}))
    assert (outcome.value, outcome.fault) == (0.0, None)
    assert outcome.message == "0 of 0 mails in the outbox fit"
