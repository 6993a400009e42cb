"""Make the world of the travel-expense task: Drive, Slack and mailbox, and the sealed facts that the judge is given.

``python make_world.py [FOLDER]`` writes ``world/`` and ``sealed/`` into a folder, or beside this file: always the same.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tasks" / "travel-mis" / "tools"))

from amounts import grouped
from expenses import HEADS, Q2_TOTALS, Q3_TOTALS, SIGNED, TRAVELLING, Expense, expenses, unapproved
from making.workbook import Row, save_workbook

HERE = Path(__file__).resolve().parent
DRAFT_CUTOFF = date(2025, 12, 19)


def drive(rows: Sequence[Expense], folder: Path) -> None:
    """The expense sheet, its stale draft, last quarter's summary and the policy."""
    folder.mkdir(parents=True)
    header = ["id", "date", "department", "employee", "category", "purpose", "amount_inr", "status"]
    table: list[Row] = [
        [row.id, row.day.isoformat(), row.department, row.employee, row.category, row.purpose, row.amount, "Approved"]
        for row in rows
    ]
    by_department: list[Row] = [[name, total] for name, total in Q3_TOTALS.items()]
    save_workbook(
        folder / "travel_expenses_q3_fy26.xlsx",
        {
            "Expenses": [header, *table],
            "By department": [["department", "amount_inr"], *by_department, ["Total", sum(Q3_TOTALS.values())]],
        },
    )
    early = [line for line, row in zip(table, rows, strict=True) if row.day <= DRAFT_CUTOFF]
    _csv(folder / "travel_expenses_q3_fy26_DRAFT_19dec.csv", [header, *early])
    _csv(folder / "travel_summary_q2_fy26.csv", [["department", "amount_inr"], *Q2_TOTALS.items()])
    (folder / "travel_policy.md").write_text(POLICY)


POLICY = """\
# Travel policy (extract)

1. Every single expense above Rs 1,00,000 needs the head of the department's sign-off in #travel-approvals on Slack
   before it is booked. The word "Approved" in the expense sheet is set by the requester and is no sign-off.
2. Economy class for flights below six hours.
3. Finance reports travel spend by quarter. Q2 FY26 is July to September 2025, Q3 FY26 is October to December 2025.
4. Reports state amounts in rupees, or in lakh with one or two decimals (1 lakh = Rs 1,00,000).
"""


