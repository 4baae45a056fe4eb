"""Models of the delays of tasks: start times as potentials, and tangents of the logarithm."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mrdsl.contracts.subject_to import add_comparisons
from mrdsl.core.answer import Answer
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.core.rounding import ROUNDING
from mrdsl.families.deadline.network import PRODUCT, Floats, Network, goal_of, network_of, scale_of, shares, value_of
from mrdsl.families.deadline.plan import DeadlinePlan, kept, plan_from, plan_of
from mrdsl.families.deadline.workload import Tasks, tasks_of
from mrdsl.spec.spec import Spec


def build(spec: Spec, relax: bool = False, in_seconds: bool = False) -> pyo.ConcreteModel:
    """Return the exact model of the spec's objective: concave and nonlinear for ``slack``, otherwise a linear program.

    Paper 004, II.B: maximize prod (D_i - T_i), as the sum of w_i ln(D_i - T_i), with D_i = finish_i - start_i, finish_j
    <= start_k whenever k waits for j, and every time between 0 and D'. The model has no integer variables, so ``relax``
    has no effect. For ``in_seconds``, see :func:`skeleton`.
    """
    tasks = tasks_of(spec)
    network = network_of(tasks)
    model = skeleton(spec, tasks, network, in_seconds)
    keys = list(model.slack)
    if goal_of(spec) == PRODUCT:
        model.goal = pyo.Objective(
            expr=pyo.quicksum(float(w) * pyo.log(model.slack[keys[i]]) for i, w in enumerate(network.weight))
            + float(network.weight.sum()) * float(np.log(model.unit)),
            sense=pyo.maximize,
        )
        return model
    share = shares(goal_of(spec), tasks)
    model.least = pyo.Var(bounds=(0.0, None))
    scale = float(share.max())
    shared = {keys[i]: float(share[i]) / scale for i in range(len(tasks)) if share[i] > 0}
    model.shared = pyo.Constraint(list(shared), rule=lambda m, key: m.slack[key] >= shared[key] * m.least)
    model.goal = pyo.Objective(expr=model.unit / scale * model.least, sense=pyo.maximize)
    return model


def build_in_seconds(spec: Spec, relax: bool = False) -> pyo.ConcreteModel:
    """Build the model for people who change it: times in seconds, slacks by the tasks' names."""
    return build(spec, relax, in_seconds=True)


def skeleton(spec: Spec, tasks: Tasks, network: Network, in_seconds: bool = False) -> pyo.ConcreteModel:
    """Build times, slacks and the order of the tasks; times are counted in ``model.unit`` seconds.

    The unit makes the tasks' slacks about 100, so that a solver's absolute tolerance is relative to them. Tasks and
    events are numbered, which is quick. ``in_seconds`` is for models that people change: times are in seconds, slacks
    have the tasks' names, and times those of events such as ``("start", "sort")``.
    """
    low, high = slack_bounds(network, goal_of(spec), in_seconds or bool(spec.constraints))
    unit = 1.0 if in_seconds else _unit(network)
    keys: list[Any] = list(tasks.names) if in_seconds else list(range(len(tasks)))
    events: list[Any] = event_names(tasks) if in_seconds else list(range(network.events))
    model = pyo.ConcreteModel()
    model.unit = unit
    deadlines = network.deadlines / unit
    model.time = pyo.Var(events, bounds=(0.0, float(deadlines.max())))
    time = list(model.time.values())
    for event, given in zip(time, (0.0, *deadlines.tolist()), strict=False):
        event.fix(given)
    bounds = dict(zip(keys, zip((low / unit).tolist(), (high / unit).tolist(), strict=True), strict=True))
    model.slack = pyo.Var(keys, bounds=lambda _, key: bounds[key])
    lengths = (network.duration / unit).tolist()
    ends = dict(zip(keys, zip(network.tail.tolist(), network.head.tolist(), lengths, strict=True), strict=True))
    model.runs = pyo.Constraint(
        keys, rule=lambda m, key: m.slack[key] + ends[key][2] <= time[ends[key][1]] - time[ends[key][0]]
    )
    order = list(zip(network.before.tolist(), network.later.tolist(), strict=True))
    model.waits = pyo.Constraint(range(len(order)), rule=lambda _, a: _after(time, *order[a], network.fixed))
    model.plan_quantities = _quantities(tasks, model)
    return model


