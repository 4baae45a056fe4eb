"""Whole numbers of jobs from a written range; on numbers and on arrays alike."""

from __future__ import annotations

from typing import Any

WHOLE = 1e-9
"""How far, relatively, a number may lie from a whole one and still count as that number (0.9 * 30 is 27)."""


def rounded_up(value: Any) -> Any:
    """The least whole number that is not below ``value``."""
    return -(-value * (1 - WHOLE) // 1)


def rounded_down(value: Any) -> Any:
    """The greatest whole number that is not above ``value``."""
    return value * (1 + WHOLE) // 1
