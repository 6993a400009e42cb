"""The office outside the agent's sandbox: Drive, Slack and mail. What is sent lies in the world's outbox."""

from __future__ import annotations

import csv
import io
import json
import mimetypes
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from amounts import grouped
from openpyxl import load_workbook
from pdf import Cell, pdf

from rubricgrade.episode.inside.desk import Desk, ToolFault

SENT_AT = "Fri, 09 Jan 2026 05:30:00 +0000"
COLUMNS = (0, 190, 290, 390, 480)


def list_drive(desk: Desk) -> str:
    """List the files on Drive with their sizes."""
    return "\n".join(f"{path.name}  {path.stat().st_size} bytes" for path in sorted((desk.files / "drive").iterdir()))


def read_file(desk: Desk, name: str, sheet: str | None = None) -> str:
    """Read a Drive file as text; of a workbook one sheet, as CSV."""
    path = _drive_file(desk, name)
    if path.suffix != ".xlsx":
        return path.read_text()
    book = load_workbook(path, read_only=True)
    if sheet is not None and sheet not in book.sheetnames:
        raise ToolFault(f"no sheet {sheet!r}; sheets: {', '.join(book.sheetnames)}")
    rows = book[sheet or book.sheetnames[0]].iter_rows(values_only=True)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().strip()


def download_file(desk: Desk, name: str) -> str:
    """Copy a Drive file to the work folder."""
    desk.write(name, _drive_file(desk, name).read_bytes())
    return f"saved to /work/{name}"


def search_slack(desk: Desk, query: str, channel: str | None = None) -> str:
    """Find Slack messages that hold every word of the query, oldest first."""
    slack = desk.files / "slack"
    names = {user["id"]: user["real_name"] for user in json.loads((slack / "users.json").read_text())}
    found: list[str] = []
    for path in sorted(slack.glob("*/*.json"), key=lambda path: (path.name, path.parent.name)):
        if channel is not None and path.parent.name != channel.lstrip("#"):
            continue
        for post in json.loads(path.read_text()):
            text = post["text"]
            for key, name in names.items():
                text = text.replace(f"<@{key}>", f"@{name}")
            if all(word in text.lower() for word in query.lower().split()):
                at = datetime.fromtimestamp(float(post["ts"]), UTC)
                found.append(f"#{path.parent.name} {at:%Y-%m-%d %H:%M} {names[post['user']]}: {text}")
    return "\n".join(found) or "no messages"


def search_mail(desk: Desk, query: str) -> str:
    """Find mails of the inbox that hold every word of the query."""
    found: list[str] = []
    for path in sorted((desk.files / "mailbox").iterdir()):
        mail = message_from_bytes(path.read_bytes(), policy=default)
        text = f"From: {mail['From']}\nTo: {mail['To']}\nDate: {mail['Date']}\nSubject: {mail['Subject']}\n\n"
        text += mail.get_content()
        if all(word in text.lower() for word in query.lower().split()):
            found.append(text.strip())
    return "\n\n---\n\n".join(found) or "no mails"


def export_pdf(desk: Desk, path: str, to: str) -> str:
    """Print the first sheet of a workbook in the work folder to a PDF in the work folder."""
    book = load_workbook(io.BytesIO(_attachment(desk, path)), data_only=True)
    lines = [_printed(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    desk.write(Path(to).name, pdf(lines))
    return f"saved to /work/{Path(to).name}"


def send_mail(
    desk: Desk,
    to: list[str],
    subject: str,
    body: str,
    *,
    cc: list[str] | None = None,
    attachments: list[str] | None = None,
) -> str:
    """Send a mail; attachments are files in the work folder."""
    everybody = ", ".join([*to, *(cc or [])])
    try:
        files = {Path(name).name: _attachment(desk, name) for name in attachments or ()}
    except ToolFault as fault:
        _note(desk, f"refused, to {everybody}: {fault}")
        raise
    outbox = desk.world / "outbox"
    outbox.mkdir(exist_ok=True)
    number = len(list(outbox.iterdir())) + 1
    mail = EmailMessage()
    mail["From"] = "MIS assistant <mis-assistant@acme.test>"
    mail["To"] = ", ".join(to)
    if cc:
        mail["Cc"] = ", ".join(cc)
    mail["Subject"] = subject
    mail["Date"] = SENT_AT
    mail["Message-ID"] = f"<outbox-{number}@acme.test>"
    mail.set_content(body)
    for name, data in files.items():
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        maintype, subtype = kind.split("/")
        mail.add_attachment(data, maintype=maintype, subtype=subtype, filename=name)
    if mail.is_multipart():
        mail.set_boundary(f"=-=outbox-{number}=-=")
    (outbox / f"{number:04d}.eml").write_bytes(mail.as_bytes())
    _note(desk, f"sent {number:04d}, to {everybody}")
    return f"sent to {everybody}"


def _drive_file(desk: Desk, name: str) -> Path:
    path = desk.files / "drive" / Path(name).name
    if not path.is_file():
        raise ToolFault(f"no file {name!r} on Drive")
    return path


def _attachment(desk: Desk, name: str) -> bytes:
    try:
        return desk.read(Path(name).name)
    except ToolFault:
        raise ToolFault(f"no file {name!r} in the workspace") from None


def _note(desk: Desk, line: str) -> None:
    """Every attempt is noted, refused ones too, so that a world is never empty."""
    with (desk.world / "mail.log").open("a") as log:
        log.write(f"{line}\n")


def _printed(row: tuple[object, ...]) -> list[Cell]:
    """Cells of a row at the columns of the page; whole numbers in Indian grouping."""
    cells = [(COLUMNS[index], cell) for index, cell in enumerate(row[: len(COLUMNS)]) if cell is not None]
    return [(x, grouped(cell) if isinstance(cell, int) else str(cell)) for x, cell in cells]
