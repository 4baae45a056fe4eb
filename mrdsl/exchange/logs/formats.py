"""What a reader of logs is: how its logs begin, and the function from an opened log to jobs and applications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mrdsl.exchange.logs.expanding import Piece
from mrdsl.exchange.logs.records import Run
from mrdsl.exchange.logs.telling import Telling

Pieces = Iterable[Piece]
"""Expanded bytes, in order."""


@dataclass(frozen=True)
class OpenedLog:
    """A log at its beginning: its name, and its parts in order, each with its file's name and its bytes.

    Only rolled event logs have more than one part; a part is opened when it is asked for.
    """

    name: str
    parts: Iterator[tuple[str, Pieces]]

    def pieces(self) -> Pieces:
        """The bytes of the one part."""
        return next(self.parts)[1]


@dataclass(frozen=True)
class LogFormat:
    """``recognizes(head)``: whether a log that begins so is one of these. ``read(log, telling)``: what it holds.

    ``sample`` is a beginning that no other format has.
    """

    recognizes: Callable[[bytes], bool]
    read: Callable[[OpenedLog, Telling], Iterator[Run]]
    sample: bytes
