"""Strict YAML: text in; plain data, the place of every key and value, and every fault out.

Built from PyYAML's events, not its nodes: only events still show anchors, aliases and tags, and they can be followed
without recursion. libyaml is used where it is there; the pure parser reads the same, and refuses a few odd texts more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from rubricgrade.errors import Fault
from rubricgrade.loading import codes
from rubricgrade.loading.scalars import resolve
from rubricgrade.rubric.base import as_map

Place = tuple[str | int, ...]

MAX_BYTES = 8 << 20
MAX_DEPTH = 64
MAX_NODES = 500_000

LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# YAML 1.1 readers take U+0085, U+2028 and U+2029 for line ends and would change the text that they stand in.
UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
LINE_END = re.compile(r"\r\n|\r|\n")
EATEN = re.compile(r"[ \t]+#")
BLOCKS = ("|", ">")
HEADER = re.compile(r"[|>][-+1-9]*(?:[ \t]+#.*)?[ \t]*")
# What an escape can say and no file, prompt or hash can hold.
UNSAYABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a key and its value begin, 1-based; for a list item both are the same."""

    line: int
    column: int
    key_line: int
    key_column: int


@dataclass(slots=True)
class Document:
    """What a YAML text says.

    Attributes:
        file: Its name, for messages.
        data: Maps, lists and scalars; None when the text can't be read as YAML.
        spots: Where everything stands, by its path of keys and indexes; ``()`` is the document itself.
        faults: What is wrong with the text as YAML.
        lost: Places whose value is not what the author wrote (an alias, say); don't complain about them twice.
        nulls: Places that have nothing behind the key, or ``null``.
    """

    file: str
    data: Any = None
    spots: dict[Place, Spot] = field(default_factory=dict[Place, Spot])
    faults: list[Fault] = field(default_factory=list[Fault])
    lost: set[Place] = field(default_factory=set[Place])
    nulls: list[Place] = field(default_factory=list[Place])

    @property
    def keyed(self) -> dict[str, Any]:
        """The data as a map; empty when it is none."""
        return dict(as_map(self.data) or {})

    def known(self, place: Place) -> Place:
        """The longest beginning of a place that stands in the text; parts that do not are skipped."""
        found: Place = ()
        for part in place:
            if (*found, part) in self.spots:
                found = (*found, part)
        return found

    def fault(self, place: Place, message: str, code: str, *, at_key: bool = False) -> Fault:
        """A fault at the value (or the key) of a place, or of the nearest place around it."""
        spot = self.spots.get(self.known(place))
        if spot is None:
            return Fault(message, self.file, code=code)
        line, column = (spot.key_line, spot.key_column) if at_key else (spot.line, spot.column)
        return Fault(message, self.file, line, column, code)


def read_document(source: bytes | str, file: str, *, max_bytes: int = MAX_BYTES) -> Document:
    """Read a YAML text. Never raises for anything that is in it: see `Document.faults`."""
    document = Document(file)
    text = _decode(source, document, max_bytes)
    if text is not None:
        _Reader(document, text).read()
    return document


def _decode(source: bytes | str, document: Document, max_bytes: int) -> str | None:
    def refuse(message: str, line: int = 1, column: int = 1) -> None:
        document.faults.append(Fault(message, document.file, line, column, codes.TEXT))

    if len(source) > max_bytes:
        return refuse(f"larger than {max_bytes >> 20} MiB")
    if isinstance(source, bytes):
        if source.startswith((b"\xff\xfe", b"\xfe\xff")):
            return refuse("UTF-16 text; save it as UTF-8")
        try:
            text = source.decode()
        except UnicodeDecodeError as error:
            before = source[: error.start].decode()
            return refuse(f"byte 0x{source[error.start]:02x} is no UTF-8; save the file as UTF-8", *_position(before))
    else:
        text = source
    text = text.removeprefix("\ufeff")
    if match := UNREADABLE.search(text):
        code = ord(match.group())
        escape = f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}"  # noqa: PLR2004 - YAML's two escape widths
        message = f'character U+{code:04X} is not allowed as it is; write "{escape}" in double quotes'
        return refuse(message, *_position(text[: match.start()]))
    return text


