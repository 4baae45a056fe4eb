"""The contract of heuristics: built-in ones and those of plug-ins.

The steps can be loaded and accept their parameters. On the models of its families, a heuristic gives a valid plan or a
reason within the time limit. Its claims are true, and the same spec and seed give the same plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from mrdsl.core.diagnostics import Diagnostic, Severity
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, Result, Termination
from mrdsl.extending.report import FAULTS, Checked, Trial
from mrdsl.families import SHIPPED, family, reference_text
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.families.schedule.trace import jobs as jobs_of
from mrdsl.families.schedule.trace import machine_type
from mrdsl.language.loading import load_file, load_text
from mrdsl.planning.results import goal_of
from mrdsl.planning.solve_spec import solve
from mrdsl.reporting.document import result_document
from mrdsl.simulation.audit import audit
from mrdsl.solving.claims import contradicts
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.references import named_at, steps_of
from mrdsl.spec.spec import Spec

SECONDS = 2.0
PATIENCE = 60.0
"""A pipeline that minds its limit may end well after it on a machine with much else to do."""
_TOLD = 5
"""Most broken rules of a run that are reported."""
_ENDS = (Termination.COMPLETED, Termination.OPTIMAL, Termination.TIME_LIMIT)

Known = Callable[[Spec], Result]
"""Function that returns the result of the family's own choice, to compare a pipeline with."""


def checked_pipeline(declared: SolverFile) -> Iterator[Checked]:
    """Check a heuristic: its steps, then each model of each family that it supports.

    Models with `subject to` are left out if the heuristic does not support it.

    Args:
        declared: The solver file.

    Yields:
        One result for each check.
    """
    for name in declared.pipelines:
        trial = checked_steps(declared, name)
        yield trial
        if trial.complaints:
            continue
        for title, spec in models_of(name):
            if spec.constraints and not declared.pipelines[name].subject_to:
                continue
            yield checked_run(declared, name, title, spec, by_the_familys_choice)


def checked_steps(declared: SolverFile, name: str) -> Checked:
    """Check that the family exists, and that the steps load and accept their parameters.

    Args:
        declared: The solver file.
        name: Name of the family.

    Returns:
        The result of the check.
    """
    trial = Trial(f"{declared.shown} has steps that run for {name}")
    with trial.going():
        if family(name) is None:
            trial.wrong(f"{declared.shown} names `{name}`, which is not a problem kind", named_at(declared, name))
        steps_of(declared, name, {})
    return trial.done()


def models_of(name: str) -> Iterator[tuple[str, Spec]]:
    """List the specs that are included with a family; for a plug-in, its reference spec.

    Args:
        name: Name of the family.

    Yields:
        Name and spec.
    """
    folder = Path(str(resource("models"))) / name if name in SHIPPED else None
    for path in sorted(folder.glob("*.mrspec")) if folder is not None else ():
        spec = load_file(path).spec
        if spec is not None:
            yield path.stem, spec
    text = reference_text(name) if folder is None else None
    spec = load_text(text).spec if text is not None else None
    if spec is not None:
        yield "reference", spec


def by_the_familys_choice(spec: Spec) -> Result:
    """Solve a spec for a short time with the solver that its family chooses.

    Args:
        spec: The spec.

    Returns:
        The result.
    """
    return solve(replace(spec, method=None), limits=Limits(time=SECONDS))


def checked_run(declared: SolverFile, name: str, title: str, spec: Spec, known: Known) -> Checked:
    """Check one run: within the time limit, with a valid plan or a reason, and without false claims.

    Args:
        declared: The solver file.
        name: Name of the family.
        title: Name of the model.
        spec: The spec.
        known: Function that returns the result of the family's own choice.

    Returns:
        The result of the check.
    """
    trial = Trial(f"{declared.shown} on {name} {title}")
    spec = replace(spec, method=None)
    with trial.going(refusing=title != "reference"):
        began = time.monotonic()
        result = solve(spec, declared.name, limits=Limits(time=SECONDS))
        took = time.monotonic() - began
        if took > PATIENCE:
            trial.wrong(f"{trial.what}: it took {took:.0f} s under a limit of {SECONDS:g} s")
        trial.complaints.extend(each for each in result.diagnostics if _is_fault(each, result))
        wrong = [*_mistakes(declared, name, result), *_false_claims(spec, name, result, known)]
        if isinstance(result.plan, SchedulePlan):
            wrong += audited(spec, result.plan)
        if title == "reference":
            wrong += _repeated(spec, declared, name, result)
        for message in wrong:
            trial.wrong(f"{trial.what}: {message}")
    return trial.done()


def _is_fault(told: Diagnostic, result: Result) -> bool:
    """Return True if a diagnostic of a result is not a reason for infeasibility."""
    return told.code in FAULTS or (result.plan is not None and told.severity is Severity.ERROR)


def _mistakes(declared: SolverFile, name: str, result: Result) -> Iterator[str]:
    if result.solver is None or result.solver["name"] != declared.name:
        yield "the result names another solver"
    if result.plan is None:
        if not any(one.message for one in result.diagnostics):
            yield "it gives neither a plan nor a diagnostic with the reason"
    else:
        if result.termination not in _ENDS:
            yield f"it ends with {result.termination} and a plan"
        proven = result.termination is not Termination.COMPLETED or result.value is None
        if declared.pipelines[name].exact and not proven:
            yield "its file declares `exact`, but its plan is not proven"


def audited(spec: Spec, plan: SchedulePlan) -> Iterator[str]:
    """Audit the log of a run of a policy, VM by VM and slot by slot.

    Args:
        spec: The spec.
        plan: Plan with the log.

    Yields:
        Complaints.
    """
    if plan.log is not None:
        jobs = jobs_of(spec.facts, spec.seed or 0)
        found = audit(plan.log(), machine_type(spec.facts.vms[0]), jobs, plan.cost.total)
        yield from (f"its log breaks a rule: {message}" for message in found[:_TOLD])


def _false_claims(spec: Spec, name: str, result: Result, known: Known) -> Iterator[str]:
    """Yield a bound, or an infeasibility, that another plan contradicts."""
    claims = result.bound is not None or result.termination is Termination.INFEASIBLE
    best = known(spec) if claims else None
    if best is None or best.plan is None:
        return
    if result.termination is Termination.INFEASIBLE:
        yield "it claims that no plan exists, but another method found one"
        return
    declared = family(name)
    bound, value = result.bound, best.value
    if declared is None or bound is None or value is None:
        return
    size = max(1.0, result.size, best.size)
    if contradicts(bound, value, goal_of(spec, declared).sense == "maximize", size):
        yield f"its bound {bound:g} is contradicted by a plan with value {value:g}"


def _repeated(spec: Spec, declared: SolverFile, name: str, result: Result) -> Iterator[str]:
    """Yield the same spec and seed give the same plan, and the relaxation that a file promises is there."""
    if result.termination is not Termination.TIME_LIMIT and result.plan is not None:
        again = solve(spec, declared.name, limits=Limits(time=SECONDS))
        if again.termination is result.termination and _plan(again) != _plan(result):
            yield "a second run from the same seed gives another plan"
    if declared.pipelines[name].relax:
        relaxed = solve(spec, declared.name, relax=True, limits=Limits(time=SECONDS))
        yield from (f"relaxed: {message}" for message in _mistakes(declared, name, relaxed))


def _plan(result: Result) -> object:
    return result_document(result)["plan"]
