"""The Python API: what an embedding program calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.diagnostics import Diagnostic, MrdslError, error
from mrdsl.finiteness import finite
from mrdsl.language.loading import Loaded, load_file, load_text
from mrdsl.outcome import Limits, Outcome, Result
from mrdsl.problems.diagnosis import diagnose, find_family
from mrdsl.problems.family import kind_words
from mrdsl.problems.family import load as load_reference
from mrdsl.spec.options import SIMULATION, require_options
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.solving.problem import Problem

Parameters = Mapping[str, Any]


def load(path: str | Path, parameters: Parameters | None = None, *, seed: int | None = None) -> Spec:
    """The spec in a file. ``parameters`` overrides its params: numbers, or text with a unit (``"15 min"``).

    Raises MrdslError with every diagnostic where the text is no valid spec.
    """
    return _spec(load_file(path, parameters, seed=seed))


def loads(
    text: str, parameters: Parameters | None = None, *, folder: str | Path = ".", seed: int | None = None
) -> Spec:
    """The spec in a text; ``folder`` is where its imports and tables are looked up. Raises MrdslError."""
    return _spec(load_text(text, parameters, folder=folder, seed=seed))


def check(spec: str | Path | Spec, parameters: Parameters | None = None) -> tuple[Diagnostic, ...]:
    """Every diagnostic of a spec file, or of a spec built in Python, errors and warnings in order; () for none."""
    if not isinstance(spec, Spec):
        return load_file(spec, parameters).diagnostics
    try:
        return diagnose(spec)
    except MrdslError as unknown:
        return unknown.diagnostics


def solve(
    spec: Spec,
    solver: str = "auto",
    *,
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
) -> Result:
    """The best plan that the solver finds, with its bound, and how the run ended.

    Raises MrdslError where the spec is wrong, the solver is missing or cannot do the problem; a problem without a plan
    is a result, not an error.
    """
    from mrdsl.solving.run import solve as run

    return run(spec, solver, formulation, relax, limits or Limits())


def compile(spec: Spec, *, formulation: str | None = None, relax: bool = False) -> Problem:
    """The spec as a Pyomo model that can be changed and solved again: see :class:`mrdsl.solving.problem.Problem`."""
    from mrdsl.solving.problem import Problem

    return Problem(spec, formulation=formulation, relax=relax)


def simulate(spec: Spec, *, runs: int = 10, seed: int | None = None, jobs: int | None = None) -> Outcome:
    """Runs the spec as a simulation, where its family has one.

    ``jobs`` is how many each user completes in a run. Raises MrdslError where the spec or a number is wrong, and where
    the family has no simulation.
    """
    family = find_family(spec)
    if not family.simulate:
        raise MrdslError([error("no-simulation", f"{kind_words(spec.problem)} problem cannot be simulated", spec.span)])
    require_options(SIMULATION, {"runs": runs, "jobs": jobs, "seed": seed})
    broken = tuple(d for d in diagnose(spec) if d.severity == "error" and not d.impossible)
    if broken:
        raise MrdslError(broken)
    outcome: Outcome = load_reference(family.simulate)(spec, runs, spec.seed if seed is None else seed, jobs)
    return finite(outcome)


def _spec(loaded: Loaded) -> Spec:
    errors = [d for d in loaded.diagnostics if d.severity == "error" and not d.impossible]
    if loaded.spec is None or errors:
        raise MrdslError(loaded.diagnostics)
    return loaded.spec
