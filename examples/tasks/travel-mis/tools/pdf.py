"""A plain PDF of lines of text, written by hand: enough for a one-page report, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT = 595, 842
MARGIN, LEADING = 50, 15
LINES_PER_PAGE = (HEIGHT - 2 * MARGIN) // LEADING
Cell = tuple[int, str]
"""Distance from the left margin in points, and text."""


def pdf(lines: Sequence[Sequence[Cell]]) -> bytes:
    """An A4 PDF in Helvetica.

    Args:
        lines: The cells of each line; a new page begins after every `LINES_PER_PAGE` lines.
    """
    pages = [lines[start : start + LINES_PER_PAGE] for start in range(0, max(len(lines), 1), LINES_PER_PAGE)]
    numbers = [4 + 2 * index for index in range(len(pages))]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{n} 0 R' for n in numbers)}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in zip(numbers, pages, strict=True):
        stream = _stream(page)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    return _file(objects)


def _stream(page: Sequence[Sequence[Cell]]) -> bytes:
    shown: list[bytes] = [b"BT /F1 10 Tf"]
    for index, line in enumerate(page):
        y = HEIGHT - MARGIN - index * LEADING
        for x, text in line:
            escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252", "replace")
            shown.append(b"1 0 0 1 %d %d Tm (%b) Tj" % (MARGIN + x, y, escaped))
    return b"\n".join([*shown, b"ET"])


def _file(objects: Sequence[bytes]) -> bytes:
    data = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n" % size
    return data + head + table + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(data))
