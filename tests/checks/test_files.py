"""The ready-made kinds over files, in the real sandbox: met, not met, and a hostile file."""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.checks.conftest import Ask, Episode
from tests.checks.test_readers import workbook

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)


def database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "d.db")
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE t (region TEXT, total REAL)")
        connection.execute("INSERT INTO t VALUES ('West', 48.2)")
        connection.execute(
            "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS i FROM n"
        )
        connection.execute("CREATE TABLE odd AS SELECT CAST(x'ff' AS TEXT) AS t")
        connection.commit()
        connection.close()
        return path.read_bytes()


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids: list[str] = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        content = len(objects)
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {content} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>".encode()
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Count {len(pages)}/Kids[{' '.join(kids)}]>>".encode()
    data, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    return data + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)


FILES: dict[str, str | bytes] = {
    "report.md": "# Report\nTotal: 48.2 lakh\n",
    "r.json": '{"total": 48.35, "rows": [{"n": 1}], "text": "48.2", "nothing": null}',
    "t.csv": 'region,total\nWest,"1,259.97"\neast,285.00\neast,1\n',
    "b.xlsx": workbook(("region", "total"), ("West", 48.2), sheet="MIS"),
    "d.db": database(),
    "i.png": PNG,
    "p.pdf": pdf("One page for the CFO", "Two"),
    "wide.md": "Total: 48.2\n".encode("utf-16"),
    "wide.json": '{"total": 5}'.encode("utf-16"),
    "latin.md": "Total für 48.2\n".encode("latin-1"),
    "nul.md": b"Total\0 48.2\n",
    "unmarked.json": '{"total": 5}'.encode("utf-16-le"),
    "latin.csv": "region,total\nKöln,1\n".encode("latin-1"),
    "empty": "",
    "out/a.log": "x",
}

MET: list[Mapping[str, Any]] = [
    {"exists": "report.md"},
    {"exists": "out/*.log"},
    {"exists": {"path": "report.md", "min_bytes": 5}},
    {"contains": {"path": "report.md", "text": "48.2 lakh"}},
    {"contains": {"path": "report.md", "text": "total:", "ignore_case": True}},
    {"contains": {"path": "wide.md", "text": "Total"}},
    {"json": {"path": "wide.json", "at": "$.total", "equals": 5}},
    {"matches": {"path": "report.md", "pattern": r"^Total:\s+48\.2"}},
    {"json": {"path": "r.json", "at": "$.total", "equals": 48.2}, "within": "0.5%"},
    {"json": {"path": "r.json", "at": "$.rows[0].n", "equals": 1}},
    {"json": {"path": "r.json", "at": "$.nothing", "equals": None}},
    {"json": {"path": "r.json", "at": "$.rows", "equals": [{"n": 1}]}},
    {"csv": {"path": "t.csv", "column": "total", "where": {"region": "West"}, "equals": 1259.97}},
    {"csv": {"path": "t.csv", "column": "total", "row": 2, "equals": 285}},
    {"xlsx": {"path": "b.xlsx", "cell": "B2", "equals": 48.2}},
    {"xlsx": {"path": "b.xlsx", "sheet": "MIS", "cell": "A2", "equals": "West"}},
    {"sqlite": {"path": "d.db", "query": "SELECT total FROM t WHERE region = 'West'", "equals": 48.2}},
    {"sqlite": {"path": "d.db", "query": "SELECT count(*) FROM t"}},
    {"image": {"path": "i.png", "width": 640, "height": 480, "format": "png"}},
    {"pdf": {"path": "p.pdf", "pages": 2, "contains": "One page  for"}},
    {"pdf": {"path": "p.pdf", "at_least": 1, "at_most": 2}},
    {"not": {"exists": "secrets.env"}},
    {"not": {"not": {"exists": "report.md"}}},
    {"not": {"exists": "empty"}},
]

