"""Plug-ins: how they are found, and how their errors are reported with file and line."""

from __future__ import annotations

import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.core.reading import leaving_no_bytecode

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


_HINT = "this is a fault of that plug-in; `mrdsl check-plugin FOLDER` tries all that it claims"
_MRDSL = str(Path(__file__).resolve().parents[1])
_INSTALLED = ("site-packages", "dist-packages")


class PluginError(MrdslError):
    """A fault of a plug-in; the original exception is the ``__cause__``."""

    def __init__(self, diagnostics: Any, exit_code: int = 3) -> None:
        super().__init__(diagnostics, exit_code)


@dataclass(frozen=True)
class Plugin:
    """A plug-in: ``what`` it is in words (the pipeline `patient`), and its files and folders."""

    what: str
    places: tuple[str, ...]

    def told(self, message: str, place: Span | None) -> Diagnostic:
        """Return the diagnostic of a fault."""
        return error("broken-plugin", f"{self.what} {message}", place, _HINT)

    def guarded(
        self,
        function: Callable[..., Any],
        part: str,
        mistake: Callable[[Any], str] = lambda _: "",
        passes: tuple[type[Exception], ...] = (),
    ) -> Callable[..., Any]:
        """Wrap a function so that its faults are reported as faults of the plug-in.

        Args:
            function: A function of the plug-in. An iterator that it returns is read at once.
            part: The name of the function in messages, such as "step `improve`".
            mistake: Returns the mistake in a value that the function returned, or "".
            passes: Exceptions that the function can raise.
        """

        @wraps(function)
        def call(*values: Any, **named: Any) -> Any:
            with self.blamed(f"in {part}", defined_at(function), passes), leaving_no_bytecode():
                value = function(*values, **named)
                value = tuple(value) if isinstance(value, Iterator) else value
            wrong = mistake(value)
            if wrong:
                raise PluginError([self.told(f"{wrong}, in {part}", defined_at(function))])
            return value

        return call

    @contextmanager
    def blamed(
        self, where: str, otherwise: Span | None = None, passes: tuple[type[Exception], ...] = ()
    ) -> Iterator[None]:
        """Report exceptions in the ``with`` block as faults of the plug-in, at ``otherwise`` if no frame
        belongs to it.
        """
        try:
            yield
        except (MrdslError, MemoryError):
            raise
        except (Exception, SystemExit) as cause:
            if isinstance(cause, passes) or self._is_the_callers(cause):
                raise
            message = f"failed with {type(cause).__name__}: {cause}, {where}"
            raise PluginError([self.told(message, self.place(cause) or otherwise)]) from cause

    def place(self, cause: BaseException) -> Span | None:
        """Return the innermost line of the plug-in's own files through which an exception came."""
        if isinstance(cause, SyntaxError) and cause.filename and self._has(cause.filename):
            return _line(cause.filename, cause.lineno or 1)
        own = [_line(file, line) for file, line in _frames(cause.__traceback__) if self._has(file)]
        return own[-1] if own else None

    def place_in(self, dump: str) -> Span | None:
        """Return the innermost line of the plug-in's own files in a dump of :mod:`faulthandler`, innermost first."""
        frames = re.findall(r'File "(.+)", line ([0-9]+)', dump)
        return next((_line(file, int(line)) for file, line in frames if self._has(file)), None)

    def _has(self, file: str) -> bool:
        return any(own_file(file, place) for place in self.places)

    def _is_the_callers(self, cause: BaseException) -> bool:
        """Return True if it was raised in code that is neither the plug-in's, nor mrdsl's, nor installed: a caller's
        own.
        """
        file = [file for file, _ in _frames(cause.__traceback__)][-1]
        known = file.startswith("<") or self._has(file) or _within(file, _not_own())
        return not known and not any(part in Path(file).parts for part in _INSTALLED)


def own_file(file: str, place: str | Path) -> bool:
    """Return True if a file lies in a place, and is not installed there (as in a ``.venv``) or a part of Python or
    mrdsl.
    """
    real, root = os.path.realpath(file), os.path.realpath(place)
    if not _within(real, (root,)) or _within(real, tuple(home for home in _not_own() if _within(home, (root,)))):
        return False
    return not any(part in _INSTALLED for part in Path(real).relative_to(root).parts)


def plugin_of(what: str, module: str) -> Plugin | None:
    """Return the plug-in that a module belongs to, or None for modules of mrdsl. Does not import the module."""
    first = module.partition(".")[0]
    if first == "mrdsl":
        return None
    try:
        found = find_spec(first)
    except (ImportError, ValueError):
        found = None
    places = [*(found.submodule_search_locations or ()), found.origin] if found is not None else []
    return Plugin(what, tuple(os.path.realpath(place) for place in places if place))


