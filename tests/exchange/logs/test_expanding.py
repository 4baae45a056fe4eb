"""Compressed streams: whole, cut at every byte, padded, lying about their blocks; by every library that reads them."""

from __future__ import annotations

import gzip
import io
import random
import struct
import sys
from collections.abc import Callable

import pytest

from mrdsl.exchange.logs import opening
from mrdsl.exchange.logs.opening import PIECE, UnreadableLogError, expander

from .making import lz4_java, xerial_snappy

TEXT = b"".join(b'{"Event":"SparkListenerTaskEnd","Stage ID":%d}\n' % n for n in range(300))


@pytest.fixture(params=["isal", "zlib"])
def inflating(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal", None)
    else:
        pytest.importorskip("isal")


def expanded(data: bytes) -> tuple[bytes, str]:
    """What is given before the stream ends or breaks, and what is said of it."""
    expand, found = expander(data[:16]), b""
    assert expand is not None
    try:
        for piece in expand(io.BytesIO(data).read):
            found += piece
    except UnreadableLogError as cause:
        return found, str(cause)
    return found, ""


@pytest.mark.usefixtures("inflating")
def test_gzip_is_cut_at_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small steps, so that the end of the input and that of what it holds fall apart."""
    monkeypatch.setattr(opening, "_PACKED", 50)
    monkeypatch.setattr(opening, "PIECE", 1000)
    data = gzip.compress(TEXT, mtime=0)
    assert expanded(data) == (TEXT, "")
    for size in range(2, len(data)):
        found, said = expanded(data[:size])
        assert TEXT.startswith(found)
        assert said == "its gzip stream is cut"


@pytest.mark.usefixtures("inflating")
@pytest.mark.parametrize("step", [1, 7, 2**18])
def test_zeros_between_and_behind_members_are_padding(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_PACKED", step)
    data = gzip.compress(b"one ") + bytes(20) + gzip.compress(b"two") + bytes(512)
    assert expanded(data) == (b"one two", "")
    assert "gzip stream" in expanded(data + b"x")[1]


@pytest.mark.usefixtures("inflating")
def test_a_broken_byte_is_told() -> None:
    """Whichever byte behind the header it is: the checksum at the end holds all of them."""
    data = gzip.compress(TEXT, mtime=0)
    for place in range(10, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 0x55
        assert "gzip stream" in expanded(bytes(broken))[1]


@pytest.mark.parametrize("pack", [lz4_java, xerial_snappy])
def test_small_blocks_come_in_large_pieces(pack: Callable[[bytes], bytes]) -> None:
    text = random.Random(3).randbytes(3 * PIECE + 5)
    data = pack(text)
    expand = expander(data[:16])
    assert expand is not None
    pieces = list(expand(io.BytesIO(data).read))
    assert b"".join(pieces) == text
    assert [len(piece) for piece in pieces[:-1]] == [PIECE] * 3


@pytest.mark.parametrize("pack", [lz4_java, xerial_snappy])
def test_a_block_larger_than_a_piece(pack: Callable[[bytes, int], bytes]) -> None:
    text = random.Random(4).randbytes(PIECE + 7)
    assert expanded(pack(b"before" + text, len(text))) == (b"before" + text, "")


@pytest.mark.parametrize("method", [0x10, 0x20])
@pytest.mark.parametrize("said", [1, 5000])
def test_blocks_of_another_size_than_they_say(method: int, said: int) -> None:
    """What came before the block is given."""
    good = lz4_java(b"before")[: -(8 + 1 + 12)]
    block = b"x" * 20 if method == 0x10 else b"\x50hello"
    lying = b"LZ4Block" + bytes([method | 6]) + struct.pack("<iii", len(block), said, 0) + block
    found, told = expanded(good + lying)
    assert found == b"before"
    assert "lz4 stream" in told


def test_a_broken_block_of_snappy() -> None:
    data = xerial_snappy(b"before", 6)
    found, told = expanded(data + struct.pack(">i", 3) + b"\x14\x00a")
    assert found == b"before"
    assert told.startswith("its snappy stream is broken: ")
