"""Work that another thread, or a time limit, may end: who waits for long looks whether it is wanted still."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

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
    """Whether anybody could end the work of this thread."""
    return _STOP.get() is not None


def is_stopped() -> bool:
    """Whether somebody has ended the work of this thread."""
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
    """The end that there is, which what is called meanwhile does not see: who asked looks after it."""
    end = _END.get()
    token = _END.set(None)
    try:
        yield end
    finally:
        _END.reset(token)
