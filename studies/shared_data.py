"""Shared input data of studies and tests: a folder beside the checkout, or the one that `MRDSL_SHARED` names."""

from __future__ import annotations

import os
from pathlib import Path

from mrdsl.core.resources import resource


def shared_folder() -> Path:
    """Return the folder of shared data, which may not exist."""
    return Path(os.environ.get("MRDSL_SHARED") or resource("models").parent.parent / "shared")
