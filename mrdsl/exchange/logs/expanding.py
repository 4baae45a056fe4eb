"""Compressed logs expanded piece by piece, so that a small file that expands far is met by a limit, not by memory.

gzip and zstd are expanded by their libraries. Spark's lz4 and snappy are framings of Java libraries, which no library
of PyPI reads: LZ4Block of lz4-java and the stream of xerial's snappy-java.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

Read = Callable[[int], bytes]
"""Up to so many of the next bytes; none at the end."""
PIECE = 2**20
_PACKED = 2**18
_LZ4 = b"LZ4Block"
_SNAPPY = b"\x82SNAPPY\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_LARGEST_WINDOW = 27


class UnreadableLogError(Exception):
    """The bytes are not what their first ones promise, or too many; the text says which."""


class MissingLibraryError(UnreadableLogError):
    """A library for this compression is not installed."""


def expander(head: bytes) -> Callable[[Read], Iterator[bytes]] | None:
    """What expands a stream that begins so; None where it is plain. Pieces are of :data:`PIECE` bytes at most but for
    snappy's, whose blocks are 256 MiB at most. The function raises UnreadableLogError where the stream is broken or
    cut, after all that came before."""
    return next((expand for magic, expand in _EXPANDERS if head.startswith(magic)), None)


def _gzip(read: Read) -> Iterator[bytes]:
    try:
        yield from _members(read, "gzip", lambda: _Inflater())
    except zlib.error as cause:
        raise UnreadableLogError(f"its gzip stream is broken: {cause}") from None


class _Inflater:
    """zlib's decompressor in the way of zstd's: what it has not taken yet it keeps itself."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        # Zeros behind a member are padding.
        return self._inner.unused_data.lstrip(b"\x00")

    def decompress(self, packed: bytes, most: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + packed, most)


def _zstd(read: Read) -> Iterator[bytes]:
    try:
        from backports import zstd
    except ImportError:
        raise MissingLibraryError("it is compressed with zstd, which the extra `logs` reads") from None
    options = {int(zstd.DecompressionParameter.window_log_max): _LARGEST_WINDOW}
    try:
        yield from _members(read, "zstd", lambda: zstd.ZstdDecompressor(options=options))
    except zstd.ZstdError as cause:
        raise UnreadableLogError(f"its zstd stream is broken: {cause}") from None


def _members(read: Read, kind: str, new: Callable[[], Any]) -> Iterator[bytes]:
    """The streams that lie one behind the other, in pieces."""
    packed = read(_PACKED)
    while packed:
        member = new()
        while not member.eof:
            if member.needs_input and not packed and not (packed := read(_PACKED)):
                raise UnreadableLogError(f"its {kind} stream is cut")
            piece = member.decompress(packed, PIECE)
            packed = b""
            if piece:
                yield piece
        packed = member.unused_data or read(_PACKED)


def _lz4(read: Read) -> Iterator[bytes]:
    """lz4-java's LZ4Block: magic, token, packed length, length, checksum; a block of length 0 ends a stream."""
    unpack = _cramjam("lz4")
    while header := _exactly(read, 21, "lz4", may_end=True):
        if not header.startswith(_LZ4):
            raise UnreadableLogError("its lz4 stream has a block without its mark")
        packed, size = struct.unpack_from("<ii", header, 9)
        if not 0 <= packed <= 2**25 + 2**16 or not 0 <= size <= 2**25:
            raise UnreadableLogError("its lz4 stream has a block of impossible size")
        block = _exactly(read, packed, "lz4")
        if size:
            yield block if header[8] & 0xF0 == 0x10 else unpack(block, size)


def _snappy(read: Read) -> Iterator[bytes]:
    """xerial's stream: a header of 16 bytes, then blocks, each behind its big-endian length."""
    unpack = _cramjam("snappy")
    _exactly(read, 16, "snappy")
    while header := _exactly(read, 4, "snappy", may_end=True):
        if header == _SNAPPY[:4]:
            _exactly(read, 12, "snappy")
            continue
        (packed,) = struct.unpack(">i", header)
        if not 0 <= packed <= 2**26:
            raise UnreadableLogError("its snappy stream has a block of impossible size")
        yield unpack(_exactly(read, packed, "snappy"), 0)


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


def _exactly(read: Read, size: int, kind: str, may_end: bool = False) -> bytes:
    found = b""
    while len(found) < size and (more := read(size - len(found))):
        found += more
    if len(found) < size and not (may_end and not found):
        raise UnreadableLogError(f"its {kind} stream is cut")
    return found


_EXPANDERS: tuple[tuple[bytes, Callable[[Read], Iterator[bytes]]], ...] = (
    (_GZIP, _gzip),
    (_ZSTD, _zstd),
    (_LZ4, _lz4),
    (_SNAPPY, _snappy),
)