def _position(before: str) -> tuple[int, int]:
    lines = LINE_END.split(before)
    return len(lines), len(lines[-1]) + 1


@dataclass(slots=True)
class _Frame:
    """A map or list that is being read. `key` is the key whose value comes next."""

    value: dict[str, Any] | list[Any]
    place: Place
    key: str | None = None
    key_at: tuple[int, int] = (0, 0)
    kept: bool = True


class _Stop(Exception):
    """What follows can't be placed: reading ends here."""


class _Reader:
    """The state of reading one document."""

    def __init__(self, document: Document, text: str) -> None:
        self.document = document
        self.text = text
        self.lines = LINE_END.split(text)
        self.tabbed = {number for number, line in enumerate(self.lines) if "\t" in line}
        self.stack: list[_Frame] = []
        self.documents = 0

    def read(self) -> None:
        try:
            for event in yaml.parse(self.text, Loader=LOADER):
                self._take(event)
        except _Stop:
            self.document.data = None
        except yaml.MarkedYAMLError as error:
            self.document.data = None
            line, column = _at(error.problem_mark or error.context_mark)
            self._fault(self._explain(error, line, column), (line, column), codes.SYNTAX)
        else:
            if not self.documents:
                self._fault("is empty", (1, 1), codes.SYNTAX)

    def _take(self, event: Any) -> None:
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent():
                self._open(event, {})
            case yaml.SequenceStartEvent():
                self._open(event, [])
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self.stack.pop()
            case yaml.AliasEvent():
                self._fault(
                    f"*{event.anchor} is an alias; write the value out, or quote the text", _at(event.start_mark)
                )
                if self._wants_key():
                    raise _Stop
                self.document.lost.add(self._put(None, _at(event.start_mark)))
            case yaml.DocumentStartEvent():
                self._document(event)
            case _:
                pass

    def _document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            self._fault("a second document begins here ('---'); a file holds one", _at(event.start_mark))
            raise _Stop
        if event.tags or (event.version or (1, 2)) != (1, 2):
            self._fault("%-directives are not supported: YAML 1.2 is assumed", _at(event.start_mark))

    def _open(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        at = _at(event.start_mark)
        if self._wants_key():
            self._fault("a key is text; quote text that begins with { or [", at, codes.KEY)
            raise _Stop
        if len(self.stack) >= MAX_DEPTH:
            self._fault(f"nested deeper than {MAX_DEPTH} levels", at, codes.TEXT)
            raise _Stop
        place = self._put(value, at)
        self._plain(event, place)
        self.stack.append(_Frame(value, place))

    def _scalar(self, event: Any) -> None:
        at = _at(event.start_mark)
        value: Any = event.value
        problem = ""
        plain = event.implicit[0]
        if plain:
            value, problem = resolve(event.value)
            self._tabs(event)
        elif event.style in BLOCKS and not HEADER.fullmatch(self.lines[at[0] - 1], at[1] - 1):
            self._fault(f"text after {event.style} is cut off: begin it on the next line", at, codes.EATEN)
        elif match := UNSAYABLE.search(event.value):
            self._fault(f"text can't hold U+{ord(match.group()):04X}", at, codes.TEXT)
        if self._wants_key():
            self._key(event, value, problem, at)
            return
        # Nothing has no place of its own: that of its key is taken.
        place = self._put(value, self.stack[-1].key_at if self.stack and event.value == "" and plain else at)
        self._plain(event, place)
        if problem:
            self._fault(problem, at, codes.QUOTE)
            self.document.lost.add(place)
        elif value is None:
            self.document.nulls.append(place)
        elif plain and isinstance(value, str):
            self._comment(event)

    def _tabs(self, event: Any) -> None:
        """The pure parser refuses tabs in and after plain text, libyaml takes them: nobody gets to depend on that."""
        start, end = event.start_mark, event.end_mark
        if self.tabbed.isdisjoint(range(start.line, end.line + 1)):
            return
        rest = self.lines[end.line][end.column :]
        spaces = rest[: len(rest) - len(rest.lstrip())]
        inside = [*self.lines[start.line : end.line], self.lines[end.line][: end.column]]
        inside[0] = inside[0][start.column :]
        if any("\t" in part for part in (*inside, spaces)):
            self._fault("a tab in or after plain text: quote the text, or use spaces", _at(start), codes.SYNTAX)

    def _comment(self, event: Any) -> None:
        """Text that goes on after `` #`` has lost its end."""
        line, column = event.end_mark.line, event.end_mark.column
        if EATEN.match(self.lines[line], column):
            self._fault(
                "a comment ends this text at ' #'; quote the text, or put the comment on its own line",
                _at(event.start_mark),
                codes.EATEN,
            )

    def _key(self, event: Any, value: Any, problem: str, at: tuple[int, int]) -> None:
        frame = self.stack[-1]
        entries = frame.value
        key = str(event.value)
        place = (*frame.place, key)
        doubt = ""
        if event.implicit[0] and key == "<<":
            doubt = "merge keys are not supported; write the keys out"
        elif problem or not isinstance(value, str):
            doubt = problem or f'a key is text; quote it: "{key}"'
        frame.key, frame.key_at, frame.kept = key, at, key not in entries
        if not frame.kept:
            first = self.document.spots[place].key_line
            self._fault(f"key {key!r} stands twice: here and on line {first}", at, codes.TWICE)
            # What follows is read for its own faults, and kept out of the data.
            frame.key = f"{key} (line {at[0]})"
        if doubt:
            self._fault(doubt, at, codes.UNSUPPORTED if key == "<<" else codes.KEY)
            self.document.lost.add(place)
        self._plain(event, place)

    def _plain(self, event: Any, place: Place) -> None:
        """Refuse what changes a value from outside: anchors and tags."""
        at = _at(event.start_mark)
        if event.anchor is not None:
            self._fault(f"&{event.anchor} is an anchor; leave it out, or quote the text", at)
        if event.tag is not None:
            self._fault(f"{_tag(event.tag)} is a tag; leave it out, or quote the text", at)
            self.document.lost.add(place)

    def _wants_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def _put(self, value: Any, at: tuple[int, int]) -> Place:
        """Put a value where it belongs and say where that is."""
        if len(self.document.spots) >= MAX_NODES:
            self._fault(f"more than {MAX_NODES} values", at, codes.TEXT)
            raise _Stop
        if not self.stack:
            self.document.data = value
            self.document.spots[()] = Spot(*at, *at)
            return ()
        frame = self.stack[-1]
        if isinstance(frame.value, list):
            place = (*frame.place, len(frame.value))
            frame.value.append(value)
            self.document.spots[place] = Spot(*at, *at)
            return place
        key = frame.key or ""
        place = (*frame.place, key)
        if frame.kept:
            frame.value[key] = value
        self.document.spots[place] = Spot(*at, *frame.key_at)
        frame.key = None
        return place

    def _fault(self, message: str, at: tuple[int, int], code: str = codes.UNSUPPORTED) -> None:
        self.document.faults.append(Fault(message, self.document.file, *at, code))

    def _explain(self, error: yaml.MarkedYAMLError, line: int, column: int) -> str:
        """PyYAML's complaint in words for people who don't write parsers."""
        problem = error.problem or "can't be read as YAML"
        source = self.lines[line - 1] if line <= len(self.lines) else ""
        here = source[column - 1 : column]
        if here == "\t" or "\t" in source[: len(source) - len(source.lstrip())]:
            return "indent with spaces, not with tabs"
        if "mapping values are not allowed" in problem:
            return "a colon inside plain text: quote the text (or mind the indentation)"
        if "cannot start any token" in problem:
            return f"text can't begin with {here or 'this'}: quote it"
        if "nesting depth" in problem:
            return f"nested deeper than {MAX_DEPTH} levels"
        context = f" {error.context}" if error.context else ""
        start = error.context_mark
        since = f" (begun on line {start.line + 1})" if start is not None and start.line + 1 != line else ""
        return f"can't be read as YAML: {problem}{context}{since}; if text is meant, quote it"


def _at(mark: Any) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")
