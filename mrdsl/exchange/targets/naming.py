"""Names of classes and machines as other systems take them, and as names of files, each of them once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

LONGEST = 100
"""Characters of a class's part of a file's name: file systems take 255 bytes with all else."""


def distinct(
    names: Iterable[str],
    plain: Callable[[str], str],
    between: str = "_",
    longest: int | None = None,
    same: Callable[[str], str] = str,
) -> list[str]:
    """Every name as ``plain`` makes it, cut to ``longest`` characters; a second one that is the same gets a number.

    Two names are the same if ``same`` makes one text of them.
    """
    chosen: dict[str, str] = {}
    for name in names:
        word = plain(name)[:longest]
        free, number = word, 2
        while same(free) in chosen:
            end = f"{between}{number}"
            free, number = (word if longest is None else word[: longest - len(end)]) + end, number + 1
        chosen[same(free)] = free
    return list(chosen.values())


def queue_names(names: Iterable[str]) -> list[str]:
    """Names that YARN takes: letters, digits, - and _."""
    return distinct(names, lambda name: re.sub(r"[^A-Za-z0-9_-]", "_", name))


def file_words(names: Iterable[str]) -> list[str]:
    """Parts of file names: letters, digits, -, _ and dots within, so that none leads to another folder.

    They differ also on disks that ignore case.
    """
    return distinct(names, lambda name: re.sub(r"[^A-Za-z0-9_.-]|^\.+", "_", name), longest=LONGEST, same=str.lower)
