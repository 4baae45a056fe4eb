"""Reading Spark's event logs against plain ``json.loads``; compressed ones against decompressor and typed decoder.

``python benchmarks/logs_speed.py FOLDER [MB]``: the event logs in FOLDER, expanded, one behind the other until there
are as many MB (80 by default). Expanding and decoding run in a thread each: the last columns of the
second table are what CPU seconds allow where both share a core, and where both have one; they do not depend on what
else the machine does, as the seconds of the wall before them do.
"""

from __future__ import annotations

import gzip
import json
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cramjam
from backports import zstd

from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.opening import chunks, open_log
from mrdsl.exchange.logs.reading import Log, find_logs, read_logs
from mrdsl.exchange.logs.spark_events import decoder, mistakes

ROUNDS = 9
BLOCK = 2**16


def plain_logs(folder: Path) -> bytes:
    """Every event log below a folder, expanded, without the events that end an application."""
    found = b""
    for log in find_logs([folder], Telling()):
        for part in log.parts:
            with open_log(part) as stream:
                text = b"".join(chunks(stream))
            if text.startswith(b'{"Event"'):
                found += text.rstrip(b"\n") + b"\n"
    return found


def lz4_java(data: bytes) -> bytes:
    out = b""
    for begin in range(0, len(data), BLOCK):
        block = data[begin : begin + BLOCK]
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        out += b"LZ4Block\x26" + struct.pack("<iii", len(packed), len(block), 0) + packed
    return out + b"LZ4Block\x16" + struct.pack("<iii", 0, 0, 0)


def xerial_snappy(data: bytes) -> bytes:
    out = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for begin in range(0, len(data), BLOCK):
        packed = bytes(cramjam.snappy.compress_raw(data[begin : begin + BLOCK]))
        out += struct.pack(">i", len(packed)) + packed
    return out


def with_json(path: Path) -> int:
    found = 0
    with path.open("rb") as lines:
        for line in lines:
            try:
                json.loads(line)
                found += 1
            except ValueError:
                pass
    return found


def with_typed_decoder(path: Path) -> int:
    decode, broken, found = decoder(), mistakes(), 0
    with path.open("rb") as lines:
        for line in lines:
            try:
                decode(line)
                found += 1
            except broken:
                pass
    return found


def expanded(path: Path) -> int:
    with open_log(path) as stream:
        return sum(map(len, chunks(stream, sys.maxsize)))


def with_mrdsl(path: Path) -> int:
    (found,) = read_logs([Log(str(path), (str(path),))], Telling(), limit=sys.maxsize)
    return sum(len(stage.launches) for stage in found.stages)  # type: ignore[union-attr]


def medians(cases: dict[str, Callable[[], object]], clock: Callable[[], tuple[float, ...]]) -> dict[str, list[float]]:
    """The medians of what the clocks say, over rounds in which all cases take turns."""
    taken: dict[str, list[list[float]]] = {name: [] for name in cases}
    for turn in range(ROUNDS + 1):
        for name, call in cases.items():
            started = clock()
            call()
            if turn:
                taken[name].append([end - begin for begin, end in zip(started, clock(), strict=True)])
    return {name: [statistics.median(values) for values in zip(*rows, strict=True)] for name, rows in taken.items()}


def clocks() -> tuple[float, float, float]:
    """Seconds of the wall, CPU seconds of this thread, and of the process."""
    return time.perf_counter(), time.thread_time(), time.process_time()


def speeds(folder: Path, text: bytes) -> None:
    megabytes = len(text) / 1e6
    plain = folder / "plain"
    plain.write_bytes(text)
    calls: dict[str, Callable[[], object]] = {
        "json.loads, line by line": lambda: with_json(plain),
        "msgspec into typed structs, line by line": lambda: with_typed_decoder(plain),
        "mrdsl": lambda: with_mrdsl(plain),
    }
    found = {name: process for name, (_, _, process) in medians(calls, clocks).items()}
    first = next(iter(found.values()))
    print(f"\n| {megabytes:.0f} MB, plain | CPU s | MB/s | times json |\n|---|---|---|---|")
    for name, value in found.items():
        print(f"| {name} | {value:.3f} | {megabytes / value:.0f} | {first / value:.1f} |")
    packers: dict[str, Callable[[bytes], bytes]] = {
        "zstd": lambda data: zstd.compress(data, 1),
        "gzip": lambda data: gzip.compress(data, 6),
        "lz4": lz4_java,
        "snappy": xerial_snappy,
    }
    print(
        "\n| compressed | expanding MB/s | typed decoder MB/s | mrdsl MB/s | share of the slower "
        "| on one core | on two |\n"
        "|---|---|---|---|---|---|---|"
    )
    tasks = with_mrdsl(plain)
    for name, pack in packers.items():
        packed = folder / name
        packed.write_bytes(pack(text))
        assert with_mrdsl(packed) == tasks
        calls = {"expand": lambda packed=packed: expanded(packed), "decode": lambda: with_typed_decoder(plain),
                 "mrdsl": lambda packed=packed: with_mrdsl(packed)}  # type: ignore[misc] # fmt: skip
        taken = medians(calls, clocks)
        wall, own, process = taken["mrdsl"]
        slower = max(taken["expand"][0], taken["decode"][0])
        slower_cpu = max(taken["expand"][2], taken["decode"][2])
        print(
            f"| {name} | {megabytes / taken['expand'][0]:.0f} | {megabytes / taken['decode'][0]:.0f} | "
            f"{megabytes / wall:.0f} | {slower / wall:.0%} | "
            f"{slower_cpu / process:.0%} | {slower_cpu / max(own, process - own):.0%} |"
        )


def main() -> None:
    text = plain_logs(Path(sys.argv[1]))
    wanted = sys.argv[2] if len(sys.argv) > 2 else "80"
    with tempfile.TemporaryDirectory() as folder:
        speeds(Path(folder), text * max(1, round(int(wanted) * 1e6 / len(text))))


if __name__ == "__main__":
    main()
