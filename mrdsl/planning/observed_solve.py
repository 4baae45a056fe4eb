"""A solve that its caller watches, and may end from another thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from mrdsl.core.watching import Progress, stopped_by, watched

T = TypeVar("T")


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
