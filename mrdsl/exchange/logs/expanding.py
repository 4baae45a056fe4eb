"""Compressed logs expanded piece by piece, so that a small file that expands far is met by a limit, not by memory.

gzip and zstd are expanded by their libraries. Spark's lz4 and snappy are framings of Java libraries, which no library
of PyPI reads: LZ4Block of lz4-java and the stream of xerial's snappy-java.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Read = Callable[[int], bytes]
"""Up to so many of the next bytes; none at the end."""
Piece = bytes | bytearray
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


def expander(head: bytes) -> Callable[[Read], Iterator[Piece]] | None:
    """What expands a stream that begins so; None where it is plain. Pieces are of :data:`PIECE` bytes at most but for
    snappy's, whose blocks are 256 MiB at most. The function raises UnreadableLogError where the stream is broken or
    cut, after all that came before."""
    return next((expand for magic, expand in _EXPANDERS if head.startswith(magic)), None)


def _gzip(read: Read) -> Iterator[Piece]:
    library = _inflating()
    try:
        yield from _members(read, "gzip", lambda: _Inflater(library), padding=b"\x00")
    except library.error as cause:
        raise UnreadableLogError(f"its gzip stream is broken: {cause}") from None


def _inflating() -> Any:
    """isal's zlib, some five times as fast as the standard library's, where it is installed."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


class _Inflater:
    """zlib's decompressor in the way of zstd's: what it has not taken yet it keeps itself."""

    def __init__(self, library: Any) -> None:
        self._inner = library.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)

    def decompress(self, packed: bytes, most: int) -> bytes:
        return bytes(self._inner.decompress(self._inner.unconsumed_tail + packed, most))


def _zstd(read: Read) -> Iterator[Piece]:
    try:
        from backports import zstd
    except ImportError:
        raise MissingLibraryError("it is compressed with zstd, which the extra `logs` reads") from None
    options = {int(zstd.DecompressionParameter.window_log_max): _LARGEST_WINDOW}
    try:
        yield from _members(read, "zstd", lambda: zstd.ZstdDecompressor(options=options))
    except zstd.ZstdError as cause:
        raise UnreadableLogError(f"its zstd stream is broken: {cause}") from None


def _members(read: Read, kind: str, new: Callable[[], Any], padding: bytes = b"") -> Iterator[Piece]:
    """The streams that lie one behind the other, in pieces; ``padding`` may stand between and behind them."""
    packed = read(_PACKED)
    while packed:
        member = new()
        while not member.eof:
            ended = member.needs_input and not packed and not (packed := read(_PACKED))
            piece = member.decompress(packed, PIECE)
            packed = b""
            if piece:
                yield piece
            elif ended:
                raise UnreadableLogError(f"its {kind} stream is cut")
        packed = member.unused_data.lstrip(padding)
        while not packed and (more := read(_PACKED)):
            packed = more.lstrip(padding)


class _Block(NamedTuple):
    """A block of a framing: how it lies there, its size expanded, and whether it is packed at all."""

    lying: bytes
    size: int
    packed: bool = True


def _lz4(read: Read) -> Iterator[Piece]:
    cramjam = _cramjam("lz4")

    def unpack(block: bytes, into: memoryview) -> int:
        return int(cramjam.lz4.decompress_block_into(block, into, output_len=len(into)))

    return _joined(_lz4_blocks(read), unpack, cramjam.DecompressionError, "lz4")


def _lz4_blocks(read: Read) -> Iterator[_Block]:
    """lz4-java's LZ4Block: magic, token, packed length, length, checksum; a block of length 0 ends a stream."""
    while header := _exactly(read, 21, "lz4", may_end=True):
        if not header.startswith(_LZ4):
            raise UnreadableLogError("its lz4 stream has a block without its mark")
        packed, size = struct.unpack_from("<ii", header, 9)
        if not 0 <= packed <= 2**25 + 2**16 or not 0 <= size <= 2**25:
            raise UnreadableLogError("its lz4 stream has a block of impossible size")
        block = _exactly(read, packed, "lz4")
        if size:
            yield _Block(block, size, header[8] & 0xF0 != 0x10)


def _snappy(read: Read) -> Iterator[Piece]:
    cramjam = _cramjam("snappy")

    def unpack(block: bytes, into: memoryview) -> int:
        return int(cramjam.snappy.decompress_raw_into(block, into))

    return _joined(_snappy_blocks(read), unpack, cramjam.DecompressionError, "snappy")


def _snappy_blocks(read: Read) -> Iterator[_Block]:
    """xerial's stream: a header of 16 bytes, then blocks, each behind its big-endian length."""
    _exactly(read, 16, "snappy")
    while header := _exactly(read, 4, "snappy", may_end=True):
        if header == _SNAPPY[:4]:
            _exactly(read, 12, "snappy")
            continue
        (packed,) = struct.unpack(">i", header)
        if not 0 <= packed <= 2**26:
            raise UnreadableLogError("its snappy stream has a block of impossible size")
        block = _exactly(read, packed, "snappy")
        size = _snappy_size(block)
        if size > 2**28:
            raise UnreadableLogError("its snappy stream has a block of impossible size")
        yield _Block(block, size)


def _cramjam(kind: str) -> Any:
    try:
        import cramjam
    except ImportError:
        raise MissingLibraryError(f"it is compressed with {kind}, which the extra `logs` reads") from None
    return cramjam


def _joined(
    blocks: Iterator[_Block], unpack: Callable[[bytes, memoryview], int], broken: type[Exception], kind: str
) -> Iterator[Piece]:
    """The blocks one behind the other, as many in a piece as :data:`PIECE` holds, but one at least.

    Where the stream is broken, what came before is given first.
    """
    piece, filled = bytearray(PIECE), 0
    cause: Exception | None = None
    try:
        for block in blocks:
            if filled + block.size > len(piece):
                del piece[filled:]
                yield piece
                piece, filled = bytearray(max(PIECE, block.size)), 0
            end = filled + block.size
            with memoryview(piece)[filled:end] as place:
                size = unpack(block.lying, place) if block.packed else len(block.lying)
                if size != block.size:
                    raise UnreadableLogError(f"its {kind} stream has a block of another size than it says")
                if not block.packed:
                    place[:] = block.lying
            filled = end
    except (UnreadableLogError, broken) as problem:
        cause = problem
    if filled:
        del piece[filled:]
        yield piece
    if isinstance(cause, UnreadableLogError):
        raise cause
    if cause is not None:
        raise UnreadableLogError(f"its {kind} stream is broken: {cause}")


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


_EXPANDERS: tuple[tuple[bytes, Callable[[Read], Iterator[Piece]]], ...] = (
    (_GZIP, _gzip),
    (_ZSTD, _zstd),
    (_LZ4, _lz4),
    (_SNAPPY, _snappy),
)
