"""rewardkit's TOML: judged criteria with types; ``negate`` is one minus the value, not negative points."""

from __future__ import annotations

from typing import Any

from rubricgrade.errors import Fault, InputError
from rubricgrade.interchange.draft import Draft, Imported, finite, scale
from rubricgrade.interchange.lists import entries
from rubricgrade.readers.shapes import as_list, as_object, as_text

MOST_STEPS = 11
MOST_POINTS = 100
KNOWN = {
    "description", "name", "id", "type", "points", "min", "max", "levels", "weight", "negate", "optional",
    "annotations", "files",
}  # fmt: skip
YES_NO = (("no", 0.0), ("yes", 1.0))


def matches(value: Any) -> bool:
    """Whether it is a file with ``[[criterion]]``."""
    criteria = entries((as_object(value) or {}).get("criterion"))
    return bool(criteria) and "description" in criteria[0]


def read(value: Any, name: str) -> list[Imported]:
    """The rubric of one file of a judge."""
    fields = as_object(value) or {}
    judge, scoring = as_object(fields.get("judge")) or {}, as_object(fields.get("scoring")) or {}
    draft = Draft(name)
    for key in sorted(judge.keys() - {"files"}):
        draft.lose(f"judge.{key} is said by who grades, not by the rubric")
    for key in sorted(fields.keys() - {"judge", "scoring", "criterion"}):
        draft.lose(f"{key!r} has no place here")
    files = as_list(judge.get("files")) or []
    criteria = [_criterion(one, draft, files) for one in entries(fields["criterion"])]
    aggregation = str(scoring.get("aggregation", "weighted-mean")).replace("_", "-")
    optional = {made["id"] for one, made in zip(entries(fields["criterion"]), criteria, strict=True) if _optional(one)}
    match aggregation:
        case "all-pass":
            optional.clear()
        case "weighted-mean":
            return [draft.finish(criteria)]
        case "weighted-sum":
            draft.lose("a weighted sum has no upper end: here it is divided by the positive points, and clipped")
            return [draft.finish(criteria)]
        case "any-pass":
            parts = [{**made, "points": 1, "at_least": 1.0} for made in criteria]
            return [draft.finish([draft.criterion("one of its parts is fully met", 1, parts=parts, full_at=1.0)])]
        case "threshold":
            least = finite(scoring.get("threshold", 0.5), "threshold")
            text = f"its parts reach {least:g} together"
            return [draft.finish([draft.criterion(text, 1, parts=criteria, at_least=least)])]
        case "required-pass":
            pass
        case other:
            raise InputError(Fault(f"aggregation {other!r} is unknown"))
    parts = [{**made, "points": 0 if made["id"] in optional else 1} for made in criteria]
    return [draft.finish([draft.criterion("all that must be met is fully met", 1, parts=parts, at_least=1.0)])]


def _optional(one: dict[str, Any]) -> bool:
    annotations = as_object(one.get("annotations")) or {}
    return bool(one.get("optional", "optional" in str(annotations.get("importance", "")).lower()))


def _criterion(one: dict[str, Any], draft: Draft, files: list[Any]) -> dict[str, Any]:
    for key in sorted(one.keys() - KNOWN):
        draft.lose(f"{key!r} has no place here")
    if one.get("name") and one.get("id"):
        draft.lose("ids of criteria that have names")
    annotations = as_object(one.get("annotations")) or {}
    for key in sorted(annotations.keys() - {"type", "importance"}):
        draft.lose(f"annotations.{key} has no place here")
    negate = one.get("negate", "negative" in str(annotations.get("type", "")).lower())
    steps = _steps(one, draft)
    judge: dict[str, Any] = {}
    if negate:
        steps = [(label, 1 - value) for label, value in steps]
    if negate or steps != list(YES_NO):
        judge["scale"] = scale(steps, draft)
    globs = [_glob(path, draft) for path in as_list(one.get("files")) or files if isinstance(path, str)]
    if any(globs):
        judge["artifacts"] = [glob for glob in globs if glob]
    tags = ["optional"] if _optional(one) else []
    return draft.criterion(
        one.get("description"), one.get("weight", 1), name=one.get("name") or one.get("id"), tags=tags, judge=judge
    )


def _glob(path: str, draft: Draft) -> str | None:
    """A path of rewardkit is absolute, in the container; ours begins at the workspace."""
    if not path.startswith("/"):
        return path
    inside = path.removeprefix("/app/")
    if inside.startswith("/") or not inside:
        draft.lose(f"{path} lies outside the workspace, so the judge is not shown it")
        return None
    draft.lose("/app is taken for the workspace")
    return inside


def _steps(one: dict[str, Any], draft: Draft) -> list[tuple[str, float]]:
    match one.get("type", "binary"):
        case "binary":
            return list(YES_NO)
        case "likert":
            points = finite(one.get("points", 5), "points")
            if not (1 < points <= MOST_POINTS and float(points).is_integer()):
                raise InputError(
                    Fault(f"points of a likert scale are a whole number from 2 to {MOST_POINTS}, not {points}")
                )
            return [(str(step), (step - 1) / (points - 1)) for step in range(1, int(points) + 1)]
        case "numeric":
            low, high = finite(one.get("min", 0), "min"), finite(one.get("max", 1), "max")
            if not low < high:
                raise InputError(Fault(f"a number goes from a lower min to a higher max, not from {low} to {high}"))
            whole = float(high - low).is_integer() and float(low).is_integer() and 1 < high - low < MOST_STEPS
            count = round(high - low) if whole else MOST_STEPS - 1
            if not whole:
                draft.lose(f"a number from {low} to {high} became a scale of {MOST_STEPS} steps")
            return [(f"{low + (high - low) * step / count:g}", step / count) for step in range(count + 1)]
        case "rubric":
            levels = [as_text(level) or str(level) for level in as_list(one.get("levels")) or []]
            return [(level, rank / max(len(levels) - 1, 1)) for rank, level in enumerate(levels)]
        case other:
            raise InputError(Fault(f"a criterion of type {other!r} is unknown"))
