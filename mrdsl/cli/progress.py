"""The status line of a command on a terminal: what it does, since when, how far it is, and the best plan so far."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from mrdsl.cli.outputs import STATUS
from mrdsl.core.watching import Progress, setting, watched

PATIENCE = 1.0
"""Seconds of a command after which the line appears."""
EVERY = 0.2
"""Seconds between two pictures of it."""
ASKING = ("lsp", "new")
"""Commands that wait for another program or the user."""
MEGABYTE = 1_000_000
ERASED = "\r\x1b[K"


@contextmanager
def status_line() -> Iterator[None]:
    """Show a status line in the ``with`` block until something is printed; not while the user types."""
    words = sys.argv[1:]
    if not words or words[0] in ASKING or ("-" in words and sys.stdin.isatty()):
        yield
        return
    line = StatusLine(f"mrdsl {words[0]}")
    try:
        with watched(line), setting(STATUS, line), _timer(line.draw):
            yield
    finally:
        line.end()


@contextmanager
def _timer(call: Callable[..., None]) -> Iterator[None]:
    """Call a function every now and then: a thread that does would prevent solvers from being forked."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, call)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, EVERY)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _on_terminal(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode("ascii", "replace"))


class StatusLine:
    """One line that appears for a command of more than a moment, and disappears before anything is printed."""

    def __init__(
        self, command: str, clock: Callable[[], float] = time.monotonic, write: Callable[[str], None] = _on_terminal
    ) -> None:
        self.clock, self.write = clock, write
        self.command = self.told = Progress(command)
        self.began = self.since = clock()
        self.drawn, self.width = 0.0, 79
        self.is_shown = self.is_over = False

    def __call__(self, told: Progress) -> None:
        """Take the progress of work."""
        told = self.command if told.over else told
        if told.what != self.told.what:
            self.since = self.began if told is self.command else self.clock()
        self.told = told
        self.draw()

    def draw(self, *_: object) -> None:
        """Draw the line, if the time since the last drawing is long enough."""
        now = self.clock()
        if self.is_over or now - self.began < PATIENCE or now - self.drawn < EVERY:
            return
        self.drawn, self.is_shown = now, True
        with suppress(OSError):
            self.width = os.get_terminal_size(2).columns - 1
        self.write(f"\r{words_of(self.told, now - self.since)[: self.width]}\x1b[K")

    def end(self) -> None:
        """Erase the line, and draw it no more."""
        self.is_over = True
        if self.is_shown:
            self.write(ERASED)
        self.is_shown = False


def counting(what: str) -> Callable[[int, int], None]:
    """Return a function to call with the finished and all pieces of some work."""
    line = STATUS.get()
    return lambda done, total: None if line is None else line(Progress(what, done, total))


@contextmanager
def bytes_read(total: int) -> Iterator[Callable[[int], None] | None]:
    """Yield a function to call with every number of bytes read, out of ``total`` (0: unknown), or None without a
    status line.
    """
    line, read = STATUS.get(), 0

    def more(size: int) -> None:
        nonlocal read
        read += size
        assert line is not None
        line(Progress("reading [MB]", read // MEGABYTE, total // MEGABYTE or None))

    yield None if line is None else more
    if line is not None:
        line(Progress("reading [MB]", over=True))


def words_of(told: Progress, seconds: float) -> str:
    """``solving, 12 s: best 43.54, bound 43.1, gap 1 %``."""
    from mrdsl.core.result import relative_gap

    known = [] if told.total is None else [f"{told.done:,} of {told.total:,}"]
    if told.value is not None:
        known.append(f"best {told.value:.6g}")
    if told.bound is not None:
        known.append(f"bound {told.bound:.6g}")
    gap = relative_gap(told.value, told.bound, told.fixed)
    if gap is not None:
        known.append(f"gap {100.0 * gap:.3g} %")
    return f"{told.what}, {seconds:.0f} s" + (f": {', '.join(known)}" if known else "")
