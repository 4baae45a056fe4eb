"""Which of the files that a command is given are specs, and how long what is read of them lasts."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

SUFFIX = ".mrspec"


def specs_below(files: Iterable[Path]) -> Iterable[Path]:
    """The files themselves, and for a folder every spec below it, in order."""
    for path in files:
        if path.is_dir():
            yield from sorted(path.rglob(f"*{SUFFIX}"))
        else:
            yield path


@contextmanager
def lasting() -> Iterator[None]:
    """What is made meanwhile lives as long as the process: no garbage is sought in it, now or later."""
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
