"""The public face: names, what importing costs, layers, and the house rules that a program can check."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import rubricgrade
from rubricgrade import errors

PACKAGE = Path(rubricgrade.__file__).parent
ROOT = PACKAGE.parent
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = ("litellm", "openai", "aiohttp", "starlette", "fastapi", "httpx", "pydantic", "yaml", "rich", "typer")
MOST_LINES = 400
MOST_TIMES = 2.2


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_public_names_are_sorted_distinct_and_there() -> None:
    names = rubricgrade.__all__
    assert names == sorted(set(names))
    for name in names:
        assert getattr(rubricgrade, name) is not None
    assert set(names) <= set(dir(rubricgrade))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'grde'"):
        _ = rubricgrade.grde  # pyright: ignore[reportAttributeAccessIssue] - that is the point


def test_importing_loads_nothing_heavy() -> None:
    loaded = python("import sys, rubricgrade; print('\\n'.join(sys.modules))").split()
    assert not {module.partition(".")[0] for module in loaded} & set(HEAVY)


def test_loading_a_rubric_and_a_trajectory_loads_no_vendor() -> None:
    code = "import sys; from rubricgrade import load_rubric, load_trajectory; print('\\n'.join(sys.modules))"
    loaded = {module.partition(".")[0] for module in python(code).split()}
    assert not loaded & {"litellm", "openai", "aiohttp", "starlette", "httpx", "rich", "typer"}


def test_importing_costs_little() -> None:
    """A ratio in one run, over the fastest of several processes each, so that a busy machine makes no difference."""
    code = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    ours, pydantics = (
        [float(python(code.format(statement))) for _ in range(7)]
        for statement in ("import rubricgrade", "from pydantic import BaseModel")
    )
    assert min(ours) <= MOST_TIMES * min(pydantics)


def test_every_public_name_costs_little_to_have() -> None:
    """Values and loaders; `grade` itself brings sandboxes and the way to a judge."""
    code = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    ours, pydantics = (
        [float(python(code.format(statement))) for _ in range(5)]
        for statement in ("from rubricgrade import Grade, Rubric, Trajectory", "from pydantic import BaseModel")
    )
    assert min(ours) <= 2 * MOST_TIMES * min(pydantics)


def test_layers_are_kept() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_holds_one_idea_and_says_which() -> None:
    texts = {str(path.relative_to(PACKAGE)): path.read_text() for path in MODULES}
    assert [name for name, text in texts.items() if len(text.splitlines()) > MOST_LINES] == []
    assert [name for name, text in texts.items() if not ast.get_docstring(ast.parse(text))] == []
    assert {path.stem for path in MODULES} & {"utils", "helpers", "common", "manager", "grade", "run"} == set()


def test_every_module_can_be_imported() -> None:
    for module in pkgutil.walk_packages([str(PACKAGE)], "rubricgrade."):
        try:
            importlib.import_module(module.name)
        except errors.MissingExtraError:
            # Written against a host's own classes; everything else imports its hosts on first use.
            assert module.name.startswith("rubricgrade.integrations.")


MADE = [
    errors.RubricgradeError("root"),
    errors.InputError([errors.Fault("wrong", "a.yaml", 3, 5, "RG001"), errors.Fault("also wrong")]),
    errors.RubricError(errors.Fault("wrong", "a.yaml", 3, 5)),
    errors.TrajectoryError("no steps"),
    errors.TemplateError("no base"),
    errors.SandboxError("failed"),
    errors.SandboxUnavailable("no user namespaces"),
    errors.SandboxLost("died"),
    errors.JudgeError("429", "judge_failed"),
    errors.CheckError("crashed"),
    errors.StoreError("disk full"),
    errors.MissingExtraError("reading parquet", "parquet"),
]


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error: errors.RubricgradeError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert again.exit_code in {2, 3}


def test_every_error_is_tried_above_and_drawn_in_the_tree() -> None:
    defined = {
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, errors.RubricgradeError)
    }
    assert defined == {type(error) for error in MADE}
    for error in defined:
        assert error.__name__ in (errors.__doc__ or "")
