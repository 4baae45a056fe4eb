"""Where the declared things lie: the one place that knows.

``grammar/``, ``solvers/`` and ``models/`` are data. A wheel carries them inside the package, under ``mrdsl/data``; in
a checkout and an editable install they lie beside the package.
"""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """The path of a shipped file or folder, such as ``solvers`` or ``grammar/mrspec.lark``.

    Raises FileNotFoundError where the installation is damaged.
    """
    for place in (_PACKAGE / "data" / name, _PACKAGE.parent / name):
        if place.exists():
            return place
    raise FileNotFoundError(f"this installation of mrdsl lacks {name!r}; install mrdsl again")


def cache_folder() -> Path:
    """The user's own folder for what can be made again: ``MRDSL_CACHE``, else the system's usual place."""
    given = os.environ.get("MRDSL_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mrdsl"
