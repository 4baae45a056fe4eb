"""Bytes to text: UTF-8, with or without a byte order mark, and a reason where it is something else."""

from __future__ import annotations

from pathlib import Path

from mrdsl.core import budgets
from mrdsl.core.regular_files import UnreadableError, read_bytes
from mrdsl.exchange.mistakes import FormatError


def decode(data: bytes) -> tuple[str | None, str]:
    """The text of a file, or None and what is wrong with it in words."""
    if b"\0" in data[:65536]:
        return None, "it holds binary data"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return None, f"line {line} has a byte that is not UTF-8 (0x{data[problem.start]:02x})"


def read_document(path: Path, own_descriptors: bool = False) -> tuple[str | None, str]:
    """The text of a spec or an imported file, or None and the reason in words."""
    try:
        data = read_bytes(path, budgets.DOCUMENT_BYTES, own_descriptors)
    except UnreadableError as problem:
        return None, str(problem)
    text, reason = decode(data)
    return (text, reason) if text is None else within_budget(text)


def read_text(path: str | Path) -> str:
    """The text of a file that another program wrote. Raises FormatError."""
    try:
        text, reason = decode(read_bytes(path))
    except UnreadableError as problem:
        raise FormatError(str(problem), "check the name") from None
    if text is None:
        raise FormatError(reason, "save it as UTF-8 text")
    return text


def within_budget(text: str) -> tuple[str | None, str]:
    """The text, or None and the reason where it is too long to be read as a spec."""
    if len(text) > budgets.DOCUMENT_BYTES:
        return None, f"it has more than {budgets.DOCUMENT_BYTES >> 20} MB, the most that is read"
    if text.count("\n") >= budgets.DOCUMENT_LINES:
        return None, f"it has {budgets.DOCUMENT_LINES} lines or more"
    return text, ""
