"""The choice of a method: the requested one or the default of the family, rejected before any model is built."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mrdsl.contracts.family import Family, Formulation, kind_words
from mrdsl.contracts.plan_expressions import is_own
from mrdsl.core.diagnostics import Span, one_error
from mrdsl.core.result import Limits, Result, Termination
from mrdsl.core.watching import INFO, log
from mrdsl.solving import registry
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.pipelines import options_given
from mrdsl.spec.spec import Method, Spec

EMBEDDED = registry.EMBEDDED
SECOND_TIME = 0.01
"""With fewer seconds left no second solver begins."""


@dataclass(frozen=True)
class Choice:
    """A solver and a formulation: ``solver`` is None if the formulation needs none, ``formulation`` is None for
    pipelines.

    ``automatic``: the user did not name the solver.
    """

    solver: SolverFile | None
    formulation: Formulation | None
    limits: Limits
    parameters: Mapping[str, Any]
    span: Span | None
    automatic: bool = False


def choose(spec: Spec, family: Family, solver: str, formulation: str | None, relax: bool, limits: Limits) -> Choice:
    """Return the solver or pipeline and the formulation that solve ``spec``: unless one is named, the first that it can
    solve.

    The command line's name comes before the spec's ``solve with``, which comes before the family's choice. Raises
    MrdslError: unknown-solver, unknown-formulation, unable-solver, unserved-family, unknown-option.
    """
    wanted, span = _wanted(spec, solver)
    formulation, relax = asked(spec, formulation, relax, solver)
    chosen = formulation_named(family, formulation) if formulation or family.formulations else None
    if wanted == "auto" and chosen is not None and chosen.needs(spec, relax).kind == "":
        return Choice(None, chosen, limits, {}, span)
    automatic = wanted == "auto"
    name = _by_family(spec, family, relax, formulation) if automatic else wanted
    declared = registry.find(name, span)
    if automatic and declared.is_pipeline and chosen is not None and _lacks(declared, spec, family, relax):
        declared = registry.find(EMBEDDED, span)
    if declared.is_pipeline:
        _serves(declared, spec, family, relax, span)
        if formulation is not None and not automatic:
            message = f"heuristic `{declared.name}` does not support `--formulation`"
            raise one_error("unable-solver", message, span, f"remove `--formulation {formulation}`")
        chosen = None
    elif chosen is None:
        kind = kind_words(family.name)
        message = f"{declared.name} cannot solve {kind} problem: the family has no formulation for solvers"
        raise one_error("unserved-family", message, span, _those_that_serve(spec, family, relax))
    elif formulation is None:
        kinds = declared.solves
        chosen = next((f for f in family.formulations if f.needs(spec, relax).kind in kinds), chosen)
    limits, parameters = _with_options(spec, declared, family, limits)
    return Choice(declared, chosen, limits, parameters, span, automatic)


def second_choice(
    choice: Choice, family: Family, spec: Spec, relax: bool, result: Result, seconds: float | None
) -> Choice | None:
    """Return the embedded solver for a pipeline that ended without a plan or a proof, for the remaining time.

    It uses the formulation of the pipeline's plans. Return None if the user named the pipeline, there is no such
    formulation, or the time is over.
    """
    if result.plan is not None or result.termination not in (Termination.COMPLETED, Termination.TIME_LIMIT):
        return None
    if not choice.automatic or choice.solver is None or (seconds is not None and seconds <= SECOND_TIME):
        return None
    embedded = registry.find(EMBEDDED)
    for formulation in family.formulations:
        same = getattr(formulation.known, "__name__", "") == choice.solver.name
        if same and formulation.needs(spec, relax).kind in embedded.solves:
            log("solve", INFO, "%s ended without a plan: %s takes over", choice.solver.name, embedded.name)
            limits = replace(choice.limits, time=seconds)
            return Choice(embedded, replace(formulation, known=None), limits, {}, choice.span, True)
    return None


def with_bound_of(first: Result, second: Result) -> Result:
    """Return the second result, with the bound of the first if it has neither a plan nor a proof that there is none."""
    if second.plan is not None or second.termination is Termination.INFEASIBLE or first.bound is None:
        return second
    return replace(second, bound=first.bound)


def for_model(choice: Choice, formulation: Formulation, solver: str) -> Choice:
    """Return the choice for a model that is at hand: a solver for its formulation; raises MrdslError
    ``unable-solver``.
    """
    if choice.solver is not None and not choice.solver.is_pipeline:
        return replace(choice, formulation=formulation)
    if solver != "auto" and choice.solver is not None:
        message = f"{choice.solver.name} is a heuristic and ignores the changed model"
        raise one_error(
            "unable-solver",
            message,
            choice.span,
            "pass a solver, or discard the changes with compiled.revise(compiled.spec)",
        )
    return replace(choice, formulation=formulation, solver=registry.find(EMBEDDED))


def asked(spec: Spec, formulation: str | None, relax: bool, solver: str = "auto") -> tuple[str | None, bool]:
    """Return formulation and relaxation: those of the command, or of ``solve with`` in the spec.

    ``solve with`` applies only to its own method: it has no effect if the command names another.
    """
    method = spec.method
    if not isinstance(method, Method) or solver not in ("auto", method.name):
        return formulation, relax
    return formulation or method.options.get("formulation"), relax or method.options.get("relax") in ("yes", True)


def formulation_named(family: Family, name: str | None) -> Formulation:
    """Return the family's formulation of that name (case does not matter), by default its first."""
    if not family.formulations:
        raise one_error(
            "unknown-formulation",
            f"{family.name} has no formulation, so there is no model to write or to solve",
            hint="run `mrdsl solve` without `--formulation`: its methods are "
            + ", ".join(registry.methods_of(family.name)),
        )
    if name is None:
        return family.formulations[0]
    for formulation in family.formulations:
        if formulation.name.lower() == name.lower():
            return formulation
    known = [f.name for f in family.formulations]
    near = difflib.get_close_matches(name, known, n=1)
    hint = (f"did you mean {near[0]}? " if near else "") + "known formulations: " + ", ".join(known)
    raise one_error("unknown-formulation", f"{family.name} has no formulation `{name}`", hint=hint)


