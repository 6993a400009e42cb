"""Reading other programs' rubrics: values, ids, losses; and that the result always loads."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rubricgrade.errors import InputError
from rubricgrade.interchange import IMPORTS, Imported, import_rubrics
from rubricgrade.loading import load_rubric
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.scoring import score


def read(tmp_path: Path, content: Any, name: str = "source.json", source: str | None = None) -> list[Imported]:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return import_rubrics(path, source)


def one(tmp_path: Path, content: Any, name: str = "source.json") -> Imported:
    (found,) = read(tmp_path, content, name)
    copy = tmp_path / "copy.yaml"
    copy.write_text(found.text)
    assert load_rubric(copy).hash == found.rubric.hash
    return found


def steps(criterion: Criterion) -> list[tuple[str, float]]:
    assert criterion.judge is not None
    assert criterion.judge.scale is not None
    return [(choice.choice, choice.value) for choice in criterion.judge.scale]


def worth(rubric: Rubric, **values: float) -> float | None:
    given = {item.id: values.get(item.id, 0.0) for item in rubric.leaves()}
    return score(rubric, given).score


def test_healthbench_rows_become_rubrics(tmp_path: Path) -> None:
    row = {
        "prompt_id": "p-1",
        "prompt": [{"role": "user", "content": "What is a normal temperature?"}],
        "rubrics": [
            {"criterion": "Says about 37 degrees", "points": 7, "tags": ["axis:accuracy"]},
            {"criterion": "Recommends a drug", "points": -8, "tags": []},
        ],
        "example_tags": ["theme:basics"],
        "ideal_completions_data": {"ideal_completion": "37"},
    }
    lines = "\n".join(json.dumps({**row, "prompt_id": name}) for name in ("p-1", "p/2"))
    first, second = read(tmp_path, lines, "rows.jsonl")
    assert (first.rubric.id, second.rubric.id) == ("p-1", "p-2")
    good, bad = first.rubric.tops
    assert (good.points, good.tags, bad.points, bad.tags) == (
        7, ("axis:accuracy", "theme:basics"), -8, ("theme:basics",),
    )  # fmt: skip
    assert [each.id for each in first.rubric.tops] == [each.id for each in second.rubric.tops]
    assert any("ideal_completions_data" in what for what in first.lost)
    assert any("clips" in what for what in first.lost)


def test_ids_of_nameless_criteria_are_made_of_place_and_text(tmp_path: Path) -> None:
    texts = ["Names the file", "Names the line"]
    found = one(tmp_path, [{"criterion": text, "weight": 1} for text in texts])
    again = one(tmp_path, [{"criterion": text, "weight": 5} for text in texts])
    changed = one(tmp_path, [{"criterion": text + "!", "weight": 1} for text in texts])
    ids = [each.id for each in found.rubric.tops]
    assert ids == [each.id for each in again.rubric.tops]
    assert not set(ids) & {each.id for each in changed.rubric.tops}
    assert [name[:3] for name in ids] == ["c01", "c02"]


def test_gandalf_and_penalties_only(tmp_path: Path) -> None:
    listed = [{"criterion": "Deleted user data", "weight": -2}, {"criterion": "Lied", "weight": -3}]
    found = one(tmp_path, listed)
    always, *penalties = found.rubric.tops
    assert (always.id, always.points) == ("always-met", 5)
    assert worth(found.rubric, **{"always-met": 1.0}) == 1.0
    assert worth(found.rubric, **{"always-met": 1.0, penalties[0].id: 1.0}) == pytest.approx(0.6)
    assert any("penalties only" in what for what in found.lost)


def test_gandalf_before_version_1(tmp_path: Path) -> None:
    listed = [
        {"criteria": "Wrote the report", "weight": 2.0},
        {"criteria": "Made a number up", "weight": 1.0, "negative": True},
        {"criteria": "Left the draft", "weight": -3.0, "negative": True},
    ]
    found = one(tmp_path, listed)
    assert [(each.description, each.points) for each in found.rubric.tops] == [
        ("Wrote the report", 2), ("Made a number up", -1), ("Left the draft", -3),
    ]  # fmt: skip
    assert found.lost == ()


def test_the_rubric_library(tmp_path: Path) -> None:
    listed = "- {weight: 5, requirement: Uses a parameterised query.}\n- {requirement: Is short.}\n"
    found = one(tmp_path, listed, "list.yaml")
    assert [each.points for each in found.rubric.tops] == [5, 1]
    assert found.lost == ("requirements without a weight got 1",)
    sections = {"sections": [{"name": "style", "criteria": [{"weight": 2, "requirement": "Is short."}]}]}
    assert one(tmp_path, sections).rubric.tops[0].tags == ("style",)
    assert one(tmp_path, {"rubric": [{"weight": 2, "requirement": "Is short."}]}).rubric.tops[0].points == 2


def test_rar(tmp_path: Path) -> None:
    row = {
        "question": "Which scan?",
        "reference_answer": "MRI",
        "rubric": [
            {"title": "Names MRI", "description": "Essential Criteria: Says MRI.", "weight": 5},
            {"title": "No harm", "description": "Pitfall Criteria: Recommends surgery.", "weight": -1},
            {"title": "Odd", "description": "Pitfall Criteria: Does not mention cost.", "weight": 1},
        ],
    }
    found = one(tmp_path, row)
    assert [(each.id, each.tags, each.points) for each in found.rubric.tops] == [
        ("Names-MRI", ("essential",), 5), ("No-harm", ("pitfall",), -1), ("Odd", ("pitfall",), 1),
    ]  # fmt: skip
    assert (found.rubric.description, found.rubric.judge.reference) == ("Which scan?", "MRI")
    assert found.rubric.tops[0].description == "Says MRI."
    assert any("'Odd' is a pitfall with positive points" in what for what in found.lost)


REWARDKIT = """
[judge]
judge = "some/model"
files = ["/app/report.md"]
[[criterion]]
description = "The report names the file"
name = "names_file"
weight = 3
[[criterion]]
description = "Prints a credential"
name = "leak"
negate = true
[[criterion]]
description = "Is clear"
type = "likert"
points = 3
[[criterion]]
description = "Coverage"
type = "numeric"
min = 0
max = 100
[[criterion]]
description = "Depth"
type = "rubric"
levels = ["none", "some", "much"]
"""


def test_rewardkit(tmp_path: Path) -> None:
    found = one(tmp_path, REWARDKIT, "quality.toml")
    names, leak, clear, coverage, depth = found.rubric.tops
    assert (names.id, names.points) == ("names_file", 3)
    assert names.judge is not None
    assert (names.judge.scale, names.judge.artifacts) == (None, ("report.md",))
    assert (leak.points, steps(leak)) == (1, [("yes", 0.0), ("no", 1.0)])
    assert steps(clear) == [("1", 0.0), ("2", 0.5), ("3", 1.0)]
    assert [step for step, _ in steps(coverage)][:3] == ["0", "10", "20"]
    assert steps(depth) == [("none", 0.0), ("some", 0.5), ("much", 1.0)]
    assert any("0 to 100" in what for what in found.lost)
    assert any("judge.judge" in what for what in found.lost)


@pytest.mark.parametrize(
    ("scoring", "values", "expected"),
    [
        ('aggregation = "all-pass"', (1, 1, 0.9), 0.0),
        ('aggregation = "all-pass"', (1, 1, 1), 1.0),
        ('aggregation = "required_pass"', (1, 1, 0), 1.0),
        ('aggregation = "required-pass"', (1, 0, 1), 0.0),
        ('aggregation = "any-pass"', (0.9, 0, 1), 1.0),
        ('aggregation = "any-pass"', (0.9, 0.9, 0.9), 0.0),
        ('aggregation = "threshold"\nthreshold = 0.5', (1, 0, 0), 1.0),
        ('aggregation = "threshold"\nthreshold = 0.5', (0, 1, 0), 0.0),
        ('aggregation = "weighted-mean"', (1, 0, 0), 0.6),
    ],
)
def test_rewardkit_aggregations(tmp_path: Path, scoring: str, values: tuple[float, ...], expected: float) -> None:
    text = f"[scoring]\n{scoring}\n" + "".join(
        f'[[criterion]]\nname = "{name}"\ndescription = "is {name}"\ntype = "likert"\npoints = 11\n{more}\n'
        for name, more in (("a", "weight = 3"), ("b", ""), ("c", "optional = true"))
    )
    found = one(tmp_path, text, "quality.toml")
    assert worth(found.rubric, **dict(zip("abc", values, strict=True))) == pytest.approx(expected)


def test_rewardkit_lists_what_names_and_annotations_leave_behind(tmp_path: Path) -> None:
    text = (
        '[[criterion]]\nid = "1.1"\nname = "a"\ndescription = "is a"\nannotations = {type = "negative", axis = "style"}'
    )
    found = one(tmp_path, text, "quality.toml")
    assert steps(found.rubric.tops[0]) == [("yes", 0.0), ("no", 1.0)]
    assert found.lost == ("ids of criteria that have names", "annotations.axis has no place here")


def leaf(name: str, weight: float, **more: Any) -> dict[str, Any]:
    return {"id": name, "requirements": f"does {name}", "weight": weight, "sub_tasks": [], **more}


def test_a_paperbench_tree_scores_as_there(tmp_path: Path) -> None:
    tree = {
        "id": "root",
        "requirements": "The paper is replicated",
        "weight": 1,
        "sub_tasks": [
            {**leaf("code", 3), "sub_tasks": [leaf("c1", 1, task_category="Code Development"), leaf("c2", 3)]},
            leaf("run", 1),
            leaf("ignored", 0),
            {**leaf("empty", 2), "sub_tasks": [leaf("e1", 0)]},
            leaf("run", 1),
        ],
    }
    found = one(tmp_path, tree)
    assert [each.id for each in found.rubric.tops] == ["code", "run", "run-2"]
    group = found.rubric.tops[0]
    assert group.criteria is not None
    assert group.criteria[0].tags == ("Code Development",)
    assert worth(found.rubric, c2=1.0, run=1.0) == pytest.approx((3 * 0.75 + 1) / 5)
    assert {what.split("'")[1] for what in found.lost if "'" in what} == {"ignored", "empty", "e1", "run"}


AUTORUBRIC = """
guidelines: Judge only what the transcript shows.
criteria:
  - {name: root_cause, requirement: States which commit broke the build.}
  - {name: leak, weight: -6, requirement: Prints a secret.}
  - name: clarity
    weight: 2
    scale_type: ordinal
    requirement: How clear is the summary?
    options:
      - {label: unreadable, value: 0.0}
      - {label: met, value: 0.5}
      - {label: lucid, value: 1.0}
      - {label: clear, value: 1.0}
      - {label: no summary, value: 0.0, na: true}
