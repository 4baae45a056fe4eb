"""From a spec to a result: check, choose, build, solve, decode, verify."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from mrdsl.diagnostics import Diagnostic, MrdslError, error, has_errors, impossible, warning
from mrdsl.finiteness import finite
from mrdsl.outcome import (
    Limits,
    Objective,
    Outcome,
    Plan,
    Result,
    SolutionStatus,
    Termination,
    relative_gap,
)
from mrdsl.problems.diagnosis import diagnose, find_family
from mrdsl.problems.family import Family, Formulation, GoalKind, load
from mrdsl.solving.answer import Answer
from mrdsl.solving.choice import Choice, asked, choose, for_model, formulation_named
from mrdsl.solving.claims import AGREE, TOLERANCE, drawn_back
from mrdsl.solving.installed import require, version
from mrdsl.solving.interruption import is_kept
from mrdsl.solving.request import DEFAULT_GAP
from mrdsl.source import Span
from mrdsl.spec.options import LIMITS, require_options
from mrdsl.spec.spec import Spec


def solve(
    spec: Spec,
    solver: str = "auto",
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
    memory: Any = None,
    model: Any = None,
) -> Result:
    """Solves a spec and checks what comes out against the spec's own promises.

    Termination and solution are two facts; a plan is reported only when it keeps every promise. ``memory`` (of
    ``mrdsl.solving.dispatch``) is what a loop hands from one solve to the next, ``model`` a
    model of the spec that the caller may have changed. Raises MrdslError for
    a spec or a request that is wrong (exit code 2) and for a solver that is missing (exit code 3).
    """
    family = find_family(spec)
    formulation, relax = asked(spec, formulation, relax, solver)
    seconds: dict[str, float] = {}
    require_options(LIMITS, vars(limits or Limits()), "limits.")
    found = diagnose(spec)
    if has_errors(d for d in found if not d.impossible):
        raise MrdslError(found)
    if has_errors(found):
        return _result(spec, family, None, Outcome(Termination.INFEASIBLE), found, seconds)
    choice = choose(spec, family, solver, formulation, relax, limits or Limits())
    if model is not None:
        choice = for_model(choice, formulation_named(family, formulation), solver)
    if choice.solver is not None:
        require(choice.solver, choice.span)
    outcome = _Run(spec, family, choice, relax, seconds, memory, model).outcome()
    return _result(spec, family, choice, outcome, found, seconds)


def build_model(spec: Spec, formulation: str | None = None, relax: bool = False) -> Any:
    """The Pyomo model of a spec, ``subject to`` included."""
    formulation, relax = asked(spec, formulation, relax)
    return _build(spec, formulation_named(find_family(spec), formulation), relax)


def compile_model(spec: Spec, formulation: str | None = None, relax: bool = False) -> Any:
    """The Pyomo model of a checked spec; raises MrdslError for a spec that is wrong."""
    found = tuple(d for d in diagnose(spec) if not d.impossible)
    if has_errors(found):
        raise MrdslError(found)
    return build_model(spec, formulation, relax)


def _build(spec: Spec, formulation: Formulation, relax: bool) -> Any:
    from mrdsl.problems.subject_to import add_comparisons

    if not formulation.build:
        raise MrdslError([error("unknown-formulation", f"{formulation.name} is more than one model",
                                hint="choose a formulation that is a single model")])
    model = load(formulation.build)(spec, relax)
    add_comparisons(spec, model)
    return model


@dataclass
class _Run:
    """One way through; notes the seconds of each stage."""

    spec: Spec
    family: Family
    choice: Choice
    relax: bool
    seconds: dict[str, float]
    memory: Any = None
    model: Any = None
    doubts: list[Diagnostic] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """What came out, with every claim of the solver that was withdrawn."""
        found = self._outcome()
        return replace(found, diagnostics=(*found.diagnostics, *dict.fromkeys(self.doubts)))

    def _outcome(self) -> Outcome:
        chosen = self.choice.formulation
        started = time.perf_counter()
        try:
            if chosen is None:
                outcome = self._pipeline()
            elif chosen.run:
                self._refuse_early(chosen)
                outcome = load(chosen.run)(self.spec, self.relax, self.choice.limits, self._solve_part)
            else:
                return self._explained(self._verified(self._single_model(chosen)))
        except KeyboardInterrupt:
            if not is_kept():
                raise
            outcome = Outcome(Termination.INTERRUPTED)
        self.seconds["solve"] = time.perf_counter() - started
        return self._explained(self._verified(outcome))

    def _refuse_early(self, chosen: Formulation) -> None:
        """Before anything is built: a solver that cannot do what the formulation needs."""
        from mrdsl.solving.dispatch import refuse_what_it_cannot

        if self.choice.solver is not None:
            needs = chosen.needs(self.spec, self.relax)
            refuse_what_it_cannot(self.choice.solver, needs, self.choice.span)

    def _pipeline(self) -> Outcome:
        from mrdsl.heuristics.pipeline import Draft, run_steps

        assert self.choice.solver is not None
        limits, given = self.choice.limits, self.choice.parameters
        steps = []
        for step in self.choice.solver.pipelines[self.family.name].steps:
            parameters = {k: given.get(k, v) for k, v in step.items() if k != "call"}
            steps.append((load(step["call"]), parameters))
        seed = limits.seed if limits.seed is not None else self.spec.seed or 0
        draft = Draft(self.spec, self.relax, seed, limits, time.monotonic())
        return run_steps(steps, draft)

    def _solve_part(self, model: Any, limits: Limits | None = None) -> Any:
        from mrdsl.solving.dispatch import solve_model

        assert self.choice.solver is not None, "a formulation that needs no solver asks for none"
        answer = solve_model(model, self.choice.solver, limits or self.choice.limits, span=self.choice.span)
        self.doubts.extend(doubts_of(answer, self.choice.span))
        return answer

    def _explained(self, outcome: Outcome) -> Outcome:
        """Where a solver or a pipeline proved that there is no plan: what the family says about the reasons."""
        if (outcome.termination is not Termination.INFEASIBLE or has_errors(outcome.diagnostics)
                or not self.family.infeasible or self.model is not None):
            return outcome
        found = tuple(load(self.family.infeasible)(self.spec, self._solve_to_explain))
        return replace(outcome, diagnostics=outcome.diagnostics + found)

    def _solve_to_explain(self, model: Any, limits: Limits | None = None) -> Any:
        from mrdsl.solving.dispatch import solve_model

        times = [each.time for each in (limits, self.choice.limits) if each is not None and each.time is not None]
        return solve_model(model, "highs", replace(limits or Limits(), time=min(times, default=None)))

    def _single_model(self, chosen: Formulation) -> Outcome:
        from mrdsl.solving.dispatch import refuse_what_it_cannot, solve_model

        choice = self.choice
        assert choice.solver is not None
        needs = chosen.needs(self.spec, self.relax)
        refuse_what_it_cannot(choice.solver, needs, choice.span)
        started = time.perf_counter()
        model = _build(self.spec, chosen, self.relax) if self.model is None else self.model
        built = time.perf_counter()
        answer = solve_model(model, choice.solver, choice.limits, needs, memory=self.memory, span=choice.span)
        self.seconds.update(compile=built - started, solve=time.perf_counter() - built)
        answer = self._compared(chosen, answer)
        self.doubts.extend(doubts_of(answer, choice.span))
        return _decoded(self.spec, chosen, model, answer, self.relax, choice.span)

    def _compared(self, chosen: Formulation, answer: Answer) -> Answer:
        """The answer, held against what the family knows of the spec, unless it is to a model of the caller's."""
        from mrdsl.solving.known import compared

        claims = answer.bound is not None or answer.termination is Termination.INFEASIBLE
        known = load(chosen.known)(self.spec, self.relax) if chosen.known and claims and self.model is None else None
        if known is None:
            return answer
        maximize = goal_of(self.spec, self.family).sense == "maximize"
        limits = replace(self.choice.limits, gap=self.choice.limits.gap or DEFAULT_GAP)
        method = chosen.known.rpartition(":")[2].replace("_", " ")
        return compared(answer, self._verified(known), limits, maximize, method)

    def _verified(self, outcome: Outcome) -> Outcome:
        return verified(self.spec, self.family, outcome, self.relax)


