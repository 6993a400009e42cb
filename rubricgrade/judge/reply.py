"""Reading a judge's reply: the one verdict that it states as JSON, or a reason why there is none. Never a guess.

A reply that is one JSON object, in a fence or not, is taken as it is. Otherwise thinking is dropped and the text is
searched for objects with all keys that were asked for. If an object is broken, or two verdicts differ, or the prompt
itself holds the object that was found, nothing is read: what an agent planted and a judge quoted is no verdict.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from rubricgrade.evidence import one_line, visible
from rubricgrade.judge.options import Style

LONGEST = 200_000
"""Characters; a longer reply is not read."""

_DEEPEST = 100
_MOST_QUOTES = 20
_MOST_OBJECTS = 50
"""Verdicts in running text that are looked at; each is looked up in the whole prompt, which may be long."""
# How models mark their thinking: <think>, <seed:think>, <|START_THINKING|>, [THINK], ◁think▷, <|channel|>analysis.
_TAG = re.compile(
    r"(?:<\|?|◁|\[(?=/?THINK\]))\s?(?P<end>/|end_(?:of_)?)?(?:(?:start|begin)_(?:of_)?)?(?:\w{1,20}:)?"
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)(?:\s[^<>\n]{0,100})?(?:\|?>|▷|\])"
    r"|<\|channel\|>\s*(?:(?P<final>final)|analysis|commentary)\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(r'\{\s*"')
_BRACKET = re.compile(r"[\[\]{}]")
_UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
_SPACE = re.compile(r"[\s\u00a0]+")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote as a judge gave it: the text, and where it says that it stands."""

    text: str
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says."""

    answer: str
    reasoning: str = ""
    quotes: tuple[Quote, ...] = ()


class Unreadable(ValueError):
    """A reply states no verdict; the message says why, for the judge and for people."""


Planted = Callable[[str], bool]
"""Says whether the prompt holds a text: the record, or what is asked. Asked about an object in running text."""


def read_reply(
    text: str, choices: Collection[str], *, style: Style = "reasoned", planted: Planted | None = None
) -> Reading:
    """Read a reply.

    Args:
        text: Hostile.
        choices: The answers that exist, ``cannot_tell`` aside. Case, white space (also for ``_``) and zero-width
            characters are forgiven; anything else, a full stop included, is not: "Yes." is no answer.
        style: Which keys an object in running text must have to count as a verdict.
        planted: Whether the prompt holds a text.

    Raises:
        Unreadable: There is no verdict, or not exactly one.
    """
    wanted = {"answer"} if style == "direct" else {"reasoning", "evidence", "answer"}
    return _reading(read_object(text, wanted, "answer", planted=planted), choices)


def read_batch(
    text: str, asked: Mapping[str, Collection[str]], *, planted: Planted | None = None
) -> dict[str, Reading | Unreadable]:
    """Read a reply to several questions.

    Args:
        text: Hostile.
        asked: The answers that exist for each id that was asked about.
        planted: Whether the prompt holds a text.

    Returns:
        For each id what is said of it, or why nothing is: an answer that is missing, stands twice or can't be read is
        a fault of that one alone. Ids that were not asked about are passed over.

    Raises:
        Unreadable: There is no list of answers, or not exactly one.
    """
    given = read_object(text, {"answers"}, "answers", planted=planted)["answers"]
    if not isinstance(given, list):
        raise Unreadable('"answers" is no list')
    entries = [cast("dict[str, Any]", each) for each in cast("list[Any]", given) if isinstance(each, dict)]
    counts = Counter(_folded(entry.get("id")) for entry in entries)
    by_id = {_folded(entry.get("id")): entry for entry in entries}
    found: dict[str, Reading | Unreadable] = {}
    for name, choices in asked.items():
        if counts[name] != 1:
            found[name] = Unreadable(f"it is answered {counts[name]} times" if counts[name] else "it is not answered")
            continue
        try:
            found[name] = _reading(by_id[name], choices)
        except Unreadable as fault:
            found[name] = fault
    return found


def read_object(text: str, wanted: Collection[str], key: str, *, planted: Planted | None = None) -> dict[str, Any]:
    """The one JSON object that a reply states.

    Args:
        text: Hostile.
        wanted: Keys that an object in running text must have to be it. Not asked of a reply that is one object.
        key: The one that decides: of several objects, all must say the same there.
        planted: Whether the prompt holds a text.

    Raises:
        Unreadable: There is none, or not exactly one, or it lacks the key that decides.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"it has {len(text):,} characters")
    if not text.strip():
        raise Unreadable("it is empty")
    if _too_deep(text):
        raise Unreadable("it is nested too deeply")
    whole = _whole(text)
    if whole is None:
        spoken = _without_thinking(text)
        whole = _whole(_unfenced(spoken)) or _only(spoken, wanted, key, planted)
    if key not in whole:
        raise Unreadable(f'the object has no key "{key}"')
    return whole


