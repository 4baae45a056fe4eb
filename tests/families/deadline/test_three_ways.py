"""`direct`, the tangents in a linear solver, and SCIP on the paper's own constraints agree on 200 random DAGs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.core.answer import Answer
from mrdsl.core.result import Limits
from mrdsl.families.deadline.models import run
from mrdsl.solving.arrays import linear_program, load_values
from mrdsl.solving.backends.highs import solve as highs
from mrdsl.solving.request import Request
from tests.families.deadline.random_dags import Tasks, critical, dags
from tests.families.deadline.specs import paths, spec_of

scip = pytest.importorskip("pyscipopt")


def in_process(model: Any, limits: Limits | None = None) -> Answer:
    """HiGHS on a Pyomo model, without a process of its own."""
    found = linear_program(model)
    assert found is not None
    program, names = found
    reply = highs(Request(program=program), lambda *_: None)
    assert reply.values is not None
    load_values(names.variables, reply.values)
    return Answer(reply.termination, reply.solution, reply.value, reply.bound)


def by_every_path(tasks: Tasks, allowed: float, weights: dict[str, float]) -> float:
    """The paper's problem as printed (and corrected): one constraint per path; SCIP proves the optimum."""
    model = scip.Model()
    model.hideOutput()
    unit = allowed / 1000.0
    slack = {name: model.addVar(lb=1e-4, ub=1000.0) for name in tasks}
    height = {name: model.addVar(lb=None, obj=weights[name]) for name in tasks}
    for name in tasks:
        model.addCons(height[name] <= scip.log(slack[name]))
    for path in paths(tasks):
        model.addCons(
            scip.quicksum(slack[name] for name in path) <= (allowed - sum(tasks[name][0] for name in path)) / unit
        )
    model.setMaximize()
    model.setParam("limits/gap", 1e-7)
    model.optimize()
    assert model.getStatus() in ("optimal", "gaplimit")
    return float(model.getObjVal()) + sum(weights.values()) * math.log(unit)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(dags(most=7), st.floats(1.05, 4.0), st.data())
def test_three_ways_agree(tasks: Tasks, factor: float, data: st.DataObject) -> None:
    weights = {name: data.draw(st.sampled_from([0.5, 1.0, 3.0])) for name in tasks}
    allowed = factor * max(critical(tasks), 1.0)
    spec = spec_of(tasks, allowed, weights=weights)
    direct = mrdsl.solve(spec, solver="direct").objective
    tangents = run(spec, False, Limits(), in_process)
    printed = by_every_path(tasks, allowed, weights)
    assert direct.value is not None
    assert direct.bound is not None
    assert tangents.value is not None
    assert tangents.bound is not None
    scale = max(abs(direct.value), sum(weights.values()))
    assert tangents.value == pytest.approx(direct.value, abs=3e-6 * scale)
    assert printed == pytest.approx(direct.value, abs=2e-5 * scale)
    assert direct.value <= tangents.bound + 1e-6 * scale
    assert tangents.value <= direct.bound + 1e-9 * scale


def test_no_bound_is_claimed_where_the_solver_proves_none() -> None:
    """The tangents still come as near; that they are the best is nobody's claim then."""
    spec = spec_of({"a": (10.0, ()), "b": (20.0, ("a",)), "c": (5.0, ("a",))}, 60.0)

    def without_bound(model: Any, limits: Limits | None = None) -> Answer:
        return replace(in_process(model, limits), bound=None)

    proven, found = run(spec, False, Limits(), in_process), run(spec, False, Limits(), without_bound)
    assert (found.bound, found.solution, found.termination) == (None, "feasible", "completed")
    assert (proven.solution, proven.termination) == ("optimal", "optimal")
    assert found.value == pytest.approx(proven.value, abs=1e-5)
