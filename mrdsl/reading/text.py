"""Bytes to text: UTF-8, with or without a byte order mark, and a reason where it is something else."""

from __future__ import annotations

MAX_BYTES = 1 << 30


def decode(data: bytes) -> tuple[str | None, str]:
    """The text of a file, or None and what is wrong with it in words."""
    if b"\0" in data[:65536]:
        return None, "it holds binary data"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return None, f"line {line} has a byte that is not UTF-8 (0x{data[problem.start]:02x})"
