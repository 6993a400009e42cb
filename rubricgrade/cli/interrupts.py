"""Ctrl-C and SIGTERM: what is under way is ended in order, then the program says what is kept and exits.

While an event loop runs, a signal cancels its work, so that sandboxes are closed and files are whole; elsewhere it
raises `KeyboardInterrupt`, as Python does. Signals that come together are one wish: `timeout` sends two, and so do
wrappers. A later one ends the process where it stands.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import time
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

INTERRUPTED = 130
"""`report.exits.Exit.INTERRUPTED`, which would take long to import: a signal may come before anything else."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
TOGETHER = 1.0
"""Seconds in which further signals repeat the first one."""
AGAIN = 0.01
"""Seconds after which an interrupt that got lost is raised again."""


class Watch:
    """What signals have asked of this process.

    Attributes:
        asked: The number of the first signal; 0 before.
        words: What is to be said when one comes.
        over: All is done and said, so that nothing is lost by ending at once.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.words = ""
        self.over = False
        self._since = 0.0
        self._looping = False
        self._task: asyncio.Task[Any] | None = None

    def answer(self, number: int, _frame: object) -> None:
        """Handle a signal; Python calls it in the main thread, between any two of its instructions.

        Raises:
            KeyboardInterrupt: No event loop is running.
        """
        now = time.monotonic()
        if self.asked and now - self._since < TOGETHER:
            return
        if self.asked or self.over:
            text = f"ended at once; {self.words}" if self.words else "ended at once"
            with contextlib.suppress(OSError):
                os.write(2, f"{text}\n".encode(errors="backslashreplace"))
            os._exit(128 + number)
        self.asked, self._since = number, now
        if not self._looping:
            raise KeyboardInterrupt
        self._cancel()

    def lost(self, what: sys.UnraisableHookArgs) -> None:
        """Take what Python could not raise: an interrupt in the callback of a weak reference is asked for again."""
        if not (self.asked and isinstance(what.exc_value, KeyboardInterrupt)):
            sys.__unraisablehook__(what)
            return
        import threading

        number, self.asked = self.asked, 0
        try:
            threading.Timer(AGAIN, os.kill, (os.getpid(), number)).start()
        except KeyboardInterrupt:  # on a busy host it comes before the timer's start returns, and would be lost here
            self.lost(what)

    @contextlib.contextmanager
    def looping(self) -> Generator[None]:
        """Have signals cancel, and not raise, until the event loop is closed."""
        self._looping = True
        try:
            yield
        finally:
            self._looping, self._task = False, None

    async def cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work so that a signal cancels it, also one that came before there was a task."""
        import asyncio

        self._task = asyncio.current_task()
        if self.asked:
            self._cancel()
        return await work

    def _cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._task.get_loop().call_soon_threadsafe(lambda: None)  # it may be waiting for something to happen


_watch = Watch()  # as there is one table of signal handlers in a process


def watch() -> None:
    """Take over SIGINT and SIGTERM, but for those that whoever started us wants ignored (`nohup`, a background job)."""
    sys.unraisablehook = _watch.lost
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _watch.answer)


def if_interrupted(words: str) -> None:
    """From now on, say this when interrupted: what is kept, and how to go on."""
    from rubricgrade.report.visible import visible

    _watch.words = visible(words)


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run an event loop until the work is done; `asyncio.run` for verbs.

    Raises:
        KeyboardInterrupt: A signal has cancelled it; whatever it then failed with is of no interest.
    """
    import asyncio

    from rubricgrade.errors import RubricgradeError

    with _watch.looping():
        try:
            result = asyncio.run(_watch.cancellable(work))
        except (asyncio.CancelledError, RubricgradeError):
            if not _watch.asked:
                raise
            raise KeyboardInterrupt from None
    if _watch.asked:
        raise KeyboardInterrupt
    return result


def exit_code(code: int | str | None) -> int | str | None:
    """A verb's exit code as the process gives it: one that was interrupted tells by which signal."""
    return 128 + (_watch.asked or signal.SIGINT) if code == INTERRUPTED else code


def ending(code: int | str | None) -> int | str | None:
    """Say the last words of a verb that was interrupted, and give its exit code. Nothing may follow."""
    code = exit_code(code)
    if code in (INTERRUPTED, 128 + _watch.asked):
        from rubricgrade.cli.output import note

        note(f"interrupted; {_watch.words}" if _watch.words else "interrupted")
    _watch.over = True
    # Once threads have ended, Python gives signals back their defaults, by which one that comes then would kill it.
    atexit.register(_ignore)
    return code


def _ignore() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
