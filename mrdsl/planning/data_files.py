"""The files behind a saved plan: their fingerprints, and the bytes of those that are read when the spec is used."""

from __future__ import annotations

import atexit
import base64
import binascii
import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.regular_files import UnreadableError, read_bytes
from mrdsl.spec.decoding import MalformedError
from mrdsl.spec.schema import Source
from mrdsl.spec.spec import FileRead, Spec

SAME, CHANGED, MISSING, UNKNOWN = "same", "changed", "missing", "unknown"


@dataclass(frozen=True)
class SavedFile:
    """A file as a plan remembers it: ``name`` as the spec's folder sees it, and what its bytes were.

    ``sha256`` is "" where the file had changed already when the plan was saved. ``content`` is there for data that a
    spec reads when it is used, but for what is beyond the budget.
    """

    name: str
    path: str
    size: int | None
    sha256: str
    content: bytes | None = None

    def state(self) -> str:
        """Whether the file is still the same where it lay: ``same``, ``changed``, ``missing``, ``unknown``."""
        if not self.sha256:
            return UNKNOWN
        try:
            data = read_bytes(self.path)
        except UnreadableError:
            return MISSING
        return SAME if _sha256(data) == self.sha256 else CHANGED


@dataclass
class Collected:
    """The files of a spec that is being saved, numbered in order; a :class:`Source` asks for its own."""

    spec: Spec
    files: dict[str, FileRead | None] = field(default_factory=dict)
    data: dict[str, None] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files |= {read.path: read for read in self.spec.files}
        self.elsewhere = {read.place: read.path for read in self.spec.files if read.place}

    def number(self, source: Source) -> int:
        """The number of the file that a source names."""
        path = str(Path(source.path).resolve())
        path = self.elsewhere.get(path, path)
        self.files.setdefault(path, None)
        self.data[path] = None
        return list(self.files).index(path)

    def documents(self, folder: str | None) -> list[dict[str, Any]]:
        """The files as JSON, their paths relative to a folder if it is given."""
        left = budgets.SAVED_BYTES
        documents = []
        for path, read in self.files.items():
            data = _unchanged(path, read)
            known = read.sha256 if read is not None else ""
            saved = {
                "name": _name(path, self.spec.file, folder is None),
                "path": path if folder is None else _relative(path, folder),
                "bytes": len(data) if data is not None else read.size if read is not None else None,
                "sha256": known or None if data is None else _sha256(data),
            }
            if path in self.data and data is not None and len(data) <= left:
                left -= len(data)
                saved["content"] = base64.b64encode(zlib.compress(data, 9)).decode("ascii")
            documents.append(saved)
        return documents


def _relative(path: str, folder: str) -> str:
    """The path as seen from a folder, with ``/``; as it is if none leads there, as between drives."""
    try:
        return Path(os.path.relpath(path, Path(folder).resolve())).as_posix()
    except ValueError:
        return path


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _unchanged(path: str, read: FileRead | None) -> bytes | None:
    """The bytes of a file, None where it is not the one that was read, or is not there."""
    place = read.place or path if read is not None else path
    try:
        if read is not None and not read.sha256:
            status = os.stat(place)
            if (status.st_size, status.st_mtime_ns) != (read.size, read.changed):
                return None
        data = read_bytes(place)
    except (OSError, UnreadableError):
        return None
    return data if read is None or not read.sha256 or _sha256(data) == read.sha256 else None


def _name(path: str, spec_file: str, absolute: bool) -> str:
    """The path as the spec's folder sees it; ``absolute``: as it is if it lies outside of that folder."""
    folder = Path(spec_file).resolve().parent if spec_file else Path.cwd()
    return path if absolute and not Path(path).is_relative_to(folder) else _relative(path, str(folder))


def saved_files(documents: Any, path: str, saved: str = "") -> tuple[SavedFile, ...]:
    """The files that a plan remembers; relative paths are seen from the file ``saved``. Raises MalformedError."""
    if not isinstance(documents, Sequence) or isinstance(documents, str):
        raise MalformedError(path, "is no list of files")
    left = budgets.SAVED_BYTES
    found = []
    for index, document in enumerate(documents):
        found.append(
            _saved_file(document, f"{path}[{index}]", Path(saved).resolve().parent if saved else Path.cwd(), left)
        )
        left -= len(found[-1].content or b"")
    return tuple(found)


def _saved_file(document: Any, path: str, folder: Path, left: int) -> SavedFile:
    if not isinstance(document, Mapping):
        raise MalformedError(path, "is no object")
    name, place = (_file_name(document.get(key), f"{path}.{key}") for key in ("name", "path"))
    place = os.path.normpath(folder / place)
    size, sha256, content = document.get("bytes"), document.get("sha256"), document.get("content")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        raise MalformedError(f"{path}.bytes", "is no number of bytes")
    if sha256 is not None and not isinstance(sha256, str):
        raise MalformedError(f"{path}.sha256", "is no fingerprint")
    if content is None:
        return SavedFile(name, place, size, sha256 or "")
    data = _expanded(content, f"{path}.content", left)
    if _sha256(data) != sha256:
        raise MalformedError(f"{path}.content", "is not what its fingerprint says")
    return SavedFile(name, place, size, sha256 or "", data)


def _file_name(value: Any, path: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise MalformedError(path, "is no file's name")
    return value


def _expanded(content: Any, path: str, left: int) -> bytes:
    try:
        expander = zlib.decompressobj()
        data = expander.decompress(base64.b64decode(content, validate=True), left + 1)
    except (TypeError, ValueError, binascii.Error, zlib.error):
        raise MalformedError(path, "is no compressed data in base64") from None
    if len(data) > left or not expander.eof:
        raise MalformedError(path, f"brings more than {budgets.SAVED_BYTES >> 20} MB along, or is cut short")
    return data


def place_of(file: SavedFile) -> str:
    """Where the data of a file lies: in its place if it is still the same, else unpacked into a temporary folder.

    Raises ValueError where it is neither there nor brought along.
    """
    if file.state() == SAME:
        return file.path
    if file.content is None:
        raise ValueError(
            f"names {file.name!r}, which is not brought along, and is no more what it was in {file.path!r}"
        )
    folder = _unpacking() / file.sha256
    place = folder / (Path(file.name).name or "data")
    if not place.exists():
        folder.mkdir(exist_ok=True)
        place.write_bytes(file.content)
    return str(place)


@cache
def _unpacking() -> Path:
    """A temporary folder of this process, which goes with it."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())
