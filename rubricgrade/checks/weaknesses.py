"""What a rubric's checks leave open by the way they run the agent's code, for `lint`: found without running any."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rubricgrade.checks.inside.binding import Source
from rubricgrade.checks.inside.case import Case
from rubricgrade.checks.inside.finding import AuthorFault
from rubricgrade.checks.inside.planning import is_covered_in_part, place_of, planned, twin_of
from rubricgrade.checks.inside.program import Program
from rubricgrade.rubric import Check, Rubric
from rubricgrade.rubric.check import Pytest, Python
from rubricgrade.rubric.rules import checks_of

Place = tuple[str | int, ...]
MOST_NAMED = 5
RUNNING = frozenset({
    "eval", "exec", "__import__", "import_module", "spec_from_file_location", "run_path", "run_module",
    "system", "popen", "Popen", "check_output", "check_call", "unpickle",
})  # fmt: skip
"""Functions that make code of a text, a file or a name."""
SHARED = (
    "tests that share a process show the agent's code what each of them expects, and one that hangs or ends it fails"
    " the others too; only 'isolate: test' keeps them apart"
)
LITERALS = "compare with a literal by '==' at the test's own level, or ask for it by 'cases'"
RUNNING_OF = frozenset({("pickle", "load"), ("pickle", "loads"), ("subprocess", "run"), ("marshal", "loads")})


@dataclass(frozen=True, slots=True)
class Weakness:
    """One thing that an author should know.

    Attributes:
        place: The keys that lead to it in the rubric.
        kind: ``untwinned``: tests that tampering code could pass; ``twinned-in-part``: those of which it could pass
            some assertions; ``shared-process``: tests that could give each other away; ``runs-agent-code``: a python
            check that seems to run what the agent left, in the checker's sandbox, where the sealed files lie;
            ``always-fails``: a line of a python check that raises whenever it is reached.
        message: What is the matter, and what to do about it.
    """

    place: Place
    kind: Literal["untwinned", "twinned-in-part", "shared-process", "runs-agent-code", "always-fails"]
    message: str


def weaknesses(rubric: Rubric) -> list[Weakness]:
    """Everything of that kind in a rubric, in its order."""
    return [weakness for place, check in checks_of(rubric) for weakness in _of(rubric, check, place)]


def _of(rubric: Rubric, check: Check, place: Place) -> Iterator[Weakness]:
    match check.spec:
        case Pytest() as spec:
            yield from _untwinned(rubric, spec, (*place, "pytest"))
            if spec.isolate != "test":
                yield Weakness((*place, "pytest", "isolate"), "shared-process", SHARED)
        case Python() as spec:
            yield from _runs_agent_code(rubric.sealed.get(spec.file, b""), (*place, "python"))
            yield from _always_fails(rubric, spec, (*place, "python"))
        case Check() as inner:
            yield from _of(rubric, inner, (*place, "not"))
        case _:
            pass


def _untwinned(rubric: Rubric, spec: Pytest, place: Place) -> Iterator[Weakness]:
    files = {place_of(path, spec.root): rubric.sealed.get(path, b"") for path in spec.files}
    for key, names in (("fail_to_pass", spec.fail_to_pass), ("pass_to_pass", spec.pass_to_pass)):
        try:
            tests = planned(names, files)
            alone = [test.name for test in tests if twin_of(test, files, 0) is None]
            in_part = [test.name for test in tests if test.name not in alone and is_covered_in_part(test, files)]
        except AuthorFault as fault:
            yield Weakness((*place, key), "untwinned", f"can't be run: {fault}")
            continue
        if alone:
            yield Weakness(
                (*place, key),
                "untwinned",
                f"no wrong literal can be put into {_listed(alone)}, so code that tampers with its tests could pass;"
                f" {LITERALS}",
            )
        if in_part:
            yield Weakness(
                (*place, key),
                "twinned-in-part",
                f"only into some assertions of {_listed(in_part)} can a wrong literal be put, so code that tampers with"
                f" its tests could pass the others; {LITERALS}",
            )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else "")


def _runs_agent_code(source: bytes, place: Place) -> Iterator[Weakness]:
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError):
        return  # loading has said so
    for call in calls:
        name = ast.unparse(call.func)
        # `re.compile` is another thing than `compile`.
        if name == "compile" or name.rpartition(".")[2] in RUNNING or tuple(name.split(".")[-2:]) in RUNNING_OF:
            yield Weakness(
                place,
                "runs-agent-code",
                f"calls {name} (line {call.lineno}): what the agent left must not be run beside the sealed files; use"
                " case.solution.call or case.solution.run",
            )


def _always_fails(rubric: Rubric, spec: Python, place: Place) -> Iterator[Weakness]:
    files: dict[str, Source] = {}
    for path in (path for path in rubric.sealed if path.endswith(".py")):
        with contextlib.suppress(SyntaxError, ValueError):  # loading has said so
            files[path] = Source(rubric.sealed[path])
    if spec.file not in files:
        return
    parsed, program = files[spec.file], Program(files)
    elsewhere = _never_called(parsed.tree, spec.name)
    unbound = [
        name
        for name in parsed.unbound()
        if not program.sets(name.id) and not any(name.lineno in lines for lines in elsewhere)
    ]
    first = {name.id: name for name in sorted(unbound, key=lambda name: -name.lineno)}
    for name in sorted(first.values(), key=lambda name: name.lineno):
        message = f"reads {name.id} (line {name.lineno}), which nothing has set: the check raises there"
        yield Weakness(place, "always-fails", message)
    for line, asked in _unknown_to_a_case(parsed, spec.name, program):
        message = f"asks for {asked} (line {line}), which a case does not have: the check raises there"
        yield Weakness(place, "always-fails", message)


def _never_called(module: ast.Module, function: str) -> list[range]:
    """The lines of those functions of a file that a check's own does not come to, by any name."""
    unseen = {
        node.name: node
        for node in module.body
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and node.name != function
    }
    to_see: list[ast.AST] = [node for node in module.body if node not in unseen.values()]
    to_see += [node.args for node in unseen.values()]  # defaults belong to the file's own lines
    while to_see:
        for part in ast.walk(to_see.pop()):
            if isinstance(part, ast.Name) and part.id in unseen:
                to_see.append(unseen.pop(part.id))
    return [range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1) for node in unseen.values()]


def _unknown_to_a_case(source: Source, function: str, program: Program) -> Iterator[tuple[int, str]]:
    """Attributes of its only argument that a check asks for and that there are not, with their lines."""
    if source.dynamic:
        return
    known = {*dir(Case), *Case.__annotations__}
    for node in source.tree.body:
        match node:
            case ast.FunctionDef(name=name, args=ast.arguments(args=[case, *_])) if name == function:
                pass
            case _:
                continue
        for part in ast.walk(node):
            match part:
                case ast.Attribute(value=ast.Name(id=name) as holder, attr=attr) if name == case.arg:
                    _, binders = source.binders(name, holder)
                    if binders == [case] and attr not in known and not program.sets(attr):
                        yield part.lineno, f"{name}.{attr}"
                case _:
                    pass
