"""Progress bars on a terminal: of bytes read, and of all long work that reports its progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mrdsl.core.watching import Progress

PATIENCE = 0.5
"""Seconds of work after which a bar appears."""
EVERY = 0.1
"""Seconds between two pictures of it."""


@contextmanager
def bytes_read(total: int) -> Iterator[Callable[[int], None] | None]:
    """Yield a function to call with every number of bytes read, out of ``total`` (0: unknown), or None without a
    watcher.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total or None)
        yield lambda size: bar.advance(task, size)


def bar_of_work() -> Callable[[Progress], None] | None:
    """Return the bar for the work of a command, or None if standard error is not a terminal."""
    return WorkBar() if sys.stderr is not None and sys.stderr.isatty() else None


class WorkBar:
    """One line that appears for work of more than a moment, and disappears at its end.

    It is drawn when work reports progress: a thread that draws it would prevent solvers from being forked.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, console: Any = None) -> None:
        self.clock, self.console = clock, console
        self.bars: Any = None
        self.began: float | None = None
        self.drawn = 0.0

    def __call__(self, told: Progress) -> None:
        """Draw the progress, if the time since the last drawing is long enough."""
        now = self.clock()
        if told.over:
            if self.bars is not None and self.began is not None:
                self._draw(told, now - self.began)
            self._end()
            return
        if self.began is None:
            self.began = now
        if now - self.began < PATIENCE or now - self.drawn < EVERY:
            return
        self.drawn = now
        self._draw(told, now - self.began)

    def _draw(self, told: Progress, seconds: float) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bars

        if self.bars is None:
            counts = (BarColumn(), MofNCompleteColumn()) if told.total is not None else (SpinnerColumn("line"),)
            words = TextColumn("{task.description}", markup=False)
            self.bars = Bars(*counts, words, console=self._console(), transient=True, auto_refresh=False)
            self.bars.start()
            self.bars.add_task("", total=told.total)
        self.bars.update(
            self.bars.task_ids[0], completed=told.done, total=told.total, description=words_of(told, seconds)
        )
        self.bars.refresh()

    def _console(self) -> Any:
        from rich.console import Console

        return self.console or Console(stderr=True)

    def _end(self) -> None:
        if self.bars is not None:
            self.bars.stop()
        self.bars, self.began, self.drawn = None, None, 0.0


def words_of(told: Progress, seconds: float) -> str:
    """``solving, 12 s: best 43.54, bound 43.1, gap 1 %``."""
    from mrdsl.core.result import relative_gap

    known = []
    if told.value is not None:
        known.append(f"best {told.value:.6g}")
    if told.bound is not None:
        known.append(f"bound {told.bound:.6g}")
    gap = relative_gap(told.value, told.bound, told.fixed)
    if gap is not None:
        known.append(f"gap {100.0 * gap:.3g} %")
    return f"{told.what}, {seconds:.0f} s" + (f": {', '.join(known)}" if known else "")
