"""Reading a judge's reply: the one verdict that it states as JSON, or a reason why there is none. Never a guess.

A reply that is one JSON object, in a fence or not, is taken as it is. Otherwise thinking is dropped and the text is
searched for objects with all keys that were asked for, the last of which must be the last word. If an object is
broken, or another one (with fewer keys, in tags, before a lone ``</think>``) says something else, or the prompt itself
holds the object that was found, nothing is read: what an agent planted and a judge quoted is no verdict.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

from rubricgrade.evidence import one_line, visible
from rubricgrade.judge.objects import DECODER, Said, Unreadable, folded, lost_in, said_in
from rubricgrade.judge.options import Style
from rubricgrade.judge.question import CANNOT_TELL
from rubricgrade.judge.remarks import names_another, words_in
from rubricgrade.judge.thinking import without_thinking

LONGEST = 200_000
"""Characters; a longer reply is not read."""

_DEEPEST = 100
_MOST_QUOTES = 20
_MOST_OBJECTS = 50
"""Verdicts in running text that are looked at; each is looked up in the whole prompt, which may be long."""

_KEYS = frozenset({"id", "reasoning", "evidence", "answer"})
_DIFFERENT = "it holds several objects with different answers"
_QUOTED = "its object is a quote from the prompt"
_DIFFERENT_KEYS = "its object has several keys with different answers"
_BEHIND = "something stands behind its object, which must be the last word"
_NAMED = "another answer is named before its object"
_NAMES = re.compile(r"(?<![a-z0-9])q\d+")
_LEADING = re.compile(r"[^\d\[\]\"'“”`]{1,100}:")
_NAME = 40  # characters of a key that may be a word and no text
_BRACKET = re.compile(r"[\[\]{}]")


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


@dataclass(frozen=True, slots=True)
class _Stated:
    """A reply: the one object that it states as its last word, other objects, and the words before it."""

    whole: dict[str, Any]
    beside: list[Said]
    before: str = ""


Planted = Callable[[str], bool]
"""Says whether the prompt holds a text: the record, or what is asked. Asked about an object in running text."""


def _unplanted(_: str) -> bool:
    return False


def read_reply(
    text: str, choices: Collection[str], *, style: Style = "reasoned", planted: Planted = _unplanted
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
    allowed = [*choices, CANNOT_TELL]
    stated = _stated(text, wanted, "answer", planted, allowed)
    reading = _reading(stated.whole, choices)
    _heed(stated, stated.whole, reading, allowed, ("answer", "verdict"))
    return reading


def read_batch(
    text: str, asked: Mapping[str, Collection[str]], *, planted: Planted = _unplanted
) -> dict[str, Reading | Unreadable]:
    """Read a reply to several questions.

    Args:
        text: Hostile.
        asked: The answers that exist for each id that was asked about.
        planted: Whether the prompt holds a text.

    Returns:
        For each id what is said of it, or why nothing is: an answer that is missing, stands twice, is taken back
        beside the list or can't be read is a fault of that one alone. Ids that name none that was asked about are
        passed over.

    Raises:
        Unreadable: There is no list of answers, or not exactly one.
    """
    planted = cache(planted)
    stated = _stated(text, {"answers"}, "answers", planted)
    given = stated.whole["answers"]
    if not isinstance(given, list):
        raise Unreadable('"answers" is no list')
    entries = [cast("dict[str, Any]", each) for each in cast("list[Any]", given) if isinstance(each, dict)]
    if any(each and not isinstance(each, dict) for each in cast("list[Any]", given)):
        raise Unreadable('"answers" holds something else than objects')
    counts = Counter(_id(entry.get("id")) for entry in entries)
    # "q1 (corrected)" is about q1, and so is a key "q1" beside the list.
    for each in counts.keys() - asked.keys():
        counts.update(asked.keys() & set(_NAMES.findall(each)))
    counts.update(asked.keys() & set(map(_id, stated.whole)))
    by_id = {_id(entry.get("id")): entry for entry in entries}
    nameless = [Said(entry, json.dumps(entry)) for entry in entries if "id" not in entry]
    found: dict[str, Reading | Unreadable] = {}
    for name, choices in asked.items():
        if counts[name] != 1:
            found[name] = Unreadable(f"it is answered {counts[name]} times" if counts[name] else "it is not answered")
            continue
        # One without an id may be about any of them.
        others = [each for each in (*nameless, *stated.beside) if all(_id(of) == name for of in each.get("id"))]
        allowed = [*choices, CANNOT_TELL]
        try:
            if _against(by_id[name].get("answer"), "answer", others, planted, allowed):
                raise Unreadable(_DIFFERENT)  # noqa: TRY301 - as any other fault of the entry
            found[name] = reading = _reading(by_id[name], choices)
            _heed(stated, by_id[name], reading, allowed, (name,))
        except Unreadable as fault:
            found[name] = fault
    return found


def read_object(
    text: str, wanted: Collection[str], key: str, *, planted: Planted = _unplanted, entire: bool = False
) -> dict[str, Any]:
    """The one JSON object that a reply states.

    Args:
        text: Hostile.
        wanted: Keys that an object in running text must have to be it. Not asked of a reply that is one object.
        key: The one that decides: of several objects, all must say the same there.
        planted: Whether the prompt holds a text.
        entire: What stands under the key must be all that is said: other keys, or words before it (but for "Here they
            are:"), may be what it lacks.

    Raises:
        Unreadable: There is none, or not exactly one, or it lacks the key that decides; or something else is said.
    """
    stated = _stated(text, wanted, key, planted)
    others = [each.text for each in stated.beside if not (each.lost or each.get(key))]
    if len(others) > _MOST_OBJECTS or not all(map(planted, others)):
        raise Unreadable("it holds another object beside the one that was asked for")
    more = [
        one_line(name, _NAME)
        for name, value in stated.whole.items()
        if name not in wanted and (value or len(name) > _NAME)
    ]
    if entire and more:
        raise Unreadable(f"it has keys that were not asked for: {', '.join(more[:3])}")
    before = words_in(stated.before)
    if entire and before and (not stated.whole[key] or not _LEADING.fullmatch(before)):
        raise Unreadable("something is said before its object")
    return stated.whole


def _stated(text: str, wanted: Collection[str], key: str, planted: Planted, answers: Collection[str] = ()) -> _Stated:
    """The one object that a reply states, and what else it says."""
    if len(text) > LONGEST:
        raise Unreadable(f"it has {len(text):,} characters")
    if not text.strip():
        raise Unreadable("it is empty")
    if _too_deep(text):
        raise Unreadable("it is nested too deeply")
    stated = _parts(text, wanted, planted)
    inner = [Said(each, json.dumps(each)) for each in _inner(stated.whole, {key, *_KEYS})]
    if inner:
        stated = replace(stated, beside=[*stated.beside, *inner])
    if key not in stated.whole:
        raise Unreadable(f'the object has no key "{key}"')
    if _against(stated.whole[key], key, stated.beside, planted, answers):
        raise Unreadable(_DIFFERENT)
    return stated


def _parts(text: str, wanted: Collection[str], planted: Planted) -> _Stated:
    whole = _whole(text)
    if whole is not None:
        return _Stated(whole, [])
    spoken = without_thinking(text)
    if spoken.text.strip() and words_in(spoken.behind):
        raise Unreadable(_BEHIND)
    lost = lost_in(spoken.lost)
    bare = _unfenced(spoken.text)
    whole = _whole(bare)
    if whole is None:
        stated = _only(spoken.text, wanted, planted)
        return replace(stated, beside=[*stated.beside, *lost])
    # Either the end of thinking and a verdict, or the end of an answer: a quote of the tag and of what was put behind.
    # Reasons are nobody's but the judge's; an answer alone may stand in the prompt by chance, or to void the judge's.
    if spoken.lone and planted(bare.strip()) and (len(wanted) > 1 or planted(spoken.lone)):
        raise Unreadable(_QUOTED)
    return _Stated(whole, lost)


def _inner(whole: Mapping[str, Any], known: Collection[str]) -> list[dict[str, Any]]:
    """The objects under keys that nobody asked for: ``"corrections": [{"id": "q1", "answer": "no"}]``."""
    found: list[dict[str, Any]] = []
    todo = [value for name, value in whole.items() if name not in known]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            found.append(cast("dict[str, Any]", value))
            todo += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            todo += cast("list[Any]", value)
    return found


def _whole(text: str) -> dict[str, Any] | None:
    """The object that the text is; None if it is something else than JSON."""
    try:
        value = DECODER.decode(text.strip("\ufeff \t\r\n"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, Unreadable):
            raise
        return None
    if not isinstance(value, dict):
        raise Unreadable("it is JSON, but not an object")
    return cast("dict[str, Any]", value)


def _unfenced(text: str) -> str:
    """The text without a fence around all of it."""
    bare = text.strip()
    for fence in ("```", "~~~"):
        if bare.startswith(fence) and bare.endswith(fence):
            inner = bare.removeprefix(fence).removesuffix(fence)
            language, newline, rest = inner.partition("\n")
            return rest if newline and (language.strip().isalnum() or not language.strip()) else inner
    return text


def _only(text: str, wanted: Collection[str], planted: Planted) -> _Stated:
    """The last object in running text, if it has all keys; all others, and the words before it."""
    said, gaps = said_in(text)
    stated = [each for each in said if set(wanted) <= each.value.keys() and not each.aside]
    for number, each in enumerate(stated):
        if number == _MOST_OBJECTS:
            raise Unreadable(f"it holds more than {_MOST_OBJECTS} objects")
        if each.broken_around:
            raise Unreadable("its object stands inside another that is broken")
        if planted(each.text):
            raise Unreadable(_QUOTED)
    if not stated:
        where = " outside of tags" if any(each.aside for each in said) else ""
        raise Unreadable(f"it holds no JSON object with the keys {', '.join(sorted(wanted))}{where}")
    if said[-1] is not stated[-1] or words_in(gaps[-1]):
        raise Unreadable(_BEHIND)
    return _Stated(stated[-1].value, said[:-1], "\n".join(gaps[:-1]))


def _against(value: Any, key: str, others: Iterable[Said], planted: Planted, answers: Collection[str]) -> bool:
    """Whether another object gives the key another value.

    One from the prompt does so only if the value is a possible answer: what the agent wrote may be about anything.
    Before a lone tag it never does, so that a judge may think about what was planted.
    """
    differing = [(other, folded(said)) for other in others for said in other.get(key) if folded(said) != folded(value)]
    if len(differing) > _MOST_OBJECTS:
        return True
    possible = set(map(folded, answers))
    return any((said in possible and not other.lost) or not planted(other.text) for other, said in differing)


def _id(given: Any) -> str:
    """Headings have brackets, and some copy the name as they see it."""
    return folded(given).strip("[]")


def _heed(
    stated: _Stated, given: Mapping[str, Any], reading: Reading, allowed: Sequence[str], names: tuple[str, ...]
) -> None:
    """Raise `Unreadable` if another key of the object, or the words before it, give another answer."""
    more = {folded(value) for key, value in given.items() if key not in _KEYS and isinstance(value, str)}
    if more and more & set(map(folded, allowed)) - {folded(reading.answer)}:
        raise Unreadable(_DIFFERENT_KEYS)
    if stated.before and names_another(stated.before, reading.answer, allowed, names):
        raise Unreadable(_NAMED)


def _reading(value: Mapping[str, Any], choices: Collection[str]) -> Reading:
    reasoning = value.get("reasoning", "")
    if not isinstance(reasoning, str):
        raise Unreadable('"reasoning" is no text')
    if "answer" not in value:
        raise Unreadable('the object has no key "answer"')
    return Reading(_answer(value["answer"], choices), visible(reasoning).strip(), _quotes(value.get("evidence")))


def _answer(given: Any, choices: Collection[str]) -> str:
    allowed = [*choices, CANNOT_TELL]
    if given in allowed:
        return given
    matching = [choice for choice in allowed if folded(choice) == folded(given)] if isinstance(given, str) else []
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


def _too_deep(text: str) -> bool:
    """Whether brackets may be nested too deeply, counted without regard to strings."""
    if text.count("{") + text.count("[") <= _DEEPEST:
        return False
    depth = deepest = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket.group() in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest > _DEEPEST
