"""Recorded times of tasks and of arrivals, as files have them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=16)
def read_times(path: Path, unit: float, zero: bool = False) -> NDArray[np.float64]:
    """Recorded times in seconds: one positive number a line, in units of ``unit`` seconds; empty lines are skipped.

    ``zero``: one may be 0, as a moment may. Raises ValueError, naming the line, where one is no positive number, or
    where there is none at all.
    """
    values = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text:
                values.append(0.0 if zero and text in ("0", "0.0") else _positive(text, number) * unit)
    if not values:
        raise ValueError("there is no number in it")
    return np.array(values)


def _positive(text: str, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise ValueError(f"line {number} is no positive number: `{text[:40]}`")
    return value
