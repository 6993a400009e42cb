"""From YAML to a rubric: what is accepted, and every fault with its place, its code and plain words."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade import library
from rubricgrade.errors import Fault, RubricError
from rubricgrade.loading import check_rubric, load_rubric, parse_rubric, read_data
from rubricgrade.rubric import Rubric
from tests.random_rubrics import rubrics

HEAD = "id: r\ncriteria:\n"
ONE = "  - {id: a, points: 1, description: d, judge: {}}\n"


def faults(text: str | bytes, **more: Any) -> list[Fault]:
    with pytest.raises(RubricError) as caught:
        parse_rubric(text, file="r.yaml", **more)
    return caught.value.faults


def only(text: str, **more: Any) -> Fault:
    (fault,) = faults(text, **more)
    return fault


def test_the_shortest_rubric() -> None:
    rubric = parse_rubric(HEAD + ONE)
    assert (rubric.id, [top.id for top in rubric.tops], dict(rubric.sealed)) == ("r", ["a"], {})


def test_the_forms_an_author_may_write() -> None:
    rubric = parse_rubric(
        """\
id: no
vars: {city: Bern, n: 3, x: , on: true, list: [a, b]}
gates:
  - id: runs
    description: it runs
    check: {command: make test, timeout: 5}
  - {id: fast, description: it is fast, at_least: 0.5, check: {not: {exists: slow.log}}}
criteria:
  - id: yes
    points: 2
    description: "names {{ vars.city }}"   # in quotes, so a remark is no text
    judge:
  - id: off
    points: -0.5
    description: states a number, invented
    judge: {scale: [{choice: no, value: 0}, {choice: some, value: 0.5}, {choice: yes, value: 1}], votes: adaptive}
  - id: é-3
    points: 1
    description: a group
    full_at: 1
    criteria:
      - {id: part, points: 1, description: a part, human: }
      - {id: mailed, points: 1, description: mailed, check: {mail: {to: a@b.c}}}
""",
        vars={"x": "given"},
    )
    assert rubric.vars == {"city": "Bern", "n": 3, "x": "given", "on": True, "list": ("a", "b")}
    assert [leaf.id for leaf in rubric.leaves()] == ["yes", "off", "part", "mailed"]
    scale = rubric.tops[1].judge
    assert scale is not None
    assert [choice.choice for choice in scale.scale or ()] == ["no", "some", "yes"]
    assert rubric.tops[0].description == "names {{ vars.city }}"


AT = "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}"
"""Stands before the place of the fault in a test's text."""


