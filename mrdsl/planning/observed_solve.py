"""A solve that its caller watches, and may end from another thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from mrdsl.core.stopping import stopped_by
from mrdsl.core.watching import Progress, watched

T = TypeVar("T")


class _PassedError(BaseException):
    """Carries what the caller's function raised past all that would take it for a failure of its own."""


def observed(run: Callable[[], T], on_progress: Callable[[Progress], None] | None, stop: Event | None) -> T:
    """What ``run`` gives; ``on_progress`` is told of its work, and ``stop`` ends it with what it has.

    What ``on_progress`` raises ends the work, and passes to the caller as it is.
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
