"""Bytes and lines of a log, plain or compressed, recognized by the first bytes and read up to a limit.

A thread makes the next piece while the caller reads the last one. Compressed logs are expanded piece by piece, so that
a small file that expands far reaches the limit before it fills the memory. gzip and zstd are expanded by their
libraries. Spark's lz4 and snappy are framings of Java libraries that no library on PyPI reads: LZ4Block of lz4-java and
the stream of xerial's snappy-java.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar

from mrdsl.core.reading import kind_of

Each = TypeVar("Each")
_HELD = 4


@dataclass(frozen=True)
class _End:
    cause: BaseException | None


def ahead(source: Iterator[Each]) -> Iterator[Each]:
    """Yield the same pieces in the same order, up to four of them ready in advance.

    A mistake of the source is raised after the pieces that it gave. The thread ends with the iterator, also if it is
    closed early.
    """
    held: Queue[Each | _End] = Queue(_HELD)
    stopped = threading.Event()

    def run() -> None:
        cause: BaseException | None = None
        try:
            for piece in source:
                held.put(piece)
                if stopped.is_set():
                    break
        except BaseException as mistake:
            cause = mistake
        held.put(_End(cause))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while not isinstance(item := held.get(), _End):
            yield item
        if item.cause is not None:
            raise item.cause
    finally:
        stopped.set()
        _drain(held, thread)


def _drain(held: Queue[Each | _End], thread: threading.Thread) -> None:
    """Take pieces that block the thread until it has ended."""
    while thread.is_alive():
        try:
            held.get(timeout=0.01)
        except Empty:
            continue
    thread.join()


Read = Callable[[int], bytes]
"""Function that returns at most the given number of next bytes; none at the end."""
Piece = bytes | bytearray
PIECE = 2**20
_PACKED = 2**18
_LZ4 = b"LZ4Block"
_SNAPPY = b"\x82SNAPPY\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_LARGEST_WINDOW = 27


class UnreadableLogError(Exception):
    """An error for bytes that contradict their header, or too many bytes, with the reason."""


class MissingLibraryError(UnreadableLogError):
    """A library for this compression is not installed."""


def expander(head: bytes) -> Callable[[Read], Iterator[Piece]] | None:
    """Return a function that expands a stream with that beginning, or None for a plain one.

    Pieces have at most :data:`PIECE` bytes, except those of snappy, whose blocks have at most 256 MiB. The function
    raises UnreadableLogError for a broken or cut stream, after all earlier pieces.
    """
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
    """zlib's decompressor with the interface of zstd's: it stores the input that it has not used yet."""

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
    """Yield consecutive streams in pieces; ``padding`` can be between and after them."""
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
    """Yield the blocks of xerial's stream: a header of 16 bytes, then blocks, each after its big-endian length."""
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
    """Yield consecutive blocks, as many in a piece as :data:`PIECE` holds, but at least one.

    If the stream is broken, earlier blocks come first.
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
                    raise UnreadableLogError(f"its {kind} stream has a block whose size differs from its header")
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
    """Return the expanded size that a block of raw snappy begins with: a number of seven bits a byte."""
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


EXPANDED_AT_MOST = 64 * 2**30
LONGEST_LINE = 256 * 2**20
CHUNK = 2**18


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most that many of the next bytes; none at the end."""


def open_log(path: str | Path) -> BinaryIO:
    """Return the file unexpanded. Raises OSError, also for paths that are not regular files."""
    opened = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    kind = kind_of(os.fstat(opened.fileno()))
    if kind:
        opened.close()
        raise OSError(kind)
    return opened


def chunks(stream: Readable, limit: int = EXPANDED_AT_MOST) -> Iterator[Piece]:
    """Yield the bytes in pieces. A thread expands compressed ones ahead while earlier pieces are read.

    Raises UnreadableLogError if they end early, or exceed ``limit`` expanded.
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
    """Yield whole lines with their numbers, without line ends, except those that begin with one of ``skipped``.

    The last line can be cut. Raises UnreadableLogError for a line that is too long.
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
