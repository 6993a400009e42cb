"""The program in this process: the same code as the command, without the second that starting it takes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from rubricgrade import cli
from tests.cli.program import Ran, environment


def run(*arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd or Path.cwd()),
        patch("sys.argv", ["rubricgrade", *map(str, arguments)]),
        patch.dict("os.environ", environment(**(env or {})), clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = cli._run()
    return Ran(code if isinstance(code, int) else 0 if code is None else 1, out.getvalue(), err.getvalue())
