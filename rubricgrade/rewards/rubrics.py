"""Which rubric an episode is graded with: always the same one, the same with a row's values, or one per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from rubricgrade import digest
from rubricgrade.errors import RubricError
from rubricgrade.loading import load_rubric
from rubricgrade.rubric import Rubric

Named = Rubric | str | PathLike[str]
RubricSource = Named | Callable[[Mapping[str, Any]], Named]

MOST_KEPT = 1000
LARGEST_KEPT = 10_000
"""Characters of a row's values. A rubric with longer ones is loaded each time, so that what is kept stays small."""


class Rubrics:
    """Rubrics by row, each loaded once: a file that is changed during a run changes nothing.

    Args:
        source: A rubric, its path, or a function from a row to either.

    Raises:
        RubricError: The one rubric can't be used, whatever values a row will give.
    """

    def __init__(self, source: RubricSource) -> None:
        self._source = source
        self._seen: dict[str, Rubric] = {}
        self._loaded: dict[tuple[str, str], Rubric] = {}
        if not isinstance(source, Rubric) and not callable(source):
            self._partial(source)

    @property
    def known(self) -> tuple[Rubric, ...] | None:
        """The one rubric, without a row's values; None if there is one per row, and none is known before its row."""
        if callable(self._source):
            return None
        return (self._source if isinstance(self._source, Rubric) else self._partial(self._source),)

    def of(self, row: Mapping[str, Any]) -> Rubric:
        """The rubric of a row.

        Raises:
            RubricError: It can't be used with this row's values.
        """
        named = self._source(row) if callable(self._source) else self._source
        if isinstance(named, Rubric):
            return named
        return self._load(named, {name: row[name] for name in self._partial(named).vars if row.get(name) is not None})

    def given(self, values: Mapping[str, Any]) -> Rubric:
        """The one rubric with values for its vars, all of which must be known; for a source that is a path.

        Raises:
            RubricError: It can't be used with these values.
        """
        if isinstance(self._source, Rubric) or callable(self._source):
            raise RubricError("values are given to a rubric's vars when it is loaded, and this one is loaded")
        return self._load(self._source, values)

    def _load(self, named: str | PathLike[str], given: Mapping[str, Any]) -> Rubric:
        values = repr(sorted(given.items()))
        if len(values) > LARGEST_KEPT:
            return load_rubric(named, vars=given)
        key = (str(named), digest.of_bytes(values.encode(errors="replace")))
        if key not in self._loaded:
            if len(self._loaded) >= MOST_KEPT:
                self._loaded.clear()
            self._loaded[key] = load_rubric(named, vars=given or None)
        return self._loaded[key]

    def _partial(self, path: str | PathLike[str]) -> Rubric:
        """A rubric whose vars may be without a value; not to be graded with."""
        name = str(path)
        if name not in self._seen:
            self._seen[name] = load_rubric(path, partial=True)
        return self._seen[name]
