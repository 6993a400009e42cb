"""The real program on a real port."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cli.program import PROGRAM, environment


@contextmanager
def served(run: Path, *options: str) -> Generator[str]:
    """Serve a run; its address."""
    command: Sequence[str | Path] = [PROGRAM, "review", run, "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment())
    try:
        assert process.stderr is not None
        found = next((match for line in process.stderr if (match := re.search(r"http://\S+", line))), None)
        assert found is not None, "it ended without an address"
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)
        if process.stderr is not None:
            process.stderr.close()
