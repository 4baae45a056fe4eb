"""Writer of every file and folder that mrdsl creates."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, one_error
from mrdsl.core.guarded import nameless_file
from mrdsl.core.reading import STANDARD_OUTPUT, Target, is_standard_output, may, target_of, unwritable
from mrdsl.core.watching import setting

try:
    import fcntl
except ImportError:  # Windows has no flock; there, two runs at one moment are not kept apart
    fcntl = None  # type: ignore[assignment]

LOCK = ".mrdsl.lock"
_OVERWRITING: ContextVar[bool] = ContextVar("_OVERWRITING", default=False)
_BLOCK = 1 << 20
_NAME = 200
READER_SECONDS = 2.0
"""Time to wait for the reader of a pipe [s]: a shell may start it a moment later."""
_STEP = 0.02


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write a text (UTF-8, line ends as they are). Raises MrdslError ``file-exists`` or ``unwritable-file``."""
    with Together(force=force) as files, files.text(path) as stream:
        stream.write(text)


def overwriting(allowed: bool) -> contextlib.AbstractContextManager[bool]:
    """Let calls in the ``with`` block overwrite existing files if ``allowed``: the writers of a study do not know
    ``--force``.
    """
    return setting(_OVERWRITING, allowed)


class Together:
    """Files that appear together at the end of the ``with`` block, or not at all.

    Raises MrdslError ``file-exists`` if one exists and ``force`` is not given, and ``unwritable-file`` if the system
    refuses; existing files then stay unchanged.
    """

    def __init__(self, *, force: bool = False) -> None:
        self._force = force or _OVERWRITING.get()
        self._waiting: list[_Waiting] = []
        self._made: list[Path] = []

    def __enter__(self) -> Together:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        made = self._made
        try:
            if kind is None:
                self._commit()
                made = []
        finally:
            for one in self._waiting:
                one.drop()
            _remove_empty(made)

    def folder(self, path: Path) -> None:
        """Make a folder and those above it; the new ones are removed if the block fails."""
        self._made += make_folder(path)

    @contextlib.contextmanager
    def text(self, path: Path, encoding: str = "utf-8") -> Iterator[IO[str]]:
        """Yield a stream for the text of one file; line ends are written as they are."""
        with self.binary(path) as raw:
            stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
            yield stream
            stream.flush()
            stream.detach()

    @contextlib.contextmanager
    def binary(self, path: Path) -> Iterator[IO[bytes]]:
        """Yield a stream for the bytes of one file."""
        with refusals_of(path):
            place = target_of(path)
            if place.through:
                with _through(place) as stream:
                    yield stream
                return
            _refuse_existing(path, place, self._force)
            one = _Waiting(path, place)
            self._waiting.append(one)
            yield one.stream

    def _commit(self) -> None:
        with contextlib.ExitStack() as locks:
            if len(self._waiting) > 1:
                for folder in sorted({one.place.path.parent for one in self._waiting}):
                    locks.enter_context(_locked(folder))
            for one in self._waiting:
                with refusals_of(one.shown):
                    one.seal()
            if not self._force:
                for one in self._waiting:
                    if os.path.lexists(one.place.path):
                        raise MrdslError([_exists(one.shown)])
            for one in self._waiting:
                with refusals_of(one.shown):
                    one.commit(self._force)


def make_folder(folder: Path) -> list[Path]:
    """Make a folder and those above it; return those that were missing. Raises MrdslError ``unwritable-file``."""
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    try:
        with refusals_of(folder):
            folder.mkdir(parents=True, exist_ok=True)
    except MrdslError:
        _remove_empty(missing)
        raise
    return missing


