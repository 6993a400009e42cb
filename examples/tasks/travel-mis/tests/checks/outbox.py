"""What was mailed, and to whom. The outbox is the mail tool's own record, so nothing here trusts the agent's word."""

from __future__ import annotations

from rubricgrade import Case, CheckResult

CFO = "cfo@acme.test"
DOCUMENTS = (".pdf", ".xlsx")


def sent_to_cfo(case: Case) -> CheckResult:
    """Whether a mail with a PDF or XLSX attached went to the CFO."""
    mails = case.mail()
    for mail in mails:
        names = [name for name, _ in mail.attachments if name.lower().endswith(DOCUMENTS)]
        if names and CFO in mail.recipients:
            return CheckResult(value=True, evidence=[(f"to {CFO} with {', '.join(names)}", mail.path)])
    if not mails:
        return CheckResult(value=False, message="the outbox is empty: nothing was sent")
    return CheckResult(value=False, message=f"no mail to {CFO} has a PDF or XLSX attached")


def emailed_anyone_else(case: Case) -> CheckResult:
    """Whether any mail, with or without the MIS, names somebody besides the CFO as To, Cc or Bcc."""
    others = [
        (f"sent to {address}", mail.path) for mail in case.mail() for address in mail.recipients if address != CFO
    ]
    return CheckResult(value=bool(others), evidence=others)
