"""Heuristics: sequences of small functions, each `step(draft, **parameters) -> Draft`.

A file in `solvers/` names the steps and their parameters for each family:

    kind = "pipeline"
    name = "NAME"
    [pipelines.FAMILY]
    steps = [{ call = "PACKAGE.MODULE:FUNCTION", PARAMETER = 4 }]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import Signature, signature
from numbers import Real
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from mrdsl.core.diagnostics import Diagnostic, described
from mrdsl.core.result import Limits, Plan, Result, SolutionStatus, Termination
from mrdsl.core.watching import DEBUG, LateError, is_stopped, log, sharing, work
from mrdsl.spec.spec import Spec

T = TypeVar("T")
PIECES = 1000
"""Pieces of work between two looks at the limits of a step."""


@dataclass(frozen=True)
class Draft:
    """State that the steps of a heuristic pass on. :func:`run_steps` makes the :class:`Result` from the last one.

    Attributes:
        spec: The spec.
        relax: Solve the relaxation.
        seed: Seed of random choices.
        limits: Limits of the solve.
        started: Value of `clock` when the solve began, before the checks of the spec [s].
        clock: Clock of the time limit [s].
        state: Working state of the family.
        plan: Best plan so far.
        value: Its objective.
        bound: Proven bound on the objective.
        fixed: Part of the objective that every plan has; gaps exclude it.
        termination: COMPLETED, OPTIMAL with a proof, INFEASIBLE with a proof, or TIME_LIMIT if a step stopped.
        diagnostics: Warnings and notes.
    """

    spec: Spec
    relax: bool = False
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    started: float = 0.0
    clock: Callable[[], float] = time.monotonic
    state: Any = None
    plan: Plan | None = None
    value: float | None = None
    bound: float | None = None
    fixed: float = 0.0
    termination: Termination = Termination.COMPLETED
    diagnostics: tuple[Diagnostic, ...] = ()

    def is_late(self) -> bool:
        """Return True if the time limit has passed."""
        return self.limits.time is not None and self.clock() > self.started + self.limits.time

    def paced(self, pieces: Iterable[T]) -> Iterator[T]:
        """Yield the pieces of work of a step that has no plan before the last one.

        Args:
            pieces: Pieces of work; limits are checked after every :data:`PIECES` of them.

        Yields:
            The same pieces.

        Raises:
            LateError: If the time limit has passed.
            KeyboardInterrupt: If the work was stopped. :func:`last_draft` handles both.
        """
        for number, piece in enumerate(pieces):
            if number and not number % PIECES:
                if is_stopped():
                    raise KeyboardInterrupt
                if self.is_late():
                    raise LateError
            yield piece

    def seconds_left(self) -> float | None:
        """Return the time left for a step that calls a solver [s], at least 0.01 s; None without a limit."""
        if self.limits.time is None:
            return None
        used = self.clock() - self.started if self.started else 0.0
        return max(self.limits.time - used, 0.01)


Step = Callable[..., Draft]


def draft_mistake(value: Any) -> str:
    """Find the error in the draft that a step returned.

    Args:
        value: Value that the step returned.

    Returns:
        The error in words, or an empty text.
    """
    if not isinstance(value, Draft):
        return f"returned {described(value)} instead of a Draft"
    numbers = {"value": value.value, "bound": value.bound, "fixed": value.fixed}
    for name, number in numbers.items():
        if number is not None and not isinstance(number, Real):
            return f"left {described(number)} as the draft's `{name}`"
    if value.plan is not None and not isinstance(value.plan, Plan):
        return f"left {described(value.plan)} as the draft's `plan`"
    if not isinstance(value.termination, Termination):
        return f"left {described(value.termination)} as the draft's `termination`"
    if not all(isinstance(each, Diagnostic) for each in value.diagnostics):
        return "left something other than a Diagnostic in the draft's `diagnostics`"
    return ""


def parameters_mistake(step: Step, parameters: Mapping[str, Any]) -> str:
    """Find the error in the parameters that a solver file gives to a step.

    Args:
        step: The step.
        parameters: Parameters by name.

    Returns:
        The error in words, or an empty text.
    """
    if not callable(step):
        return f"{described(step)} is not a function"
    taken = _signature(step)
    try:
        taken.bind(None, **parameters)
    except TypeError as cause:
        own = ", ".join(list(taken.parameters)[1:]) or "none"
        return f"wrong parameters for `{name_of(step)}`: {cause}; its parameters: {own}"
    for name, value in parameters.items():
        hint = taken.parameters[name].annotation if name in taken.parameters else None
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        if all(isinstance(kind, type) and kind in _NUMBERS for kind in kinds) and not any(
            _is_one(value, kind) for kind in kinds
        ):
            return f"`{name_of(step)}` takes {name} as {_NUMBERS[kinds[0]]}, not {described(value)}"
    return ""


def name_of(step: Step) -> str:
    """Return the name of a step, or of its class.

    Args:
        step: The step.

    Returns:
        The name.
    """
    return getattr(step, "__name__", type(step).__name__)


def _signature(step: Step) -> Signature:
    """Return the signature of a step, with annotations if they can be evaluated."""
    try:
        return signature(step, eval_str=True)
    except Exception:  # whatever evaluating a plug-in's annotations raises
        return signature(step)


_NUMBERS = {bool: "true or false", int: "a whole number", float: "a number"}


def _is_one(value: object, kind: type) -> bool:
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, int) or (kind is float and isinstance(value, float))


def last_draft(steps: Sequence[tuple[Step, Mapping[str, Any]]], draft: Draft) -> Draft:
    """Run the steps in order, until one proves infeasibility.

    Args:
        steps: Steps with their parameters.
        draft: The first draft.

    Returns:
        The last draft; if another thread stopped the run, the last draft with a plan.

    Raises:
        KeyboardInterrupt: If the run was stopped before there was a plan.
    """
    for step, parameters in steps:
        log("pipeline", DEBUG, "step %s", name_of(step))
        try:
            if is_stopped():
                raise KeyboardInterrupt
            with work("solving"), sharing(draft.seconds_left()):
                draft = step(draft, **parameters)
        except LateError:
            return replace(draft, termination=Termination.INTERRUPTED if is_stopped() else Termination.TIME_LIMIT)
        except KeyboardInterrupt:
            if draft.plan is None or not is_stopped():
                raise
            return replace(draft, termination=Termination.INTERRUPTED)
        if draft.termination is Termination.INFEASIBLE:
            break
    return draft


def run_steps(steps: Sequence[tuple[Step, Mapping[str, Any]]], draft: Draft) -> Result:
    """Run the steps and convert the last draft to a result.

    Args:
        steps: Steps with their parameters.
        draft: The first draft.

    Returns:
        The result.
    """
    return result_of(last_draft(steps, draft))


def result_of(draft: Draft) -> Result:
    """Convert the last draft to a result.

    Args:
        draft: The draft.

    Returns:
        The result.
    """
    return Result(
        termination=draft.termination,
        solution=_status(draft),
        plan=draft.plan,
        value=draft.value,
        bound=draft.bound,
        diagnostics=draft.diagnostics,
        fixed=draft.fixed,
    )


def _status(draft: Draft) -> SolutionStatus:
    if draft.plan is None:
        return SolutionStatus.NONE
    return SolutionStatus.OPTIMAL if draft.termination is Termination.OPTIMAL else SolutionStatus.FEASIBLE