NOT_MET: list[tuple[Mapping[str, Any], str]] = [
    ({"exists": "missing.md"}, "missing.md is missing"),
    ({"exists": {"path": "report.md", "min_bytes": 1000}}, "none with 1,000 bytes"),
    ({"exists": "gone"}, "gone is missing"),
    ({"contains": {"path": "report.md", "text": "49"}}, '"49" is not there'),
    ({"matches": {"path": "report.md", "pattern": "^48"}}, "nothing matches"),
    ({"json": {"path": "r.json", "at": "$.total", "equals": 48.2}}, "found 48.35, expected 48.2"),
    ({"json": {"path": "r.json", "at": "$.text", "equals": 48.2}}, 'found "48.2", expected 48.2'),
    ({"json": {"path": "r.json", "at": "$.rows[1]"}}, "no item 1 in a list of 1"),
    ({"json": {"path": "r.json", "at": "$.nothing"}}, "found null"),
    ({"csv": {"path": "t.csv", "column": "total", "where": {"region": "east"}}}, "2 rows fit"),
    ({"csv": {"path": "t.csv", "column": "total", "row": 9}}, "no rows fit row 9"),
    ({"csv": {"path": "t.csv", "column": "total", "row": 2, "equals": 286}}, "expected 286"),
    ({"xlsx": {"path": "b.xlsx", "cell": "Z99"}}, "found null"),
    ({"sqlite": {"path": "d.db", "query": "SELECT total FROM t WHERE region = 'x'"}}, "no row"),
    ({"image": {"path": "i.png", "width": 641}}, "expected width 641"),
    ({"pdf": {"path": "p.pdf", "at_most": 1}}, "expected at most 1 pages"),
    ({"pdf": {"path": "p.pdf", "contains": "three"}}, "is on none of them"),
    ({"not": {"exists": "report.md"}}, "not: report.md has"),
    ({"not": {"exists": {"path": "empty", "min_bytes": 0}}}, "not: empty has 0 bytes"),
    ({"not": {"contains": {"path": "wide.md", "text": "Total"}}}, "not: wide.md"),
]

AGENTS: list[tuple[Mapping[str, Any], str]] = [
    ({"contains": {"path": "missing.md", "text": "x"}}, "missing.md: is missing"),
    ({"json": "report.md"}, "is no JSON"),
    ({"csv": {"path": "t.csv", "column": "nope", "row": 1}}, "no cell in column 'nope'"),
    ({"xlsx": {"path": "report.md", "cell": "A1"}}, "is no workbook"),
    ({"xlsx": {"path": "b.xlsx", "sheet": "Other", "cell": "A1"}}, "has no sheet 'Other'"),
    ({"sqlite": {"path": "report.md", "query": "SELECT 1 FROM t"}}, "the query fails"),
    ({"sqlite": {"path": "d.db", "query": "SELECT nope FROM t"}}, "no such column"),
    ({"sqlite": {"path": "d.db", "query": "SELECT i FROM endless"}, "timeout": 1}, "the query fails: interrupted"),
    ({"sqlite": {"path": "d.db", "query": "SELECT t FROM odd"}}, "a text that is no UTF-8"),
    ({"contains": {"path": "latin.md", "text": "48.2"}}, "latin.md: is no UTF-8 text: byte 7"),
    ({"not": {"contains": {"path": "latin.md", "text": "für"}}}, "latin.md: is no UTF-8 text"),
    ({"not": {"contains": {"path": "nul.md", "text": "Total 48"}}}, "nul.md: is no text: it holds NUL"),
    ({"matches": {"path": "nul.md", "pattern": "Total"}}, "nul.md: is no text"),
    ({"not": {"matches": {"path": "latin.md", "pattern": "für"}}}, "latin.md: is no UTF-8 text"),
    ({"json": {"path": "unmarked.json", "at": "$.total"}}, "unmarked.json: is no text"),
    ({"csv": {"path": "latin.csv", "column": "total", "row": 1}}, "latin.csv: is no UTF-8 text"),
    ({"image": {"path": "report.md"}}, "is no PNG"),
    ({"pdf": {"path": "report.md"}}, "is no readable PDF"),
    ({"not": {"json": "report.md"}}, "is no JSON"),
    ({"contains": {"path": "link.md", "text": "root"}}, "is a symbolic link to '/etc/passwd'"),
    ({"contains": {"path": "pipe", "text": "x"}}, "pipe: can't be taken: FIFO"),
    ({"contains": {"path": "sparse.bin", "text": "x"}}, "sparse.bin"),
    ({"contains": {"path": "out", "text": "x"}}, "out: is no regular file"),
]

