"""Solvers: the file that declares each, its installation, and its features.

The solvers of mrdsl keep their names. Any other name is looked up as ``NAME.toml`` in these folders, and the first one
is used: those in ``MRDSL_SOLVERS`` (separated like ``PATH``; ``--solvers`` adds one in front), then the user's
configuration folder. Last are the entry points of the group ``mrdsl.solvers`` (each a mapping like a TOML file, or the
path of one). The folder of a spec is never searched. :mod:`mrdsl.core.reading` has the rules for files. A solver is
installed if its program or module is found; it has a version, and a command that installs it.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mrdsl.core.diagnostics import MrdslError, Span, error, one_error
from mrdsl.core.plugins import entry_points_of, load, named_folders
from mrdsl.core.reading import make_importable, read_trusted
from mrdsl.core.resources import resource
from mrdsl.core.toml_text import TomlError, read_toml
from mrdsl.solving.declaration import ENTRY_POINT, SHIPPED, Command, SolverFile, ThroughPyomo, Worker, declare
from mrdsl.solving.processes import end, start
from mrdsl.spec.spec import METHOD_NAME, METHOD_NAME_RULE

ENTRY_POINTS = "mrdsl.solvers"
PROJECT = "pyproject.toml"
"""A file of that name declares a package, not a solver."""
EMBEDDED = "highs"
"""The solver that comes with mrdsl."""


@dataclass(frozen=True)
class SolverFolder:
    """A folder of solver files and why it is looked at."""

    path: Path
    origin: str


def look_in(folder: Path | str) -> None:
    """Put a folder in front of ``MRDSL_SOLVERS``, for this process and its children.

    Raises MrdslError ``wrong-option`` if there is no such folder.
    """
    path = Path(folder).absolute()
    if not path.is_dir():
        raise one_error(
            "wrong-option", f"{folder} is not a folder of solver files", hint="give a folder that holds NAME.toml"
        )
    known = os.environ.get("MRDSL_SOLVERS", "")
    os.environ["MRDSL_SOLVERS"] = os.pathsep.join(filter(None, (str(path), known)))


def solver_folders() -> tuple[SolverFolder, ...]:
    """Return the folders that are searched, in order."""
    asked = (SolverFolder(folder, "MRDSL_SOLVERS") for folder in named_folders())
    user = _user_folder()
    return (
        SolverFolder(resource("solvers"), SHIPPED),
        *asked,
        *([SolverFolder(user, "user")] if user is not None else []),
    )


def names() -> tuple[str, ...]:
    """Return every known name: the declared ones in order of their folders' precedence, then those of entry points."""
    stems = [path.stem for folder in solver_folders() for path in _files(folder.path)]
    return tuple(dict.fromkeys([*stems, *(point.name for point in _entry_points())]))


def find(name: str, span: Span | None = None) -> SolverFile:
    """Return the declaration of a solver or pipeline.

    Raises MrdslError ``unknown-solver`` with the nearest names, also for invalid names, or ``bad-solver-file``, also if
    a file takes the name of a shipped solver.
    """
    if not METHOD_NAME.fullmatch(name):
        raise one_error("unknown-solver", f"`{name}` is not a valid solver name", span, METHOD_NAME_RULE)
    files = [(folder, path) for folder in solver_folders() if (path := folder.path / f"{name}.toml").is_file()]
    points = [point for point in _entry_points() if point.name == name]
    if files and files[0][0].origin == SHIPPED:
        others = [str(path) for _, path in files[1:]] + [f"the entry point {point.value}" for point in points]
        if others:
            raise MrdslError([_shadowing(name, others[0])])
    if files:
        return read(files[0][1], files[0][0].origin)
    if points:
        return _from_entry_point(points[0])
    raise MrdslError([_unknown(name, names(), span)], exit_code=2)


def every() -> Iterator[SolverFile]:
    """Yield all declarations, as :func:`find` gives them."""
    return (find(name) for name in names())


