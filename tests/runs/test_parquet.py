"""Parquet: what the lines say, in a schema that does not depend on them, as pyarrow reads it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import MissingExtraError
from rubricgrade.runs.lines import Line, Tokens, append, jsonl_of
from rubricgrade.runs.parquet import parquet_of
from tests.cli.program import run
from tests.runs.test_lines import line

CALLS = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]
MESSAGES: tuple[dict[str, Any], ...] = (
    {"role": "user", "content": "do \u2028 it \U0001f600"},
    {"role": "assistant", "content": "", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
    {"role": "tool", "tool_call_id": None, "content": ""},
)


def lines() -> list[Line]:
    ungraded = {"reward": None, "status": "ungraded", "cause": "judge_failed", "usage": Tokens(input=3, cost=None)}
    talked = line(sample=1).model_copy(update={"messages": MESSAGES})
    return [line(), talked, line(sample=2).model_copy(update=ungraded)]


def rows(data: bytes) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra 'parquet' is not installed")
    return parquet.read_table(io.BytesIO(data)).to_pylist()


def message(row: dict[str, Any]) -> dict[str, Any]:
    """Without the keys that only other roles have."""
    own = {"tool": {"tool_call_id"}, "assistant": {"tool_calls"} if row["tool_calls"] else set[str]()}
    return {key: value for key, value in row.items() if key in {"role", "content", *own.get(row["role"], ())}}


def test_every_field_comes_back_as_it_was() -> None:
    read = [{**row, "messages": [message(one) for one in row["messages"]]} for row in rows(parquet_of(lines()))]
    assert read == [json.loads(text) for text in jsonl_of(lines()).splitlines()]
    assert [set(row) for row in read] == [set(Line.model_fields)] * 3


def test_what_could_not_be_graded_is_null_and_nothing_else_is() -> None:
    pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    assert [row["reward"] for row in rows(parquet_of(lines()))] == [0.5, 0.5, None]


def test_the_schema_does_not_depend_on_the_lines() -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra 'parquet' is not installed")
    schemas = [parquet.read_schema(io.BytesIO(parquet_of(found))) for found in ([], lines()[:1], lines() * 700)]
    assert schemas[0] == schemas[1] == schemas[2]
    nullable = {field.name for field in schemas[0] if field.nullable}
    assert nullable == {"reward", "cause"}
    assert len(rows(parquet_of(lines() * 700))) == 2100


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"rubricgrade\[parquet\]"):
        parquet_of([])


def write_run(folder: Path) -> Path:
    folder.mkdir()
    manifest = {"run": "r", "agent": "nop", "model": "nop", "samples": 3, "tasks": {}, "limits": {}}
    (folder / "run.json").write_text(json.dumps({"schema": "rubricgrade.run/1", **manifest}))
    for one in lines():
        append(folder / "trajectories.jsonl", one)
    return folder


def test_export_writes_both_forms(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    folder = write_run(tmp_path / "first")
    for form in ("parquet", "jsonl"):
        ran = run("export", folder, "--to", form, cwd=tmp_path)
        assert (ran.code, ran.err) == (0, f"3 attempts written to first.{form}\n")
    assert (tmp_path / "first.jsonl").read_bytes() == (folder / "trajectories.jsonl").read_bytes()
    assert [row["sample"] for row in rows((tmp_path / "first.parquet").read_bytes())] == [0, 1, 2]


def test_what_cannot_be_exported_is_told(tmp_path: Path) -> None:
    assert "not a run" in run("export", tmp_path, "-o", tmp_path / "x.parquet").err
    ran = run("export", write_run(tmp_path / "first"), "--to", "jsonl", "-o", tmp_path / "none" / "x")
    assert (ran.code, "can't be written" in ran.err) == (2, True)


READERS = {
    "pandas": "import pandas; t = pandas.read_parquet(F); print(t.reward.isna().sum(), t.messages[1][1]['role'])",
    "duckdb": 'import duckdb; print(*duckdb.sql(f"select count(*) - count(reward), '
    "max(messages[2].role) filter (sample = 1) from '{F}'\").fetchall()[0])",
    "datasets": "import datasets; d = datasets.load_dataset('parquet', data_files=F, split='train'); "
    "print(d['reward'][:].count(None), d[1]['messages'][1]['role'])",
}


@pytest.mark.cloud
@pytest.mark.parametrize("reader", READERS)
def test_the_programs_that_people_use_read_it(reader: str, tmp_path: Path) -> None:
    pytest.importorskip(reader, reason="group 'cloud' is not installed")
    file = tmp_path / "run.parquet"
    file.write_bytes(parquet_of(lines()))
    code = f"F = {str(file)!r}; {READERS[reader]}"
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.stdout.split() == ["1", "assistant"], done.stderr