GRADERS: list[tuple[Mapping[str, Any], str]] = [
    ({"sqlite": {"path": "d.db", "query": "SELEC 1"}}, "syntax error"),
    ({"sqlite": {"path": "d.db", "query": "SELECT no_such_function(total) FROM t"}}, "no such function"),
    ({"exists": "/etc/passwd"}, "no relative path"),
    ({"exists": "../x"}, "no relative path"),
    ({"json": {"path": "r.json", "at": "$..total"}}, "no path such as"),
    ({"mail": {"to": "cfo@acme.test"}}, "the trajectory has none"),
]


def hostile(workspace: Path) -> None:
    (workspace / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(workspace / "pipe")
    with (workspace / "sparse.bin").open("wb") as file:
        file.truncate(10 << 40)


@pytest.fixture(scope="module")
def outcomes(ask: Ask) -> dict[str, Any]:
    checks = [*MET, *(check for check, _ in (*NOT_MET, *AGENTS, *GRADERS))]
    found = ask.all(checks, episode=Episode(files=FILES, prepare=hostile))
    return {str(check): outcome for check, outcome in zip(checks, found, strict=True)}


@pytest.mark.parametrize("check", MET, ids=str)
def test_met(outcomes: dict[str, Any], check: Mapping[str, Any]) -> None:
    outcome = outcomes[str(check)]
    assert (outcome.value, outcome.fault) == (1.0, None), outcome.message
    assert outcome.evidence
    assert outcome.isolation == "none"


@pytest.mark.parametrize(("check", "why"), NOT_MET, ids=str)
def test_not_met(outcomes: dict[str, Any], check: Mapping[str, Any], why: str) -> None:
    outcome = outcomes[str(check)]
    assert (outcome.value, outcome.fault) == (0.0, None), outcome.message
    assert why in outcome.message
    assert outcome.evidence


@pytest.mark.parametrize(("check", "why"), AGENTS, ids=str)
def test_a_bad_file_is_the_agents_fault(outcomes: dict[str, Any], check: Mapping[str, Any], why: str) -> None:
    outcome = outcomes[str(check)]
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "agent", None), outcome.message
    assert why in outcome.message
    assert outcome.evidence[0].where


@pytest.mark.parametrize(("check", "why"), GRADERS, ids=str)
def test_a_bad_check_is_the_graders_fault(outcomes: dict[str, Any], check: Mapping[str, Any], why: str) -> None:
    outcome = outcomes[str(check)]
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "check_error"), outcome.message
    assert why in outcome.message


def test_places_of_evidence(outcomes: dict[str, Any]) -> None:
    def where(check: Mapping[str, Any]) -> str:
        return outcomes[str(check)].evidence[0].where

    assert where({"contains": {"path": "report.md", "text": "48.2 lakh"}}) == "report.md:2"
    assert where({"json": {"path": "r.json", "at": "$.rows[0].n", "equals": 1}}) == "r.json:$.rows[0].n"
    assert where({"csv": {"path": "t.csv", "column": "total", "row": 2, "equals": 285}}) == "t.csv:row 2"
    assert where({"xlsx": {"path": "b.xlsx", "sheet": "MIS", "cell": "A2", "equals": "West"}}) == "b.xlsx!MIS!A2"
    assert where({"pdf": {"path": "p.pdf", "pages": 2, "contains": "One page  for"}}) == "p.pdf:page 1"


