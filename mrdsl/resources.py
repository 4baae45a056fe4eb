"""Where the declared things lie: the one place that knows.

``grammar/``, ``solvers/`` and ``models/`` are data. A wheel carries them inside the package, under ``mrdsl/data``; in
a checkout and an editable install they lie beside the package.
"""

from __future__ import annotations

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
