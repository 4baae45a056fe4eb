"""A log's bytes: plain or compressed, told by their first bytes, never more of them than a limit.

Spark's lz4 and snappy are framings of Java libraries: LZ4Block of lz4-java and the stream of xerial's snappy-java.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

EXPANDED_AT_MOST = 64 * 2**30
LONGEST_LINE = 256 * 2**20
CHUNK = 4 * 2**20
_LZ4 = b"LZ4Block"
_SNAPPY = b"\x82SNAPPY\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"


class UnreadableLogError(Exception):
    """The bytes are not what their first ones promise, or too many; the text says which."""


class MissingLibraryError(UnreadableLogError):
    """A library for this compression is not installed."""


def open_log(path: str | Path) -> BinaryIO:
    """The file as it lies there. Raises OSError, also for what is no regular file."""
    opened = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        opened.close()
        raise OSError("it is no regular file")
    return opened


def chunks(stream: BinaryIO, limit: int = EXPANDED_AT_MOST) -> Iterator[bytes]:
    """The expanded bytes in pieces of some MiB. Raises UnreadableLogError where they end early or exceed ``limit``."""
    first = stream.read(CHUNK)
    for magic, expand in _EXPANDERS:
        if first.startswith(magic):
            source = expand(_Rejoined(first, stream))
            break
    else:
        source = _plain(first, stream)
    total = 0
    for chunk in source:
        total += len(chunk)
        if total > limit:
            raise UnreadableLogError(f"it expands to more than {limit:,} bytes")
        yield chunk


def lines(stream: BinaryIO, limit: int = EXPANDED_AT_MOST) -> Iterator[bytes]:
    """Whole lines without their ends; the last one may be cut. Raises UnreadableLogError as :func:`chunks` does."""
    rest = b""
    for chunk in chunks(stream, limit):
        parts = (rest + chunk).split(b"\n")
        rest = parts.pop()
        if len(rest) > LONGEST_LINE:
            raise UnreadableLogError(f"a line is longer than {LONGEST_LINE:,} bytes")
        yield from parts
    if rest:
        yield rest


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes have been looked at."""

    def __init__(self, first: bytes, stream: BinaryIO) -> None:
        self.first, self.stream = first, stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.first:
            if size < 0:
                taken, self.first = self.first + self.stream.read(), b""
            else:
                taken, self.first = self.first[:size], self.first[size:]
            return taken
        return self.stream.read(size)

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        taken = self.read(len(buffer))
        buffer[: len(taken)] = taken
        return len(taken)


def _plain(first: bytes, stream: BinaryIO) -> Iterator[bytes]:
    while first:
        yield first
        first = stream.read(CHUNK)


def _gzip(stream: _Rejoined) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=io.BufferedReader(stream)) as expanded:
            while chunk := expanded.read(CHUNK):
                yield chunk
    except (EOFError, OSError, zlib.error) as cause:
        raise UnreadableLogError(f"its gzip stream is broken: {cause}") from None


def _zstd(stream: _Rejoined) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise MissingLibraryError("it is compressed with zstd, which the extra `logs` reads") from None
    expander = zstandard.ZstdDecompressor(max_window_size=2**27)
    open_frame = expander.decompressobj()
    ended = True
    try:
        while packed := stream.read(CHUNK // 4):
            while packed:
                ended = False
                chunk = open_frame.decompress(packed)
                packed = b""
                if open_frame.eof:
                    ended, packed = True, open_frame.unused_data
                    open_frame = expander.decompressobj()
                if chunk:
                    yield chunk
    except zstandard.ZstdError as cause:
        raise UnreadableLogError(f"its zstd stream is broken: {cause}") from None
    if not ended:
        raise UnreadableLogError("its zstd stream is cut")


def _lz4(stream: _Rejoined) -> Iterator[bytes]:
    """lz4-java's LZ4Block: magic, token, packed length, length, checksum; a block of length 0 ends a stream."""
    unpack = _cramjam("lz4")
    while header := _exactly(stream, 21, "lz4", may_end=True):
        if not header.startswith(_LZ4):
            raise UnreadableLogError("its lz4 stream has a block without its mark")
        packed, size = struct.unpack_from("<ii", header, 9)
        if not 0 <= packed <= 2**25 + 2**16 or not 0 <= size <= 2**25:
            raise UnreadableLogError("its lz4 stream has a block of impossible size")
        block = _exactly(stream, packed, "lz4")
        if size:
            yield block if header[8] & 0xF0 == 0x10 else unpack(block, size)


def _snappy(stream: _Rejoined) -> Iterator[bytes]:
    """xerial's stream: a header of 16 bytes, then blocks, each behind its big-endian length."""
    unpack = _cramjam("snappy")
    _exactly(stream, 16, "snappy")
    while header := _exactly(stream, 4, "snappy", may_end=True):
        if header == _SNAPPY[:4]:
            _exactly(stream, 12, "snappy")
            continue
        (packed,) = struct.unpack(">i", header)
        if not 0 <= packed <= 2**26:
            raise UnreadableLogError("its snappy stream has a block of impossible size")
        yield unpack(_exactly(stream, packed, "snappy"), 0)


def _cramjam(kind: str) -> Callable[[bytes, int], bytes]:
    try:
        import cramjam
    except ImportError:
        raise MissingLibraryError(f"it is compressed with {kind}, which the extra `logs` reads") from None

    def unpack(block: bytes, size: int) -> bytes:
        try:
            if kind == "lz4":
                return bytes(cramjam.lz4.decompress_block(block, output_len=size))
            if _snappy_size(block) > 2**28:
                raise UnreadableLogError("its snappy stream has a block of impossible size")
            return bytes(cramjam.snappy.decompress_raw(block))
        except cramjam.DecompressionError as cause:
            raise UnreadableLogError(f"its {kind} stream is broken: {cause}") from None

    return unpack


def _snappy_size(block: bytes) -> int:
    """The expanded size that a block of raw snappy begins with: a number of seven bits a byte."""
    size = 0
    for shift, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            break
    return size


def _exactly(stream: _Rejoined, size: int, kind: str, may_end: bool = False) -> bytes:
    found = b""
    while len(found) < size and (more := stream.read(size - len(found))):
        found += more
    if len(found) < size and not (may_end and not found):
        raise UnreadableLogError(f"its {kind} stream is cut")
    return found


_EXPANDERS: tuple[tuple[bytes, Callable[[_Rejoined], Iterator[bytes]]], ...] = (
    (_GZIP, _gzip),
    (_ZSTD, _zstd),
    (_LZ4, _lz4),
    (_SNAPPY, _snappy),
)
