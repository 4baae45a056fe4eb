"""The check of a plug-in: its solvers, heuristics and families do what a user would do with them.

The code of the plug-in runs in a separate process. Code that ends the process, or does not end, is a complaint.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mrdsl import families
from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Severity, Span, error, one_error
from mrdsl.core.plugins import Plugin, declared_in, fault_of_a_plugin, own_file, plugin_of
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, Result, Termination
from mrdsl.core.tables import print_tables
from mrdsl.core.watching import GLANCE, is_stopped, tell, work
from mrdsl.language.loading import load_file, load_text
from mrdsl.planning import solver_contract
from mrdsl.planning.results import goal_of
from mrdsl.planning.saved_plans import read_saved
from mrdsl.planning.simulate_spec import simulate
from mrdsl.planning.solve_spec import solve
from mrdsl.planning.verified_plans import verify
from mrdsl.simulation.settings import Settings
from mrdsl.solving import registry
from mrdsl.solving.claims import contradicts
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.pipelines import steps_of
from mrdsl.solving.processes import end_later, ended_itself, signals_deferred
from mrdsl.solving.worker import GRACE, Report, Worker
from mrdsl.spec.spec import METHOD_NAME, Spec

LONGEST = 300.0
"""Seconds after which a trial that has not ended prints where it is, and ends the process that it runs in."""
SECONDS = 2.0
"""Time limit of a run of a heuristic."""
NEEDED = ("reference", "plans", "verify", "measure")
"""Hooks of a family without which its plans can be neither saved nor checked."""
FAULTS = ("broken-plugin", "broken-family", "bad-solver-file", "broken-plan", "internal")
"""The codes of diagnostics that say that a part of mrdsl or a plug-in is wrong, not a spec."""


@dataclass(frozen=True)
class Checked:
    """One check with its complaints; it passes without complaints."""

    what: str
    complaints: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class PluginReport:
    """All checks of a plug-in, in order."""

    checked: tuple[Checked, ...]

    @property
    def complaints(self) -> tuple[Diagnostic, ...]:
        """All complaints, with their locations if known."""
        return tuple(dict.fromkeys(each for one in self.checked for each in one.complaints))

    @property
    def passes(self) -> bool:
        """Return True if there were checks and all passed."""
        return bool(self.checked) and not self.complaints

    def __str__(self) -> str:
        return "".join(f"{'fails' if one.complaints else 'passes'}: {one.what}\n" for one in self.checked)


def check_plugin(folder: str | Path) -> PluginReport:
    """Check every solver, heuristic and family that a folder declares; see :func:`mrdsl.check_plugin`."""
    path = Path(folder).absolute()
    with named(path):
        if not any(_declared(path)):
            groups = f"{registry.ENTRY_POINTS} or {families.ENTRY_POINTS}"
            hint = f"pass a folder with solver files, or with entry points {groups}"
            raise one_error("wrong-option", f"{path} declares no solver, pipeline or family", None, hint)
        with signals_deferred():
            worker = Worker(run_trials)
        try:
            return PluginReport(tuple(_reported(worker, path)))
        finally:
            worker.close()


def run_trials(asked: tuple[Path, float], report: Report) -> None:
    """Run the trials of a folder in a worker, and report each one as it ends; ``asked`` is the folder, and the longest
    time of one trial [s].
    """
    folder, longest = asked
    end_later(longest)
    with named(folder):
        for one in _trials(folder):
            report(one, 0.0, None)
            end_later(longest)


def _trials(folder: Path) -> Iterator[Checked]:
    solvers, own_families = _declared(folder)
    for name in own_families:
        yield tried(f"the family `{name}`", _of_family, name, folder)
    for name in solvers:
        yield from _of_solver(name, folder)


def tried(
    what: str, trial: Callable[..., Iterable[str | Diagnostic]], *of: Any, place: Span | None = None, kept: bool = False
) -> Checked:
    """Return a trial of some values, with its complaints and the errors that are raised meanwhile.

    ``place`` is where the plug-in is declared; ``kept`` accepts errors that state why a spec cannot be solved.
    """
    found: list[Diagnostic] = []
    try:
        for each in trial(*of):
            found.append(error("broken-plugin", f"{what}: {each}", place) if isinstance(each, str) else each)
    except MrdslError as mistake:
        found += (each for each in mistake.diagnostics if not kept or each.code in FAULTS)
    except Exception as cause:  # whatever a plug-in does that no guard has seen
        told = fault_of_a_plugin(cause, (families.ENTRY_POINTS, registry.ENTRY_POINTS))
        found.append(told or error("broken-plugin", f"{what}: {type(cause).__name__}: {cause}", place))
    return Checked(what, tuple(found))


def _reported(worker: Worker, folder: Path) -> Iterator[Checked]:
    """Yield the trials of a folder as they end, and a complaint if their process does not end as it should."""
    worker.requests.send((folder, LONGEST))
    last, late = "while it was loaded", f"does not end: it ran for {LONGEST:g} s"
    code = Plugin(f"the code in {folder}", (os.path.realpath(folder),))
    try:
        with work("checking"):
            while True:
                ends = time.monotonic() + LONGEST + GRACE
                while not worker.replies.poll(GLANCE):
                    if is_stopped():
                        raise KeyboardInterrupt
                    if time.monotonic() >= ends:
                        raise EOFError
                    tell()
                kind, content = worker.replies.recv()
                if kind == "reply":
                    return
                if kind == "failure":
                    what = f"ended its check: {content}"
                    break
                last = f"after the trial `{content[0].what}`"
                yield content[0]
    except (EOFError, OSError):
        exit_code = worker.close()
        what = late if ended_itself(exit_code) else f"ended the process that checks it (exit code {exit_code})"
    place = code.place_in(worker.printed()) if what == late else None
    yield Checked(code.what, (error("broken-plugin", f"{code.what} {what}, {last}", place),))


@contextmanager
def named(folder: Path) -> Iterator[None]:
    """Use a folder as one that the user named during the ``with`` block, and forget its code afterwards."""
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
    """Forget the imported modules that lie in a folder, and the families that they declare."""
    for name in modules:
        file = getattr(sys.modules[name], "__file__", None)
        if file and own_file(file, folder):
            del sys.modules[name]
    families.family.cache_clear()


def _declared(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the solvers and pipelines, and of the families, that a folder declares."""
    points = declared_in(folder)
    files = (path.stem for path in sorted(folder.glob("*.toml")) if path.name != registry.PROJECT)
    solvers = [*points.get(registry.ENTRY_POINTS, {}), *(name for name in files if METHOD_NAME.fullmatch(name))]
    return list(dict.fromkeys(solvers)), list(points.get(families.ENTRY_POINTS, {}))