def read(path: Path, origin: str) -> SolverFile:
    """Return one file; raises MrdslError ``bad-solver-file``."""
    try:
        text = path.read_text(encoding="utf-8") if origin in (SHIPPED, ENTRY_POINT) else read_trusted(path)
        toml = read_toml(text, str(path))
    except TomlError as mistake:
        raise one_error("bad-solver-file", f"invalid TOML: {mistake}", mistake.span) from None
    except (OSError, UnicodeDecodeError) as cause:
        message = f"{path} cannot be read: {cause}"
        raise one_error("bad-solver-file", message, Span(str(path), 1, 1, 1, 1)) from None
    solver = declare(toml.data, str(path), origin, toml)
    if solver.name != path.stem:
        message = f"{path} declares the name `{solver.name}`"
        place = toml.value(("name",))
        raise one_error("bad-solver-file", message, place, f"call the file {solver.name}.toml")
    return solver


def _files(folder: Path) -> list[Path]:
    """Return the solver files of a folder; none where it cannot be read."""
    try:
        found = sorted(path for path in folder.glob("*.toml") if METHOD_NAME.fullmatch(path.stem))
    except OSError:
        return []
    return [path for path in found if path.name != PROJECT]


def _shadowing(name: str, where: str) -> Any:
    message = f"{where} would take the name of the shipped {name}"
    return error("bad-solver-file", message, hint="give it another name, such as my-" + name)


def solving(kind: str, duals: bool = False) -> list[str]:
    """Return the solvers (not pipelines) that can do a kind of model: LP, MILP, NLP or MINLP."""
    solvers = (s for s in readable() if not s.is_pipeline)
    return [s.name for s in solvers if kind in s.solves and (not duals or "duals" in s.offers)]


def methods_of(family: str) -> tuple[str, ...]:
    """Return the pipelines that serve a family, by name."""
    return tuple(sorted({solver.name for solver in readable() if family in solver.pipelines}))


def readable() -> Iterator[SolverFile]:
    for name in names():
        try:
            yield find(name)
        except MrdslError:
            continue


def _unknown(name: str, known: Iterable[str], span: Span | None) -> Any:
    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else "`mrdsl solvers` lists all;"
    hint += " `--solvers DIR` adds a folder of your own files"
    return error("unknown-solver", f"there is no solver `{name}`", span, hint)


def _user_folder() -> Path | None:
    """Return the configuration folder, or None for a user without a home."""
    try:
        return _configuration() / "mrdsl" / "solvers"
    except RuntimeError:
        return None


def _configuration() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _entry_points() -> tuple[Any, ...]:
    return _entry_points_on(tuple(sys.path), named_folders())


@cache
def _entry_points_on(path: tuple[str, ...], named: tuple[Path, ...]) -> tuple[Any, ...]:
    """Return those of the packages on Python's path and of the folders that the user named, looked for once."""
    return entry_points_of(ENTRY_POINTS)


def _from_entry_point(point: Any) -> SolverFile:
    try:
        loaded = load(point)
        if not isinstance(loaded, Mapping):
            loaded = Path(loaded)
    except Exception as cause:  # whatever a foreign package raises is its own mistake
        from mrdsl.core.plugins import plugin_of

        plugin = plugin_of("", point.value.partition(":")[0])
        place = plugin.place(cause) if plugin is not None else None
        what = f"{type(cause).__name__}: {cause}"
        message = f"the solver `{point.name}` of the package `{point.value}` cannot be loaded: {what}"
        raise one_error("bad-solver-file", message, place) from cause
    if isinstance(loaded, Mapping):
        return declare(loaded, point.value, ENTRY_POINT)
    return read(loaded, ENTRY_POINT)


_PATIENCE = 3.0


