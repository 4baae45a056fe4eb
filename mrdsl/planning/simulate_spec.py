"""From a spec to a simulation: where the family plans, the plan is made first, and then run."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.contracts.family import Family, kind_words
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.finiteness import finite
from mrdsl.core.result import Limits, Result
from mrdsl.core.version import __version__
from mrdsl.families.diagnosis import diagnose, find_family
from mrdsl.planning.solve_spec import labelled, solve
from mrdsl.spec.options import SIMULATION, require_options
from mrdsl.spec.spec import Spec


def simulate(spec: Spec, runs: int, seed: int | None, jobs: int | None) -> Result:
    """What ``runs`` independent runs show; see :func:`mrdsl.api.simulate`."""
    family = find_family(spec)
    if not (family.simulate or family.simulate_plan):
        raise MrdslError([error("no-simulation", f"{kind_words(spec.problem)} problem cannot be simulated", spec.span)])
    require_options(SIMULATION, {"runs": runs, "jobs": jobs, "seed": seed})
    broken = tuple(d for d in diagnose(spec) if d.severity == "error" and not d.impossible)
    if broken:
        raise MrdslError(broken)
    seed = spec.seed if seed is None else seed
    if not family.simulate:
        return _planned(spec, family, runs, seed or 0, jobs)
    observed = finite(family.simulate(spec, runs, seed, jobs))
    return labelled(spec, family, observed, {"name": "simulation", "version": __version__}, seed or 0)


def _planned(spec: Spec, family: Family, runs: int, seed: int, jobs: int | None) -> Result:
    """The solved spec, its plan with what was observed of it; where there is no plan, the result says why."""
    solved = solve(spec, "auto", None, False, Limits())
    if solved.plan is None or family.simulate_plan is None:
        return solved
    plan, diagnostics = family.simulate_plan(spec, solved.plan, runs, seed, jobs)
    return finite(replace(solved, plan=plan, seed=seed, diagnostics=solved.diagnostics + tuple(diagnostics)))
