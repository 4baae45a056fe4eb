"""Checks of plug-ins against the contracts of families, heuristics and solvers, in a separate process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from mrdsl import families
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.core.plugins import Plugin, declared_in, own_file, plugin_of
from mrdsl.core.watching import GLANCE, is_stopped, tell, work
from mrdsl.extending.families import checked_family
from mrdsl.extending.pipelines import checked_pipeline
from mrdsl.extending.report import Checked, PluginReport, Trial, complaint
from mrdsl.planning import solver_contract as contract
from mrdsl.solving import registry
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.processes import end_later, ended_itself, signals_deferred
from mrdsl.solving.registry import require
from mrdsl.solving.worker import GRACE, Report, Worker
from mrdsl.spec.spec import METHOD_NAME


def checked_solver(declared: SolverFile) -> Iterator[Checked]:
    """Check a solver with small models with known answers, then with each formulation of each family.

    Args:
        declared: The solver file.

    Yields:
        One result for each check.
    """
    place = Span(declared.source, 1, 1, 1, 1)
    trial = Trial(f"{declared.shown} is installed")
    with trial.going():
        require(declared, place)
    yield trial.done()
    if trial.complaints:
        return
    for case in contract.CASES:
        if case.kind in declared.solves:
            trial = Trial(f"{declared.shown} on {case.kind} `{case}`")
            with trial.going():
                for message in contract.complaints(declared, case):
                    trial.wrong(f"{declared.shown}: {message}", place)
            yield trial.done()
    for real in contract.real_models():
        if real.kind in declared.solves:
            trial = Trial(f"{declared.shown} on the model {real}")
            with trial.going():
                for message in contract.complaints_of_real(declared, real):
                    trial.wrong(f"{declared.shown}: {message}", place)
            yield trial.done()


LONGEST = 300.0
"""Seconds after which a trial that has not ended prints where it is, and ends the process that it runs in."""


def check_plugin(folder: str | Path) -> PluginReport:
    """Check every solver, heuristic and family that a folder declares, on real models.

    A folder declares the entry points in its `pyproject.toml`, and its solver files. Its code runs in a separate
    process. Code that ends the process, or does not end, is a complaint.

    Args:
        folder: The folder.

    Returns:
        Report of all checks.

    Raises:
        MrdslError: `wrong-option` if the folder declares nothing.
    """
    path = Path(folder).absolute()
    with named(path):
        if not any(_declared(path)):
            raise MrdslError([_nothing(path)])
        with signals_deferred():
            worker = Worker(run_trials)
        try:
            return PluginReport(tuple(_reported(worker, path)))
        finally:
            worker.close()


def run_trials(asked: tuple[Path, float], report: Report) -> tuple[Diagnostic, ...]:
    """Run the checks of a folder in a worker, and report each one as it ends.

    Args:
        asked: The folder, and the longest time of one trial [s].
        report: Function that sends a message to the calling process.

    Returns:
        Diagnostics that prevent all checks.
    """
    folder, longest = asked
    end_later(longest)
    try:
        with named(folder):
            solvers, own_families = _declared(folder)
            families_first = (_checked_family(name, folder) for name in own_families)
            for one in chain.from_iterable(chain(families_first, (_checked(name, folder) for name in solvers))):
                report(one, 0.0, None)
                end_later(longest)
    except MrdslError as mistake:
        return tuple(mistake.diagnostics)
    return ()


def _reported(worker: Worker, folder: Path) -> Iterator[Checked]:
    """Yield the trials of a folder as they end, and a complaint if their process does not end as it should."""
    worker.requests.send((folder, LONGEST))
    last = "while it was loaded"
    with work("checking"):
        while True:
            kind, content = _message(worker)
            if kind != "incumbent":
                break
            last = f"after the trial `{content[0].what}`"
            yield content[0]
    code = Plugin(f"the code in {folder}", (os.path.realpath(folder),))
    if kind != "reply":
        at = code.place_in(worker.printed()) if content == _late() else None
        content = (complaint(f"{code.what} {content}, {last}", at),)
    if content:
        yield Checked(code.what, content)


def _late() -> str:
    return f"does not end: it ran for {LONGEST:g} s"


def _message(worker: Worker) -> tuple[str, Any]:
    """Return the next message of the process of the trials; what became of it if none comes."""
    ends = time.monotonic() + LONGEST + GRACE
    try:
        while not worker.replies.poll(min(GLANCE, max(ends - time.monotonic(), 0.0))):
            if is_stopped():
                raise KeyboardInterrupt
            if time.monotonic() >= ends:
                return "late", _late()
            tell()
        kind, content = worker.replies.recv()
    except (EOFError, OSError):
        ended = f"ended the process that checks it (exit code {worker.close()})"
        return "gone", _late() if ended_itself(worker.code) else ended
    return (kind, f"ended its check: {content}") if kind == "failure" else (kind, content)


@contextmanager
def named(folder: Path) -> Iterator[None]:
    """Use a folder as one that the user named, and forget its code afterwards.

    Args:
        folder: The folder.

    Yields:
        Nothing; the folder is in use meanwhile.
    """
    before, path, modules = os.environ.get("MRDSL_SOLVERS"), list(sys.path), set(sys.modules)
    families.family.cache_clear()
    try:
        registry.look_in(folder)
        yield
    finally:
        if before is None:
            os.environ.pop("MRDSL_SOLVERS", None)
        else:
            os.environ["MRDSL_SOLVERS"] = before
        sys.path[:] = path
        forget(set(sys.modules) - modules, folder)


def forget(modules: Iterable[str], folder: Path) -> None:
    """Forget the modules of a folder, and the families that they declare.

    Args:
        modules: Names of imported modules.
        folder: The folder.
    """
    for name in modules:
        file = getattr(sys.modules[name], "__file__", None)
        if file and own_file(file, folder):
            del sys.modules[name]
    families.family.cache_clear()


def _declared(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the solvers and pipelines, and of the families, that a folder declares."""
    points = declared_in(folder)
    files = (path for path in sorted(folder.glob("*.toml")) if path.name != registry.PROJECT)
    solvers = [
        *points.get(registry.ENTRY_POINTS, {}),
        *(path.stem for path in files if METHOD_NAME.fullmatch(path.stem)),
    ]
    return list(dict.fromkeys(solvers)), list(points.get(families.ENTRY_POINTS, {}))