def fault_of_a_plugin(cause: BaseException, groups: tuple[str, ...]) -> Diagnostic | None:
    """Return the diagnostic of an exception that passed through the files of a plug-in, or None for a fault of
    mrdsl.
    """

    found = [
        plugin_of(f"the plug-in `{point.name}`", point.value.partition(":")[0])
        for group in groups
        for point in entry_points_of(group)
    ]
    found += [Plugin(f"a plug-in in {folder}", (os.path.realpath(folder),)) for folder in named_folders()]
    for plugin in found:
        if isinstance(plugin, Plugin) and (place := plugin.place(cause)) is not None:
            return plugin.told(f"failed with {type(cause).__name__}: {cause}", place)
    return None


def defined_at(function: Callable[..., Any]) -> Span | None:
    """Return the line at which a function is defined; None if it is not Python's, or its module cannot be imported."""
    try:
        code = getattr(inspect.unwrap(function), "__code__", None)
    except Exception:  # the call of the function reports it
        return None
    return None if code is None else _line(code.co_filename, code.co_firstlineno)


@cache
def _not_own() -> tuple[str, ...]:
    """Return the folders of mrdsl and of Python's own modules."""
    return (_MRDSL, *(os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")))


def _line(file: str, line: int) -> Span:
    return Span(file, line, 1, line, 1)


def _frames(traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next


def _within(file: str, places: tuple[str, ...]) -> bool:
    real = os.path.realpath(file)
    return any(real == place or real.startswith(place + os.sep) for place in places)


def entry_points_of(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group: from the folders that the user named, and from installed packages.

    Reading those of sixty packages takes 30 ms, a tenth of a small solve; a search for the name of the group in their
    files takes 2 ms. Raises MrdslError ``broken-plugin`` if the ``pyproject.toml`` of a named folder cannot be read.
    """
    named = tuple(point for folder in named_folders() for point in _of_folder(folder, group))
    if not _may_be_declared(group):
        return named
    from importlib.metadata import entry_points

    taken = {point.name for point in named}
    return (*named, *(point for point in entry_points(group=group) if point.name not in taken))


def named_folders() -> tuple[Path, ...]:
    """Return the folders that the user named, in order."""
    return tuple(Path(each) for each in os.environ.get("MRDSL_SOLVERS", "").split(os.pathsep) if each)


def load(point: Any) -> Any:
    """Import the object that an entry point names. Raises the errors of the import, and OSError if others can write to
    its folder.
    """
    group = getattr(point, "group", "")
    for folder in named_folders():
        if declared_in(folder).get(group, {}).get(point.name) == point.value:
            from mrdsl.core.reading import make_importable

            make_importable(folder, point.value.partition(":")[0].strip())
            with leaving_no_bytecode():
                return point.load()
    return point.load()


def _of_folder(folder: Path, group: str) -> Iterator[EntryPoint]:
    declared = declared_in(folder).get(group, {})
    if declared:
        from importlib.metadata import EntryPoint

        yield from (EntryPoint(name, value, group) for name, value in declared.items())


def declared_in(folder: Path) -> dict[str, dict[str, str]]:
    """Return the entry points in the ``pyproject.toml`` of a folder, by group."""
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    from mrdsl.core.reading import read_trusted
    from mrdsl.core.toml_text import TomlError, read_toml

    try:
        project: Any = read_toml(read_trusted(path), str(path)).data.get("project", {})
    except (OSError, UnicodeDecodeError, TomlError) as cause:
        raise MrdslError([_unreadable(folder, f"it cannot be read: {cause}")]) from None
    groups = project.get("entry-points", {}) if isinstance(project, dict) else {}
    return {
        group: {name: value for name, value in points.items() if isinstance(value, str)}
        for group, points in (groups.items() if isinstance(groups, dict) else ())
        if isinstance(points, dict)
    }


def _unreadable(folder: Path, message: str) -> Any:
    path = str(folder / "pyproject.toml")
    return error("broken-plugin", f"the plug-in in {folder}: {message}", Span(path, 1, 1, 1, 1))


def _may_be_declared(group: str) -> bool:
    """Return True if a package names the group, or if some package is not in a folder, as in an archive."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    return any(_names(folder, group.encode()) for folder in dict.fromkeys(sys.path))


def _names(folder: str, group: bytes) -> bool:
    try:
        found = [name for name in os.listdir(folder or ".") if name.lower().endswith((".dist-info", ".egg-info"))]
    except FileNotFoundError:
        return False
    except OSError:  # an archive, or a folder that may not be read
        return True
    if folder.lower().rstrip(os.sep).endswith(".egg"):
        return True
    return any(_holds(os.path.join(folder, name, "entry_points.txt"), group) for name in found)


def _holds(path: str, group: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return group in file.read()
    except OSError:
        return False
