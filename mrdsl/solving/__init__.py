"""Solvers: which there are, how they are called, and what their answers are worth."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mrdsl.solving.answer import Answer

if TYPE_CHECKING:
    from mrdsl.solving.dispatch import solve_model
    from mrdsl.solving.run import solve

__all__ = ["Answer", "solve", "solve_model"]
_LAZY = {"solve_model": "mrdsl.solving.dispatch", "solve": "mrdsl.solving.run"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
