"""Zip archives of logs, such as the REST interface of Spark's History Server returns."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO
from zipfile import BadZipFile, ZipFile

from mrdsl.exchange.logs.opening import UnreadableLogError

_MAGIC = b"PK\x03\x04"
_MOST_FILES = 100_000


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
    with _explained():
        zipped = ZipFile(path)
    with zipped:
        if len(zipped.infolist()) > _MOST_FILES:
            raise UnreadableLogError(f"the archive contains more than {_MOST_FILES:,} files")
        yield Archive(zipped)


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
