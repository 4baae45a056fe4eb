"""A defect that is planted in what runs a hybrid cloud is found by what checks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.families.hybrid.methods import controller

REFERENCE = Path(__file__).parents[3] / "models/hybrid/reference.mrspec"


def refused() -> bool:
    result = mrdsl.solve(mrdsl.load(REFERENCE), "controller")
    return "broken-plan" in {each.code for each in result.diagnostics}


def bounded(change: Callable[[Any], Any]) -> tuple[str, Any]:
    genuine = controller.guarantee
    return "guarantee", lambda *given: change(genuine(*given))


def planned(change: Callable[[Any], Any]) -> tuple[str, Any]:
    genuine = controller.outcome_of

    def other(*given: Any) -> Any:
        draft = genuine(*given)
        return replace(draft, plan=change(draft.plan))

    return "outcome_of", other


def of_queues(change: Callable[[Any], Any]) -> tuple[str, Any]:
    return planned(lambda plan: replace(plan, queues={name: change(run) for name, run in plan.queues.items()}))


def half_cost(plan: Any) -> Any:
    return replace(plan, cost=replace(plan.cost, average=plan.cost.average / 2.0))


def more_machines(queues: Any, vms: int, preemption: float) -> Any:
    return GENUINE_ALLOCATE(queues, 3 * vms, preemption)


GENUINE_ALLOCATE = controller.allocate
DEFECTS = {
    "half the cost": planned(half_cost),
    "bounds on less backlog": bounded(lambda g: replace(g, backlog=g.backlog / 2.0)),
    "bounds on less debt": bounded(lambda g: replace(g, acceptance_debt=g.acceptance_debt / 2.0)),
    "bounds on less persistence": bounded(lambda g: replace(g, persistence=g.persistence / 2.0)),
    "bounds on more backlog": bounded(lambda g: replace(g, backlog=g.backlog * 2.0)),
    "more VMs": ("allocate", more_machines),
    "lost tasks": of_queues(lambda run: replace(run, finished=run.finished - 1)),
    "tasks that nobody submitted": of_queues(lambda run: replace(run, admitted=run.admitted + 1)),
    "another acceptance": of_queues(lambda run: replace(run, acceptance=run.acceptance * 0.99)),
    "late tasks": of_queues(lambda run: replace(run, worst_delay=run.worst_delay + 1000)),
    "a larger backlog": of_queues(lambda run: replace(run, backlog_max=run.backlog_max + 10**6)),
    "cheaper outsourcing": of_queues(lambda run: replace(run, outsourced_after=run.outsourced_after + 7)),
}


def test_without_a_defect_runs_are_right() -> None:
    assert not refused()


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, *DEFECTS[defect])
    assert refused()
