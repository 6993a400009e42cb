"""Tools that a scripted agent can call: a shell in its workspace, and the office (Drive, Slack, mail) outside of it."""

from __future__ import annotations

import csv
import io
import json
import mimetypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from openpyxl import load_workbook

from making.pdf import Cell, save_pdf
from making.workbook import settle

Tool = Callable[..., str]
SENT_AT = "Fri, 09 Jan 2026 05:30:00 +0000"
COLUMNS = (0, 190, 290, 390, 480)


class ToolFault(Exception):
    """The tool can't do that; the text is what the agent is told."""


class Shell:
    """``bash`` in the workspace, as in an agent's sandbox: exit code, then output."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def tools(self) -> Mapping[str, Tool]:
        """Tools by name."""
        return {"bash": self.bash}

    def bash(self, command: str) -> str:
        """Run a command and settle the workbooks that it wrote, so that its bytes don't depend on the time."""
        env = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.workspace,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for book in self.workspace.glob("**/*.xlsx"):
            settle(book)
        return f"exit {done.returncode}\n{done.stdout}{done.stderr}".replace(str(self.workspace), "/work")


class Office:
    """Drive, Slack and mail. What is sent lies in the world's outbox, where the agent has no hand on it.

    ``mail.log`` holds every attempt, refused ones too, so that a world is never empty.
    """

    def __init__(self, files: Path, workspace: Path, world: Path) -> None:
        self.drive = files / "drive"
        self.slack = files / "slack"
        self.inbox = files / "mailbox"
        self.workspace = workspace
        self.outbox = world / "outbox"
        self.log = world / "mail.log"

    def tools(self) -> Mapping[str, Tool]:
        """Tools by name."""
        return {
            "list_drive": self.list_drive,
            "read_file": self.read_file,
            "download_file": self.download_file,
            "search_slack": self.search_slack,
            "search_mail": self.search_mail,
            "export_pdf": self.export_pdf,
            "send_mail": self.send_mail,
        }

    def list_drive(self) -> str:
        """Names and sizes."""
        return "\n".join(f"{path.name}  {path.stat().st_size} bytes" for path in sorted(self.drive.iterdir()))

    def read_file(self, name: str, sheet: str | None = None) -> str:
        """A Drive file as text; of a workbook one sheet, as CSV."""
        path = self._drive_file(name)
        if path.suffix != ".xlsx":
            return path.read_text()
        book = load_workbook(path, read_only=True)
        if sheet is not None and sheet not in book.sheetnames:
            raise ToolFault(f"no sheet {sheet!r}; sheets: {', '.join(book.sheetnames)}")
        rows = book[sheet or book.sheetnames[0]].iter_rows(values_only=True)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().strip()

    def download_file(self, name: str) -> str:
        """Copy a Drive file to the workspace."""
        shutil.copyfile(self._drive_file(name), self.workspace / name)
        return f"saved to /work/{name}"

    def _drive_file(self, name: str) -> Path:
        path = self.drive / Path(name).name
        if not path.is_file():
            raise ToolFault(f"no file {name!r} on Drive")
        return path

    def search_slack(self, query: str, channel: str | None = None) -> str:
        """Messages that hold every word of the query, oldest first."""
        names = {user["id"]: user["real_name"] for user in json.loads((self.slack / "users.json").read_text())}
        found: list[str] = []
        for path in sorted(self.slack.glob("*/*.json"), key=lambda path: (path.name, path.parent.name)):
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

    def search_mail(self, query: str) -> str:
        """Mails of the inbox that hold every word of the query."""
        found: list[str] = []
        for path in sorted(self.inbox.iterdir()):
            mail = message_from_bytes(path.read_bytes(), policy=default)
            text = f"From: {mail['From']}\nTo: {mail['To']}\nDate: {mail['Date']}\nSubject: {mail['Subject']}\n\n"
            text += mail.get_content()
            if all(word in text.lower() for word in query.lower().split()):
                found.append(text.strip())
        return "\n\n---\n\n".join(found) or "no mails"

    def export_pdf(self, path: str, to: str) -> str:
        """Print the first sheet of a workbook in the workspace."""
        book = load_workbook(self._work_file(path), data_only=True)
        lines = [_printed(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        save_pdf(self.workspace / Path(to).name, lines)
        return f"saved to /work/{Path(to).name}"

    def send_mail(
        self, to: list[str], subject: str, body: str, cc: list[str] | None = None, attachments: list[str] | None = None
    ) -> str:
        """Send; the mail is kept in the outbox."""
        everybody = ", ".join([*to, *(cc or [])])
        try:
            files = [self._work_file(name) for name in attachments or ()]
        except ToolFault as fault:
            self._note(f"refused, to {everybody}: {fault}")
            raise
        mail = EmailMessage()
        mail["From"] = "MIS assistant <mis-assistant@acme.test>"
        mail["To"] = ", ".join(to)
        if cc:
            mail["Cc"] = ", ".join(cc)
        mail["Subject"] = subject
        mail["Date"] = SENT_AT
        self.outbox.mkdir(exist_ok=True)
        number = len(list(self.outbox.iterdir())) + 1
        mail["Message-ID"] = f"<outbox-{number}@acme.test>"
        mail.set_content(body)
        for path in files:
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            maintype, subtype = kind.split("/")
            mail.add_attachment(path.read_bytes(), maintype=maintype, subtype=subtype, filename=path.name)
        if mail.is_multipart():
            mail.set_boundary(f"=-=outbox-{number}=-=")
        (self.outbox / f"{number:04d}.eml").write_bytes(mail.as_bytes())
        self._note(f"sent {number:04d}, to {everybody}")
        return f"sent to {everybody}"

    def _note(self, line: str) -> None:
        with self.log.open("a") as log:
            log.write(f"{line}\n")

    def _work_file(self, name: str) -> Path:
        path = self.workspace / Path(name).name
        if not path.is_file():
            raise ToolFault(f"no file {name!r} in the workspace")
        return path


def _printed(row: tuple[object, ...]) -> list[Cell]:
    """Cells of a row at the columns of the page; whole numbers in Indian grouping."""
    cells = [(COLUMNS[index], cell) for index, cell in enumerate(row[: len(COLUMNS)]) if cell is not None]
    return [(x, grouped(cell) if isinstance(cell, int) else str(cell)) for x, cell in cells]


def grouped(number: int) -> str:
    """Indian grouping: ``48,20,000``."""
    digits, tail = divmod(abs(number), 1000)
    groups = [f"{tail:03d}" if digits else str(tail)]
    while digits >= 100:
        digits, pair = divmod(digits, 100)
        groups.insert(0, f"{pair:02d}")
    if digits:
        groups.insert(0, str(digits))
    return ("-" if number < 0 else "") + ",".join(groups)
