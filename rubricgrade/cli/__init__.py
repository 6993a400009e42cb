"""The command line: `main` starts it; one module per verb, each of which parses, calls and prints."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the program, and end the process with one of the exit codes of `report.exits.Exit`."""
    from rubricgrade.cli.interrupts import INTERRUPTED, ending, watch

    watch()
    try:
        code = ending(_run())
    except KeyboardInterrupt:
        code = ending(INTERRUPTED)
    sys.exit(code)


def _run() -> int | str | None:
    from rubricgrade.cli.app import app
    from rubricgrade.cli.output import complain, prepare_streams
    from rubricgrade.errors import RubricgradeError

    prepare_streams()
    try:
        app(prog_name="rubricgrade")
    except SystemExit as end:
        code = end.code
    except RubricgradeError as error:
        complain(error)
        code = error.exit_code
    except Exception:  # noqa: BLE001 - our own fault; Python's exit code for it, 1, would read as "below the bar"
        import traceback

        traceback.print_exc()
        code = 3
    else:
        code = 0
    _flush()
    return code


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`): what is still buffered must not be flushed once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["main"]
