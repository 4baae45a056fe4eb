"""The product of slacks with any LP solver: the logarithm from above by its tangents, cut by cut, to a proven gap."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo

from mrdsl.contracts.subject_to import add_comparisons
from mrdsl.core.answer import Answer
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.families.deadline.goals import PRODUCT, goal_of, scale_of, value_of
from mrdsl.families.deadline.levels import Floats
from mrdsl.families.deadline.models.potentials import build, skeleton, slacks_in
from mrdsl.families.deadline.network import network_of
from mrdsl.families.deadline.plan import DeadlinePlan, kept, plan_of
from mrdsl.families.deadline.workload import tasks_of
from mrdsl.spec.spec import Spec

GAP = 1e-6
"""Proven relative to the value, unless the limits say otherwise."""
FIRST_TANGENTS = 6
ROUNDS = 60


def run(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Result:
    """Solves linear programs, each with tangents at the last one's slacks, until bound and plan meet.

    Every round's optimum is an upper bound, because no tangent cuts off a point below the logarithm, and its slacks are
    a partition whose product is a lower one. A max-min goal is linear by itself and takes one round.
    """
    if goal_of(spec) != PRODUCT:
        return _linear(spec, solve)
    return _Cuts(spec, limits, solve).run()


def _linear(spec: Spec, solve: Callable[..., Answer]) -> Result:
    model = build(spec)
    add_comparisons(spec, model)
    answer = solve(model)
    if answer.solution is SolutionStatus.NONE:
        return Result(answer.termination)
    tasks = tasks_of(spec)
    network = network_of(tasks)
    plan = plan_of(tasks, network, kept(network, slacks_in(model)))
    return Result(
        answer.termination,
        answer.solution,
        plan,
        value_of(goal_of(spec), tasks, network, plan.delay - network.duration),
        answer.bound,
    )


class _Cuts:
    """The linear program with its tangents, and the best partition and bound so far."""

    def __init__(self, spec: Spec, limits: Limits, solve: Callable[..., Answer]) -> None:
        self.limits, self.solve = limits, solve
        self.gap = GAP if limits.gap is None else limits.gap
        self.ends = time.monotonic() + limits.time if limits.time is not None else None
        self.tasks = tasks_of(spec)
        self.network = network_of(self.tasks)
        self.weight = self.network.weight
        self.model = _master(spec, self)
        self.plan: DeadlinePlan | None = None
        self.value, self.bound = -np.inf, np.inf
        self.ceiling = np.inf
        """The programs' values: where more tangents are wanted, and no claim."""

    def run(self) -> Result:
        for _ in range(ROUNDS):
            left = None if self.ends is None else max(self.ends - time.monotonic(), 0.0)
            if left == 0.0:
                return self._outcome(Termination.TIME_LIMIT)
            answer = self.solve(self.model, replace(self.limits, time=left, gap=None))
            if answer.solution is SolutionStatus.NONE or answer.termination is not Termination.OPTIMAL:
                return self._outcome(answer.termination)
            slack = self._note(answer)
            if self._closed():
                return self._outcome(Termination.OPTIMAL)
            if self._within_gap(self.ceiling):
                break
            if not self._cut(slack):
                break
        return self._outcome(Termination.COMPLETED)

    def _note(self, answer: Answer) -> Floats:
        """Takes a round's bound, where the solver proved one, and its partition where they are better."""
        slack = slacks_in(self.model)
        if answer.bound is not None:
            self.bound = min(self.bound, answer.bound)
        if answer.value is not None:
            self.ceiling = min(self.ceiling, answer.value)
        keeps = kept(self.network, slack)
        with np.errstate(divide="ignore"):
            value = float(self.weight @ np.log(keeps))
        if value > self.value:
            self.value, self.plan = value, plan_of(self.tasks, self.network, keeps)
        return slack

    def _cut(self, slack: Floats) -> bool:
        """Adds a tangent wherever the logarithm lies noticeably below those there are; whether any was needed."""
        unit = self.model.unit
        height = np.array([pyo.value(v) for v in self.model.height.values()])
        over = self.weight * (height - np.log(slack / unit))
        total = max(min(self.bound, self.ceiling) - self.value, 0.0)
        wanted = np.flatnonzero(over > 0.01 * total / len(over))
        for i in wanted.tolist():
            _tangent(self.model, i, float(slack[i]) / unit)
        return len(wanted) > 0

    def _outcome(self, termination: Termination) -> Result:
        if self.plan is None:
            return Result(termination, bound=self.bound if np.isfinite(self.bound) else None)
        bound = float(self.bound) if np.isfinite(self.bound) else None
        status = SolutionStatus.OPTIMAL if self._closed() else SolutionStatus.FEASIBLE
        return Result(termination, status, self.plan, self.value, bound)

    def _closed(self) -> bool:
        return self._within_gap(self.bound)

    def _within_gap(self, above: float) -> bool:
        return bool(above - self.value <= self.gap * scale_of(self.value, float(self.weight.sum())))


def _master(spec: Spec, cuts: _Cuts) -> pyo.ConcreteModel:
    model = skeleton(spec, cuts.tasks, cuts.network)
    model.height = pyo.Var(range(len(cuts.tasks)))
    model.tangents = pyo.ConstraintList()
    for i, slack in model.slack.items():
        for at in np.geomspace(slack.lb, slack.ub, FIRST_TANGENTS).tolist():
            _tangent(model, i, at)
    constant = float(cuts.weight.sum() * np.log(model.unit))
    model.goal = pyo.Objective(
        expr=pyo.quicksum(float(w) * model.height[i] for i, w in enumerate(cuts.weight)) + constant, sense=pyo.maximize
    )
    add_comparisons(spec, model)
    return model


def _tangent(model: pyo.ConcreteModel, i: int, at: float) -> None:
    model.tangents.add(model.height[i] <= float(np.log(at)) - 1.0 + model.slack[i] / at)
