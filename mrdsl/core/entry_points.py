"""What plug-ins declare for mrdsl: installed packages, and folders that the user named.

A folder in ``MRDSL_SOLVERS`` (``--solvers`` puts one there) whose ``pyproject.toml`` has entry points counts as a
package that is installed; what is installed is imported first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.source import Span

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points_of(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group: of the folders that the user named, and of the packages on Python's path.

    To read those of sixty packages takes 30 ms, a tenth of a small solve; to look whether any file names the group, 2.
    Raises MrdslError ``broken-plugin`` where a named folder's ``pyproject.toml`` cannot be read.
    """
    named = tuple(point for folder in named_folders() for point in _of_folder(folder, group))
    if not _may_be_declared(group):
        return named
    from importlib.metadata import entry_points

    taken = {point.name for point in named}
    return (*named, *(point for point in entry_points(group=group) if point.name not in taken))


def named_folders() -> tuple[Path, ...]:
    """The folders that the user named, in order."""
    return tuple(Path(each) for each in os.environ.get("MRDSL_SOLVERS", "").split(os.pathsep) if each)


def load(point: Any) -> Any:
    """What an entry point names. Raises whatever importing it does, OSError where others can write to its folder."""
    group = getattr(point, "group", "")
    for folder in named_folders():
        if declared_in(folder).get(group, {}).get(point.name) == point.value:
            from mrdsl.core.trusted import leaving_no_bytecode, make_importable

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
    """The entry points in a folder's ``pyproject.toml``, by group; none where it has none."""
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    import tomllib

    from mrdsl.core.trusted import read_trusted

    try:
        project: Any = tomllib.loads(read_trusted(path)).get("project", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as cause:
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
    """Whether a package names the group, or is none of those that lie in folders on the path, as in an archive."""
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