def _remove_empty(folders: Iterable[Path]) -> None:
    for each in sorted(folders, key=lambda one: len(one.parts), reverse=True):
        with contextlib.suppress(OSError):
            each.rmdir()


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Yield a folder that only this run writes to: made if it is missing, and locked until the end.

    Raises MrdslError ``busy-output`` if another run writes to it, ``unwritable-file`` if the system refuses.
    """
    with contextlib.ExitStack() as until_the_end:
        made = make_folder(folder)
        until_the_end.push(lambda kind, *_: _remove_empty(made if kind is not None else ()))
        with refusals_of(folder):
            until_the_end.enter_context(locked_file(folder / LOCK, folder))
        until_the_end.callback((folder / LOCK).unlink, missing_ok=True)
        yield


@contextlib.contextmanager
def locked_file(path: Path, shown: Path) -> Iterator[int]:
    """Yield a descriptor of a file that this run alone reads and writes in place; made if it is missing.

    Raises MrdslError ``busy-output`` if another run has it open, and OSError if the system refuses.
    """
    while True:
        handle = os.open(
            path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666
        )
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(0, "it is not a regular file")
            with _held(handle, shown):
                if _is_at(handle, path):
                    yield handle
                    return
        finally:
            os.close(handle)


@contextlib.contextmanager
def _held(handle: int, shown: Path) -> Iterator[None]:
    """Yield the lock of an open file, given back by name: a solver's process forked meanwhile has the
    descriptor too.
    """
    if fcntl is None:
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        hint = "wait for it, or write to another name"
        raise one_error("busy-output", f"another run is writing to `{shown}`", None, hint) from None
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def refusals(path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> tuple[Diagnostic, ...]:
    """Return the reasons why a file will not be written, before the work: it is an input, it exists, or it cannot be
    written.
    """
    if path == STANDARD_OUTPUT:
        return ()
    reason = unwritable(path)
    if reason:
        return (refused(path, reason),)
    place = target_of(path)
    if place.through or place.before is None:
        return ()
    for read in inputs:
        with contextlib.suppress(OSError):
            if read.is_file() and os.path.samestat(place.before, read.stat()):
                hint = "write to another name"
                return (error("output-is-input", f"`{path}` is read by this command (`{read}`)", None, hint),)
    return () if force else (_exists(path),)


@contextlib.contextmanager
def _through(place: Target) -> Iterator[IO[bytes]]:
    """Yield a stream to an open descriptor, a device or a pipe, without making or emptying a file."""
    if place.descriptor == 1:
        collected = io.BytesIO()
        yield collected
        if sys.stdout is None:
            raise OSError(0, "standard output is closed")
        sys.stdout.flush()
        sys.stdout.buffer.write(collected.getvalue())
        sys.stdout.flush()
        return
    handle = _opened(place.path) if place.descriptor is None else os.dup(place.descriptor)
    with os.fdopen(handle, "wb") as stream:
        yield stream


def _opened(path: Path) -> int:
    """Open a device or a pipe to write to; OSError if no program opens a pipe to read within two seconds."""
    waited = 0.0
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError as cause:
            if cause.errno != errno.ENXIO:
                raise
            if waited >= READER_SECONDS:
                raise OSError(errno.ENXIO, "no program reads this pipe") from None
        else:
            os.set_blocking(handle, True)
            return handle
        time.sleep(_STEP)
        waited += _STEP


class _Waiting:
    """A temporary file next to its final place."""

    def __init__(self, shown: Path, place: Target) -> None:
        self.shown, self.place = shown, place
        self.neighbour: Path | None = None
        if place.before is not None and not stat.S_ISREG(place.before.st_mode):
            raise OSError(0, "it is not a regular file")
        if place.before is not None and not may(place.path, os.W_OK):
            raise PermissionError(0, "permission denied")
        self.stream: Any = self._neighbour() if self._can_be_replaced() else nameless_file()

    def _can_be_replaced(self) -> bool:
        before = self.place.before
        if before is None:
            return True
        own = not hasattr(os, "geteuid") or os.geteuid() in (0, before.st_uid)
        return before.st_nlink == 1 and own and may(self.place.path.parent, os.W_OK | os.X_OK)

    def _neighbour(self) -> IO[bytes]:
        path = self.place.path
        name = f".{os.fsdecode(os.fsencode(path.name)[:_NAME])}.{os.urandom(8).hex()}.new"
        mode = 0o666 if self.place.before is None else 0o600
        neighbour = path.with_name(name)
        handle = os.open(neighbour, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        self.neighbour = neighbour
        return os.fdopen(handle, "w+b")

    def seal(self) -> None:
        """Write the bytes to the disk, and set the owner, mode and attributes of the replaced file."""
        self.stream.flush()
        os.fsync(self.stream.fileno())
        before = self.place.before
        if self.neighbour is None or before is None:
            return
        own = os.fstat(self.stream.fileno())
        if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid):
            try:
                os.chown(self.neighbour, before.st_uid, before.st_gid)
            except OSError:
                self._leave_neighbour()
                return
        shutil.copystat(self.place.path, self.neighbour)
        os.utime(self.neighbour)

    def commit(self, force: bool) -> None:
        """Move the bytes to their place; without ``force`` only if no file exists there."""
        if self.neighbour is None:
            _write_in_place(self.place.path, self.stream)
        elif force or not _linked(self.neighbour, self.place.path):
            os.replace(self.neighbour, self.place.path)
        self.drop()
        _sync_folder(self.place.path.parent)

    def drop(self) -> None:
        """Remove the temporary file."""
        with contextlib.suppress(OSError):
            self.stream.close()
        self._leave_neighbour()

    def _leave_neighbour(self) -> None:
        """The stream stays readable, but no name leads to it any more."""
        if self.neighbour is not None:
            self.neighbour.unlink(missing_ok=True)
            self.neighbour = None


def _linked(neighbour: Path, path: Path) -> bool:
    """Return True if the file now has its final name too, False if the file system has no hard links."""
    try:
        os.link(neighbour, path)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _write_in_place(path: Path, new: IO[bytes]) -> None:
    """Write the bytes into a file that keeps its name, owner and links; restore the old bytes if the system refuses."""
    with open(path, "r+b") as file, nameless_file() as old:
        shutil.copyfileobj(file, old, _BLOCK)
        try:
            _overwrite(file, new)
        except OSError:
            with contextlib.suppress(OSError):
                _overwrite(file, old)
            raise


def _overwrite(file: IO[bytes], source: IO[bytes]) -> None:
    size = source.seek(0, os.SEEK_END)
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    source.seek(0)
    file.seek(0)
    shutil.copyfileobj(source, file, _BLOCK)
    file.truncate(size)
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """A rename lasts once its folder is on the disk; not every system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """While a set of files gets its names, no other run renames into the folder."""
    if fcntl is None:
        yield
        return
    with refusals_of(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    """Return True if a descriptor's file still has its name: the run that had it before may have taken that away."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _refuse_existing(path: Path, place: Target, force: bool) -> None:
    if not force and place.before is not None and not place.through:
        if stat.S_ISDIR(place.before.st_mode):
            raise IsADirectoryError(0, "it is a folder")
        raise MrdslError([_exists(path)])


@contextlib.contextmanager
def refusals_of(path: Path) -> Iterator[None]:
    """Yield a refusal of the system as a diagnostic that names the file as the user did."""
    try:
        yield
    except FileExistsError:
        raise MrdslError([_exists(path)]) from None
    except OSError as problem:
        if isinstance(problem, BrokenPipeError) and is_standard_output(path):
            raise
        raise MrdslError([refused(path, problem.strerror or "the system refuses")]) from None


def refused(path: Path, reason: str) -> Diagnostic:
    """Return the diagnostic of a file that cannot be written."""
    missing = reason.startswith("the folder ")
    hint = (
        "create the folder, or write to another one" if missing else "write to another folder, or make room in this one"
    )
    return error("unwritable-file", f"`{path}` cannot be written: {reason}", None, hint)


def _exists(path: Path) -> Diagnostic:
    return error("file-exists", f"`{path}` already exists", None, "choose another name, or pass --force")


def refuse_folder(folder: Path, *, force: bool = True, inputs: Iterable[Path] = ()) -> None:
    """Raise MrdslError if a folder cannot take files, contains one of the inputs, or contains files and ``force`` is
    not given.

    Folders of files whose names are known only at the end are checked at the beginning, not after an hour of work.
    """
    if is_standard_output(folder) and force:
        return
    reason = _no_folder(folder)
    if reason:
        raise one_error(
            "unwritable-file",
            f"`{folder}` is not writable: {reason}",
            None,
            "name a folder that exists or can be created",
        )
    within = [path for path in inputs if os.path.isfile(path) and path.resolve().is_relative_to(folder.resolve())]
    if within:
        raise one_error(
            "output-is-input",
            f"`{folder}` holds `{within[0]}`, which this command reads",
            None,
            "write to another folder",
        )

    if not force and folder.exists() and any(entry.name != LOCK for entry in folder.iterdir()):
        raise one_error(
            "file-exists",
            f"the folder `{folder}` already exists and is not empty",
            None,
            "choose another name, or pass --force",
        )


def _no_folder(folder: Path) -> str:
    """Return the reason why a path is not a folder and cannot be made one, or ""."""
    if is_standard_output(folder):
        return "it is standard output"
    try:
        nearest = next(above for above in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(above))
        if not nearest.is_dir():
            return f"{str(nearest)!r} is not a folder"
        return "" if may(nearest, os.W_OK | os.X_OK) else f"{str(nearest)!r} is not writable"
    except OSError as problem:
        return problem.strerror or "the system refuses"
