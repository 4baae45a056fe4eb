"""From a spec to a result: check, choose, build, solve, decode, verify."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.family import ArrayForm, Family, Formulation, Needs
from mrdsl.core.diagnostics import Diagnostic, MrdslError, has_errors, one_error
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination, relative_gap
from mrdsl.core.watching import DEBUG, INFO, LateError, log, of_the_goal, shared_time, sharing, stopped_by
from mrdsl.families.diagnosis import diagnose, find_family
from mrdsl.planning.choice import Choice, asked, choose, for_model, formulation_named, second_choice, with_bound_of
from mrdsl.planning.claims import keep_last_plan, unproven, verified
from mrdsl.planning.results import ended, goal_of
from mrdsl.solving import registry
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.processes import ended_late, is_kept
from mrdsl.solving.registry import require
from mrdsl.spec.declared import LIMITS, require_options
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.answer import Answer

KNOWN_PART = 0.25
"""The part of a time limit in which a family may find what a solver begins at."""
CLOSE = 0.01
"""Relative gap of the family's own result of a large spec at which no solver is asked."""
LEAST_TIME = 0.01
"""Time of a second model if the first took the whole limit [s]."""


def solve(
    spec: Spec,
    solver: str = "auto",
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
    memory: Any = None,
    model: Any = None,
    start: Result | None = None,
) -> Result:
    """Solve a spec and check the result against the constraints of the spec.

    Termination and solution are separate facts, and only a plan that meets every constraint is reported.

    Args:
        memory: The state that a loop passes from one solve to the next (``mrdsl.solving.checked_answer``).
        model: A model of the spec that the caller may have changed.
        start: An earlier result to start from; a note gives the reason if it is not used.

    Raises:
        MrdslError: A wrong spec or request (exit code 2), or a missing solver (exit code 3).
    """
    began = time.monotonic()
    limits = limits or Limits()
    require_options(LIMITS, vars(limits), "limits.")
    limits = replace(limits, time=shared_time(limits.time))
    family = find_family(spec)
    formulation, relax = asked(spec, formulation, relax, solver)
    seconds: dict[str, float] = {}
    diagnostics = diagnose(spec)
    if has_errors(d for d in diagnostics if not d.impossible):
        raise MrdslError(diagnostics)
    if has_errors(diagnostics):
        return ended(spec, family, None, Result(Termination.INFEASIBLE), diagnostics, seconds)
    choice = choose(spec, family, solver, formulation, relax, limits)
    if model is not None:
        choice = for_model(choice, formulation_named(family, formulation), solver)
    if choice.solver is not None:
        require(choice.solver, choice.span)
    how = choice.formulation.name if choice.formulation is not None else "its own method"
    log("solve", INFO, "%s %r by %s, %s", spec.problem, spec.title, choice.solver and choice.solver.name, how)
    run = _Run(spec, family, choice, relax, seconds, began, memory, model, start)
    with sharing(None if choice.limits.time is None else began + choice.limits.time - time.monotonic()):
        found = run.result()
    last = None
    if start is not None and start.relaxed == relax:
        check = partial(verified, spec, family, relax=relax)
        last = keep_last_plan(spec, family, found, start, limits, check)
    result = replace(ended(spec, family, run.choice, last or found, diagnostics, seconds), relaxed=relax)
    if start is not None and run.unused and last is None:
        from mrdsl.planning.claims import unused

        result = replace(result, diagnostics=(*result.diagnostics, unused(run.unused)))
    _log_end(result)
    return result


def _log_end(result: Result) -> None:
    objective = result.objective
    told = (result.termination, result.solution, objective.quantity, objective.value, objective.unit, objective.bound)
    log("solve", INFO, "%s, %s: %s %s %s, bound %s", *told)
    for stage, seconds in result.seconds.items():
        log("solve", DEBUG, "%s took %.3f s", stage, seconds)


def build_model(spec: Spec, formulation: str | None = None, relax: bool = False) -> Any:
    """Return the Pyomo model of a spec, ``subject to`` included."""
    formulation, relax = asked(spec, formulation, relax)
    chosen = formulation_named(find_family(spec), formulation)
    return _build(spec, chosen if chosen.compiled is None else replace(chosen, build=chosen.compiled), relax)


def compile_model(spec: Spec, formulation: str | None = None, relax: bool = False) -> Any:
    """Return the Pyomo model of a checked spec; raises MrdslError for a spec that is wrong."""
    diagnostics = tuple(d for d in diagnose(spec) if not d.impossible)
    if has_errors(diagnostics):
        raise MrdslError(diagnostics)
    return build_model(spec, formulation, relax)


