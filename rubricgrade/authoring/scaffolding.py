"""`init`: a folder to begin a rubric in, made from a ready one, so that everything in it works at once."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from string import Template

from rubricgrade import library
from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.loading.schema import rubric_schema
from rubricgrade.rubric.rules import nearest
from rubricgrade.store.recorded import RECORDED

TEMPLATES = {
    "coding": "coding-agent",
    "research": "research-report",
    "tool-use": "tool-use",
    "office": "office-document",
}
"""Short names; every ready rubric can be named as well."""

SCHEMA = "rubric.schema.json"
LEFT_OUT = ("README.md", "__pycache__")

README = Template("""\
# $name

Begun from the ready rubric `$source`. Everything here works as it is, with no key: verdicts on the examples were
recorded by hand in `verdicts.jsonl`. Run the commands in this folder.

    rubricgrade lint .
    rubricgrade preview . --criterion $criterion
    rubricgrade test .
    rubricgrade grade . examples/good --offline -o grades

## What next

1. Edit `rubric.yaml`: what must hold goes under `gates` (code decides), what counts under `criteria` (code or a judge).
   Keep what fits, delete the rest; `rubricgrade lint .` says what is wrong and what a judge will stumble over.
2. Replace `examples/good` and `examples/bad` by episodes of your task: a `trajectory.json` (a list of chat messages
   will do), and what the agent left in `workspace/`. What you expect of them stands under `examples` in `rubric.yaml`.
3. `rubricgrade test .` tries them. A question that is new has no recorded verdict: name a judge with `--judge MODEL`
   (its key comes from the environment), or answer by hand: `rubricgrade test . --missing open.jsonl`, fill in `answer`,
   `reasoning`, `evidence` and `recorded_by`, and add the lines to `verdicts.jsonl`.
4. `rubricgrade probe .` shows what agents earn that did not do the work; with `--judge MODEL`, what a judge lets pass.
5. `test_rubric.py` makes it a test of your project: `pytest test_rubric.py`.
""")

TEST = '''\
"""The rubric as a test: what was right stays right, and what was wrong is still found."""

from pathlib import Path

HERE = Path(__file__).parent


def test_its_examples(try_rubric):
    try_rubric(HERE)


def test_a_good_episode(grade_episode):
    grade_episode(HERE, HERE / "examples/good").must_score(at_least=1)
'''


def start_rubric(folder: Path, template: str) -> list[Path]:
    """Make the folder of a new rubric.

    Args:
        folder: To be made; may be there if it is empty. Its name becomes the rubric's id.
        template: One of `TEMPLATES`, or the name of a ready rubric.

    Returns:
        What was made, relative to the folder.

    Raises:
        InputError: There is no such template, or something is in the folder already.
        StoreError: It can't be written.
    """
    source = library.find("rubrics", TEMPLATES.get(template, template))
    if source is None:
        known = [*dict.fromkeys([*TEMPLATES, *(each.name for each in library.ready("rubrics"))])]
        close = nearest(template, known)
        raise InputError(Fault(f"no template is called {template!r}{close}; there are {', '.join(known)}"))
    if folder.exists() and not folder.is_dir():
        raise InputError(Fault("is a file; name a new folder", str(folder)))
    if folder.exists() and any(folder.iterdir()):
        raise InputError(Fault("is not empty; name a new folder", str(folder)))
    name = _identifier(folder.resolve().name)
    try:
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        text = _renamed((folder / "rubric.yaml").read_text(encoding="utf-8"), name)
        criterion = re.search(r"^criteria:\n  - id: (\S+)", text, re.MULTILINE)
        texts = {
            "rubric.yaml": text,
            "README.md": README.substitute(
                name=name, source=source.name, criterion=criterion[1] if criterion else "ID"
            ),
            "test_rubric.py": TEST,
            SCHEMA: json.dumps(rubric_schema(), indent=2) + "\n",
        }
        recorded = folder / RECORDED
        if recorded.is_file():
            texts[RECORDED] = re.sub(r'(?<="rubric": )"[^"]*"', json.dumps(name), recorded.read_text(encoding="utf-8"))
        for path, content in texts.items():
            (folder / path).write_text(content, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"can't write into {folder}: {error.strerror or error}") from error
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _renamed(text: str, name: str) -> str:
    text = re.sub(r"^id: .*$", f"id: {name}", text, count=1, flags=re.MULTILINE)
    return text.replace("$schema=../rubric.schema.json", f"$schema={SCHEMA}", 1)


def _identifier(name: str) -> str:
    """A folder's name as an id that YAML reads as text."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-._") or "rubric"
    return plain if re.match(r"[^\W\d_]", plain) else f"rubric-{plain}"