def event_names(tasks: Tasks) -> list[tuple[str, str]]:
    """Return the events of :func:`mrdsl.families.deadline.network.network_of`, in their order."""
    return [
        ("submission", ""),
        *(("deadline", name) for name in tasks.dag_names),
        *(("start", name) for name in tasks.names),
        *(("finish", name) for name in tasks.names),
        *(("group", str(number)) for number in range(len(tasks.groups))),
    ]


def _after(time: list[Any], before: int, later: int, fixed: int) -> Any:
    if before < fixed and later < fixed:
        return pyo.Constraint.Skip
    return time[before] <= time[later]


def _quantities(tasks: Tasks, model: Any) -> dict[tuple[str, str], Any]:
    offered = {}
    slack = list(model.slack.values())
    for name, i in tasks.members.items():
        offered["slack", name] = model.unit * slack[i]
        offered["delay", name] = model.unit * slack[i] + tasks.durations[i]
    return offered


def decode(spec: Spec, model: Any, relax: bool = False) -> DeadlinePlan:
    """Return the plan of the slacks that a solver left in the model."""
    return plan_from(spec, slacks_in(model))


def slacks_in(model: Any) -> Floats:
    """Return the slacks in the model, in seconds."""
    return np.array([pyo.value(slack) for slack in model.slack.values()], dtype=np.float64) * float(model.unit)


def _unit(network: Network) -> float:
    """Return a hundredth of the slack per task along a path, in seconds."""
    spare = network.deadlines - network.earliest(network.duration)[1 : network.fixed]
    longest = network.earliest(np.ones(len(network.tail)))[1 : network.fixed]
    spare = np.where(spare > ROUNDING * network.deadlines, spare, 0.0)
    typical = float((spare / longest).max()) or float(network.deadlines.max()) / 100.0
    return typical / 100.0


def slack_bounds(network: Network, goal: str, constrained: bool) -> tuple[Floats, Floats]:
    """Return the least slack of each task in any optimal partition, and the most in any partition [s].

    Above: the deadline less the longest path of durations through the task. Below, for the product of the slacks: the
    price of a task's time is w_i / x_i, at most the price F of its DAG's whole delay. F (D' - critical path) is at most
    W, the sum of all weights, because F D' = W + sum w_i T_i / x_i. So x_i >= w_i (D' - critical path) / W. Other
    constraints void that argument and leave a billionth of the upper bound. The other objectives have 0.
    """
    high = (
        network.latest(network.duration)[network.head]
        - network.earliest(network.duration)[network.tail]
        - network.duration
    )
    if goal != PRODUCT:
        return np.zeros(len(high)), np.maximum(high, 0.0)
    if constrained:
        return high * ROUNDING, high
    spare = (network.deadlines - network.earliest(network.duration)[1 : network.fixed])[network.dag]
    total = np.bincount(network.dag, weights=network.weight, minlength=len(network.deadlines))[network.dag]
    return network.weight * spare / total, high


GAP = 1e-6
"""Proven relative to the value, unless the limits say otherwise."""
FIRST_TANGENTS = 6
ROUNDS = 60


def run(spec: Spec, relax: bool, limits: Limits, solve: Callable[..., Answer]) -> Result:
    """Solve linear programs, each with tangents at the last one's slacks, until bound and plan meet.

    Every round's optimum is an upper bound, because no tangent cuts off a point below the logarithm. Its slacks are a
    partition whose product is a lower bound. A max-min objective is linear and takes one round.
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
        """Store a round's bound, if the solver proved one, and its partition, if they are better."""
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
        """Add a tangent wherever the logarithm lies noticeably below those there are; whether any was needed."""
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
