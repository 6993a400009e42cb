from __future__ import annotations

import pytest

from rubricgrade.review.redaction import found_in, redacted

SECRETS = {
    "mail to jane.doe+x@mail.example.co.uk today": "mail to [e-mail hidden] today",
    "key AKIAIOSFODNN7EXAMPLE in use": "key [token hidden] in use",
    "export OPENAI_API_KEY=sk-proj-abcdefghijklmnop1234": "export OPENAI_API_KEY=[token hidden]",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "[token hidden]",
    "Authorization: Bearer abcdefghijklmnopqrstuv.wxyz": "Authorization: Bearer [token hidden]",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl": "[token hidden]",
    '{"password": "hunter2hunter2"}': '{"password": "[secret hidden]"}',
    "postgres://app:s3cr3t@db/main": "postgres://app:[password hidden]@db/main",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----": "[private key hidden]",
    "card 4111 1111 1111 1111 ok": "card [card number hidden] ok",
    "IBAN DE89 3704 0044 0532 0130 00.": "IBAN [account number hidden].",
    "ssn 078-05-1120": "ssn [social security number hidden]",
    "call +49 30 901820 or (212) 555-0100": "call [telephone hidden] or [telephone hidden]",
}

HARMLESS = [
    "total 48,20,000 of 4820000 rupees",
    "4111 1111 1111 1112 has no right check digit",
    "DE88 3704 0044 0532 0130 00 neither",
    "commit 5047cfb2e1d0a9b8c7d6e5f4a3b2c1d0e9f8a7b6",
    "2026-11-30 01:36:36, 123456 bytes, v1.2.3",
    "user@host is no address, nor is @name",
    "tokens: 512",
    "the password is not stored",
]


@pytest.mark.parametrize(("text", "shown"), SECRETS.items())
def test_found(text: str, shown: str) -> None:
    assert redacted(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_not_found(text: str) -> None:
    assert redacted(text) == text


def test_a_piece_of_a_text_hides_what_reaches_into_it() -> None:
    text = "x" * 50 + " jane.doe@example.com " + "y" * 50
    at = text.index("doe@")
    assert [(one.start, one.end) for one in found_in(text, at, at + 3)] == [(51, 71)]
    assert found_in(text, 0, 20) == []


@pytest.mark.parametrize(
    "unit", ["a" * 64 + "@", "1 ", "eyJ", "x=", "-----BEGIN PRIVATE KEY-----", "password=", "+1", "://a:"]
)
def test_texts_that_were_made_to_be_slow_end(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    assert len(redacted(text)) > 0