def _elsewhere(folder: Path, place: str) -> str:
    return f"is not the one in {folder}: {place} is found first; uninstall that one"


def _of_family(name: str, folder: Path) -> Iterator[str | Diagnostic]:
    """Yield complaints about a family: it is this folder's, and what users do with its reference spec succeeds."""
    if name in families.SHIPPED:
        yield "it has a name that mrdsl already uses"
        return
    declared = families.family(name)
    plugin = plugin_of(f"the family `{name}`", declared_in(folder)[families.ENTRY_POINTS][name].partition(":")[0])
    if plugin is not None and plugin.places and not own_file(plugin.places[0], folder):
        yield plugin.told(_elsewhere(folder, plugin.places[0]), None)
    elif declared is not None:
        lacking = [hook for hook in NEEDED if getattr(declared, hook) is None]
        yield from (f"it lacks the hook `{hook}`" for hook in lacking)
        if not lacking:
            yield from of_reference(declared)


def of_reference(declared: Family) -> Iterator[str | Diagnostic]:
    """Solve the reference spec of a family, save, read, verify, explain and simulate it; yield complaints."""
    with tempfile.TemporaryDirectory() as empty:
        loaded = load_text(families.reference_text(declared.name) or "", folder=empty)
    spec = loaded.spec
    if spec is None or loaded.files:
        yield "its reference spec is wrong, or needs other files"
        yield from loaded.diagnostics
        return
    result = solve(spec)
    if result.plan is None:
        yield "; ".join(["its reference spec has no plan", *(one.message for one in result.diagnostics)])
        return
    yield from _saved("plan", result)
    if not result.tables():
        yield "its plan has no tables"
    if declared.why is not None and not print_tables(tuple(declared.why(spec, result))).strip():
        yield "`why` returns nothing"
    if declared.simulate or declared.simulate_plan:
        yield from _saved("simulation", simulate(spec, Settings(runs=2, seed=1), 1))


def _saved(what: str, result: Result) -> Iterator[str | Diagnostic]:
    """Yield complaints about a result that is sent to another process, saved, read back and verified."""
    text = result.to_json()
    if Result.from_json(text) != result or pickle.loads(pickle.dumps(result)) != result:
        yield f"a saved {what} differs after it is read back"
    yield from verify(read_saved(text)).found


