"""Runs a few tests of a sealed suite with the sealed pytest, and writes one JSON reply. Runs beside the agent's code.

Sent to the solution's sandbox as source text. The agent's code shares the tests' process, so nothing that is said here
can be believed by itself: what it can't fake is to fail where it does not know that it should (see `twins`).
"""

import base64
import gc
import json
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from typing import Any, NoReturn

TOLD = 600
KILLED = 128 + signal.SIGKILL
"""Exit code that says that somebody has killed the process, maybe not its own code."""


def main(token: str) -> NoReturn:
    """Answer the request on standard input; the reply is a line that begins with the token."""
    request: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    write, leave, encode = os.write, os._exit, json.dumps
    # Only a parent that lives to see the end makes a reply count: code that kills all others has killed that too.
    if child := os.fork():
        status = os.waitpid(child, 0)[1]
        leave(KILLED if status == signal.SIGKILL else int(status != 0))
    private = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    # Where the suite is laid over the agent's work, or a folder of its own.
    suite = request["root"] or tempfile.mkdtemp()
    for path, data in request["files"].items():
        place = os.path.join(suite, path)  # noqa: PTH118 - like the rest, nothing but what pytest loads anyway
        # What the agent has there, or in the place of a folder around it, may be a link.
        for end in [at for at, sign in enumerate(path) if sign == "/"]:
            above = os.path.join(suite, path[:end])  # noqa: PTH118
            if os.path.islink(above) or (os.path.lexists(above) and not os.path.isdir(above)):  # noqa: PTH112, PTH114
                os.unlink(above)  # noqa: PTH108
        os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
        if os.path.lexists(place):
            os.unlink(place)  # noqa: PTH108
        with open(place, "xb") as file:  # noqa: PTH123
            file.write(base64.b64decode(data))
    settings = os.devnull
    if request["config"]:
        handle, settings = tempfile.mkstemp(suffix=".ini")
        with open(handle, "w") as file:  # noqa: PTH123
            file.write(request["config"])
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # The sealed pytest is the only one that can be imported, and it is before anything of the agent's can be.
    sys.path.insert(0, request["library"])
    # Pytest collects garbage several times at its end; what it is made of need not be looked through each time.
    gc.disable()
    import pytest  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    options = ["-q", "--color=no", "--tb=short", "-p", "no:cacheprovider", "-c", settings, "--rootdir", suite]
    # Pytest looks through every folder from here on down to the tests.
    options += ["--confcutdir", suite, "--continue-on-collection-errors", "-o", "python_files=*.py"]
    for plugin in request["plugins"]:
        options += ["-p", plugin]
    alone = not request["root"] and not any(os.path.basename(path) == "conftest.py" for path in request["files"])  # noqa: PTH119
    if alone:
        options.append("--noconftest")
    pytest.hookimpl(wrapper=True)(Watcher.pytest_ignore_collect)
    watcher = Watcher(request, suite)
    code = pytest.main([*options, *watcher.folders], plugins=[watcher])
    reply = {"rc": int(code), "reports": watcher.reports, "trouble": watcher.trouble}
    sys.stderr.flush()
    data = f"\n{token} {encode(reply)}\n".encode()
    while data:
        data = data[write(private, data) :]
    leave(0)


class Watcher:
    """A plugin that lets the agent's code be imported, picks one test of each file, and keeps the reports on it."""

    def __init__(self, request: dict[str, Any], suite: str) -> None:
        self._path: list[str] = request["path"]
        self._tests: dict[str, str] = request["tests"]
        self._files = {os.path.join(suite, path) for path in self._tests}  # noqa: PTH118
        self.folders = sorted({os.path.dirname(file) for file in self._files})  # noqa: PTH120
        self.reports: list[dict[str, str]] = []
        self.trouble: dict[str, str] = {}

    def pytest_load_initial_conftests(self) -> None:
        """Pytest is complete now: from here on the agent's modules can be found, after the standard library's."""
        ends = ("site-packages", "dist-packages")
        at = next((index for index, path in enumerate(sys.path) if path.endswith(ends)), len(sys.path))
        sys.path[at:at] = self._path

    def pytest_ignore_collect(self, collection_path: Any) -> Generator[None, Any, bool]:
        """Look at nothing but the modules that were asked for, whatever a conftest.py says.

        To name each module takes pytest far longer.
        """
        yield
        path = str(collection_path)
        return path not in self._files and not any(f"{folder}/".startswith(f"{path}/") for folder in self.folders)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave only the tests that were asked for; without brackets in its name, whatever its parameters are."""
        items[:] = [item for item in items if self._is_wanted(item.nodeid)]

    def pytest_collectreport(self, report: Any) -> None:
        """Keep why a module could not be imported."""
        if report.failed:
            self.trouble[report.nodeid] = str(report.longrepr)[-TOLD:]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep a report; those on parts of a test (`subtests`) are contained in that on the whole."""
        if hasattr(report, "context"):
            return
        outcome = "xfail" if hasattr(report, "wasxfail") else report.outcome
        text = "" if outcome == "passed" else str(report.longrepr)[-TOLD:]
        file, _, name = report.nodeid.partition("::")
        self.reports.append({"when": report.when, "outcome": outcome, "file": file, "name": name, "text": text})

    def _is_wanted(self, node: str) -> bool:
        file, _, name = node.partition("::")
        select = self._tests.get(file, "")
        return name == select or ("[" not in select and name.startswith(f"{select}["))


if __name__ == "__main__":
    main(sys.argv[1])
