"""Plug-ins from Python: the check that ``mrdsl check-plugin`` makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mrdsl.api.arguments import checked

if TYPE_CHECKING:
    from mrdsl.extending.report import PluginReport


@checked
def check_plugin(folder: str | Path) -> PluginReport:
    """Runs the solvers, pipelines and families that a folder declares on real models, as ``mrdsl check-plugin`` does.

    The code in the folder is run. The report says what was tried; its ``complaints`` are what is wrong, with file and
    line. Raises MrdslError ``wrong-option`` where the folder declares nothing.
    """
    from mrdsl.extending import checking

    return checking.check_plugin(folder)
