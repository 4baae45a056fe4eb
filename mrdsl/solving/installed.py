"""Whether a declared solver is there: its program or module, its version, and the line that installs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.source import Span
from mrdsl.core.trusted import make_importable
from mrdsl.solving.declaration import Command, SolverFile, ThroughPyomo, Worker
from mrdsl.solving.processes import end, start

_PATIENCE = 3.0


@dataclass(frozen=True)
class Program:
    """A solver's executable and the environment that it needs on top of the current one."""

    path: str
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def locate(command: Command) -> Program | None:
    """Looks among the running Python's packages, beside the running Python, and on ``PATH``, in this order."""
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
    """The program's path or the module's name, None where the solver is not installed."""
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
    """Whether there is such a module; neither it nor the package that it lies in is run to find out."""
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
    from mrdsl.solving.pyomo_factory import is_there

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
    """The solver's version, None where it does not tell."""
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
    match = re.search(r"\d+(?:\.\d+)+|devel[^\n—]*", text)
    return match.group().strip() if match else None
