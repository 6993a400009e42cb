"""The document and the example say what the program does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from rubricgrade.review.records import Decided, Record
from tests.cli.program import run as program

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "review.md").read_text()


def test_every_kind_of_record_is_described() -> None:
    kinds = {each.model_fields["kind"].default for each in get_args(get_args(Record)[0])}
    assert {kind for kind in kinds if f"`{kind}`" not in TEXT} == set()
    own = Decided.model_fields.keys() - {
        "kind",
        "id",
        "at",
        "by",
        "trajectory",
        "rubric",
        "criterion",
        "question",
        "schema_",
    }
    assert {field for field in own if f"`{field}`" not in TEXT} == set()


def test_every_option_that_is_named_exists() -> None:
    help_text = program("review", "--help", env={"COLUMNS": "200"}).out
    named = set(re.findall(r"`(?:rubricgrade review RUN )?(--[a-z-]+)", TEXT)) - {"--labels"}
    assert len(named) > 8
    assert {option for option in named if option not in help_text} == set()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([\w./-]+)\)", TEXT))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / "docs" / target).exists()


def test_records_have_a_schema(run: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="a development dependency")
    from tests.review.acts import decide
    from tests.review.made import desk_of

    decide(desk_of(run), "one", "polite", "met", quotes=("Thank you",))
    schema = program("schema", "review").json
    for line in (run / "one" / "reviews" / "anna.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"kind": "decided"}, schema)


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "review_in_python.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "judged 0.375, with what people say 0.25" in done.stdout
    assert "10 verdicts, 90% equal" in done.stdout


def test_the_library_that_we_ship_is_the_one_that_we_name() -> None:
    from rubricgrade import digest
    from rubricgrade.review.web.app import STATIC

    vendor = (STATIC / "VENDOR.txt").read_text()
    (name,) = [path.name for path in STATIC.glob("htmx-*.js")]
    assert name in vendor
    assert digest.of_file(STATIC / name).removeprefix("sha256:") in vendor
    assert "Permission to use, copy, modify" in (STATIC / "htmx-LICENSE.txt").read_text()
