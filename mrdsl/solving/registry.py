"""Which solvers there are, which file declares each, whether it is installed, and what it can do.

A name is looked up as ``NAME.toml`` in these folders, the first wins: those in ``MRDSL_SOLVERS`` (separated like
``PATH``), ``.mrdsl/solvers`` in the spec's folder or the nearest folder above that has one, the user's
configuration folder, the solvers that come with mrdsl, and last the entry points of the group ``mrdsl.solvers``
(each a mapping as a TOML file would give it, or the path of one).
"""

from __future__ import annotations

import difflib
import os
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrdsl.diagnostics import MrdslError, error
from mrdsl.resources import resource
from mrdsl.solving.declaration import SolverFile, declare
from mrdsl.source import Span

ENTRY_POINTS = "mrdsl.solvers"


@dataclass(frozen=True)
class Place:
    """A folder of solver files and why it is looked at."""

    path: Path
    origin: str


def places(project: Path | str | None = None) -> tuple[Place, ...]:
    """The folders that are searched, in order; ``project`` is the spec's file or folder, by default the current."""
    found = [Place(Path(p), "MRDSL_SOLVERS") for p in os.environ.get("MRDSL_SOLVERS", "").split(os.pathsep) if p]
    found.extend(Place(path, "project") for path in _project_folder(project))
    found.append(Place(_user_folder(), "user"))
    found.append(Place(resource("solvers"), "shipped"))
    return tuple(found)


def names(project: Path | str | None = None) -> tuple[str, ...]:
    """Every known name: the declared ones in order of their folders' precedence, then those of entry points."""
    stems = [path.stem for place in places(project) for path in sorted(place.path.glob("*.toml"))]
    return tuple(dict.fromkeys([*stems, *(point.name for point in _entry_points())]))


def find(name: str, project: Path | str | None = None, span: Span | None = None) -> SolverFile:
    """The declaration of a solver or pipeline.

    Raises MrdslError: ``unknown-solver`` with the nearest names, or ``bad-solver-file``.
    """
    for place in places(project):
        path = place.path / f"{name}.toml"
        if path.is_file():
            return read(path, place.origin)
    for point in _entry_points():
        if point.name == name:
            return _from_entry_point(point)
    raise MrdslError([_unknown(name, names(project), span)], exit_code=2)


def every(project: Path | str | None = None) -> Iterator[SolverFile]:
    """All declarations, as :func:`find` gives them."""
    return (find(name, project) for name in names(project))


def read(path: Path, origin: str) -> SolverFile:
    """One file; raises MrdslError ``bad-solver-file``."""
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        message = f"{path} cannot be read as TOML: {cause}"
        raise MrdslError([error("bad-solver-file", message, Span(str(path), 1, 1, 1, 1))]) from None
    found = declare(data, str(path), origin, text)
    if found.name != path.stem:
        message = f"{path} declares the name {found.name!r}"
        raise MrdslError([error("bad-solver-file", message, hint=f"call the file {found.name}.toml")])
    return found


def solving(kind: str, duals: bool = False, project: Path | str | None = None) -> list[str]:
    """The solvers (not pipelines) that can do a kind of model: LP, MILP, NLP or MINLP."""
    found = (s for s in readable(project) if not s.is_pipeline)
    return [s.name for s in found if kind in s.solves and (not duals or "duals" in s.offers)]


def readable(project: Path | str | None) -> Iterator[SolverFile]:
    for name in names(project):
        try:
            yield find(name, project)
        except MrdslError:
            continue


def _unknown(name: str, known: Iterable[str], span: Span | None) -> Any:
    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = (f"did you mean {near[0]}? " if near else "") + "there are: auto, " + ", ".join(sorted(known))
    return error("unknown-solver", f"there is no solver {name!r}", span, hint)


def _project_folder(project: Path | str | None) -> list[Path]:
    start = Path(project) if project else Path.cwd()
    start = start.resolve()
    for parent in ([start] if start.is_dir() else []) + list(start.parents):
        candidate = parent / ".mrdsl" / "solvers"
        if candidate.is_dir():
            return [candidate]
    return []


def _user_folder() -> Path:
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming"))
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "mrdsl" / "solvers"


def _entry_points() -> tuple[Any, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=ENTRY_POINTS))


def _from_entry_point(point: Any) -> SolverFile:
    try:
        loaded = point.load()
    except Exception as cause:
        message = f"the solver {point.name!r} of the package {point.value!r} cannot be loaded: {cause}"
        raise MrdslError([error("bad-solver-file", message)]) from None
    if isinstance(loaded, Mapping):
        return declare(loaded, point.value, "entry point")
    return read(Path(loaded), "entry point")
