"""Starts `rubricgrade serve` with both rubrics of these examples, for hosts that ask for rewards over HTTP.

The program may be installed elsewhere than the host, with the extra `server`; the host needs nothing of it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
EPISODES = (("It is 4.", "sums"), ("It is 5.", "sums"), ("It is 4.", "judged"))
"""What a model says, and the rubric that its row names."""


@contextmanager
def served(program: str) -> Iterator[str]:
    """The URL of a server, for as long as the block runs."""
    command = [program, "serve", "--port", "0", "--ungraded-reward", "0"]
    for name, file in (("sums", "rubric.yaml"), ("judged", "judged.rubric.yaml")):
        command += ["--rubric", f"{name}={HERE / file}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        try:
            yield found[0]
        finally:
            process.terminate()
