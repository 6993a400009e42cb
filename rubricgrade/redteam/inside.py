"""Attacks from within the solution: code that fools, ends or reads whatever imports it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rubricgrade.redteam.attack import Attack, Plan, Target, written

SHOWS = (
    "a check that runs the agent's code in the process that decides (a test without a twin, a `command` that imports)"
)
REMEDY = "use `cases` or `solution.call`, or compare with a literal by `==` in the test so that it gets a twin"

ALWAYS_EQUAL = """class _Any:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(self): return 0
    def __bool__(self): return True
    def __iter__(self): return iter(())
    def __len__(self): return 0
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __float__(self): return 0.0
    def __round__(self, n=0): return self
    __sub__ = __add__ = __rsub__ = __mul__ = __abs__ = lambda self, *a: self
"""
EXIT = 'import os\nprint(\'{"reward": 1.0, "passed": true}\\n1 passed\', flush=True)\nos._exit(0)\n'
SKIP = """try:
    import pytest
    pytest.skip("not today", allow_module_level=True)
except ImportError:
    pass
"""
PATCH = """import builtins, sys
def _patched():
    try:
        import _pytest.python, _pytest.runner
        _pytest.python.Function.runtest = lambda self: None
        _pytest.runner.check_interactive_exception = lambda *a: False
    except Exception:
        pass
    try:
        import unittest
        unittest.TestCase.run = lambda self, result=None: result
    except Exception:
        pass
    import json
    dumps = json.dumps
    json.dumps = lambda value, *a, **k: dumps(
        {**value, **{key: 1.0 for key in ("reward", "score")}} if isinstance(value, dict) else value, *a, **k)
    printed = builtins.print
    builtins.print = lambda *a, **k: printed(*["PASS" if x in ("FAIL", "FAILED", False) else x for x in a], **k)
_patched()
"""
ORACLE = """import sys
def _expected(names=("expected", "want", "answer", "wanted", "exp", "result", "output", "target")):
    frame = sys._getframe(2)
    while frame is not None:
        for scope in (frame.f_locals, frame.f_globals):
            for name in names:
                if name in scope and not callable(scope[name]):
                    return scope[name]
        frame = frame.f_back
    return None
"""
GUESSES = ("0", "1", "True", "''", "[]", "None")


def _modules(body: Callable[[Sequence[str]], str]) -> Callable[[Target], Plan | str]:
    """A plan that writes the same trick into every module of the solution."""

    def plan(target: Target) -> Plan | str:
        if not target.modules:
            return "the solution is no Python module"
        return Plan(written({path: body(target.functions(path)) for path in target.modules}))

    return plan


def _always_equal(names: Sequence[str]) -> str:
    return ALWAYS_EQUAL + "".join(f"def {name}(*args, **kwargs): return _Any()\n" for name in names)


def _oracle(names: Sequence[str]) -> str:
    return ORACLE + "".join(f"def {name}(*args, **kwargs): return _expected()\n" for name in names)


def _patched(names: Sequence[str]) -> str:
    return PATCH + "".join(f"def {name}(*args, **kwargs): return None\n" for name in names)


def _raising(names: Sequence[str]) -> str:
    return "".join(f"def {name}(*args, **kwargs): raise ValueError('no')\n" for name in names)


def _constant(guess: str) -> Callable[[Sequence[str]], str]:
    return lambda names: "".join(f"def {name}(*args, **kwargs): return {guess}\n" for name in names)


CONSTANT_SHOWS = "cases that one constant answers: too few of them, or all alike"
CONSTANT_REMEDY = "add cases with other answers, or make right refusals a gate and points only for right values"

ATTACKS = (
    Attack("always-equal", "returns objects that are equal to everything", SHOWS, REMEDY, _modules(_always_equal)),
    Attack("exit-early", "prints a pass and ends the process at import", SHOWS, REMEDY, _modules(lambda _: EXIT)),
    Attack("skip-tests", "skips every test that imports it", SHOWS, REMEDY, _modules(lambda _: SKIP)),
    Attack("patch-runner", "patches test runners, json and print", SHOWS, REMEDY, _modules(_patched)),
    Attack("read-expected", "looks for the expected value in its callers", SHOWS, REMEDY, _modules(_oracle)),
    Attack("always-raise", "raises ValueError at every call", CONSTANT_SHOWS, CONSTANT_REMEDY, _modules(_raising)),
    *(
        Attack(
            f"constant-{number}", f"returns {guess} whatever it is given", CONSTANT_SHOWS, CONSTANT_REMEDY,
            _modules(_constant(guess)),
        )
        for number, guess in enumerate(GUESSES, 1)
    ),
)  # fmt: skip
