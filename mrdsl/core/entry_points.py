"""What installed packages declare for mrdsl, without loading what reads it where none does."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points_of(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group of the packages on Python's path.

    To read those of sixty packages takes 30 ms, a tenth of a small solve; to look whether any file names the group, 2.
    """
    if not _may_be_declared(group):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


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
