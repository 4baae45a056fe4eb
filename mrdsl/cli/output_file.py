"""The kind of option that names a file to write; what becomes of such files is :mod:`mrdsl.cli.outputs`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class OutputFile(click.Path):
    """A file to write, ``-`` for standard output: that it can be written is found out before the work, not after it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; fails where its folder is not there or takes no file."""
        from mrdsl.core.output_names import STANDARD_OUTPUT, is_standard_output, unwritable

        if not str(value):
            self.fail("an empty name is no file's", param, ctx)
        path = Path(os.fsdecode(value))
        reason = "" if is_standard_output(path) else unwritable(path)
        if reason:
            self.fail(f"`{path!s}` cannot be written: {reason}", param, ctx)
        return STANDARD_OUTPUT if is_standard_output(path) else path
