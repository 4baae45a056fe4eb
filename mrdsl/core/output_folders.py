"""Folders that a command fills: refused before the work begins where they cannot take its files, or hold others."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import is_standard_output, may


def refuse_folder(folder: Path, *, force: bool = True, inputs: Iterable[Path] = ()) -> None:
    """Raises MrdslError where a folder cannot take files; without ``force`` where it holds some, or one of the inputs.

    A folder for files whose names are known only at the end is refused at the beginning, not after an hour's work.
    """
    if is_standard_output(folder) and force:
        return
    reason = _no_folder(folder)
    if reason:
        raise MrdslError(
            [
                error(
                    "unwritable-file",
                    f"`{folder}` takes no files: {reason}",
                    None,
                    "name a folder that is there, or can be made",
                )
            ]
        )
    within = [path for path in inputs if os.path.isfile(path) and path.resolve().is_relative_to(folder.resolve())]
    if within:
        raise MrdslError(
            [
                error(
                    "output-is-input",
                    f"`{folder}` holds `{within[0]}`, which this command reads",
                    None,
                    "write to another folder",
                )
            ]
        )
    from mrdsl.core.writer import LOCK

    if not force and folder.exists() and any(entry.name != LOCK for entry in folder.iterdir()):
        raise MrdslError(
            [
                error(
                    "file-exists",
                    f"the folder `{folder}` is there already and not empty",
                    None,
                    "choose another name, or say --force",
                )
            ]
        )


def _no_folder(folder: Path) -> str:
    """Why a name is no folder and cannot be made one, "" where it can."""
    if is_standard_output(folder):
        return "it is standard output"
    try:
        nearest = next(above for above in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(above))
        if not nearest.is_dir():
            return f"{str(nearest)!r} is no folder"
        return "" if may(nearest, os.W_OK | os.X_OK) else f"{str(nearest)!r} takes no files"
    except OSError as problem:
        return problem.strerror or "the system refuses"