@pytest.mark.parametrize(
    ("code", "words", "criterion"),
    [
        ("RG011", "criterion 1 has no 'id'", "«{points: 1, description: d, judge: {}}"),
        ("RG011", "criterion 'b' has no 'description'", "«{id: b, points: 1, judge: {}}"),
        ("RG014", "needs exactly one of", "«{id: b, points: 1, description: d}"),
        ("RG014", "has check and judge", "«{id: b, points: 1, description: d, judge: {}, check: {exists: a}}"),
        ("RG010", "'points'", "{id: b, «wieght: 3, points: 1, description: d, judge: {}}"),
        ("RG010", "'points'", "{id: b, «weight: 3, points: 1, description: d, judge: {}}"),
        ("RG010", "did you mean 'points'", "{id: b, «piont: 3, points: 1, description: d, judge: {}}"),
        ("RG010", "'description'", "{id: b, «requirement: x, points: 1, description: d, judge: {}}"),
        ("RG010", "'description'", "{id: b, «text: x, points: 1, description: d, judge: {}}"),
        ("RG010", "judge: {scale", "{id: b, «choices: {yes: 1}, points: 1, description: d, judge: {}}"),
        ("RG010", "judge: {scale", "{id: b, «options: [], points: 1, description: d, judge: {}}"),
        ("RG010", "'gates'", "{id: b, «required: true, points: 1, description: d, judge: {}}"),
        ("RG010", "'gates'", "{id: b, «gate: true, points: 1, description: d, judge: {}}"),
        ("RG010", "judge: {guidance", "{id: b, «guidance: x, points: 1, description: d, judge: {}}"),
        ("RG010", "check: {python", "{id: b, «python: x, points: 1, description: d, judge: {}}"),
        ("RG010", "did you mean 'guidance'", "{id: b, points: 1, description: d, judge: {«guidence: x}}"),
        ("RG010", "did you mean 'command'", "{id: b, points: 1, description: d, check: {«comand: x}}"),
        ("RG012", "take the quotes off", '{id: b, points: «"1", description: d, judge: {}}'),
        ("RG012", "must be a number, not true", "{id: b, points: «true, description: d, judge: {}}"),
        ("RG012", "must be a number, not the text 'yes'", "{id: b, points: «yes, description: d, judge: {}}"),
        ("RG003", "no finite number", "{id: b, points: «.nan, description: d, judge: {}}"),
        ("RG003", "no finite number", "{id: b, points: «1e999, description: d, judge: {}}"),
        ("RG003", "would be 0", "{id: b, points: «1e-400, description: d, judge: {}}"),
        ("RG008", "nothing behind it", "{id: b, «points: , description: d, judge: {}}"),
        ("RG012", 'quote it: "7"', "{id: «7, points: 1, description: d, judge: {}}"),
        ("RG012", 'quote it: "true"', "{id: «true, points: 1, description: d, judge: {}}"),
        ("RG003", 'quote it: "007"', "{id: «007, points: 1, description: d, judge: {}}"),
        ("RG012", "must be a name", "{id: «a b, points: 1, description: d, judge: {}}"),
        ("RG012", "text that is not empty", "{id: b, points: 1, description: «'  ', judge: {}}"),
        ("RG012", "must be text, not a list", "{id: b, points: 1, description: «[d], judge: {}}"),
        ("RG012", "write true", "{id: b, points: 1, description: d, veto: «yes, judge: {}}"),
        ("RG012", "did you mean 'text'", "{id: b, points: 1, description: d, judge: {render: «txt}}"),
        ("RG012", "at least 1 or adaptive, not 0", "{id: b, points: 1, description: d, judge: {votes: «0}}"),
        ("RG012", "at least one item", "{id: b, points: 1, description: d, judge: {scale: «[]}}"),
        ("RG012", "item 1 of 'sees'", "{id: b, points: 1, description: d, judge: {sees: [«all]}}"),
        ("RG012", "at least two", "{id: b, points: 1, description: d, judge: {scale: «[{choice: p, value: 1}]}}"),
        ("RG012", "at most 1, not 2", "{id: b, points: 1, description: d, judge: {}, at_least: «2}"),
        ("RG012", "has none", "{id: b, points: 1, description: d, check: «{timeout: 3}}"),
        ("RG012", "no regular expression", "{id: b, points: 1, description: d, check: {mail: {body: {matches: «'('}}}}"),
        ("RG012", "percentage", "{id: b, points: 1, description: d, check: {python: 'a.py:f', within: «5 percent}}"),
        ("RG014", "unknown template variable", "{id: b, points: 1, description: «'in {{ vars.x }}', judge: {}}"),
        ("RG008", "a comma has cut", "{id: b, points: 1, description: one, «and two, judge: {}}"),
    ],
)  # fmt: skip
def test_one_fault_in_a_criterion(code: str, words: str, criterion: str) -> None:
    found = [
        fault
        for fault in faults(f"{HEAD}  - {criterion.replace(AT, '')}\n{ONE}")
        if fault.code != "RG010" or code == "RG010"
    ]
    assert [(fault.line, fault.column, fault.code) for fault in found] == [(3, 5 + criterion.index(AT), code)]
    assert words in found[0].message


