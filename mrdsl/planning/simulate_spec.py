"""From a spec to a simulation: where the family plans, the plan is made first, and then run."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.contracts.family import Family, kind_words
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.finiteness import finite
from mrdsl.core.result import Limits, Result
from mrdsl.core.version import __version__
from mrdsl.families.diagnosis import diagnose, find_family
from mrdsl.planning.ended_results import labelled
from mrdsl.planning.solve_spec import solve
from mrdsl.simulation.settings import TOLD_OF_RUNS, Settings
from mrdsl.spec.options import SIMULATION, require_options
from mrdsl.spec.spec import Spec


def simulate(spec: Spec, settings: Settings, seed: int | None, solved: Result | None = None) -> Result:
    """What independent runs show; see :func:`mrdsl.api.simulate`. ``seed`` is the spec's where None.

    ``solved`` is the plan to run, of this spec, where there is one already.
    """
    family = find_family(spec)
    if not (family.simulate or family.simulate_plan):
        raise _none(spec)
    _require(settings, seed)
    broken = tuple(d for d in diagnose(spec) if d.severity == "error" and not d.impossible)
    if broken:
        raise MrdslError(broken)
    seed = spec.seed if seed is None else seed
    if not family.simulate:
        return _planned(spec, family, replace(settings, seed=seed or 0), solved)
    if settings.what_if.said():
        message = f"{kind_words(spec.problem)} problem is simulated as its spec says"
        raise MrdslError([error("wrong-option", message, spec.span, f"leave out {', '.join(settings.what_if.said())}")])
    observed = finite(family.simulate(spec, settings.runs, seed, settings.jobs))
    return labelled(spec, family, observed, {"name": "simulation", "version": __version__}, seed or 0)


def require_runs_of_plans(spec: Spec, option: str) -> None:
    """Raises MrdslError where plans of the spec's family are not run by themselves, for an ``option`` that runs one."""
    family = find_family(spec)
    if family.simulate:
        message = f"a plan of {kind_words(spec.problem)} problem is what a simulation of its policy saw"
        raise MrdslError([error("wrong-option", message, spec.span, f"leave out {option}; take `mrdsl simulate`")])
    if not family.simulate_plan:
        raise _none(spec)


def _none(spec: Spec) -> MrdslError:
    message = f"{kind_words(spec.problem)} problem cannot be simulated"
    return MrdslError([error("no-simulation", message, spec.span)])


def _require(settings: Settings, seed: int | None) -> None:
    what_if = settings.what_if
    slow = what_if.stragglers
    if slow is not None and not (isinstance(slow, tuple) and len(slow) == 2):
        message = "`stragglers` is no pair of a share of tasks and how many times as long they take"
        raise MrdslError([error("wrong-option", message, None, "write stragglers=(0.02, 4)")])
    share, factor = slow or (None, None)
    require_options(
        SIMULATION,
        {
            "runs": settings.runs,
            "jobs": settings.jobs,
            "processes": settings.processes,
            "seed": seed,
            "slowstart": what_if.slowstart,
            "stragglers": share,
            "factor": factor,
            "lose": what_if.lose,
            "burst": what_if.burst,
        },
    )


def _planned(spec: Spec, family: Family, settings: Settings, solved: Result | None) -> Result:
    """The solved spec, its plan with what was observed of it; where there is no plan, the result says why."""
    solved = solved or solve(spec, "auto", None, False, Limits())
    return _run(spec, family, solved, settings) if solved.plan is not None else solved


def observe(spec: Spec, solved: Result, settings: Settings) -> Result | None:
    """What independent runs show of a plan that is known already; None where the family has no simulation."""
    family = find_family(spec)
    _require(settings, spec.seed)
    if family.simulate:
        return simulate(spec, settings, spec.seed)
    return _run(spec, family, solved, replace(settings, seed=spec.seed or 0)) if family.simulate_plan else None


def _run(spec: Spec, family: Family, solved: Result, settings: Settings) -> Result:
    assert family.simulate_plan is not None
    plan, diagnostics = family.simulate_plan(spec, solved.plan, settings)
    of_plan = (each for each in solved.diagnostics if each.code not in TOLD_OF_RUNS)
    return finite(replace(solved, plan=plan, seed=settings.seed, diagnostics=(*of_plan, *diagnostics)))
