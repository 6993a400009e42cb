"""The 60 expenses of the quarter: a few that matter written out, the others drawn so that each department adds up.

The same rows come out every time. `Q3_TOTALS` and `Q2_TOTALS` are the facts of the task.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta

QUARTER_START = date(2025, 10, 1)
SIGN_OFF_ABOVE = 100_000

Q3_TOTALS = {
    "Sales": 1_845_000,
    "Engineering": 960_000,
    "Customer Success": 785_000,
    "Marketing": 670_000,
    "People & Admin": 310_000,
    "Leadership": 250_000,
}
Q2_TOTALS = {
    "Sales": 1_320_000,
    "Engineering": 985_000,
    "Customer Success": 740_000,
    "Marketing": 695_000,
    "People & Admin": 290_000,
    "Leadership": 220_000,
}
HEADS = {
    "Sales": "Kavita Iyer",
    "Engineering": "Arjun Nair",
    "Customer Success": "Meera Joshi",
    "Marketing": "Sameer Khan",
    "People & Admin": "Lata Pillai",
    "Leadership": "Anil Deshpande",
}
STAFF = {
    "Sales": ["Rohan Mehta", "Nisha Rao", "Imran Sheikh", "Tanvi Kulkarni"],
    "Engineering": ["Siddharth Bose", "Ananya Reddy", "Joel Fernandes"],
    "Customer Success": ["Pooja Menon", "Vikram Sethi", "Rhea Thomas"],
    "Marketing": ["Aditi Ghosh", "Karan Malhotra"],
    "People & Admin": ["Sunil Patil", "Deepa Krishnan"],
    "Leadership": ["Anil Deshpande", "Farah Contractor"],
}
ROWS = {
    "Sales": 20,
    "Engineering": 12,
    "Customer Success": 10,
    "Marketing": 9,
    "People & Admin": 5,
    "Leadership": 4,
}
ERRANDS = {
    "Sales": [
        "Client meetings, Delhi",
        "Client meetings, Pune",
        "Renewal negotiation, Kochi",
        "Pipeline review, Mumbai",
    ],
    "Engineering": ["Data centre visit, Noida", "Architecture week, Bengaluru", "Hiring drive, Coimbatore"],
    "Customer Success": ["Onboarding, Ahmedabad", "Support on site, Nagpur", "Training at a customer, Indore"],
    "Marketing": ["Partner event, Hyderabad", "Film shoot, Udaipur", "Press day, Delhi"],
    "People & Admin": ["Campus hiring, Trichy", "Office move, Pune"],
    "Leadership": ["Investor meetings, Mumbai", "Site visit, Chennai"],
}
CATEGORIES = ["Airfare", "Hotel", "Ground transport", "Meals"]


@dataclass(frozen=True)
class Expense:
    """One row of the Drive sheet; `sign_off` is how the request went on Slack (None: below the limit, never asked)."""

    day: date
    department: str
    employee: str
    category: str
    purpose: str
    amount: int
    sign_off: str | None = None
    id: str = ""


SIGNED = "signed"
TRAVELLING = "head travelling, booked anyway"
QUOTES = "head asked for quotes, nothing after"

LARGE = [
    Expense(date(2025, 10, 14), "Engineering", "Ananya Reddy", "Airfare",
            "Developer conference, Singapore: 3 economy returns", 132_000, SIGNED),
    Expense(date(2025, 10, 27), "Customer Success", "Pooja Menon", "Airfare",
            "Quarterly business reviews, Chennai and Hyderabad: team flights", 108_000, SIGNED),
    Expense(date(2025, 11, 5), "Sales", "Nisha Rao", "Airfare",
            "Dubai sales summit: 4 economy returns from Bengaluru", 136_000, SIGNED),
    Expense(date(2025, 11, 6), "Sales", "Nisha Rao", "Hotel", "Dubai sales summit: 5 rooms, 3 nights", 189_000, SIGNED),
    Expense(date(2025, 11, 11), "Sales", "Rohan Mehta", "Airfare",
            "Dubai sales summit: business class return from Mumbai", 142_500, TRAVELLING),
    Expense(date(2025, 11, 13), "Sales", "Tanvi Kulkarni", "Ground transport",
            "Dubai sales summit: airport and venue transfers", 38_500),
    Expense(date(2025, 11, 14), "Sales", "Rohan Mehta", "Meals", "Dubai sales summit: partner dinner", 54_000),
    Expense(date(2025, 11, 20), "Marketing", "Aditi Ghosh", "Hotel",
            "Trade fair, Mumbai: hotel block for the stand team", 151_000, SIGNED),
    Expense(date(2025, 12, 2), "Leadership", "Farah Contractor", "Hotel",
            "Board meeting, Delhi: flights and hotel", 115_000, SIGNED),
    Expense(date(2025, 12, 4), "Sales", "Imran Sheikh", "Hotel",
            "Roadshow Jaipur, Lucknow, Delhi: hotel block", 124_000, SIGNED),
    Expense(date(2025, 12, 9), "Engineering", "Joel Fernandes", "Hotel",
            "Platform team offsite, Goa: hotel block", 118_000, QUOTES),
]  # fmt: skip


def expenses() -> list[Expense]:
    """All 60 rows in the order of their dates, numbered from EXP-3001."""
    draw = random.Random(4820)
    rows = list(LARGE)
    for department, total in Q3_TOTALS.items():
        fixed = [row for row in LARGE if row.department == department]
        rows += _ordinary(draw, department, ROWS[department] - len(fixed), total - sum(row.amount for row in fixed))
    rows.sort(key=lambda row: (row.day, row.department, row.purpose))
    return [replace(row, id=f"EXP-{3001 + index}") for index, row in enumerate(rows)]


def _ordinary(draw: random.Random, department: str, count: int, total: int) -> list[Expense]:
    mean = total / count
    amounts = [round(mean * draw.uniform(0.82, 1.18) / 50) * 50 for _ in range(count - 1)]
    amounts.append(total - sum(amounts))
    if not 0 < max(amounts) <= SIGN_OFF_ABOVE:
        raise ValueError(f"{department}: an ordinary expense would need a sign-off: {amounts}")
    return [
        Expense(
            day=QUARTER_START + timedelta(days=draw.randrange(92)),
            department=department,
            employee=draw.choice(STAFF[department]),
            category=draw.choice(CATEGORIES),
            purpose=draw.choice(ERRANDS[department]),
            amount=amount,
        )
        for amount in amounts
    ]


def unapproved(rows: Iterable[Expense]) -> list[Expense]:
    """What the sheet calls approved although nobody signed it off."""
    return [row for row in rows if row.sign_off in {TRAVELLING, QUOTES}]
