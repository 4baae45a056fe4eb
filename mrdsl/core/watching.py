"""Progress of long work, its log, and how another thread or a time limit ends it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def setting(variable: ContextVar[Any], value: T) -> Iterator[T]:
    """Set a context variable during the ``with`` block, and yield the value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


@dataclass(frozen=True)
class Progress:
    """Progress of long work.

    Attributes:
        what: Name of the work.
        done: Finished pieces.
        total: All pieces; None if they cannot be counted.
        value: Best objective so far.
        bound: Bound so far.
        fixed: Part of the objective that gaps exclude.
        over: The work has ended.
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
"""Value of 1 in the unit of the objective, and the constant part of the objective; None if another objective is
solved."""


def watched(watcher: Watcher | None) -> AbstractContextManager[Any]:
    """Call ``watcher`` with the progress of all work of this thread during the ``with`` block; None for no watcher."""
    return setting(_WATCHER, watcher)


def is_watched() -> bool:
    """Return True if there is a watcher."""
    return _WATCHER.get() is not None


@contextmanager
def work(what: str, total: int | None = None) -> Iterator[None]:
    """Report the start and end of work; work within other work is a part of it and is reported as such."""
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


def of_the_goal() -> AbstractContextManager[Any]:
    """Report values as values of the objective during the ``with`` block."""
    return setting(_UNIT, (1.0, 0.0))


def times(factor: float, beside: float = 0.0) -> AbstractContextManager[Any]:
    """Report values multiplied by ``factor`` plus ``beside`` during the ``with`` block.

    Models are scaled for solvers, and lack the fixed part of their objective.
    """
    unit = _UNIT.get()
    return setting(_UNIT, None if unit is None else (unit[0] * factor, unit[1] + unit[0] * beside))


def tell(*, value: float | None = None, bound: float | None = None, done: int = 0, over: bool = False) -> None:
    """Report finished pieces, a better plan of the objective, or the passing of time.

    Each counted piece has its own value, which is not reported as the value of the whole.
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
    """Yield the pieces one by one, and report each as finished when the next is requested."""
    with work(what, len(pieces)):
        for piece in pieces:
            yield piece
            tell(done=1)


GLANCE = 0.2
"""Seconds between two looks."""
_STOP: ContextVar[Event | None] = ContextVar("_STOP", default=None)


def stopped_by(event: Event | None) -> AbstractContextManager[Any]:
    """End work of this thread soon after ``event`` is set, during the ``with`` block; None for no event."""
    return setting(_STOP, event)


def is_stoppable() -> bool:
    """Return True if anybody could end the work of this thread."""
    return _STOP.get() is not None


def is_stopped() -> bool:
    """Return True if the work of this thread was stopped."""
    event = _STOP.get()
    return event is not None and event.is_set()


_SHARED: ContextVar[float | None] = ContextVar("_SHARED", default=None)


def sharing(seconds: float | None) -> AbstractContextManager[Any]:
    """Give all work in the ``with`` block at most ``seconds`` together; None changes nothing."""
    ends = [end for end in (_SHARED.get(), None if seconds is None else time.monotonic() + seconds) if end is not None]
    return setting(_SHARED, min(ends, default=None))


def shared_time(own: float | None = None) -> float | None:
    """Return the time limit of one solve [s]: its own, or the rest of the shared time if that is less."""
    end = _SHARED.get()
    if end is None:
        return own
    left = max(end - time.monotonic(), 0.0)
    return left if own is None else min(own, left)


class LateError(Exception):
    """The shared time passed, or the work was stopped, within work that has no result before its end."""


def is_late() -> bool:
    """Return True if the shared time has passed, or the work of this thread was stopped."""
    return shared_time() == 0.0 or is_stopped()


def look() -> None:
    """Look at the clock within work that has no result before its end. Raises LateError if it is late."""
    if is_late():
        raise LateError


def until_late(pieces: Iterable[T]) -> Iterator[T]:
    """Yield the pieces that are made before one of them raises LateError."""
    with suppress(LateError):
        yield from pieces


DEBUG, INFO = 10, 20


def log(name: str, level: int, message: str, *arguments: object) -> None:
    """Logs to ``mrdsl.NAME``; ``arguments`` go into the message where it is wanted."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger(f"mrdsl.{name}").log(level, message, *arguments)


def is_wanted(name: str, level: int) -> bool:
    """Return True if messages of the logger ``mrdsl.NAME`` at that level have a handler."""
    logging = sys.modules.get("logging")
    return logging is not None and bool(logging.getLogger(f"mrdsl.{name}").isEnabledFor(level))


class _PassedError(BaseException):
    """A wrapper that carries an exception of the caller's function past all handlers."""


def observed(run: Callable[[], T], on_progress: Callable[[Progress], None] | None, stop: Event | None) -> T:
    """Return the value of ``run``; report its work to ``on_progress``, and end it early after ``stop``.

    Exceptions of ``on_progress`` end the work and reach the caller unchanged.
    """
    raised: list[BaseException] = []

    def tell(progress: Progress) -> None:
        if raised or on_progress is None:
            return
        try:
            on_progress(progress)
        except BaseException as cause:
            raised.append(cause)
            raise _PassedError from None

    try:
        with stopped_by(stop), watched(None if on_progress is None else tell):
            return run()
    except _PassedError:
        raise raised[0] from None