def _wanted(spec: Spec, solver: str) -> tuple[str, Span | None]:
    if solver != "auto" or spec.method is None:
        return solver, None
    return spec.method.name, spec.method.span


def _by_family(spec: Spec, family: Family, relax: bool, formulation: str | None) -> str:
    if family.choose:
        return family.choose(spec, relax, formulation)
    return EMBEDDED if family.formulations or not family.method else family.method


def _lacks(declared: SolverFile, spec: Spec, family: Family, relax: bool) -> str:
    """Return the reason why a pipeline cannot solve this spec, or ""."""
    pipeline = declared.pipelines.get(family.name)
    if pipeline is None:
        return f"`{declared.name}` does not solve {family.name} problems"
    if relax and not pipeline.relax:
        return f"{declared.name} has no continuous relaxation"
    if spec.constraints and not pipeline.subject_to:
        return f"`{declared.name}` does not support `subject to`"
    if is_own(spec.goal):
        return f"`{declared.name}` does not support user-defined objectives"
    return ""


def _serves(declared: SolverFile, spec: Spec, family: Family, relax: bool, span: Span | None) -> None:
    lacks = _lacks(declared, spec, family, relax)
    if lacks:
        code = "unserved-family" if family.name not in declared.pipelines else "unable-solver"
        raise one_error(code, lacks, span, _those_that_serve(spec, family, relax))


def _those_that_serve(spec: Spec, family: Family, relax: bool) -> str:
    kinds = {f.needs(spec, relax).kind for f in family.formulations}
    solvers = {name for kind in kinds if kind for name in registry.solving(kind)}
    pipelines = {s.name for s in registry.readable() if s.is_pipeline and not _lacks(s, spec, family, relax)}
    names = ", ".join(sorted(solvers | pipelines))
    return f"these can: {names}" if names else "no known solver can"


def _with_options(spec: Spec, declared: SolverFile, family: Family, limits: Limits) -> tuple[Limits, dict[str, Any]]:
    """Return the options of ``solve with`` as limits (the command line's come first) and as the steps' parameters."""
    method = spec.method
    if method is None or (method.name != declared.name and method.name != "auto"):
        return limits, {}
    return options_given(declared, family.name, method, limits)
