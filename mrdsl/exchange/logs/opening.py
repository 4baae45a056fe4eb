"""A log's bytes and lines: plain or compressed, told by their first bytes, never more of them than a limit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from mrdsl.core.regular_files import kind_of
from mrdsl.exchange.logs.ahead import ahead
from mrdsl.exchange.logs.expanding import Piece, UnreadableLogError, expander

EXPANDED_AT_MOST = 64 * 2**30
LONGEST_LINE = 256 * 2**20
CHUNK = 2**18


class Readable(Protocol):
    """What bytes come from."""

    def read(self, size: int, /) -> bytes:
        """Up to so many of the next bytes; none at the end."""


def open_log(path: str | Path) -> BinaryIO:
    """The file as it lies there. Raises OSError, also for what is no regular file."""
    opened = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    kind = kind_of(os.fstat(opened.fileno()))
    if kind:
        opened.close()
        raise OSError(kind)
    return opened


def chunks(stream: Readable, limit: int = EXPANDED_AT_MOST) -> Iterator[Piece]:
    """The bytes in pieces. What is compressed is expanded ahead by a thread, while the pieces before are looked at.

    Raises UnreadableLogError where that ends early, or exceeds ``limit`` expanded.
    """
    first = stream.read(CHUNK)
    expand = expander(first)
    if expand is None:
        yield from _plain(first, stream)
        return
    total = 0
    for chunk in ahead(expand(_Rejoined(first, stream).read)):
        total += len(chunk)
        if total > limit:
            raise UnreadableLogError(f"it expands to more than {limit:,} bytes")
        yield chunk


def numbered(pieces: Iterable[Piece], skipped: tuple[bytes, ...] = ()) -> Iterator[tuple[int, memoryview]]:
    """Whole lines with their numbers, without their ends, but those that begin as one of ``skipped``.

    The last line may be cut. Raises UnreadableLogError where a line is too long to be one.
    """
    rest, number = bytearray(), 0
    for piece in pieces:
        at = 0
        if rest:
            at = piece.find(b"\n") + 1
            rest += piece[:at] or piece
            if len(rest) > LONGEST_LINE:
                raise UnreadableLogError(f"a line is longer than {LONGEST_LINE:,} bytes")
            if not at:
                continue
            number += 1
            if not rest.startswith(skipped):
                yield number, memoryview(bytes(rest))[:-1]
            rest = bytearray()
        view = memoryview(piece)
        while (end := piece.find(b"\n", at)) >= 0:
            number += 1
            if not piece.startswith(skipped, at, end):
                yield number, view[at:end]
            at = end + 1
        rest += piece[at:]
    if rest and not rest.startswith(skipped):
        yield number + 1, memoryview(bytes(rest))


def lines(pieces: Iterable[Piece]) -> Iterator[bytes]:
    """Whole lines without their ends; the last one may be cut. Raises UnreadableLogError as :func:`numbered` does."""
    for _, line in numbered(pieces):
        yield bytes(line)


class _Rejoined:
    """A stream whose first bytes have been looked at."""

    def __init__(self, first: bytes, stream: Readable) -> None:
        self.first, self.stream = first, stream

    def read(self, size: int) -> bytes:
        if self.first:
            taken, self.first = self.first[:size], self.first[size:]
            return taken
        return self.stream.read(size)


def _plain(first: bytes, stream: Readable) -> Iterator[bytes]:
    while first:
        yield first
        first = stream.read(CHUNK)
