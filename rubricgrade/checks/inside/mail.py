"""``mail``: mails in the world's outbox that fit a description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.artifacts import glob_regex
from rubricgrade.checks.inside.case import Case, CheckResult, Seen
from rubricgrade.checks.inside.expect import unmet
from rubricgrade.checks.inside.mailbox import Mail


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when as many mails fit as asked (at least one unless told); measures how many fit."""
    mails = case.mail()
    fitting = [mail for mail in mails if not _lacks(case, spec, mail)]
    least, most = spec.get("at_least", 1), spec.get("at_most")
    met = len(fitting) >= least and (most is None or len(fitting) <= most)
    evidence = [Seen(_told(mail), mail.path) for mail in fitting]
    if not met:
        evidence += [
            Seen(f"{_told(mail)}: {'; '.join(_lacks(case, spec, mail))}", mail.path)
            for mail in mails
            if mail not in fitting
        ]
    message = f"{len(fitting)} of {len(mails)} mails in the outbox fit"
    return CheckResult(met, measured=len(fitting), evidence=evidence or [Seen(message, "outbox")], message=message)


def _lacks(case: Case, spec: Mapping[str, Any], mail: Mail) -> list[str]:
    lacks: list[str] = []
    if spec.get("to") is not None and spec["to"].lower() not in mail.recipients:
        lacks.append(f"not to {spec['to']}")
    if spec.get("only_to"):
        allowed = {address.lower() for address in spec["only_to"]}
        lacks += [f"also to {address}" for address in mail.recipients if address not in allowed]
    if spec.get("subject") is not None:
        lacks += [f"subject: {lack}" for lack in unmet(case, spec["subject"], mail.subject)]
    if spec.get("body") is not None:
        lacks += [f"body: {lack}" for lack in unmet(case, spec["body"], mail.body)]
    if spec.get("attachment") is not None:
        wanted = glob_regex(spec["attachment"])
        if not any(data and wanted.fullmatch(name) for name, data in mail.attachments):
            lacks.append(f"no attachment {spec['attachment']}")
    return lacks


def _told(mail: Mail) -> str:
    names = ", ".join(name for name, _ in mail.attachments) or "nothing"
    return f"to {', '.join(mail.recipients) or 'nobody'}: {mail.subject!r} with {names} attached"