@dataclass(frozen=True)
class Program:
    """A solver's executable and the environment that it needs on top of the current one."""

    path: str
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def locate(command: Command) -> Program | None:
    """Search the packages of the running Python, its folder, and ``PATH``, in this order."""
    if os.path.isabs(command.program):
        return Program(command.program) if os.access(command.program, os.X_OK) else None
    for root in dict.fromkeys((sysconfig.get_path("platlib"), sysconfig.get_path("purelib"), *filter(None, sys.path))):
        for place in command.places:
            path = Path(root, place)
            if os.access(path, os.X_OK):
                return Program(str(path), _library_path([str(Path(root, entry)) for entry in command.libraries]))
    beside = shutil.which(command.program, path=str(Path(sys.executable).parent))
    program = beside or shutil.which(command.program)
    return Program(program) if program else None


def _library_path(folders: list[str]) -> dict[str, str]:
    if not folders:
        return {}
    name = {"darwin": "DYLD_LIBRARY_PATH", "win32": "PATH"}.get(sys.platform, "LD_LIBRARY_PATH")
    return {name: os.pathsep.join([*folders, *filter(None, [os.environ.get(name)])])}


def where(solver: SolverFile) -> str | None:
    """Return the path of the program or the name of the module, or None if the solver is not installed."""
    if solver.is_pipeline:
        return solver.requires or "mrdsl" if not solver.requires or _importable(solver.requires) else None
    reach = solver.reach
    if isinstance(reach, Command):
        program = locate(reach)
        return program.path if program else None
    if isinstance(reach, Worker):
        module = reach.requires or reach.call.partition(":")[0]
        return module if _importable(module, solver.folder) else None
    return _in_pyomo(reach)


def _importable(module: str, folder: Path | None = None) -> bool:
    """Return True if there is such a module; neither it nor the package that it lies in is run to find out."""
    package, *inner = module.split(".")
    try:
        if folder is not None:
            make_importable(folder, module)
        found = find_spec(package)
        for part in inner:
            places = found.submodule_search_locations if found is not None else None
            package = f"{package}.{part}"
            found = PathFinder.find_spec(package, places) if part and places is not None else None
    except (ImportError, ValueError, OSError):
        return False
    return found is not None


def _in_pyomo(reach: ThroughPyomo) -> str | None:
    from mrdsl.solving.backends.pyomo import is_there

    return f"pyomo:{reach.factory}" if is_there(reach.factory) else None


def require(solver: SolverFile, span: Span | None = None) -> str:
    """``where``, or MrdslError ``missing-solver`` (exit code 3) with the line that installs it."""
    place = where(solver)
    if place is None:
        message = f"{solver.title or solver.name} is not installed"
        hint = f"install it with: {solver.install}" if solver.install else ""
        raise MrdslError([error("missing-solver", message, span, hint)], exit_code=3)
    return place


def version(solver: SolverFile) -> str | None:
    """Return the version of the solver, or None if it is not known."""
    if solver.is_pipeline:
        from mrdsl.core.version import __version__

        return __version__ if not solver.requires else _module_version(solver.requires)
    reach = solver.reach
    if isinstance(reach, Worker):
        return _module_version(reach.requires or reach.call.partition(":")[0])
    if isinstance(reach, Command):
        program = locate(reach)
        return _program_version(program.path, tuple(program.environment.items()), reach.version) if program else None
    return None


@lru_cache(maxsize=32)
def _module_version(module: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, packages_distributions
    from importlib.metadata import version as distribution_version

    name = module.partition(".")[0]
    try:
        return distribution_version(name)
    except PackageNotFoundError:
        owners = packages_distributions().get(name)
        return distribution_version(owners[0]) if owners else None


@lru_cache(maxsize=32)
def _program_version(path: str, environment: tuple[tuple[str, str], ...], arguments: tuple[str, ...]) -> str | None:
    if not arguments:
        return None
    try:
        process = start([path, *arguments], dict(environment), subprocess.PIPE)
    except OSError:
        return None
    try:
        text = process.communicate(timeout=_PATIENCE)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        text = ""
    finally:
        end(process)
    match = re.search(r"[0-9]+(?:\.[0-9]+)+|devel[^\n—]*", text)
    return match.group().strip() if match else None