def _of_solver(name: str, folder: Path) -> Iterator[Checked]:
    """Yield the trials of a solver or heuristic that a folder declares."""
    found: list[SolverFile] = []

    def declared() -> Iterator[str | Diagnostic]:
        file = registry.find(name)
        if not own_file(file.source, folder) and Path(file.source).exists():
            yield Plugin(file.shown, ()).told(_elsewhere(folder, file.source), None)
        elif not file.is_pipeline:
            registry.require(file, Span(file.source, 1, 1, 1, 1))
        found.append(file)

    first = tried(f"`{name}` is declared", declared)
    yield first
    if not first.complaints:
        yield from of_pipeline(found[0]) if found[0].is_pipeline else of_solver(found[0])


def of_solver(declared: SolverFile) -> Iterator[Checked]:
    """Yield the trials of a solver: small models with known answers, then each formulation of each family."""
    place = Span(declared.source, 1, 1, 1, 1)
    for case in solver_contract.CASES:
        if case.kind in declared.solves:
            what = f"{declared.shown} on {case.kind} `{case}`"
            yield tried(what, solver_contract.complaints, declared, case, place=place)
    for real in solver_contract.real_models():
        if real.kind in declared.solves:
            what = f"{declared.shown} on the model {real}"
            yield tried(what, solver_contract.complaints_of_real, declared, real, place=place)


def of_pipeline(declared: SolverFile) -> Iterator[Checked]:
    """Yield the trials of a heuristic: its steps, then a run of each model of each family that it supports."""
    for name, pipeline in declared.pipelines.items():
        steps = tried(f"{declared.shown} has steps that run for {name}", _of_steps, declared, name)
        yield steps
        for title, spec in () if steps.complaints else models_of(name):
            if pipeline.subject_to or not spec.constraints:
                what = f"{declared.shown} on {name} {title}"
                yield tried(what, of_run, declared, name, spec, kept=title != "reference")


def _of_steps(declared: SolverFile, name: str) -> Iterator[str]:
    if families.family(name) is None:
        yield f"`{name}` is not a problem kind"
    steps_of(declared, name, {})


def models_of(name: str) -> Iterator[tuple[str, Spec]]:
    """Yield names and specs that are included with a family; for a plug-in, its reference spec."""
    if name in families.SHIPPED:
        loaded = {path.stem: load_file(path) for path in sorted((resource("models") / name).glob("*.mrspec"))}
    else:
        loaded = {"reference": load_text(families.reference_text(name) or "")}
    yield from ((title, each.spec) for title, each in loaded.items() if each.spec is not None)


def by_the_familys_choice(spec: Spec) -> Result:
    """Solve a spec for a short time with the solver that its family chooses."""
    return solve(replace(spec, method=None), limits=Limits(time=SECONDS))


def of_run(
    declared: SolverFile, name: str, spec: Spec, known: Callable[[Spec], Result] = by_the_familys_choice
) -> Iterator[str | Diagnostic]:
    """Run a heuristic of a family twice; yield complaints about its plan, its claims, and the second plan.

    ``known`` returns the result of the family's own choice, to compare claims with.
    """
    spec = replace(spec, method=None)
    result, again = (solve(spec, declared.name, limits=Limits(time=SECONDS)) for _ in range(2))
    pipeline, results = declared.pipelines[name], [result]
    if pipeline.relax:
        results.append(solve(spec, declared.name, relax=True, limits=Limits(time=SECONDS)))
    for each in results:
        planned = each.plan is not None
        yield from (d for d in each.diagnostics if d.code in FAULTS or (planned and d.severity is Severity.ERROR))
        if not planned and not each.diagnostics:
            yield "it gives neither a plan nor a diagnostic with the reason"
    proven = result.termination is not Termination.COMPLETED or result.value is None
    if result.plan is not None and pipeline.exact and not proven:
        yield "its file declares `exact`, but its plan is not proven"
    if Termination.TIME_LIMIT not in (result.termination, again.termination) and again.plan != result.plan:
        yield "a second run from the same seed gives another plan"
    yield from false_claims(spec, name, result, known)


def false_claims(spec: Spec, name: str, result: Result, known: Callable[[Spec], Result]) -> Iterator[str]:
    """Yield a bound, or an infeasibility, that another plan contradicts."""
    refuses = result.termination is Termination.INFEASIBLE
    best: Any = known(spec) if refuses or result.bound is not None else None
    declared = families.family(name)
    if best is None or best.plan is None or declared is None:
        return
    if refuses:
        yield "it claims that no plan exists, but another method found one"
    elif best.value is not None and result.bound is not None:
        size = max(1.0, result.size, best.size)
        if contradicts(result.bound, best.value, goal_of(spec, declared).sense == "maximize", size):
            yield f"its bound {result.bound:g} is contradicted by a plan with value {best.value:g}"