def doubts_of(answer: Answer, span: Span | None) -> tuple[Diagnostic, ...]:
    """The claims of a solver that were withdrawn, as warnings."""
    hint = "the plan was checked and stands, that it is the best is not known; compare with another solver"
    return tuple(warning("contradicted-claim", f"{answer.solver} {answer.version or ''}: {doubt}", span, hint)
                 for doubt in answer.doubts)


def decoded_outcome(spec: Spec, model: Any, answer: Answer, formulation: str | None, relax: bool) -> Outcome:
    """What an answer to the model of ``formulation`` means in the spec's own words, not yet verified."""
    return _decoded(spec, formulation_named(find_family(spec), formulation), model, answer, relax, None)


def _decoded(spec: Spec, formulation: Formulation, model: Any, answer: Answer, relax: bool, span: Span | None
             ) -> Outcome:
    diagnostics: tuple[Diagnostic, ...] = ()
    if answer.termination is Termination.ERROR or (answer.message and answer.solution is SolutionStatus.NONE):
        diagnostics = (error("solver-failed", f"{answer.solver}: {answer.message}", span),)
    plan = None
    if answer.solution is not SolutionStatus.NONE:
        plan = load(formulation.decode)(spec, model, relax)
    return Outcome(answer.termination, answer.solution, plan, answer.value, answer.bound, diagnostics, answer.size)


def verified(spec: Spec, family: Family, outcome: Outcome, relax: bool) -> Outcome:
    """The outcome with its plan checked and valued from the facts alone; no plan where a promise is broken."""
    outcome = finite(outcome)
    if outcome.plan is None:
        return outcome
    problems = tuple(violations(spec, family, outcome.plan, relax))
    if has_errors(problems):
        return Outcome(Termination.ERROR, diagnostics=outcome.diagnostics + problems, bound=outcome.bound)
    outcome = replace(outcome, diagnostics=outcome.diagnostics + problems)
    return finite(_valued(spec, family, outcome)) if family.measure else outcome


