"""The text of files that a judge is to read, extracted here because extracting it from a hostile file is dangerous."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rubricgrade.checks.inside import readers
from rubricgrade.checks.inside.artifacts import glob_regex
from rubricgrade.checks.inside.case import BadArtifact, Case
from rubricgrade.checks.inside.mailbox import read_mail
from rubricgrade.checks.inside.office import NoReader, slides_text, word_text
from rubricgrade.checks.inside.pages import pdf_pictures
from rubricgrade.checks.inside.wire import LEFT_OUT

LONGEST = 4_000_000
"""Characters of one document."""
MOST = 200
"""Documents of one request."""
SECONDS = 20
"""Time for one file."""
DEEPEST_MAIL = 3

Extract = Callable[[bytes, str, int], str]


def listed(case: Case, globs: Sequence[str], *, world: bool) -> list[str]:
    """Paths of all files that match any of the globs, in the order of the globs, each once; then the too large ones."""
    found = dict.fromkeys(path for glob in globs for path in case.glob(glob, world=world, all_known=False))
    return [*found, *([] if world else _too_large(globs))]


def _too_large(globs: Sequence[str]) -> Iterator[str]:
    """Files that an agent has made so large that they did not come along: they are not absent, they can't be read."""
    left_out: Mapping[str, str] = json.loads(Path(LEFT_OUT).read_bytes())
    wanted = [glob_regex(glob) for glob in globs]
    for path, why in left_out.items():
        if why.startswith("can't be taken: too large") and any(regex.fullmatch(path) for regex in wanted):
            yield path


def document(case: Case, path: str, *, world: bool, pictures: bool = False, longest: int = LONGEST) -> dict[str, Any]:
    """One file as text, with a note on what is not there, the digest of its bytes, and pictures of a PDF's pages."""
    try:
        data = case.read_bytes(path, world=world)
    except BadArtifact as error:
        return _withheld(path, note=error.why, world=world)
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    drawn: list[str] = []
    try:
        with _limited():
            text, note = text_of(data, path)
            if pictures and path.lower().endswith(".pdf"):
                drawn, note = pdf_pictures(data)
    except BadArtifact as error:
        text, note = "", error.why
    except NoReader as error:
        return {**_document(path, "", note=str(error), world=world, digest=digest), "complete": False}
    except (TimeoutError, MemoryError, RecursionError) as error:
        note = f"could not be read within the limits: {type(error).__name__}"
        return _withheld(path, note=note, world=world, digest=digest)
    found = _document(path, text[:longest], note=note, world=world, digest=digest)
    if len(text) > longest:
        note = f"cut: the first {longest:,} of {len(text):,} characters"
        found |= {"note": note, "complete": False, "withheld": True}
    return {**found, "pictures": drawn}


def text_of(data: bytes, path: str, depth: int = 0) -> tuple[str, str]:
    """Text of a file and a note, by the kind that its name says."""
    suffix = path.lower().rpartition(".")[2]
    extract: Mapping[str, Extract] = {
        "xlsx": _xlsx,
        "xlsm": _xlsx,
        "pdf": _pdf,
        "eml": _mail,
        "docx": lambda data, path, _: word_text(data, path),
        "pptx": lambda data, path, _: slides_text(data, path),
    }
    if suffix in extract:
        return extract[suffix](data, path, depth), ""
    if b"\0" in data[:8192] and readers.encoding(data) != readers.UTF_16:
        return "", f"{len(data):,} bytes that are no text"
    try:
        return readers.text(data, path), ""
    except BadArtifact as error:
        # A judge had better see most of a text than be told that there is none.
        shown = data.decode(readers.encoding(data), "replace").removeprefix("\ufeff")
        return shown, f"{error.why}; what can't be decoded is shown as U+FFFD"


def _xlsx(data: bytes, path: str, _: int) -> str:
    parts: list[str] = []
    for sheet in readers.sheet_names(data, path):
        rows = readers.sheet_rows(data, path, sheet)
        lines = [" | ".join("" if cell is None else str(cell) for cell in row) for row in rows]
        parts.append("\n".join([f"[sheet {sheet}]", *lines]))
    return "\n\n".join(parts)


def _pdf(data: bytes, path: str, _: int) -> str:
    pages = readers.pdf_pages(data, path)
    parts = [f"[PDF of {len(pages)} {'page' if len(pages) == 1 else 'pages'}]"]
    parts += [f"[page {number}]\n{text}" for number, text in enumerate(pages, 1)]
    return "\n\n".join(parts)


def _mail(data: bytes, path: str, depth: int) -> str:
    mail = read_mail(data, path)
    headers = {"From": (mail.sender,), "To": mail.to, "Cc": mail.cc, "Bcc": mail.bcc, "Subject": (mail.subject,)}
    parts = ["\n".join(f"{name}: {', '.join(values)}" for name, values in headers.items() if any(values)), mail.body]
    for name, content in mail.attachments:
        parts.append(f"[attachment {name}, {len(content):,} bytes]")
        if depth < DEEPEST_MAIL:
            try:
                text, note = text_of(content, name, depth + 1)
            except BadArtifact as error:
                text, note = "", error.why
            parts.append(text or f"({note})")
    return "\n\n".join(parts)


def _document(path: str, text: str, *, note: str, world: bool, digest: str = "") -> dict[str, Any]:
    return {
        "path": path,
        "text": text,
        "note": note,
        "digest": digest,
        "world": world,
        "complete": True,
        "withheld": False,
        "pictures": [],
    }


def _withheld(path: str, *, note: str, world: bool, digest: str = "") -> dict[str, Any]:
    """A file that takes more than reading it may take. How much that is, is up to the agent."""
    return {**_document(path, "", note=note, world=world, digest=digest), "complete": False, "withheld": True}


class _limited:  # noqa: N801 - used as a function: `with _limited():`
    """At most `SECONDS` for a block; then `TimeoutError`."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, _ring)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ring(*_: object) -> None:
    raise TimeoutError


def documents(case: Case, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Messages to the host: which file is next, then its document; so it knows which one has killed the reader.

    The time for all is shared: an agent decides how many files there are, and how long each takes to be read.
    """
    end = time.monotonic() + request["seconds"]
    places = ((False, request["globs"]), (True, request["world_globs"]))
    files = [(path, world) for world, globs in places if globs for path in listed(case, globs, world=world)]
    left = request["characters"]
    for path, world in files[request["skip"] : MOST]:
        yield {"op": "reading", "path": path, "world": world}
        if time.monotonic() < end:
            read = document(case, path, world=world, pictures=request["pictures"], longest=min(LONGEST, left))
        else:
            read = _withheld(path, note="not read: the files before it have taken all the time", world=world)
        left -= len(read["text"])
        yield {"op": "read", **read}
    if len(files) > max(MOST, request["skip"]):
        path, world = files[MOST]
        yield {"op": "reading", "path": path, "world": world}
        note = f"not read, like all that follow: {len(files):,} files match, and {MOST} are read"
        yield {"op": "read", **_withheld(path, note=note, world=world)}
