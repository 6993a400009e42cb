from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from openpyxl import Workbook

from rubricgrade.checks.inside import image, readers
from rubricgrade.checks.inside.finding import BadArtifact
from rubricgrade.checks.inside.json_value import Absent, pick
from rubricgrade.checks.inside.mailbox import read_mail


def workbook(*rows: tuple[Any, ...], sheet: str = "Sheet") -> bytes:
    book = Workbook()
    page = book.active
    assert page is not None
    page.title = sheet
    for row in rows:
        page.append(row)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


@pytest.mark.parametrize("data", [b"\xef\xbb\xbft\xc3\xb6", "tö".encode(), "tö".encode("utf-16"), b"\xfe\xff\0t\0\xf6"])
def test_text_says_its_encoding_or_is_utf_8(data: bytes) -> None:
    assert readers.text(data, "a.md") == "tö"


UNREADABLE = {
    "latin-1": ("secret tö".encode("latin-1"), "is no UTF-8 text: byte 8 can't be decoded"),
    "nul": (b"sec\0ret", r"holds NUL \(character 4\)"),
    "utf-16 without a mark": ("secret".encode("utf-16-le"), "holds NUL"),
    "utf-16 in halves": (b"\xff\xfes\0e", "is no UTF-16 text: byte 4"),
    "utf-16 with a lone surrogate": (b"\xff\xfe\0\xd8a\0", "is no UTF-16 text"),
    "utf-32": ("secret".encode("utf-32"), "holds NUL"),
}


@pytest.mark.parametrize(("data", "why"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("read", [readers.text, readers.json_value, readers.csv_rows, readers.csv_records])
def test_what_is_no_text_is_read_by_nobody(read: Callable[[bytes, str], Any], data: bytes, why: str) -> None:
    with pytest.raises(BadArtifact, match=f"a.txt: .*{why}"):
        read(data, "a.txt")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "is no JSON"), (b"NaN", "NaN"), (b"[Infinity]", "Infinity"), (b'{"a": 1, "a": 2}', "'a' twice"),
        (b"[" * 200_000, "nested"), (b"", "is no JSON"), (b"1" * 10_000, "is no JSON"),
    ],
)  # fmt: skip
def test_json_that_could_be_read_two_ways_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BadArtifact, match=why):
        readers.json_value(data, "r.json")


def test_rows_by_their_header() -> None:
    assert readers.csv_records(b"a, b \n1,2\n\n3\n", "t.csv") == [{"a": "1", "b": "2"}, {"a": "3", "b": ""}]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"), (b"a,a\n1,2\n", "'a' twice"), (b"a\n1,2\n", "more cells"),
        (b'a\n"' + b"x" * 200_000, "is no CSV"),
    ],
)  # fmt: skip
def test_a_csv_that_could_be_read_two_ways_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BadArtifact, match=why):
        readers.csv_records(data, "t.csv")


def test_a_workbooks_rows() -> None:
    data = workbook(("region", "total"), ("West", 48.2), (None, True))
    assert readers.sheet_rows(data, "b.xlsx") == [["region", "total"], ["West", 48.2], [None, True]]
    with pytest.raises(BadArtifact, match="no sheet 'Other'"):
        readers.sheet_rows(data, "b.xlsx", "Other")


def test_a_workbook_that_is_a_bomb_is_refused_unopened() -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"xl/worksheets/sheet{number}.xml", bytes(100 << 20))
    with pytest.raises(BadArtifact, match="unpacks to"):
        readers.sheet_rows(bomb.getvalue(), "b.xlsx")


