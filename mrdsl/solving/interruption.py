"""What Ctrl-C means: an exception for a program that embeds mrdsl, a result with the best plan for its user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mrdsl.core.stopping import is_stopped

_KEPT: ContextVar[bool] = ContextVar("_KEPT", default=False)


@contextmanager
def kept() -> Iterator[None]:
    """While it lasts, a Ctrl-C ends the solve with what it has; elsewhere KeyboardInterrupt passes to the caller."""
    token = _KEPT.set(True)
    try:
        yield
    finally:
        _KEPT.reset(token)


def is_kept() -> bool:
    """Whether a KeyboardInterrupt makes a result; else it is raised again once what was begun is ended.

    It does where another thread has ended the work, too.
    """
    return _KEPT.get() or is_stopped()