"""


def test_autorubric(tmp_path: Path) -> None:
    found = one(tmp_path, AUTORUBRIC, "rubric.yaml")
    assert [(each.id, each.points) for each in found.rubric.tops] == [("root_cause", 10), ("leak", -6), ("clarity", 2)]
    assert found.rubric.judge.guidance == "Judge only what the transcript shows."
    assert steps(found.rubric.tops[2]) == [("unreadable", 0.0), ("(met)", 0.5), ("lucid / clear", 1.0)]
    for word in ("got 10", "does not apply", "equal value", "'(met)'"):
        assert any(word in what for what in found.lost), word


def test_a_data_set_of_autorubric(tmp_path: Path) -> None:
    clear = {"name": "clear", "weight": 2.0, "requirement": "Is clear."}
    own = {"name": "cites", "weight": 1.0, "requirement": "Cites a source."}
    items = [
        {"submission": "", "description": "easy", "rubric": [own], "prompt": "Why is the sky blue?"},
        {"submission": "Because.", "ground_truth": ["MET"], "rubric": None},
    ]
    shared = {"name": "set", "prompt": "Answer.", "rubric": {"guidelines": "Be strict.", "criteria": [clear]}}
    both, apart = read(tmp_path, {**shared, "items": items})
    assert [each.rubric.tops[0].id for each in (both, apart)] == ["clear", "cites"]
    assert (both.rubric.description, both.rubric.judge.guidance) == ("Answer.", "Be strict.")
    assert (apart.rubric.id, apart.rubric.description) == ("source-1", "Why is the sky blue?")
    assert apart.lost == ("'description' has no place here",)
    assert both.lost == ("'items' has no place here",)
    (alone,) = read(tmp_path, {"name": "set", "prompt": None, "rubric": None, "items": items})
    assert alone.rubric.hash == apart.rubric.hash


def test_verifiers(tmp_path: Path) -> None:
    criteria = [
        {"name": "a", "text": "is right", "weight": 2},
        {"name": "b", "text": "is clear", "choices": ["no", "partly", "yes"]},
    ]
    found = one(tmp_path, {"criteria": criteria, "max_criteria": 4})
    first, second = found.rubric.tops
    assert (first.points, first.judge and first.judge.scale, second.points) == (2, None, 1)
    assert steps(second) == [("no", 0.0), ("partly", 0.5), ("yes", 1.0)]
    assert found.lost == ("'max_criteria' is said by who grades, not by the rubric",)


def test_verifiers_criteria_as_the_whole_file_and_with_a_title(tmp_path: Path) -> None:
    criteria = [
        {"name": "a", "text": "is right", "weight": 3.0},
        {"name": "b", "text": "is kind", "choices": ["no", "yes"]},
    ]
    bare, titled = one(tmp_path, criteria), one(tmp_path, {"title": "Safety", "criteria": criteria})
    assert [(each.id, each.points) for each in bare.rubric.tops] == [("a", 3), ("b", 1)]
    assert (titled.rubric.title, titled.rubric.hash) == ("Safety", bare.rubric.hash)
    assert bare.lost == titled.lost == ()


PROMPTFOO = r"""
prompts: [p.txt]
defaultTest:
  assert:
    - {type: llm-rubric, value: "Is polite to {{ name }}", metric: tone}