def _whole(text: str) -> dict[str, Any] | None:
    """The object that the text is; None if it is something else than JSON."""
    try:
        value = _DECODER.decode(text.strip("\ufeff \t\r\n"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, Unreadable):
            raise
        return None
    if not isinstance(value, dict):
        raise Unreadable("it is JSON, but not an object")
    return cast("dict[str, Any]", value)


def _without_thinking(text: str) -> str:
    """What is said outside thinking tags. Thinking that never ends runs to the end; an end alone ends all before it."""
    kept: list[str] = []
    begin, thinking = 0, False
    for tag in _TAG.finditer(text):
        closes = bool(tag["end"] or tag["final"])
        if not closes and not thinking:
            kept.append(text[begin : tag.start()])
        elif closes and not thinking:
            kept.clear()
        thinking = not closes
        begin = tag.end()
    return "".join(kept) if thinking else "".join([*kept, text[begin:]])


def _unfenced(text: str) -> str:
    """The text without a fence around all of it."""
    bare = text.strip()
    for fence in ("```", "~~~"):
        if bare.startswith(fence) and bare.endswith(fence):
            inner = bare.removeprefix(fence).removesuffix(fence)
            language, newline, rest = inner.partition("\n")
            return rest if newline and (language.strip().isalnum() or not language.strip()) else inner
    return text


def _only(text: str, wanted: Collection[str], key: str, planted: Planted | None) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    outside, end = 0, 0
    while start := _OBJECT.search(text, end):
        outside += _balance(text[end : start.start()])
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            if isinstance(error, Unreadable):
                raise
            raise Unreadable("a JSON object in it is broken or cut") from error
        if not set(wanted) <= value.keys():
            continue
        if len(found) == _MOST_OBJECTS:
            raise Unreadable(f"it holds more than {_MOST_OBJECTS} objects")
        if outside:
            raise Unreadable("its object stands inside another that is broken")
        if planted is not None and planted(text[start.start() : end]):
            raise Unreadable("its object is a quote from the prompt")
        found.append(value)
    if not found:
        raise Unreadable(f"it holds no JSON object with the keys {', '.join(sorted(wanted))}")
    if any(_folded(value[key]) != _folded(found[0][key]) for value in found):
        raise Unreadable("it holds several objects with different answers")
    return found[-1]


def _reading(value: Mapping[str, Any], choices: Collection[str]) -> Reading:
    reasoning = value.get("reasoning", "")
    if not isinstance(reasoning, str):
        raise Unreadable('"reasoning" is no text')
    if "answer" not in value:
        raise Unreadable('the object has no key "answer"')
    return Reading(_answer(value["answer"], choices), visible(reasoning).strip(), _quotes(value.get("evidence")))


def _answer(given: Any, choices: Collection[str]) -> str:
    allowed = [*choices, "cannot_tell"]
    if given in allowed:
        return given
    matching = [choice for choice in allowed if _folded(choice) == _folded(given)] if isinstance(given, str) else []
    if len(matching) != 1:
        raise Unreadable(f'"answer" is {one_line(json.dumps(given), 100)}, not one of {", ".join(allowed)}')
    return matching[0]


def _quotes(given: Any) -> tuple[Quote, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise Unreadable('"evidence" is no list')
    listed = cast("list[Any]", given)
    if len(listed) > _MOST_QUOTES:
        raise Unreadable(f'"evidence" has {len(listed):,} quotes, more than {_MOST_QUOTES}')
    return tuple(_quote(each) for each in listed)


def _quote(given: Any) -> Quote:
    fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    text, where = fields.get("quote"), fields.get("where")
    if not isinstance(text, str):
        raise Unreadable('each "evidence" is an object with a text "quote"')
    if isinstance(where, int) and not isinstance(where, bool):
        where = f"[{where}]"
    return Quote(visible(text), one_line(where) if isinstance(where, str) else None)


def _folded(answer: Any) -> str:
    """An answer without what is forgiven; anything but text is told apart by its JSON."""
    if not isinstance(answer, str):
        return json.dumps(answer)
    return _SPACE.sub("_", _UNSEEN.sub("", answer).strip()).casefold()


def _too_deep(text: str) -> bool:
    """Whether brackets may be nested too deeply, counted without regard to strings."""
    if text.count("{") + text.count("[") <= _DEEPEST:
        return False
    depth = deepest = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket.group() in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest > _DEEPEST


def _balance(text: str) -> int:
    return text.count("{") - text.count("}")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    # "Answer" beside "answer" says two things just as well.
    if len({name.casefold() for name in value}) < len(pairs):
        raise Unreadable("a key of its object stands twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise Unreadable(f"{name} is no JSON")


# strict=False: a raw newline inside a text is common and harmless.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_distinct, parse_constant=_no_constant)
