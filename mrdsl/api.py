"""The Python API: what an embedding program calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.diagnostics import Diagnostic, MrdslError, has_errors
from mrdsl.language.loading import Loaded, load_file, load_text
from mrdsl.outcome import Limits, Outcome, Result
from mrdsl.problems import family as find_family
from mrdsl.problems.family import kind_words
from mrdsl.problems.family import load as load_reference
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
    family = find_family(spec.problem)
    if family is None:
        from mrdsl.diagnostics import error

        return (error("unknown-problem", f"there is no problem kind `{spec.problem}`"),)
    found = tuple(family.check(spec))
    return found if has_errors(found) else (*found, *family.impossible(spec))


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
    """Runs the spec as a simulation, where its family has one. Raises MrdslError where it has none."""
    from mrdsl.diagnostics import error

    family = find_family(spec.problem)
    if family is None or not family.simulate:
        raise MrdslError([error("no-simulation", f"{kind_words(spec.problem)} problem cannot be simulated", spec.span)])
    outcome: Outcome = load_reference(family.simulate)(spec, runs, spec.seed if seed is None else seed, jobs)
    return outcome


def _spec(loaded: Loaded) -> Spec:
    errors = [d for d in loaded.diagnostics if d.severity == "error" and not d.impossible]
    if loaded.spec is None or errors:
        raise MrdslError(loaded.diagnostics)
    return loaded.spec