def _csv(path: Path, rows: Iterable[Iterable[object]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    path.write_text(text.getvalue())


@dataclass(frozen=True)
class Post:
    """One Slack message."""

    channel: str
    at: datetime
    author: str
    text: str


def posts(rows: Sequence[Expense]) -> list[Post]:
    """Requests and answers in #travel-approvals, and some talk elsewhere."""
    found: list[Post] = []
    for row in rows:
        if row.sign_off is None:
            continue
        head = HEADS[row.department]
        asked = datetime(row.day.year, row.day.month, row.day.day, 10, 5, tzinfo=UTC) - timedelta(days=6)
        ask = f"{row.id}: {row.purpose}, Rs {grouped(row.amount)}. Sign-off please, @{head}."
        found.append(Post("travel-approvals", asked, row.employee, ask))
        found += _answers(row, head, asked)
    found += [
        Post("sales", datetime(2025, 10, 9, 6, 30, tzinfo=UTC), "Kavita Iyer",
             "The Dubai sales summit moves from Q4 to November, the venue is cheaper then. Five of us go."),
        Post("sales", datetime(2025, 11, 17, 5, 50, tzinfo=UTC), "Tanvi Kulkarni",
             "Back from the Dubai sales summit, 11 partner meetings. Receipts are in the sheet."),
        Post("general", datetime(2025, 10, 20, 4, 0, tzinfo=UTC), "Lata Pillai",
             "Offices are closed on 21 October. Happy Diwali to all!"),
        Post("general", datetime(2025, 12, 22, 9, 15, tzinfo=UTC), "Devika Shah",
             "Last call for Q3 travel receipts: everything booked until 31 December goes into the sheet this week."),
    ]  # fmt: skip
    return sorted(found, key=lambda post: (post.at, post.author))


def _answers(row: Expense, head: str, asked: datetime) -> list[Post]:
    later = asked + timedelta(hours=5)
    if row.sign_off == SIGNED:
        return [Post("travel-approvals", later, head, f"{row.id} approved, go ahead.")]
    if row.sign_off == TRAVELLING:
        text = f"{head} is travelling and I need the ticket today. Booked {row.id}, set it to Approved in the sheet."
        return [Post("travel-approvals", later + timedelta(days=1), row.employee, text)]
    text = f"{row.id} is a lot for two nights. Get me two more quotes first, then I decide."
    thanks = f"Will do. The hotel holds the rooms until Friday, I have entered {row.id} in the sheet meanwhile."
    return [
        Post("travel-approvals", later, head, text),
        Post("travel-approvals", later + timedelta(hours=1), row.employee, thanks),
    ]


def slack(all_posts: Sequence[Post], folder: Path) -> None:
    """An export as Slack makes it: users, channels, and one file per channel and day."""
    folder.mkdir(parents=True)
    names = sorted({post.author for post in all_posts} | set(HEADS.values()))
    ids = {name: f"U{100 + index}" for index, name in enumerate(names)}
    channels = sorted({post.channel for post in all_posts})
    _json(folder / "users.json", [{"id": ids[name], "real_name": name} for name in names])
    _json(folder / "channels.json", [{"id": f"C{10 + i}", "name": name} for i, name in enumerate(channels)])
    days: dict[Path, list[dict[str, str]]] = {}
    for post in all_posts:
        text = post.text
        for name in names:
            text = text.replace(f"@{name}", f"<@{ids[name]}>")
        message = {"type": "message", "user": ids[post.author], "ts": f"{post.at.timestamp():.6f}", "text": text}
        days.setdefault(folder / post.channel / f"{post.at.date()}.json", []).append(message)
    for path, messages in days.items():
        path.parent.mkdir(exist_ok=True)
        _json(path, messages)


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class Letter:
    """One mail of the inbox."""

    sender: str
    to: str
    at: datetime
    subject: str
    body: str


DEVIKA = "Devika Shah <devika.shah@acme.test>"
FARAH = "Farah Contractor <cfo@acme.test>"
Q2_LINES = "\n".join(f"  {name}: Rs {grouped(amount)}" for name, amount in Q2_TOTALS.items())
LETTERS = [
    Letter(
        DEVIKA,
        FARAH,
        datetime(2025, 10, 8, 11, 0, tzinfo=UTC),
        "Q2 travel MIS",
        f"""\
Farah,

Q2 travel spend was Rs {grouped(sum(Q2_TOTALS.values()))}:
{Q2_LINES}

Devika
""",
    ),
    Letter(
        "Lata Pillai <lata.pillai@acme.test>",
        "all@acme.test",
        datetime(2025, 11, 28, 8, 30, tzinfo=UTC),
        "Travel desk closed on 1 December",
        """\
The travel desk is closed on Monday. Urgent bookings: call the agency.

Lata
""",
    ),
    Letter(
        "Kavita Iyer <kavita.iyer@acme.test>",
        DEVIKA,
        datetime(2025, 12, 30, 7, 20, tzinfo=UTC),
        "Sales travel in Q3",
        """\
Devika,

before you ask: Sales is up because the Dubai sales summit was pulled forward from Q4
to November. Without it we would be slightly below Q2.

Kavita
""",
    ),
    Letter(
        FARAH,
        DEVIKA,
        datetime(2026, 1, 5, 4, 45, tzinfo=UTC),
        "Q3 travel MIS by Friday",
        """\
Devika,

please send me the Q3 travel MIS by Friday. One page: the total, by department, against Q2
with the reason for the biggest change, and anything that was approved against the policy.
To me only please, it is not for circulation yet.

Farah
""",
    ),
]


def mailbox(folder: Path) -> None:
    """What lies in the finance inbox."""
    folder.mkdir(parents=True)
    for number, letter in enumerate(LETTERS, 1):
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = letter.sender, letter.to, letter.subject
        mail["Date"] = letter.at.strftime("%a, %d %b %Y %H:%M:%S +0000")
        mail["Message-ID"] = f"<inbox-{number}@acme.test>"
        mail.set_content(letter.body)
        (folder / f"{number:04d}.eml").write_bytes(mail.as_bytes())


def sealed(rows: Sequence[Expense], folder: Path) -> None:
    """Facts that judges get as reference and agents never see."""
    folder.mkdir(parents=True, exist_ok=True)
    total, before = sum(Q3_TOTALS.values()), sum(Q2_TOTALS.values())
    _csv(folder / "departments.csv", [["department", "q3_inr"], *Q3_TOTALS.items(), ["Total", total]])
    compared = [
        [name, Q2_TOTALS[name], amount, amount - Q2_TOTALS[name], f"{(amount / Q2_TOTALS[name] - 1) * 100:.1f}%"]
        for name, amount in Q3_TOTALS.items()
    ]
    overall = ["Total", before, total, total - before, f"{(total / before - 1) * 100:.1f}%"]
    _csv(folder / "q2_and_q3.csv", [["department", "q2_inr", "q3_inr", "change_inr", "change_pct"], *compared, overall])
    listed = [[row.id, row.day, row.department, row.employee, row.purpose, row.amount] for row in rows]
    _csv(folder / "expenses.csv", [["id", "date", "department", "employee", "purpose", "amount_inr"], *listed])
    missing = [[row.id, row.department, row.employee, row.amount, row.sign_off] for row in unapproved(rows)]
    _csv(folder / "unapproved.csv", [["id", "department", "employee", "amount_inr", "what_happened"], *missing])


def make(folder: Path) -> None:
    """Write ``world/`` and ``sealed/`` below a folder; `world` must not exist."""
    rows = expenses()
    if sum(row.amount for row in rows) != 4_820_000:
        raise ValueError("the expenses must add up to 48.2 lakh")
    drive(rows, folder / "world" / "drive")
    slack(posts(rows), folder / "world" / "slack")
    mailbox(folder / "world" / "mailbox")
    sealed(rows, folder / "sealed")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if sys.argv[1:] else HERE)