def _checked(name: str, folder: Path) -> Iterator[Checked]:
    trial = Trial(f"`{name}` is declared")
    declared: SolverFile | None = None
    with trial.going():
        declared = registry.find(name)
        if not own_file(declared.source, folder) and Path(declared.source).exists():
            trial.complaints.append(Plugin(declared.shown, ()).told(_elsewhere(folder, declared.source), None))
    yield trial.done()
    if declared is not None and not trial.complaints:
        yield from checked_pipeline(declared) if declared.is_pipeline else checked_solver(declared)


def _elsewhere(folder: Path, place: str) -> str:
    return f"is not the one in {folder}: {place} is found first; uninstall that one"


def _checked_family(name: str, folder: Path) -> Iterator[Checked]:
    trial = Trial(f"the family `{name}` is declared")
    declared = None
    with trial.going():
        declared = families.family(name)
        if declared is None or name in families.SHIPPED:
            trial.wrong(f"the family `{name}` has a name that mrdsl already uses")
        plugin = plugin_of(f"the family `{name}`", declared_in(folder)[families.ENTRY_POINTS][name].partition(":")[0])
        if plugin is not None and plugin.places and not own_file(plugin.places[0], folder):
            trial.complaints.append(plugin.told(_elsewhere(folder, plugin.places[0]), None))
    yield trial.done()
    if declared is not None and not trial.complaints:
        yield from checked_family(declared)


def _nothing(folder: Path) -> Diagnostic:
    hint = f"pass a folder with solver files, or with entry points {registry.ENTRY_POINTS} or {families.ENTRY_POINTS}"
    return error("wrong-option", f"{folder} declares no solver, pipeline or family", None, hint)
