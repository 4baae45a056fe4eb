"""Whole numbers of jobs from a written range; on numbers and on arrays alike."""

from __future__ import annotations

from mrdsl.core.whole_numbers import ceiling as rounded_up
from mrdsl.core.whole_numbers import floor as rounded_down

__all__ = ["rounded_down", "rounded_up"]
