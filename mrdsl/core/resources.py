"""Where the declared things lie: the one place that knows.

``grammar/``, ``solvers/`` and ``models/`` are data. A wheel carries them inside the package, under ``mrdsl/data``; in
a checkout and an editable install they lie beside the package.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]


def resource(name: str) -> Path:
    """The path of a shipped file or folder, such as ``solvers`` or ``grammar/mrspec.lark``.

    Raises FileNotFoundError where the installation is damaged.
    """
    for place in (_PACKAGE / "data" / name, _PACKAGE.parent / name):
        if place.exists():
            return place
    unpacked = _unpacked()
    if unpacked is not None and (unpacked / name).exists():
        return unpacked / name
    raise FileNotFoundError(f"this installation of mrdsl lacks {name!r}; install mrdsl again")


def resource_text(name: str) -> str:
    """The text of a shipped file."""
    return resource(name).read_text(encoding="utf-8")


@cache
def _unpacked() -> Path | None:
    """The data of a package that runs out of a zip file, laid in a temporary folder while the process lives."""
    import atexit
    from contextlib import ExitStack
    from importlib.resources import files

    from mrdsl.core.guarded import scratch_folder

    data = files("mrdsl") / "data"
    if isinstance(data, Path) or not data.is_dir():
        return None
    until_the_end = ExitStack()
    folder = until_the_end.enter_context(scratch_folder())
    atexit.register(until_the_end.close)
    _unpack(data, folder)
    return folder


def _unpack(source: Any, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for entry in source.iterdir():
        if entry.is_dir():
            _unpack(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())


def cache_folder() -> Path:
    """The user's own folder for what can be made again: ``MRDSL_CACHE``, else the system's usual place."""
    given = os.environ.get("MRDSL_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mrdsl"
