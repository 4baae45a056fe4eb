"""Progress of long work, its log, and how another thread or a time limit ends it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from threading import Event
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """How far work is: ``what`` is done, how many of how many pieces, the best value so far and its bound, if known.

    ``fixed`` is the part of the value that gaps are not measured on. ``over``: it has ended. Pieces that nobody can
    count have a ``total`` of None.
    """

    what: str
    done: int = 0
    total: int | None = None
    value: float | None = None
    bound: float | None = None
    fixed: float = 0.0
    over: bool = False


Watcher = Callable[[Progress], None]
_WATCHER: ContextVar[Watcher | None] = ContextVar("_WATCHER", default=None)
_WORK: ContextVar[Progress | None] = ContextVar("_WORK", default=None)
_UNIT: ContextVar[tuple[float, float] | None] = ContextVar("_UNIT", default=None)
"""What 1 of a value that is told is worth in the goal's own unit, and what the goal has beside it; None where it is not
the goal that is solved for."""


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """While it lasts, ``watcher`` is told of all work in this thread; None: nobody is."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def is_watched() -> bool:
    """Return True if somebody is told."""
    return _WATCHER.get() is not None


@contextmanager
def work(what: str, total: int | None = None) -> Iterator[None]:
    """Work that begins now and is over at the end; work within other work is a part of it, and tells as that."""
    if not is_watched() or _WORK.get() is not None:
        yield
        return
    token = _WORK.set(Progress(what, 0, total))
    try:
        tell()
        yield
    finally:
        tell(over=True)
        _WORK.reset(token)


@contextmanager
def of_the_goal() -> Iterator[None]:
    """While it lasts, values that are told are the goal's, not those of some model on the way."""
    token = _UNIT.set((1.0, 0.0))
    try:
        yield
    finally:
        _UNIT.reset(token)


@contextmanager
def times(factor: float, beside: float = 0.0) -> Iterator[None]:
    """While it lasts, values that are told count ``factor`` of what they counted, and ``beside`` is added to them.

    Models are scaled for solvers, and lack what is fixed of their goal.
    """
    unit = _UNIT.get()
    token = _UNIT.set(None if unit is None else (unit[0] * factor, unit[1] + unit[0] * beside))
    try:
        yield
    finally:
        _UNIT.reset(token)


def tell(*, value: float | None = None, bound: float | None = None, done: int = 0, over: bool = False) -> None:
    """Tells that ``done`` more pieces are done, of a better plan of the goal, or that time passes.

    Of pieces that are counted, each has a value of its own: none is told as that of the whole.
    """
    watcher, now, unit = _WATCHER.get(), _WORK.get(), _UNIT.get()
    if watcher is None or now is None:
        return
    if now.total is not None:
        unit = None
    value, bound = (None if each is None or unit is None else each * unit[0] + unit[1] for each in (value, bound))
    now = replace(
        now,
        done=now.done + done,
        value=now.value if value is None else value,
        bound=now.bound if bound is None else bound,
        fixed=now.fixed if unit is None else unit[1],
        over=over,
    )
    _WORK.set(now)
    watcher(now)


def counted(what: str, pieces: Sequence[T]) -> Iterator[T]:
    """Yield the pieces one by one, each told as done when the next is asked for."""
    with work(what, len(pieces)):
        for piece in pieces:
            yield piece
            tell(done=1)


GLANCE = 0.2
"""Seconds between two looks."""
_STOP: ContextVar[Event | None] = ContextVar("_STOP", default=None)


@contextmanager
def stopped_by(event: Event | None) -> Iterator[None]:
    """While it lasts, work in this thread ends soon after ``event`` is set; None: nothing ends it."""
    token = _STOP.set(event)
    try:
        yield
    finally:
        _STOP.reset(token)


def is_stoppable() -> bool:
    """Return True if anybody could end the work of this thread."""
    return _STOP.get() is not None


def is_stopped() -> bool:
    """Return True if somebody has ended the work of this thread."""
    event = _STOP.get()
    return event is not None and event.is_set()


_END: ContextVar[float | None] = ContextVar("_END", default=None)


@contextmanager
def ending(end: float | None) -> Iterator[None]:
    """While it lasts, what is called is to end by ``end`` of the monotonic clock [s]; None: as before."""
    token = _END.set(_END.get() if end is None else end)
    try:
        yield
    finally:
        _END.reset(token)


@contextmanager
def without_end() -> Iterator[float | None]:
    """Yield the end that there is, which what is called meanwhile does not see: who asked looks after it."""
    end = _END.get()
    token = _END.set(None)
    try:
        yield end
    finally:
        _END.reset(token)


_SHARED: ContextVar[float | None] = ContextVar("_SHARED", default=None)


@contextmanager
def sharing(seconds: float | None) -> Iterator[None]:
    """While it lasts, all solves of this thread together have so many seconds; None: as before."""
    token = _SHARED.set(_SHARED.get() if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _SHARED.reset(token)


def shared_time(own: float | None = None) -> float | None:
    """Return what one solve may take [s]: its own limit, or what is left of the time that solves share, if less."""
    end = _SHARED.get()
    if end is None:
        return own
    left = max(end - time.monotonic(), 0.0)
    return left if own is None else min(own, left)


DEBUG, INFO = 10, 20


def log(name: str, level: int, message: str, *arguments: object) -> None:
    """Logs to ``mrdsl.NAME``; ``arguments`` go into the message where it is wanted."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger(f"mrdsl.{name}").log(level, message, *arguments)


def is_wanted(name: str, level: int) -> bool:
    """Return True if what is logged to ``mrdsl.NAME`` goes anywhere."""
    logging = sys.modules.get("logging")
    return logging is not None and bool(logging.getLogger(f"mrdsl.{name}").isEnabledFor(level))
