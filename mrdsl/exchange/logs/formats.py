"""Formats of logs: how their logs begin, the function that reads one, and the messages about what it could not use.

Messages have file and line; each kind of mistake is shown a few times, then counted. Zip archives of logs are opened
here too, such as the REST interface of Spark's History Server returns.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO
from zipfile import BadZipFile, ZipFile

from mrdsl.core.diagnostics import Diagnostic, Severity, Span
from mrdsl.exchange.logs.opening import Piece, UnreadableLogError
from mrdsl.exchange.logs.records import Run

SHOWN = 3
SHOWN_FILES = 20


def place(path: str, line: int = 1, column: int = 1) -> Span:
    """Return one place in a log; at line 0, the file itself, of which no line is quoted."""
    return Span(path, max(line, 1), column, max(line, 1), column + (line > 0))


@dataclass
class _Unshown:
    """Mistakes that are not reported in full: the first place, and the number of items and files."""

    first: Span
    path: str
    files: int = 1
    things: int = 0

    def add(self, path: str) -> None:
        self.things += 1
        self.files += path != self.path
        self.path = path


@dataclass
class Telling:
    """Mistakes of one reading: three of a kind and file in full, for twenty files of a kind, then counts.

    ``lost`` is the total number. ``left_out`` are files that no reader may open, ``barren`` is the number of logs
    without a job or application.
    """

    found: list[Diagnostic] = field(default_factory=list)
    lost: int = 0
    left_out: set[str] = field(default_factory=set)
    barren: int = 0
    _shown: dict[tuple[str, Severity], Counter[str]] = field(default_factory=dict)
    _unshown: dict[tuple[str, Severity], _Unshown] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)

    def warn(self, code: str, message: str, path: str, line: int = 1, hint: str = "") -> None:
        """Something was left out; the rest is used."""
        self._tell(Diagnostic(code, Severity.WARNING, message, place(path, line), hint), path)

    def fail(self, code: str, message: str, path: str, line: int = 1, hint: str = "") -> None:
        """Report that no part of this file can be used."""
        self._failed.add(path)
        self._tell(Diagnostic(code, Severity.ERROR, message, place(path, line), hint), path)

    def failed(self, path: str) -> bool:
        """Return True if a mistake was reported after which no part of this file can be used."""
        return path in self._failed

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return all diagnostics, with counts of those not shown."""
        rest = []
        for (code, severity), shown in self._shown.items():
            for path, count in shown.items():
                if count > SHOWN:
                    message = f"and {count - SHOWN} more of this kind in this file"
                    rest.append(Diagnostic(code, Severity.WARNING, message, place(path)))
            if (more := self._unshown.get((code, severity))) is not None:
                files = f"{more.files:,} more files, of which this is the first"
                message = f"and {more.things:,} more of this kind in {files}" if more.files > 1 else "and one more file"
                rest.append(Diagnostic(code, severity, message, more.first))
        return (*self.found, *rest)

    def _tell(self, told: Diagnostic, path: str) -> None:
        self.lost += 1
        kind = told.code, told.severity
        shown = self._shown.setdefault(kind, Counter())
        if path in shown or len(shown) < SHOWN_FILES:
            shown[path] += 1
            if shown[path] <= SHOWN:
                self.found.append(told)
        else:
            assert told.span is not None
            self._unshown.setdefault(kind, _Unshown(told.span, path)).add(path)


Pieces = Iterable[Piece]
"""Expanded bytes, in order."""


@dataclass(frozen=True)
class OpenedLog:
    """A log at its beginning: its name, and its parts in order, each with its file's name and its bytes.

    Only rolled event logs have more than one part; a part is opened when it is asked for. ``missing`` is the number of
    parts that the numbers of the others show to be missing.
    """

    name: str
    parts: Iterator[tuple[str, Pieces]]
    missing: int = 0

    def pieces(self) -> Pieces:
        """Return the bytes of the one part."""
        return next(self.parts)[1]


@dataclass(frozen=True)
class LogFormat:
    """``recognizes(head)`` tests the beginning of a log; ``read(log, telling)`` yields its contents.

    ``sample`` is a beginning that no other format has.
    """

    recognizes: Callable[[bytes], bool]
    read: Callable[[OpenedLog, Telling], Iterator[Run]]
    sample: bytes


_MAGIC = b"PK\x03\x04"
_MOST_FILES = 100_000
_LARGEST_DIRECTORY = 64 << 20
_TAIL = (1 << 16) + 1024
"""Bytes at the end of an archive that hold the size of its list: a comment has at most 64 kB."""


def is_archive(head: bytes) -> bool:
    """Return True if a file that begins so is a zip archive."""
    return head.startswith(_MAGIC)


@dataclass(frozen=True)
class Archive:
    """An open archive; its files can be read one after the other."""

    zipped: ZipFile

    def names(self) -> list[str]:
        """Return the names of the files in it."""
        return [info.filename for info in self.zipped.infolist() if not info.is_dir()]

    def size(self, name: str) -> int:
        """Return the stored bytes of a file."""
        return self.zipped.getinfo(name).compress_size

    @contextmanager
    def open(self, name: str, limit: int) -> Iterator[_Member]:
        """Return a stream of a file that is at most ``limit`` bytes long. Raises UnreadableLogError."""
        with _explained():
            stream = self.zipped.open(name)
        with stream:
            yield _Member(stream, limit)


@contextmanager
def archive(path: str) -> Iterator[Archive]:
    """Open an archive. Raises UnreadableLogError if it is broken or cut."""
    if _directory_bytes(path) > _LARGEST_DIRECTORY:
        raise UnreadableLogError(f"its list of files has more than {_LARGEST_DIRECTORY >> 20} MB")
    with _explained():
        zipped = ZipFile(path)
    with zipped:
        if len(zipped.infolist()) > _MOST_FILES:
            raise UnreadableLogError(f"the archive contains more than {_MOST_FILES:,} files")
        yield Archive(zipped)


def _directory_bytes(path: str) -> int:
    """Return an upper limit of the size of an archive's list of files, which the library reads at once."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")  # the record at its end; of larger archives, the one before it
    found = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    wide = tail.rfind(b"PK\x06\x06")
    return found if found < 0xFFFFFFFF or wide < 0 else int.from_bytes(tail[wide + 40 : wide + 48], "little")


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (BadZipFile, EOFError, zlib.error) as cause:
        raise UnreadableLogError(f"the archive is broken or cut: {cause}") from None
    except (NotImplementedError, RuntimeError) as cause:  # an unknown compression, a password
        raise UnreadableLogError(f"the archive cannot be expanded: {cause}") from None


@dataclass
class _Member:
    stream: IO[bytes]
    left: int

    def read(self, size: int, /) -> bytes:
        with _explained():
            found = self.stream.read(size)
        self.left -= len(found)
        if self.left < 0:
            raise UnreadableLogError("it expands to too many bytes")
        return found