def test_numbers_are_measured(outcomes: dict[str, Any]) -> None:
    assert outcomes[str({"json": {"path": "r.json", "at": "$.total", "equals": 48.2}})].measured == 48.35
    assert outcomes[str({"pdf": {"path": "p.pdf", "at_most": 1}})].measured == 2
    assert outcomes[str({"image": {"path": "i.png", "width": 641}})].fields == {"width": 640, "height": 480}


def table(ask: Ask, content: str | bytes, expected: str, path: str = "t.csv", **spec: Any) -> Any:
    check = {"table": {"path": path, "expected": "e.csv", "key": ["region"], **spec}, "within": 0.01}
    return ask.one(check, {path: content}, sealed={"e.csv": expected})


def test_a_table_earns_its_part(ask: Ask) -> None:
    expected = "region,total,head\nWest,48.2,Ann\nEast,1,Bob\n"
    right = table(ask, 'region,total,head\n east ,1.005,Bob\nWEST,"48.2",Ann\n , ,\n', expected)
    assert (right.value, right.passed, right.total) == (1.0, 4, 4)
    part = table(ask, "region,head,total\nWest,Eve,48.2\nEast,Bob,2\n", expected)
    assert part.value == 0.5
    assert 'east, total: found "2", expected "1"' in [item.quote for item in part.evidence]
    assert table(ask, "region,total\nWest,48.2\n", expected, columns=["total"]).value == 0.5


def test_a_row_that_stands_twice_earns_nothing(ask: Ask) -> None:
    outcome = table(ask, "region,total\nWest,1\nWest,48.2\n", "region,total\nWest,48.2\n")
    assert outcome.value == 0.0
    assert "stands there twice" in outcome.evidence[1].quote


def test_rows_that_nobody_expects_are_wrong_unless_they_are_allowed(ask: Ask) -> None:
    content, expected = "region,total\nWest,48.2\nSouth,1\nSouth,1\nNorth,2\n", "region,total\nWest,48.2\n"
    outcome = table(ask, content, expected)
    assert (outcome.value, outcome.passed, outcome.total) == (0.25, 1, 4)
    assert "3 rows that are not expected" in outcome.message
    assert [item.quote for item in outcome.evidence[1:]] == [
        f"{name}: is not expected" for name in ("south", "south", "north")
    ]
    assert table(ask, content, expected, extra_rows="allowed").value == 1.0


@pytest.mark.parametrize(
    ("expected", "why"),
    [("region\nWest\n", "no column beside its key"), ("region,total\nWest,1\nwest,2\n", "two rows")],
)
def test_a_sealed_table_that_can_measure_nothing_is_the_graders_fault(ask: Ask, expected: str, why: str) -> None:
    outcome = table(ask, "region,total\nWest,1\n", expected)
    assert (outcome.fault, outcome.cause) == ("grader", "check_error")
    assert why in outcome.message


def test_a_table_may_be_a_workbook(ask: Ask) -> None:
    book = workbook(("region", "total"), ("West", 48.2))
    assert table(ask, book, "region,total\nWest,48.2\n", path="t.xlsx").value == 1.0


def test_a_bad_sealed_table_is_the_graders_fault(ask: Ask) -> None:
    outcome = table(ask, "region,total\nWest,1\n", "area,total\nWest,1\n")
    assert (outcome.fault, outcome.cause) == ("grader", "check_error")
    assert "no column 'region'" in outcome.message


def test_without_a_workspace_nothing_can_be_said_about_files(ask: Ask) -> None:
    outcome = ask.one({"exists": "a"}, episode=Episode(files=None))
    assert (outcome.fault, outcome.cause) == ("grader", "check_error")
    assert "the trajectory has none" in outcome.message