tests:
  - description: greets
    vars: {name: Ann}
    assert:
      - {type: icontains, value: "hello (ann)", weight: 2}
      - {type: not-contains, value: goodbye}
      - {type: not-llm-rubric, value: "Mentions {{ other }} things"}
      - {type: javascript, value: "output.length < 9"}
  - vars: {name: Bob}
    threshold: 0.8
    assert: [{type: regex, value: "^Hi"}]
"""


def test_promptfoo(tmp_path: Path) -> None:
    greets, second = read(tmp_path, PROMPTFOO, "promptfooconfig.yaml")
    assert (greets.rubric.id, second.rubric.id) == ("greets", "promptfooconfig-2")
    polite, hello, goodbye, other = greets.rubric.tops
    assert (polite.description, polite.tags) == ("Is polite to Ann", ("tone",))
    assert hello.check is not None
    assert hello.points == 2
    assert goodbye.check is not None
    assert not isinstance(goodbye.check, str)
    assert goodbye.check.kind == "not"
    assert steps(other) == [("yes", 0.0), ("no", 1.0)]
    assert any("'javascript'" in what for what in greets.lost)
    assert any("'other' has no value" in what for what in greets.lost)
    assert any("'threshold'" in what for what in second.lost)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"criterion": "x", "weight": "much"}], "criterion 1: its weight must be a finite number"),
        ([{"criterion": "x", "weight": True}], "finite number"),
        ([{"criterion": "  ", "weight": 1}], "text that is not empty"),
        ({"anything": 1}, "is of no known format"),
        ([], "is of no known format"),
        ('{"a": ', "can't be parsed"),
    ],
)
def test_what_can_not_be_used_is_said(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, content)


def test_a_named_format_must_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="looks like no rubric of rar"):
        read(tmp_path, [{"criterion": "x", "weight": 1}], source="rar")
    with pytest.raises(InputError, match="there is no format 'nothing'"):
        read(tmp_path, [{"criterion": "x", "weight": 1}], source="nothing")
    with pytest.raises(InputError, match="can't be read"):
        import_rubrics(tmp_path / "missing.json")


texts = st.text(min_size=1).filter(lambda text: bool(text.strip()))
weights = st.one_of(st.integers(-9, 9), st.floats(-9, 9)).filter(math.isfinite)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(texts, weights, st.lists(texts, max_size=2)), min_size=1, max_size=4))
def test_any_text_and_any_weight_load(tmp_path: Path, rows: list[tuple[str, float, list[str]]]) -> None:
    content = {"rubrics": [{"criterion": text, "points": points, "tags": tags} for text, points, tags in rows]}
    (found,) = IMPORTS["healthbench"].read(content, "x")
    kept = [criterion for criterion in found.rubric.tops if criterion.id != "always-met"]
    assert [criterion.points for criterion in kept] == [points for _, points, _ in rows]
    assert len({criterion.id for criterion in kept}) == len(rows)
