"""Where grammar, solver files and models lie: inside the package in a wheel, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """The path of a shipped file or folder, such as ``grammar/mrspec.lark``."""
    inside = _PACKAGE / "data" / name
    return inside if inside.exists() else _PACKAGE.parent / name