def _build(spec: Spec, formulation: Formulation, relax: bool) -> Any:
    import numpy as np

    from mrdsl.contracts.subject_to import add_comparisons

    if formulation.build is None:
        raise one_error(
            "unknown-formulation",
            f"formulation {formulation.name} consists of several models",
            hint="choose another formulation",
        )
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # of a spec without a plan; what is infinite then is told where it is read
        model = formulation.build(spec, relax)
    add_comparisons(spec, model)
    return model


def _method(formulation: Formulation) -> str:
    """Return the name of the pipeline that knows plans of a formulation; empty if there is none."""
    return getattr(formulation.known, "__name__", "")


@dataclass
class _Run:
    """One way through; notes the seconds of each stage. ``began``: by the clock, before the spec was checked."""

    spec: Spec
    family: Family
    choice: Choice
    relax: bool
    seconds: dict[str, float]
    began: float
    memory: Any = None
    model: Any = None
    start: Result | None = None
    unused: str = "this method does not support a starting plan"
    doubts: list[Diagnostic] = field(default_factory=list)
    first: Result | None = None
    spent: float = 0.0
    known: Result | None = None
    interrupted: bool = False

    def result(self) -> Result:
        """Return the result, with every withdrawn claim of the solver."""
        try:
            result = self._solved()
            second = second_choice(self.choice, self.family, self.spec, self.relax, result, self._seconds_left())
            if second is not None:
                self.choice, first = second, result
                result = with_bound_of(first, self._solved())
        except KeyboardInterrupt:
            if not is_kept():
                raise
            result = self._verified(self._best_known())
        if self.interrupted and result.plan is not None:
            result = replace(unproven(result), termination=Termination.INTERRUPTED)
        return replace(result, diagnostics=(*result.diagnostics, *dict.fromkeys(self.doubts)))

    def _solved(self) -> Result:
        chosen = self.choice.formulation
        started = time.perf_counter()
        try:
            if chosen is None:
                result = self._pipeline()
            elif chosen.run is not None and self.model is None:
                self._refuse_early(chosen)
                result = chosen.run(self.spec, self.relax, self.choice.limits, self._solve_part)
            else:
                proven = self._proven_first(chosen)
                if proven is not None:
                    return proven
                return self._explained(self._or_known(chosen, self._verified(self._single_model(chosen))))
        except KeyboardInterrupt:
            if not is_kept():
                raise
            result = self._best_known()
        except LateError:
            result = replace(self._best_known(), termination=Termination.TIME_LIMIT)
        self.seconds["solve"] = time.perf_counter() - started
        return self._explained(self._verified(result))

    def _proven_first(self, chosen: Formulation) -> Result | None:
        """Return the family's own result if it is proven, and the user named no solver: a second method adds nothing.

        Of a large spec without limits, it is enough that it is close to its bound. Another result is kept for the
        comparison with the solver's.
        """
        name, limits = _method(chosen), self.choice.limits
        if (
            not self.choice.automatic
            or self.model is not None
            or self.start is not None
            or name not in registry.names()
        ):
            return None
        started = time.perf_counter()
        self.first = self._known(chosen, limits.time and KNOWN_PART * limits.time)
        self.spent = time.perf_counter() - started
        if self.interrupted:
            raise KeyboardInterrupt
        if self.first is None or not self._is_enough(chosen, self.first):
            return None
        self.seconds["solve"] = self.spent
        result = self._verified(self.first)
        if result.solution is not self.first.solution:
            return None
        self.choice = replace(self.choice, solver=registry.find(name), formulation=None)
        return result

    def _is_enough(self, chosen: Formulation, first: Result) -> bool:
        """Return True if the family's own result is optimal, or close to its bound for a large spec without limits."""
        if first.plan is None or first.solution is SolutionStatus.OPTIMAL:
            return first.solution is SolutionStatus.OPTIMAL
        away = relative_gap(first.value, first.bound, first.fixed)
        large = self._is_unlimited and chosen.nodes is not None and chosen.nodes(self.spec, self.relax) is not None
        return large and away is not None and away <= CLOSE

    @property
    def _is_unlimited(self) -> bool:
        """Return True if the user set no limit."""
        limits = self.choice.limits
        return limits.time is None and limits.gap is None and limits.nodes is None

    def _best_known(self) -> Result:
        """Return the result of an interrupted run: the plan of the family's own method if it has ended."""
        if self.first is None or self.first.plan is None or self.choice.formulation is None:
            return Result(Termination.INTERRUPTED)
        self.choice = replace(self.choice, solver=registry.find(_method(self.choice.formulation)), formulation=None)
        return replace(unproven(self.first), termination=Termination.INTERRUPTED)

    def _settled(self, call: Callable[[], Result]) -> Result:
        """Finish the work on an existing plan: a stop waits for it, and a first Ctrl-C starts it again."""
        keeps = is_kept()
        with stopped_by(None):
            try:
                return call()
            except KeyboardInterrupt:
                if not keeps:
                    raise
                self.interrupted = True
                return call()

    def _refuse_early(self, chosen: Formulation) -> None:
        """Reject a solver that lacks a feature that the formulation needs, before any model is built."""
        from mrdsl.solving.programs import refuse_unsupported

        if self.choice.solver is not None:
            needs = chosen.needs(self.spec, self.relax)
            refuse_unsupported(self.choice.solver, needs, self.choice.span)

    def _pipeline(self) -> Result:
        from mrdsl.contracts.pipeline import Draft
        from mrdsl.planning.results import made_by_pipeline

        assert self.choice.solver is not None
        limits, given = self.choice.limits, self.choice.parameters
        seed = limits.seed if limits.seed is not None else self.spec.seed or 0
        draft = Draft(self.spec, self.relax, seed, limits, self.began)
        return made_by_pipeline(self.choice.solver, self.family, given, draft)

    def _solve_part(self, model: Any, limits: Limits | None = None) -> Any:
        from mrdsl.planning.results import doubts_of
        from mrdsl.solving.checked_answer import solve_model

        assert self.choice.solver is not None, "a formulation that needs no solver asks for none"
        answer = solve_model(model, self.choice.solver, limits or self.choice.limits, span=self.choice.span)
        self.doubts.extend(doubts_of(answer, self.choice.span))
        return answer

    def _explained(self, result: Result) -> Result:
        """Add the reasons of the family if a solver or a pipeline proved that there is no plan."""
        if (
            result.termination is not Termination.INFEASIBLE
            or has_errors(result.diagnostics)
            or self.family.infeasible is None
            or self.model is not None
        ):
            return result
        try:
            reasons = tuple(self.family.infeasible(self.spec, self._solve_to_explain))
        except KeyboardInterrupt:  # that there is no plan is proven, whatever the reasons
            if not is_kept():
                raise
            reasons = ()
        return replace(result, diagnostics=result.diagnostics + reasons)

    def _solve_to_explain(self, model: Any, limits: Limits | None = None) -> Any:
        from mrdsl.solving.checked_answer import solve_model

        times = [each.time for each in (limits, self.choice.limits) if each is not None and each.time is not None]
        return solve_model(model, "highs", replace(limits or Limits(), time=min(times, default=None)))

    def _single_model(self, chosen: Formulation) -> Result:
        from mrdsl.solving.programs import refuse_unsupported

        choice = self.choice
        assert choice.solver is not None
        needs = chosen.needs(self.spec, self.relax)
        refuse_unsupported(choice.solver, needs, choice.span)
        started = time.perf_counter()
        form = self._array_form(chosen, needs)
        if form is not None:
            return self._in_arrays(chosen, form, choice.solver, started)
        from mrdsl.planning.results import doubts_of, plan_in
        from mrdsl.solving.checked_answer import solve_model

        with ended_late():
            model = _build(self.spec, chosen, self.relax) if self.model is None else self.model
        built = time.perf_counter()
        with of_the_goal():
            answer = solve_model(model, choice.solver, self._limits(), needs, memory=self.memory, span=choice.span)
        self.seconds.update(compile=built - started, solve=time.perf_counter() - built)
        answer = self._compared(chosen, answer)
        self.doubts.extend(doubts_of(answer, choice.span))
        return self._refined(chosen, plan_in(self.spec, chosen, model, answer, self.relax, choice.span))

    def _refined(self, chosen: Formulation, result: Result) -> Result:
        """Return the result after the steps on its plan that the model leaves out, in the remaining time."""
        from mrdsl.planning.results import refined

        started, limits = time.perf_counter(), self._limits()
        if limits.time is not None:
            limits = replace(limits, time=max(limits.time - self.seconds.get("solve", 0.0), LEAST_TIME))
        unrefined = result
        result = self._settled(lambda: refined(self.spec, chosen, unrefined, self.relax, limits, self._solve_part))
        self.seconds["solve"] = self.seconds.get("solve", 0.0) + time.perf_counter() - started
        return result

    def _array_form(self, chosen: Formulation, needs: Needs) -> ArrayForm | None:
        """Return the arrays of the formulation if no option needs a Pyomo model."""
        solver, asked = self.choice.solver, self.model is not None or self.memory is not None
        if chosen.arrays is None or asked or needs.duals or self.spec.constraints:
            return None
        return None if solver is None or solver.pyomo is not None else chosen.arrays(self.spec, self.relax)

    def _in_arrays(self, chosen: Formulation, form: ArrayForm, solver: SolverFile, started: float) -> Result:
        from mrdsl.planning.results import doubts_of, result_of
        from mrdsl.solving.programs import solve_arrays

        built = time.perf_counter()
        begins = form.begins_at_known and form.program.kind == "MILP" and solver.name == registry.EMBEDDED
        limits = self._limits()
        known = self._known(chosen, limits.time and KNOWN_PART * limits.time) if begins else None
        if self.interrupted:
            raise KeyboardInterrupt
        if begins and limits.time is not None:
            limits = replace(limits, time=max(limits.time - (time.perf_counter() - built), LEAST_TIME))
        start = form.point(known.plan) if form.point is not None and known is not None and known.plan else None
        if self.start is not None:
            from mrdsl.planning.claims import better, point_of

            given, self.unused = point_of(self.spec, form, self.start)
            start = better(form.program, start, given)
        with of_the_goal():
            answer, point = solve_arrays(form.program, form.row_name, solver, limits, self.choice.span, start)
        self.seconds.update(compile=built - started, solve=time.perf_counter() - built)
        answer = self._compared(chosen, answer, known)
        self.doubts.extend(doubts_of(answer, self.choice.span))
        plan = None if point is None or answer.solution is SolutionStatus.NONE else form.decode(point)
        result = result_of(answer, plan, self.choice.span)
        return self._refined(chosen, result)

    def _known(self, chosen: Formulation, seconds: float | None) -> Result | None:
        """Return the result that the family finds without a solver in that many seconds."""
        if self.first is not None or chosen.known is None:
            return self.first
        found = chosen.known(self.spec, self.relax, Limits(time=seconds))
        if found is not None and found.termination is Termination.INTERRUPTED:
            self.interrupted = True
        return found

    def _limits(self) -> Limits:
        """Return the limits of the solver: the family's own method has used a part of the time.

        A plan of that method also limits the nodes of a large spec if the user set no limit.
        """
        limits, chosen = self.choice.limits, self.choice.formulation
        if self._is_unlimited and self.first is not None and self.first.plan is not None and chosen and chosen.nodes:
            return replace(limits, nodes=chosen.nodes(self.spec, self.relax))
        if limits.time is None or not self.spent:
            return limits
        return replace(limits, time=max(limits.time - self.spent, min(limits.time, LEAST_TIME)))

    def _seconds_left(self) -> float | None:
        limit = self.choice.limits.time
        return None if limit is None else max(limit - (time.monotonic() - self.began), LEAST_TIME)

    def _compared(self, chosen: Formulation, answer: Answer, known: Result | None = None) -> Answer:
        """Return the answer compared with the family's own result, unless it is for a model of the caller."""
        from mrdsl.planning.claims import compared, method_of

        known = known or self.first
        claims = answer.bound is not None or answer.termination is Termination.INFEASIBLE
        if known is None and claims and self.model is None:
            try:
                known = self._known(chosen, self._seconds_left())
            except KeyboardInterrupt:
                if not is_kept():
                    raise
                self.interrupted = True
        if known is None or chosen.known is None:
            return answer
        self.known = self._verified(known)
        return compared(answer, self.known, self.choice.limits, self._maximizes(), method_of(chosen))

    def _or_known(self, chosen: Formulation, result: Result) -> Result:
        """Return the result, or the family's own result if that is better; a named solver keeps its plan."""
        from mrdsl.planning.claims import better_of, method_of, not_the_best
        from mrdsl.solving.claims import drawn_back

        solver, limits, maximize = self.choice.solver, self.choice.limits, self._maximizes()
        if self.known is None or solver is None:
            return result
        bound, value = self.known.bound, result.value
        if self.choice.automatic and result.bound is None and bound is not None:
            result = replace(result, bound=bound if value is None else drawn_back(bound, value, maximize))
        held = better_of if self.choice.automatic else not_the_best
        return held(result, self.known, limits, maximize, solver.name, method_of(chosen))

    def _maximizes(self) -> bool:
        return goal_of(self.spec, self.family).sense == "maximize"

    def _verified(self, result: Result) -> Result:
        return self._settled(lambda: self._checked(result))

    def _checked(self, result: Result) -> Result:
        solver = self.choice.solver
        if solver is None or not solver.is_pipeline or solver.foreign_file is None:
            return verified(self.spec, self.family, result, self.relax)
        from mrdsl.planning.results import checked_against_spec

        return checked_against_spec(
            solver, self.family, result, partial(verified, self.spec, self.family, relax=self.relax)
        )


def finish(spec: Spec, given: Result, formulation: str | None, relax: bool, solver: Mapping[str, str | None]) -> Result:
    """Return a verified result of one that came from elsewhere, such as an external solver's file."""
    family = find_family(spec)
    chosen = formulation_named(family, formulation)
    choice = Choice(None, chosen, Limits(), {}, None)
    result = ended(spec, family, choice, verified(spec, family, given, relax), (), {})
    return replace(result, solver=solver, relaxed=relax)