@pytest.mark.parametrize(
    ("text", "line", "code", "words"),
    [
        ("id: r\n", 1, "RG014", "neither gates nor criteria"),
        ("id: r\ncriteria: []\n", 2, "RG012", "at least one item"),
        ("id: r\ncriteria:\n", 2, "RG008", "'criteria' has nothing behind it"),
        ("criteria:\n" + ONE, 1, "RG011", "the rubric has no 'id'"),
        ("- a\n", 1, "RG012", "must be a map"),
        ("just words\n", 1, "RG012", "must be a map"),
        ("id: r\ntask: x\ncriteria:\n" + ONE, 2, "RG010", "'title'"),
        ("id: r\ngate: []\ncriteria:\n" + ONE, 2, "RG010", "did you mean 'gates'"),
        ("id: r\nversion: 1.10\ncriteria:\n" + ONE, 2, "RG012", "quote it"),
        ("id: r\nformat: 2\nsurprise: 1\n", 2, "RG040", "newer"),
        ("id: r\nformat: 0\n", 2, "RG040", "no format 0"),
        ("id: r\nformat: true\n", 2, "RG040", "must be the number 1"),
        ("id: r\ngates:\n  - {id: g, description: d, judge: {}, check: {exists: a}}\n", 3, "RG010", "can't be a gate"),
        ("id: r\ngates:\n  - {id: g, description: d, points: 3, check: {exists: a}}\n", 3, "RG010", "has no points"),
        ("id: r\nvars: {a: {b: 1}}\ncriteria:\n" + ONE, 2, "RG012", "'a' must be text, a number"),
        ("id: r\nvars: {a: [1]}\ncriteria:\n" + ONE, 2, "RG012", "'a' must be text, a number"),
        ("id: r\nvars: {a b: 1}\ncriteria:\n" + ONE, 2, "RG012", "must be a variable's name"),
        ("id: r\nvars: {a: }\ncriteria:\n" + ONE, 2, "RG031", "variable 'a' has no value"),
        (HEAD + ONE.replace("judge: {}", "judge: {prompt: '{% if %}'}"), 3, "RG015", "line 1 of the prompt"),
        (HEAD + ONE.replace("judge: {}", "judge: {prompt: '{{ critrion }}'}"), 3, "RG015", "did you mean 'criterion'"),
        (HEAD + ONE.replace("judge: {}", "judge: {prompt: '{{ vars.x }}'}"), 3, "RG015", "unknown variable 'x'"),
        (HEAD + ONE.replace("judge: {}", "judge: {prompt: '{{ item.__class__ }}'}"), 3, "RG015", "'__class__'"),
        (HEAD + ONE.replace("judge: {}", "judge: {prompt: '{{ item * 9 }}'}"), 3, "RG015", "arithmetic is not allowed"),
        ("id: r\njudge: {prompt: '{{ range(9) }}'}\ncriteria:\n" + ONE, 2, "RG015", "a call is not allowed"),
    ],
)
def test_one_fault_in_a_rubric(text: str, line: int, code: str, words: str) -> None:
    found = [fault for fault in faults(text) if words in fault.message]
    assert [(fault.line, fault.code, fault.file) for fault in found] == [(line, code, "r.yaml")]


def test_the_prompts_of_a_rubric_are_bounded_together() -> None:
    def prompted(prompts: list[str]) -> str:
        return HEAD + "".join(
            f"  - {{id: c{n}, points: 1, description: d, judge: {{prompt: {prompt}}}}}\n"
            for n, prompt in enumerate(prompts)
        )

    good = prompted([f"{n:02}{'x' * 19_998}" for n in range(20)] + ["00" + "x" * 19_998])
    assert len(parse_rubric(good).tops) == 21
    (fault,) = faults(prompted([f"{n:02}{'x' * 19_998}" for n in range(21)] + ["one more"]))
    assert (fault.line, fault.code) == (23, "RG015")
    assert "more than 400,000 characters together" in fault.message


def test_all_faults_come_at_once_in_the_order_of_the_text() -> None:
    text = """\
vars: {n: 1}
gates:
  - {id: g, description: d, check: {exist: a}}
criteria:
  - {id: a, wieght: 3, description: d, judge: {}}
  - {id: a, points: .inf, description: d #3
  , judge: {}}
  - {id: b, points: 1, description: "{{ vars.m }}", judge: {}, needs: [a, nobody]}
  - {id: g, points: 1, description: d, check: shared}
  - {id: c, points: 1, description: d, judge: {reference_files: [../secret, missing.csv]}}
  - {points: one, points: 1}
"""
    found = faults(text, folder=Path(__file__).parent)
    assert [(fault.line, fault.code) for fault in found] == [
        (1, "RG011"), (3, "RG010"), (5, "RG010"), (6, "RG013"), (6, "RG003"), (6, "RG004"), (8, "RG014"), (8, "RG014"),
        (9, "RG013"), (9, "RG014"), (10, "RG020"), (10, "RG020"), (11, "RG011"), (11, "RG011"), (11, "RG012"), (11, "RG006"),
    ]  # fmt: skip
    assert "first on line 5" in found[3].message


