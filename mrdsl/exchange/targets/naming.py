"""Names of classes and machines as other systems take them, and as names of files, each of them once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


def distinct(names: Iterable[str], plain: Callable[[str], str], between: str = "_") -> list[str]:
    """Every name as ``plain`` makes it; a second one that comes to the same gets a number."""
    chosen: dict[str, None] = {}
    for name in names:
        word = plain(name)
        free, number = word, 2
        while free in chosen:
            free, number = f"{word}{between}{number}", number + 1
        chosen[free] = None
    return list(chosen)


def queue_names(names: Iterable[str]) -> list[str]:
    """Names that YARN takes: letters, digits, - and _."""
    return distinct(names, lambda name: re.sub(r"[^A-Za-z0-9_-]", "_", name))


def file_words(names: Iterable[str]) -> list[str]:
    """Parts of file names: letters, digits, -, _ and dots within, so that none leads to another folder."""
    return distinct(names, lambda name: re.sub(r"[^A-Za-z0-9_.-]|^\.+", "_", name))
