"""Periods one by one: nothing couples them unless ``subject to`` does, so each is a model of its own.

A solver takes many small models faster than one of all periods, and ``--threads`` lets it take several at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mrdsl.contracts.own_goals import worth
from mrdsl.contracts.subject_to import add_comparisons
from mrdsl.core.answer import Answer
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination, relative_gap
from mrdsl.families.joint.plan import assemble, cost_of
from mrdsl.families.joint.verify import quantity
from mrdsl.families.joint.workload import Floats, Workload, workload
from mrdsl.solving.claims import failure
from mrdsl.solving.worker import GRACE
from mrdsl.spec.spec import Spec

EXPLAINED = 2e-6
"""Relative gap of the whole, beyond the one that was asked for, up to which solvers' tolerances explain it."""

Build = Callable[[Spec, Workload, bool], Any]
Allocation = Callable[[Spec, Workload, Any, bool], tuple[Floats, Floats]]


@dataclass(frozen=True)
class _Part:
    """One solved model: the answer, and the allocation that it left where there is one."""

    answer: Answer
    allocation: tuple[Floats, Floats] | None


def by_period(
    spec: Spec,
    relax: bool,
    limits: Limits,
    solve: Callable[..., Answer],
    build: Build,
    allocation: Allocation,
) -> Result:
    """Solves every period's model, or one model of all periods where ``subject to`` couples them.

    The time limit is one for all: what is left of it when a period's turn comes. A solver that counts whole seconds
    overruns it; a second behind it no further period is begun, and there is no plan. Values and bounds add up; the plan
    is proven where all periods ended and the gap of the sums is what was asked for.
    """
    work = workload(spec)
    pieces = [work] if spec.constraints else [work.period(t) for t in range(work.periods)]
    end = None if limits.time is None else time.monotonic() + limits.time
    allowed = limits.gap if limits.gap is not None else 0.0
    at_once = min(limits.threads or 1, len(pieces))

    def one(piece: Workload) -> _Part:
        left = None if end is None else end - time.monotonic()
        if left is not None and left < -GRACE:
            return _Part(Answer(Termination.TIME_LIMIT, SolutionStatus.NONE), None)
        left = None if left is None else max(0.01, left)
        model = build(spec, piece, relax)
        add_comparisons(spec, model)
        answer = solve(model, replace(limits, time=left, threads=None if at_once > 1 else limits.threads))
        held = None if answer.solution is SolutionStatus.NONE else allocation(spec, piece, model, relax)
        return _Part(answer, held)

    if at_once == 1:
        return _together(spec, work, _until_failure(one, pieces), allowed, relax)
    with ThreadPoolExecutor(at_once) as pool:
        return _together(spec, work, list(pool.map(one, pieces)), allowed, relax)


def _until_failure(one: Callable[[Workload], _Part], pieces: Sequence[Workload]) -> list[_Part]:
    """The solved pieces up to the first without a plan: then there is none of the whole."""
    parts = []
    for piece in pieces:
        parts.append(one(piece))
        if parts[-1].allocation is None:
            break
    return parts


def _together(spec: Spec, work: Workload, parts: Sequence[_Part], allowed: float, relax: bool) -> Result:
    """The plan of all pieces at its true cost, which a solver's tolerances may have made look lower."""
    failed = next((part.answer for part in parts if part.allocation is None), None)
    if failed is not None:
        told = (failure(failed.solver, failed.message),) if failed.message else ()
        return Result(failed.termination, diagnostics=told)
    held = [part.allocation for part in parts if part.allocation is not None]
    vms, demand = (np.concatenate(rows) for rows in zip(*held, strict=True))
    plan = assemble(work, vms, demand, relax)
    stopped = next(
        (p.answer.termination for p in parts if p.answer.termination is not Termination.OPTIMAL), Termination.OPTIMAL
    )
    value = worth(spec, partial(quantity, spec, plan), cost_of(work, plan))
    bound = _sum([part.answer.bound for part in parts])
    gap = relative_gap(value, bound)
    proven = stopped is Termination.OPTIMAL and gap is not None and gap <= allowed + EXPLAINED
    return Result(stopped, SolutionStatus.OPTIMAL if proven else SolutionStatus.FEASIBLE, plan, value, bound)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if len(known) == len(values) else None