def test_what_is_faulty_does_not_make_other_parts_look_faulty() -> None:
    text = (
        HEAD
        + "  - {id: a, points: 1, descripton: d, judge: {}}\n  - {id: b, points: 1, description: d, judge: {}, needs: [a]}\n"
    )
    assert {fault.line for fault in faults(text)} == {3}
    group = HEAD + "  - {id: g, points: x, description: d, criteria: [{id: p, points: 1, description: d, judge: {}}]}\n"
    assert [fault.code for fault in faults(group + ONE.replace("{}}", "{}, needs: [p]}"))] == ["RG012"]
    lost = HEAD + "  - {id: a, points: 1, description: d, check: *shared}\n"
    assert [fault.code for fault in faults(lost)] == ["RG005"]


def test_an_empty_file_and_a_broken_one() -> None:
    assert only("").message == "is empty"
    assert only("id: [").code == "RG001"


def test_errors_are_for_people_and_for_pools() -> None:
    with pytest.raises(RubricError) as caught:
        parse_rubric("id: r\nid: r\ncriteria: 5\n", file="my.yaml")
    assert str(caught.value).splitlines()[0] == "my.yaml:2:1: key 'id' stands twice: here and on line 1"
    assert pickle.loads(pickle.dumps(caught.value)).faults == caught.value.faults


# The inputs of bug reports against other graders, with the field names that they used.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("criteria:\n  - id: tone\n    wieght: 3\n    discription: Polite throughout\n", {(3, "RG010"), (4, "RG010")}),
        ("criteria:\n  - id: x\n    weight: 5\n    weight: 1\n    text: T\n", {(4, "RG006"), (3, "RG010"), (5, "RG010")}),
        ("criteria:\n  - id: no\n    text: T\n    choices: {yes: 1, no: 0, off: 0}\n", {(3, "RG010"), (4, "RG010")}),
        ("criteria:\n  - {id: c, weight: 1, text: T}\n  - {id: c, weight: 1, text: U}\ngates:\n  - {id: c, run: 'true'}\n",
         {(2, "RG013"), (3, "RG013")}),
        ("criteria:\n  - text: French\n    weight: 2\n  - text: Short\n", {(2, "RG011"), (4, "RG011")}),
        ("base: &b {weight: 2}\ncriteria:\n  - <<: *b\n    id: safe\n", {(1, "RG005"), (1, "RG010"), (3, "RG005")}),
        ("criteria:\n  - id: d\n    scale:\n      3: &good thorough\n      1: shallow\n", {(4, "RG007"), (5, "RG007")}),
        ("criteria:\n  - id: d\n    scale: {1: a, '1': b}\n", {(3, "RG006")}),
    ],
)  # fmt: skip
def test_inputs_that_other_graders_took(text: str, expected: set[tuple[int, str]]) -> None:
    assert expected <= {(fault.line, fault.code) for fault in faults(text)}


def test_text_that_looks_like_a_template_is_kept_to_the_byte() -> None:
    (top,) = parse_rubric(
        HEAD + "  - {id: a, points: 1, judge: {}, description: 'the snippet ${#arr[@]} {# {% if'}\n"
    ).tops
    assert top.description == "the snippet ${#arr[@]} {# {% if"


def test_load_rubric_takes_a_file_a_folder_or_a_name(tmp_path: Path) -> None:
    (tmp_path / "rubric.yaml").write_text(HEAD + ONE)
    assert load_rubric(tmp_path).id == load_rubric(str(tmp_path / "rubric.yaml")).id == "r"
    assert load_rubric("coding-agent").id == "coding-agent"
    for missing in (tmp_path / "none.yaml", "no-such-rubric", tmp_path / "x" / "y"):
        with pytest.raises(RubricError, match="no such rubric"):
            load_rubric(missing)
    with pytest.raises(RubricError, match="can't be read"):
        load_rubric("x" * 5000)


def test_a_rubric_is_no_link_out_of_its_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the password: is 12345\n")
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "rubric.yaml").symlink_to(secret)
    for path in (folder, folder / "rubric.yaml"):
        with pytest.raises(RubricError, match="a link that leads out") as caught:
            load_rubric(path)
        assert "12345" not in str(caught.value)
    (folder / "rubric.yaml").unlink()
    (folder / "real.yaml").write_text(HEAD + ONE)
    (folder / "rubric.yaml").symlink_to("real.yaml")
    assert load_rubric(folder).id == "r"


