"""The functions of the guide on formulations that build plans: they exist, and their plans pass the verification."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.families import family_names
from mrdsl.families.bounds.methods.formulas import plan_on
from mrdsl.families.deadline.network import network_of
from mrdsl.families.deadline.plan import plan_of as plan_of_slack
from mrdsl.families.deadline.workload import tasks_of
from mrdsl.families.joint.plan import assemble
from mrdsl.families.joint.workload import workload

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "how-to" / "write-a-formulation.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", GUIDE, re.MULTILINE))


def found(dotted: str) -> Callable[..., Any]:
    module, _, name = dotted.rpartition(".")
    function: Callable[..., Any] = getattr(import_module(f"mrdsl.families.{module}"), name)
    return function


def test_each_family_has_a_function_that_builds_its_plan() -> None:
    assert {*ROWS, "hybrid"} == set(family_names())
    assert callable(found("hybrid.methods.controller.outcome_of"))
    for family, dotted in ROWS.items():
        plan = next(iter(mrdsl.solve(reference(family)).plan.__class__.__mro__))
        assert found(dotted).__annotations__["return"] in {each.__name__ for each in plan.__mro__}


def reference(family: str) -> mrdsl.Spec:
    folder = ROOT / "models" / family
    small = folder / "small.mrspec"
    return mrdsl.load(small if small.exists() else folder / "reference.mrspec")


def test_deadline_plans_are_built_from_the_slack() -> None:
    spec = reference("deadline")
    solved = mrdsl.solve(spec).plan_of(mrdsl.DeadlinePlan)
    tasks = tasks_of(spec)
    plan = plan_of_slack(tasks, network_of(tasks), solved.slack)
    assert plan.delay == pytest.approx(solved.delay)
    assert plan.latest_finish == pytest.approx(solved.latest_finish)


def test_bounds_plans_are_built_from_the_slots_of_a_job() -> None:
    from mrdsl.families.bounds.methods.formulas import estimates_of

    spec = reference("bounds")
    solved = mrdsl.solve(spec).plan_of(mrdsl.BoundsPlan)
    plan = plan_on(spec, estimates_of(spec.facts), solved.map_slots, solved.reduce_slots)
    for name, times in solved.completion.items():
        assert plan.completion[name] == pytest.approx(times, nan_ok=True)


def test_joint_plans_are_built_from_vms_and_demand() -> None:
    spec = reference("joint")
    solved = mrdsl.solve(spec).plan_of(mrdsl.JointPlan)
    work = workload(spec)
    vms = np.hstack([solved.classes.vms, solved.services.vms])
    demand = np.hstack([solved.classes.admitted, solved.services.rate])
    assert assemble(work, vms, demand, relax=False).total == pytest.approx(solved.total)
