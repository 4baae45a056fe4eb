"""Defects that tests plant in functions of a family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Defect = Callable[[pytest.MonkeyPatch], None]


def planted(module: Any, name: str, change: Callable[[Any], Any]) -> Defect:
    """A function of a module whose result is changed."""
    genuine = getattr(module, name)
    return lambda patch: patch.setattr(module, name, lambda *given, **named: change(genuine(*given, **named)))