def test_what_is_no_rubric_at_all_is_not_shown() -> None:
    with pytest.raises(RubricError, match="the rubric must be a map of keys, not plain text") as caught:
        parse_rubric("root:x:0:0:root\n")
    assert "root:" not in str(caught.value)


def test_variables_are_overridden_by_a_map_or_a_file(tmp_path: Path) -> None:
    text = "id: r\nvars: {n: 1, f: 1.5, l: [a], t: , on: true}\ncriteria:\n" + ONE
    given = parse_rubric(text, vars={"n": 2, "f": 2, "l": ("b",), "t": "x", "on": False})
    assert given.vars == {"n": 2, "f": 2.0, "l": ("b",), "t": "x", "on": False}
    file = tmp_path / "vars.yaml"
    file.write_text("{n: 2, f: 2.0, l: [b], t: x, on: false}\n")
    assert parse_rubric(text, vars=file).hash == given.hash
    assert parse_rubric(text, vars={"t": "x"}).hash != given.hash
    assert parse_rubric(text, partial=True).vars["t"] is None


def test_overrides_must_fit(tmp_path: Path) -> None:
    text = "id: r\nvars: {n: 1, l: [a], on: true, city: Bern}\ncriteria:\n" + ONE
    bad = {"n": 1.5, "l": "a", "on": 1, "town": "x", "city": None}
    messages = {fault.message for fault in faults(text, vars=bad)}
    assert len(messages) == 5
    assert any("no variable 'town'" in message for message in messages)
    assert [fault.code for fault in faults(text, vars={"n": True})] == ["RG030"]
    file = tmp_path / "vars.yaml"
    file.write_text("n: 1\ncty: Basel\nn: 2\n")
    assert [(fault.file, fault.line) for fault in faults(text, vars=file)] == [(str(file), 3)]
    file.write_text("n: 1\ncty: Basel\n")
    (fault,) = faults(text, vars=file)
    assert (fault.file, fault.line) == (str(file), 2)
    assert "did you mean 'city'" in fault.message
    assert [fault.code for fault in faults(text, vars=tmp_path / "none.yaml")] == ["RG030"]


@pytest.mark.parametrize(
    "bad", ['{"a": 1, "a": 2}', "[NaN]", "[1e999]", "[", "[" * 100_000, "[" + "1" * 5000 + "]", b"\xff"]
)
def test_data_files_are_read_strictly(bad: str | bytes) -> None:
    with pytest.raises(RubricError):
        read_data(bad if isinstance(bad, bytes) else bad.encode(), "cases.json")


def test_data_files_by_name() -> None:
    assert read_data(b'[{"no": "yes", "n": 1e3}]', "a.json") == [{"no": "yes", "n": 1000.0}]
    assert read_data(b"- {no: yes, n: 1e3}\n", "a.yaml") == [{"no": "yes", "n": 1000.0}]
    with pytest.raises(RubricError):
        read_data(b"- 2024-01-01\n", "a.yml")


@given(rubrics())
def test_a_rubric_written_out_is_read_back(of: Rubric) -> None:
    back = parse_rubric(json.dumps(of.model_dump(mode="json", exclude_unset=True)))
    assert (back, back.hash) == (of, of.hash)


SHIPPED = library.ready("rubrics")


@pytest.mark.parametrize("folder", SHIPPED, ids=[folder.name for folder in SHIPPED])
def test_ready_rubrics_are_clean(folder: Path) -> None:
    assert check_rubric(folder) == []
    assert load_rubric(folder).id == folder.name
    assert (folder / "README.md").read_text().startswith(f"# {folder.name}\n")


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["vars.x", "a.py:f"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["id", "points", "description", "judge", "check", "criteria", "gates", "vars", "needs", "veto",
                         "when", "scale", "python", "bands", "for_each", "examples", "not", "x", "checks", "full_at"]),
        inner, max_size=5,
    ),
    max_leaves=25,
))  # fmt: skip
def test_whatever_is_written_the_answer_is_a_rubric_or_faults_with_places(data: Any) -> None:
    text = json.dumps({"id": "r", "criteria": data, "gates": [data]}, ensure_ascii=True)
    found: list[Fault] = []
    try:
        parse_rubric(text)
    except RubricError as error:
        found = error.faults
    assert all(fault.message and fault.code.startswith("RG0") for fault in found)
    assert all(fault.line == 1 and fault.column for fault in found)
