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
    with _keeping(True):
        yield


@contextmanager
def passed_on() -> Iterator[None]:
    """While it lasts, a Ctrl-C passes to the caller, whoever keeps it: a question's answer is not the plan."""
    with _keeping(False):
        yield


@contextmanager
def _keeping(whether: bool) -> Iterator[None]:
    token = _KEPT.set(whether)
    try:
        yield
    finally:
        _KEPT.reset(token)


def is_kept() -> bool:
    """Whether a KeyboardInterrupt makes a result; else it is raised again once what was begun is ended.

    It does where another thread has ended the work, too.
    """
    return _KEPT.get() or is_stopped()
