"""Columns of plain decimal numbers, ``12`` or ``87.125``, read as arrays from the bytes of a table.

Digits of up to fifteen places are an exact integer, and so is the power of ten that it is divided by: IEEE 754 rounds
the quotient once, so that each number is what ``float`` makes of its text (Clinger, How to read floating point numbers
accurately, PLDI 1990, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LONGEST = 15
"""Characters of a number: its digits, read as one integer, stay below 2^53."""
_POWERS = 10.0 ** np.arange(LONGEST + 1)


@dataclass(frozen=True)
class Cells:
    """Where the cells of a table stand in its bytes: a row per line, header first, each with as many cells.

    Cell ``i`` of a line stands between ``edges[i]`` and ``edges[i + 1]``, which are separators.
    """

    data: NDArray[np.uint8]
    edges: NDArray[np.integer]

    @property
    def rows(self) -> int:
        """The number of lines behind the header."""
        return int(self.edges.shape[1]) - 1

    def column(self, index: int) -> NDArray[np.float64] | None:
        """The numbers of a column, header left out; None where a cell is anything but digits with at most one point."""
        return _decimals(self.data, self.edges[index, 1:] + 1, self.edges[index + 1, 1:])


def cells_of(data: bytes, columns: int, delimiter: str) -> Cells | None:
    """The cells of lines that end with a newline; None where a line has another number of them."""
    characters = np.frombuffer(data, dtype=np.uint8)
    lines = np.flatnonzero(characters == ord("\n"))
    between = np.flatnonzero(characters == ord(delimiter))
    per_line = np.diff(np.searchsorted(between, lines), prepend=0)
    if not (per_line == columns - 1).all():
        return None
    edges = np.empty((columns + 1, len(lines)), dtype=np.int32 if len(data) < 2**31 else np.int64)
    edges[0, 0], edges[0, 1:], edges[-1] = -1, lines[:-1], lines
    edges[1:-1] = between.reshape(len(lines), columns - 1).T
    return Cells(characters, edges)


def _decimals(
    data: NDArray[np.uint8], starts: NDArray[np.integer], ends: NDArray[np.integer]
) -> NDArray[np.float64] | None:
    length = ends - starts
    width = int(length.max(initial=0))
    if width > LONGEST or int(length.min(initial=1)) < 1:
        return None
    whole = np.zeros(len(starts), dtype=np.int64)
    behind = np.zeros(len(starts), dtype=np.int64)
    points = np.zeros(len(starts), dtype=np.int64)
    for place in range(width):
        character = data.take(starts + place, mode="clip")
        within = length > place
        digit = character - np.uint8(ord("0"))
        is_digit = (digit < 10) & within
        np.copyto(whole, whole * 10 + digit, where=is_digit)
        is_point = (character == ord(".")) & within
        points += is_point
        np.copyto(behind, length - (place + 1), where=is_point)
        if not (is_digit | is_point | ~within).all():
            return None
    if (points > 1).any() or (points == length).any():
        return None
    return np.asarray(whole / _POWERS[behind], dtype=np.float64)