def _valued(spec: Spec, family: Family, outcome: Outcome) -> Outcome:
    measured = load(family.measure)(spec, outcome.plan)
    if measured is None:
        return replace(outcome, value=None)
    value = float(measured)
    claimed = outcome.value
    if claimed is not None and not abs(value - claimed) <= TOLERANCE * max(abs(value), abs(claimed), outcome.size):
        message = f"the plan is worth {value:g}, the solver's model says {claimed:g}; its bound is left out"
        found = (*outcome.diagnostics, warning("objective-differs", message, spec.span))
        return replace(unproven(outcome), value=value, bound=None, diagnostics=found)
    bound = drawn_back(outcome.bound, value, goal_of(spec, family).sense == "maximize")
    if (relative_gap(value, bound) or 0.0) > (relative_gap(claimed, outcome.bound) or 0.0) + 2.0 * AGREE:
        outcome = unproven(outcome)
    return replace(outcome, value=value, bound=bound)


def unproven(outcome: Outcome) -> Outcome:
    """The outcome with a plan that is no longer called optimal."""
    stopped = Termination.COMPLETED if outcome.termination is Termination.OPTIMAL else outcome.termination
    return replace(outcome, solution=SolutionStatus.FEASIBLE, termination=stopped)


def finish(spec: Spec, outcome: Outcome, formulation: str | None, relax: bool,
           solver: Mapping[str, str | None]) -> Result:
    """A verified result of an outcome that came from elsewhere, such as an external solver's file."""
    family = find_family(spec)
    chosen = formulation_named(family, formulation)
    choice = Choice(None, chosen, Limits(), {}, None)
    result = _result(spec, family, choice, verified(spec, family, outcome, relax), (), {})
    return replace(result, solver=solver)


def violations(spec: Spec, family: Family, plan: Plan, relax: bool) -> Iterable[Diagnostic]:
    """Every promise of the spec that the plan breaks, ``subject to`` included, from the facts alone."""
    from mrdsl.problems.subject_to import broken

    if family.verify:
        yield from load(family.verify)(spec, plan, relax)
    if spec.constraints and family.quantity:
        yield from broken(spec, partial(load(family.quantity), spec, plan))


def goal_of(spec: Spec, family: Family) -> GoalKind:
    """The goal that the spec names, by default the family's first."""
    wanted = spec.goal
    for kind in family.goals:
        if wanted is None or (kind.sense, kind.quantity) == (wanted.sense, wanted.quantity):
            return kind
    assert wanted is not None
    known = ", ".join(f"{kind.sense} {kind.quantity}" for kind in family.goals)
    message = f"{family.name} does not know the goal '{wanted.sense} {wanted.quantity}'"
    raise MrdslError([error("unknown-goal", message, wanted.span, f"write one of: {known}")])


_STOPS = {
    Termination.TIME_LIMIT: "the time limit came",
    Termination.NODE_LIMIT: "the limit of nodes came",
    Termination.INTERRUPTED: "the run was interrupted",
}


def _result(spec: Spec, family: Family, choice: Choice | None, outcome: Outcome, found: tuple[Diagnostic, ...],
            seconds: Mapping[str, float]) -> Result:
    goal = goal_of(spec, family)
    diagnostics = found + outcome.diagnostics
    if outcome.termination is Termination.INFEASIBLE and not has_errors(diagnostics):
        diagnostics += (impossible("no-plan", "no plan keeps every promise of this spec", spec.span,
                                   "mrdsl why says which promises exclude each other"),)
    if outcome.plan is None and outcome.termination in _STOPS and not diagnostics:
        diagnostics = (warning("stopped-early", f"{_STOPS[outcome.termination]} before a plan was found", spec.span,
                               "give it more, or take a heuristic: `mrdsl solvers` lists them"),)
    unit = spec.currency if goal.unit == "currency" else goal.unit
    value = outcome.value if outcome.plan is not None else None
    return Result(
        problem=spec.problem,
        title=spec.title,
        formulation=choice.formulation.name if choice and choice.formulation else None,
        solver=_solver_entry(choice),
        seed=spec.seed,
        termination=outcome.termination,
        solution=outcome.solution if outcome.plan is not None else SolutionStatus.NONE,
        objective=Objective(goal.sense, goal.quantity, value, unit, outcome.bound, relative_gap(value, outcome.bound)),
        plan=outcome.plan,
        diagnostics=diagnostics,
        seconds=seconds,
    )


def _solver_entry(choice: Choice | None) -> dict[str, str | None]:
    from mrdsl.version import __version__

    if choice is None or choice.solver is None:
        return {"name": "mrdsl", "version": __version__, "file": None}
    declared = choice.solver
    return {"name": declared.name, "version": version(declared), "file": declared.foreign_file}
