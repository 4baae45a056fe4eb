"""Simulations of a spec or of its plan, and the evidence that a saved plan keeps of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from mrdsl.contracts.family import Family, kind_words
from mrdsl.core.diagnostics import MrdslError, one_error
from mrdsl.core.result import Limits, Outcome, Result, finite
from mrdsl.core.version import __version__
from mrdsl.families.diagnosis import diagnose, find_family
from mrdsl.planning.results import labelled
from mrdsl.planning.solve_spec import solve
from mrdsl.simulation.observed import Simulated, Verdict
from mrdsl.simulation.settings import TOLD_OF_RUNS, Settings, WhatIf
from mrdsl.simulation.verdicts import verdict_doubt
from mrdsl.spec.declared import SIMULATION, require_options
from mrdsl.spec.spec import Spec


def simulate(
    spec: Spec, settings: Settings, seed: int | None, solved: Result | None = None, limits: Limits | None = None
) -> Result:
    """Return the result of independent runs; see :func:`mrdsl.api.simulate`. ``seed`` None is the spec's.

    ``solved`` is the plan of this spec to run, if there is one; otherwise ``limits`` are the limits of the solve.
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
        solved = solved or solve(spec, "auto", None, False, limits)
        return _run(spec, family, solved, replace(settings, seed=seed or 0)) if solved.plan is not None else solved
    if settings.what_if.said():
        message = f"options for what-if runs do not apply to {kind_words(spec.problem)} problem"
        raise one_error("wrong-option", message, spec.span, f"remove {', '.join(settings.what_if.said())}")
    observed = finite(family.simulate(spec, settings.runs, seed, settings.jobs))
    return labelled(spec, family, observed, {"name": "simulation", "version": __version__}, seed or 0)


def require_runs_of_plans(spec: Spec, option: str) -> None:
    """Raise MrdslError for an ``option`` that runs a plan if plans of the family cannot run alone."""
    family = find_family(spec)
    if family.simulate:
        message = (
            f"`{option}` does not apply to {kind_words(spec.problem)} problem: solving it already simulates its policy"
        )
        raise one_error("wrong-option", message, spec.span, f"remove `{option}`, or run `mrdsl simulate`")
    if not family.simulate_plan:
        raise _none(spec)


def _none(spec: Spec) -> MrdslError:
    message = f"{kind_words(spec.problem)} problem cannot be simulated"
    return one_error("no-simulation", message, spec.span)


def _require(settings: Settings, seed: int | None) -> None:
    what_if = settings.what_if
    slow = what_if.stragglers
    if slow is not None and not (isinstance(slow, tuple) and len(slow) == 2):
        message = "`stragglers` must be a pair: a share of the tasks, and the factor of their time"
        raise one_error("wrong-option", message, None, "for example, stragglers=(0.02, 4)")
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


def observe(spec: Spec, solved: Result, settings: Settings) -> Result | None:
    """Return the result of independent runs of a known plan, or None if the family has no simulation."""
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


def evidence_of(plan: Any) -> Simulated | None:
    """Return the settings of the runs of a plan, or None if it was not run."""
    simulated = getattr(plan, "simulated", None)
    return simulated if isinstance(simulated, Simulated) else None


def doubts(plan: Any) -> Iterator[tuple[str, str]]:
    """Yield the verdicts of a plan that do not follow from its numbers, with the reason."""
    simulated = evidence_of(plan)
    for path, verdict in _verdicts(plan, "state"):
        doubt = verdict_doubt(verdict)
        if not doubt and (simulated is None or verdict.runs > simulated.runs):
            doubt = "rests on more runs than there were"
        if doubt:
            yield path, doubt


def _verdicts(value: Any, path: str) -> Iterator[tuple[str, Verdict]]:
    if isinstance(value, Verdict):
        yield path, value
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _verdicts(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _verdicts(item, f"{path}.{key}")
    elif isinstance(value, list | tuple) and value and not isinstance(value[0], int | float | str):
        for index, item in enumerate(value):
            yield from _verdicts(item, f"{path}[{index}]")


def verdict_word(plan: Any) -> str:
    """Return the verdict of the runs on all constraints in a word, or "" without runs."""
    outcomes = set(plan.outcomes().values())
    worst = next((one for one in (Outcome.BROKEN, Outcome.UNDECIDED, Outcome.KEPT) if one in outcomes), None)
    return "" if worst is None else worst.shown


def repeated_runs(result: Result[Any], processes: int = 1) -> Result[Any]:
    """Return the result with the outcome of the same runs of its plan now: those of its search, and of a simulation.

    Raises MrdslError if its plan was not run, or is the result of a simulation.
    """

    simulated = evidence_of(result.plan)
    family = find_family(result.spec)
    shown = family.repeat_runs(result.spec, result.plan, processes) if family.repeat_runs is not None else None
    if shown is not None:
        result = replace(result, plan=shown)
        if simulated is None:
            return result
    if simulated is None:
        require_runs_of_plans(result.spec, "--rerun")
        hint = "run `mrdsl simulate plan.json -o run.json`, then `mrdsl verify run.json --rerun`"
        raise one_error(
            "wrong-option", "`--rerun` requires a plan with simulation results, and this one has none", None, hint
        )
    jobs = simulated.jobs_per_user if simulated.warm_up > 0.0 or simulated.jobs_per_user > 1 else None
    settings = Settings(simulated.runs, simulated.seed, jobs, processes, _what_if(simulated.what_if))
    spec = replace(result.spec, seed=simulated.seed)
    again = observe(spec, result, settings)
    assert again is not None
    return again


def _what_if(said: Mapping[str, Any]) -> WhatIf:
    """Return the what-if settings in a file. Raises MrdslError if they are not valid: a file can contain anything."""
    try:
        slow = said.get("stragglers")
        pair = None if slow is None else (float(slow["share"]), float(slow["factor"]))
        return WhatIf(said.get("slowstart"), pair, said.get("lose"), said.get("burst"))
    except (LookupError, TypeError, ValueError):
        hint = "simulate the plan again"
        raise one_error("malformed-plan", "`simulation.what_if` is not valid", None, hint) from None
