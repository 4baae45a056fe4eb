"""A solver file as data, right in all that every solver needs; a test adds how its program is reached."""

from __future__ import annotations

from typing import Any


def toy(**more: Any) -> dict[str, Any]:
    """The declaration of ``toy``, for LPs, with these tables."""
    return {"kind": "solver", "name": "toy", "summary": "x", "solves": ["LP"], "install": "y", **more}
