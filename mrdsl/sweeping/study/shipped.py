"""The study files of mrdsl, in the folders of their models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mrdsl.core.diagnostics import MrdslError, did_you_mean, error
from mrdsl.core.resources import resource
from mrdsl.spec.spec import METHOD_NAME
from mrdsl.sweeping.study.declaration import Study
from mrdsl.sweeping.study.reader import read_study


def study_files() -> Mapping[str, Path]:
    """Return the study files of mrdsl by name, family by family."""
    return {path.stem: path for path in sorted(resource("models").glob("*/*.toml"))}


def shipped_studies() -> Mapping[str, Study]:
    """Return the shipped studies by name."""
    return {name: read_study(path) for name, path in study_files().items()}


def study_file(given: str) -> Path:
    """Return the file that a user names: itself, or the shipped one of that name. Raises MrdslError
    ``missing-file``.
    """
    known = study_files()
    if METHOD_NAME.fullmatch(given) and not Path(given).is_file():
        if given in known:
            return known[given]
        hint = did_you_mean(given, known, "shipped studies: ")
        raise MrdslError([error("missing-file", f"there is no study file `{given}`", None, hint)])
    return Path(given)


def filled_folder(given: str) -> Path | None:
    """Return the folder whose tables are wanted, None for a study to be run: a shipped one goes on in a folder of its
    name.
    """
    return Path(given) if Path(given).is_dir() and given not in study_files() else None
