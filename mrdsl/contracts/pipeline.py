"""Pipelines of heuristics: a tuple of small functions, each ``step(draft, **parameters) -> Draft``.

A file in ``solvers/`` names the steps and their parameters per family:

    kind = "pipeline"
    name = "NAME"
    [pipelines.FAMILY]
    steps = [{ call = "PACKAGE.MODULE:FUNCTION", PARAMETER = 4 }]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.log import DEBUG, log
from mrdsl.core.result import Limits, Plan, Result, SolutionStatus, Termination
from mrdsl.core.stopping import is_stopped
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Draft:
    """What the steps of a pipeline hand on: its working state, never an answer, which is the :class:`Result` that
    :func:`run_steps` makes of the last one.

    ``state`` is the family's own working state; ``plan``, ``value`` and ``bound`` are filled in as they become known,
    and ``fixed``, the part of the goal that every plan has, which gaps are not measured on.
    ``started`` is what ``clock`` said when the solve began, before the spec was checked: a long step stops by itself
    when ``limits.time`` has passed and sets ``termination`` to TIME_LIMIT. A pipeline that finishes leaves COMPLETED,
    or OPTIMAL where it proved its plan, or INFEASIBLE where it proved that there is none.
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

    def seconds_left(self) -> float | None:
        """What is left of the time limit for a step that asks a solver, a hundredth of a second at least."""
        if self.limits.time is None:
            return None
        used = self.clock() - self.started if self.started else 0.0
        return max(self.limits.time - used, 0.01)


Step = Callable[..., Draft]


def last_draft(steps: Sequence[tuple[Step, Mapping[str, Any]]], draft: Draft) -> Draft:
    """Runs the steps in order; a step that proves infeasibility ends the run.

    Raises KeyboardInterrupt before a step where another thread has ended the work.
    """
    for step, parameters in steps:
        if is_stopped():
            raise KeyboardInterrupt
        log("pipeline", DEBUG, "step %s", getattr(step, "__name__", step))
        draft = step(draft, **parameters)
        if draft.termination is Termination.INFEASIBLE:
            break
    return draft


def run_steps(steps: Sequence[tuple[Step, Mapping[str, Any]]], draft: Draft) -> Result:
    """What the last draft of a run of the steps says."""
    draft = last_draft(steps, draft)
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
