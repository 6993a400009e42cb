"""The text of files that a judge is to read, extracted here because extracting it from a hostile file is dangerous."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rubricgrade.checks.inside import readers
from rubricgrade.checks.inside.artifacts import Folder, glob_regex, is_glob, may_hold
from rubricgrade.checks.inside.case import BadArtifact, Case
from rubricgrade.checks.inside.mailtext import Extracted, mail_text
from rubricgrade.checks.inside.office import NoReader, slides_text, word_text
from rubricgrade.checks.inside.pages import pdf_pictures
from rubricgrade.checks.inside.wire import LEFT_OUT, LINK, LINKS, WORKSPACE

LONGEST = 4_000_000
"""Characters of one document."""
MOST = 200
"""Documents of one request."""
SECONDS = 20
"""Time for one file."""
DEEPEST_MAIL = 3

_LONE = re.compile("[\ud800-\udfff]")

Extract = Callable[[bytes, str], Extracted]


def listed(case: Case, globs: Sequence[str], *, world: bool) -> list[str]:
    """Paths of all files that match any of the globs, in the order of the globs, each once; then what was left out."""
    found = dict.fromkeys(path for glob in globs for path in case.glob(glob, world=world, all_known=False))
    return [*found, *([] if world else _left_out(globs))]


def _left_out(globs: Sequence[str]) -> Iterator[str]:
    """What did not come along and matches, or could hold what does: it is not absent, it can't be read.

    A link to a place outside could lead to a folder. Below ``**`` that is not supposed: there are links in the
    environment of every language.
    """
    left_out, links = _told(LEFT_OUT), _told(LINKS)
    wanted = [glob_regex(glob) for glob in globs]
    workspace = Folder(WORKSPACE)
    for path, why in left_out.items():
        name, is_link = path.removesuffix("/"), why.startswith(LINK)
        if any(regex.fullmatch(name) for regex in wanted):
            yield path
        elif is_link or path.endswith("/"):
            leads_on = any(may_hold(f"{name}/", glob, anywhere=not is_link) for glob in globs)
            if leads_on and not (path in links and workspace.size(links[path]) is not None):
                yield path


def _told(facts: str) -> Mapping[str, str]:
    return json.loads(Path(facts).read_bytes())


def document(
    case: Case,
    path: str,
    *,
    world: bool,
    pictures: bool = False,
    longest: int = LONGEST,
    target: str | None = None,
) -> dict[str, Any]:
    """One file as text, with a note on what is not there, the digest of its bytes, and pictures of a PDF's pages.

    Where it is a link, `target` is the path of the file that it leads to.
    """
    try:
        data = case.read_bytes(target or path, world=world)
    except BadArtifact as error:
        return _withheld(path, note=error.why, world=world)
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    drawn: list[str] = []
    try:
        with _limited():
            text, note, whole = text_of(data, target or path)
            if pictures and (target or path).lower().endswith(".pdf"):
                drawn, undrawn = pdf_pictures(data)
                note = "; ".join(filter(None, (note, undrawn)))
    except NoReader as error:
        return {**_document(path, "", note=str(error), world=world, digest=digest), "complete": False}
    except (TimeoutError, MemoryError, RecursionError) as error:
        note = f"could not be read within the limits: {type(error).__name__}"
        return _withheld(path, note=note, world=world, digest=digest)
    if target is not None:
        note = "; ".join(filter(None, (f"is a link to {target!r}, whose content this is", note)))
    if _LONE.search(text):
        note, whole = "; ".join(filter(None, (note, "what is no character is shown as ?"))), False
    if len(text) > longest:
        note, whole = f"cut: the first {longest:,} of {len(text):,} characters", False
    found = _document(path, text[:longest], note=note, world=world, digest=digest)
    return {**found, "complete": whole, "withheld": not whole, "pictures": drawn}


def _is_folder(case: Case, path: str) -> bool:
    try:
        return case.size(path) is None and case.exists(path)
    except BadArtifact:
        return False


def _folder_link(case: Case, path: str, target: str, shown: Collection[str]) -> dict[str, Any]:
    """A link to a folder of the workspace: nothing is missing if all that lies there is shown at its own path."""
    if is_glob(target):
        return _withheld(path, note=f"is a link to {target!r}", world=False)
    inner = case.glob(f"{target}/**", all_known=False)
    if all(each in shown for each in inner) and not any(each.startswith(f"{target}/") for each in _told(LEFT_OUT)):
        return _document(path, "", note=f"is a link to the folder {target!r}, whose files are shown", world=False)
    return _withheld(path, note=f"is a link to the folder {target!r}, whose files are not all shown", world=False)


def text_of(data: bytes, path: str, depth: int = 0) -> Extracted:
    """Text of a file by the kind that its name says; what is not of that kind but a plain text is shown as that."""
    suffix = path.lower().rpartition(".")[2]
    extract: Mapping[str, Extract] = {
        "xlsx": _xlsx,
        "xlsm": _xlsx,
        "pdf": _pdf,
        "eml": lambda data, path: _mail(data, path, depth),
        "docx": lambda data, path: Extracted(word_text(data, path)),
        "pptx": lambda data, path: Extracted(slides_text(data, path)),
    }
    if suffix not in extract:
        return _plain(data, path)
    try:
        return extract[suffix](data, path)
    except BadArtifact as error:
        plain = _plain(data, path)
        # Other programs may make more of a damaged PDF or archive than its source says.
        if not plain.whole or b"%PDF" in data[:1024] or data.startswith(b"PK"):
            return Extracted("", error.why, whole=False)
        return Extracted(plain.text, f"{error.why}; shown as the plain text that it is")


def _plain(data: bytes, path: str) -> Extracted:
    name = readers.encoding(data)
    if b"\0" in data[:8192] and name != readers.UTF_16:
        return Extracted("", f"{len(data):,} bytes that are no text", whole=False)
    try:
        text = readers.text(data, path)
    except BadArtifact as error:
        # A judge had better see most of a text than be told that there is none.
        shown = data.decode(name, "replace").removeprefix("\ufeff")
        return Extracted(shown, f"{error.why}; what can't be decoded is shown as U+FFFD", whole=False)
    if name == readers.UTF_16 and text and b"\0" not in data:
        return Extracted(text, "a mark says UTF-16, but the bytes could be those of another encoding", whole=False)
    return Extracted(text)


def _xlsx(data: bytes, path: str) -> Extracted:
    parts: list[str] = []
    for sheet in readers.sheet_names(data, path):
        rows = readers.sheet_rows(data, path, sheet)
        lines = [" | ".join("" if cell is None else str(cell) for cell in row) for row in rows]
        parts.append("\n".join([f"[sheet {sheet}]", *lines]))
    return Extracted("\n\n".join(parts))


def _pdf(data: bytes, path: str) -> Extracted:
    pages = readers.pdf_pages(data, path)
    parts = [f"[PDF of {len(pages)} {'page' if len(pages) == 1 else 'pages'}]"]
    parts += [f"[page {number}]\n{text}" for number, text in enumerate(pages, 1)]
    return Extracted("\n\n".join(parts))


def _mail(data: bytes, path: str, depth: int) -> Extracted:
    if depth > DEEPEST_MAIL:
        return Extracted("", f"not read: it lies in {depth:,} mails, each in the next", whole=False)
    try:
        return mail_text(data, lambda content, name: text_of(content, name, depth + 1))
    except (TimeoutError, MemoryError, RecursionError, NoReader):
        raise
    except Exception as error:  # noqa: BLE001 - the standard parser raises many kinds on malformed mails
        return Extracted(_plain(data, path).text, f"is no readable mail: {type(error).__name__}", whole=False)


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
    shown = {path for path, world in files[:MOST] if not world}
    links = _told(LINKS)
    left = request["characters"]
    for path, world in files[request["skip"] : MOST]:
        yield {"op": "reading", "path": path, "world": world}
        target = None if world else links.get(path)
        if time.monotonic() >= end:
            read = _withheld(path, note="not read: the files before it have taken all the time", world=world)
        elif target is not None and _is_folder(case, target):
            read = _folder_link(case, path, target, shown)
        else:
            longest = min(LONGEST, left)
            read = document(case, path, world=world, pictures=request["pictures"], longest=longest, target=target)
        left -= len(read["text"])
        yield {"op": "read", **read}
    if len(files) > max(MOST, request["skip"]):
        path, world = files[MOST]
        yield {"op": "reading", "path": path, "world": world}
        note = f"not read, like all that follow: {len(files):,} files match, and {MOST} are read"
        yield {"op": "read", **_withheld(path, note=note, world=world)}