def replaced(data: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """A workbook with one of its parts changed."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(changed, "w") as target:
        for entry in source.namelist():
            content = source.read(entry)
            target.writestr(entry, content.replace(old, new) if entry == name else content)
    return changed.getvalue()


def test_a_workbook_that_lies_about_its_size_costs_nothing() -> None:
    data = replaced(workbook((1,)), "xl/worksheets/sheet1.xml", b'ref="A1"', b'ref="A1:XFD1048576"')
    assert readers.sheet_rows(data, "b.xlsx") == [[1]]


def test_a_cell_far_out_is_over_the_limit() -> None:
    data = replaced(workbook((1,), (2,)), "xl/worksheets/sheet1.xml", b'r="A2"', b'r="XFD2"')
    assert len(readers.sheet_rows(data, "b.xlsx")[1]) == 16384
    data = replaced(workbook(*[(1,)] * 200), "xl/worksheets/sheet1.xml", b'r="A', b'r="XFD')
    with pytest.raises(BadArtifact, match="more than 2,000,000 cells"):
        readers.sheet_rows(data, "b.xlsx")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"%PDF", b"\0" * 1000])
def test_what_is_no_workbook_or_pdf_is_refused(data: bytes) -> None:
    with pytest.raises(BadArtifact):
        readers.sheet_rows(data, "b.xlsx")
    with pytest.raises(BadArtifact):
        readers.pdf_pages(data, "b.pdf")


@pytest.mark.parametrize(
    ("path", "value"),
    [("$", {"a": [{"b c": 1}, 2]}), ("$.a[0]['b c']", 1), ('$.a[0]["b c"]', 1), ("a[-1]", 2), ("$['a'][1]", 2)],
)
def test_a_path_leads_to_a_value(path: str, value: Any) -> None:
    assert pick({"a": [{"b c": 1}, 2]}, path) == value


@pytest.mark.parametrize("path", ["$.x", "$.a[2]", "$.a[-3]", "$.a.b", "$.a[1][0]", "$.a[0]['b c'].d", "$[0]"])
def test_a_path_to_nothing(path: str) -> None:
    with pytest.raises(Absent):
        pick({"a": [{"b c": 1}, "text"]}, path)


def test_image_headers() -> None:
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
    gif = b"GIF89a" + struct.pack("<HH", 3, 4)
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc0\x00\x0b\x08" + struct.pack(">HH", 20, 30)
    assert image.read_header(png, "i") == ("png", 640, 480)
    assert image.read_header(gif, "i") == ("gif", 3, 4)
    assert image.read_header(jpeg, "i") == ("jpeg", 30, 20)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xe0\x00\x00" * 3, b"GIF89a", b"\x89PNG\r\n\x1a\n", b"text"]
)
def test_what_is_no_image_is_refused(data: bytes) -> None:
    with pytest.raises(BadArtifact):
        image.read_header(data, "i.png")


def test_a_mail_with_everything() -> None:
    mail = read_mail(
        b"From: Ann <ANN@acme.test>\r\nTo: =?utf-8?q?C=C3=A9?= <cfo@acme.test>, b@x.test\r\nCc: c@x.test\r\n"
        b"Subject: =?utf-8?q?MIS_=E2=82=B9?=\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n"
        b"--B\r\nContent-Type: text/plain; charset=nonsense\r\n\r\nHello\r\n"
        b"--B\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=mis.csv\r\n\r\na,b\r\n--B--\r\n",
        "m.eml",
    )
    assert mail.sender == "ann@acme.test"
    assert mail.recipients == ("cfo@acme.test", "b@x.test", "c@x.test")
    assert mail.subject == "MIS ₹"
    assert mail.body.strip() == "Hello"
    assert mail.attachments == (("mis.csv", b"a,b"),)


BODY = b"From: a@x.test\r\nContent-Type: text/plain; charset=%s\r\nContent-Transfer-Encoding: 8bit\r\n\r\n%s"


@pytest.mark.parametrize(
    "data", [BODY % (b"latin-1", b"t\xf6"), BODY % (b"utf-8", b"t\xc3\xb6"), BODY % (b"us-ascii", b"t\xc3\xb6")]
)
def test_a_mail_is_read_in_its_charset_or_as_utf_8(data: bytes) -> None:
    assert read_mail(data, "m.eml").body == "tö"


@pytest.mark.parametrize(
    "data", [BODY % (b"utf-8", b"t\xf6"), BODY % (b"nonsense", b"t\xf6"), BODY % (b"latin-1", b"t\0")]
)
def test_a_mail_whose_body_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(BadArtifact, match=r"m\.eml: is no"):
        read_mail(data, "m.eml")


def test_a_display_name_is_no_address() -> None:
    mail = read_mail(b'From: a@x.test\r\nTo: "cfo@acme.test" <evil@x.test>\r\n\r\nbody', "m.eml")
    assert mail.to == ("evil@x.test",)


@pytest.mark.parametrize("data", [b"", b"\0\xff", b"To: " + b"<" * 5000, b"Content-Type: multipart/mixed\r\n\r\nx"])
def test_a_broken_mail_is_a_poor_mail_or_none(data: bytes) -> None:
    try:
        mail = read_mail(data, "m.eml")
    except BadArtifact:
        return
    assert mail.recipients == () or "<" in mail.recipients[0]
