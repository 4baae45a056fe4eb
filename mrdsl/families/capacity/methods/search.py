"""State of a search for a plan that meets its service levels in simulation: requirements, trials and observations."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf, sqrt

import numpy as np

from mrdsl.core.rounding import ROUNDING, ceiling
from mrdsl.families.capacity.constraints import Promise, class_bounds_of, promises_of, without_promises
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.instance import Instance, instance_of
from mrdsl.families.capacity.methods.calibration import Cell, Fit, Placement, Point, Trials, quantile, seed_of
from mrdsl.families.capacity.plan import CapacityPlan, plan_of
from mrdsl.families.capacity.plan_parts import Evidence
from mrdsl.families.capacity.simulate import held_of
from mrdsl.formulas import estimates, mapreduce
from mrdsl.simulation.verdicts import confidence_of_each, jobs_to_show
from mrdsl.spec.blocks import GUARANTEES, Simulation
from mrdsl.spec.columns import names_of
from mrdsl.spec.expression import Constant, PlanQuantity
from mrdsl.spec.spec import Constraint, Spec

MISSES = 91.25
"""Jobs too late that a full evaluation expects of a promise: 95 % to within a point takes 1,825 independent jobs."""
LEAST_JOBS = 1825
ALIKE = 3.0
"""As how many jobs that hang together one independent job is taken to count, when runs are planned."""
FEWEST_RUNS = 10
"""Fewest runs from which the variance of runs is estimated."""
CLOSE = 8
"""As many times the usual runs a full evaluation takes at most where few more jobs are in time than promised."""
MOST_TASKS = 2e7
"""Most tasks of a class in a full evaluation, unless more runs are requested."""
POWER = 1.28
"""Standard errors that the search adds to the required level: nine looks in ten then confirm it."""


@dataclass(frozen=True)
class Wanted:
    """Service levels of a class, and the range of its slots: one job needs ``least`` and can use ``most`` of them.

    ``limit`` is the deadline that formulas plan for. ``levels`` are the targets of the search, above the required
    levels. ``expected`` jobs must be concurrent; a run then has ``jobs`` jobs, of ``tasks`` tasks each.
    """

    index: int
    name: str
    promises: tuple[Promise, ...]
    levels: tuple[float, ...]
    limit: float
    per_vm: tuple[int, int]
    most: tuple[int, int]
    beside: bool
    expected: int
    jobs: int
    tasks: int
    least: int = 1

    @property
    def share_of_reduces(self) -> bool:
        """Return True if it has slots of two kinds."""
        return self.most[1] > 0

    def within(self, cell: Cell) -> Cell:
        """Return the cell with the least slots of each kind that its jobs use, and no more than jobs can use."""
        slots = [
            min(max(count, least * cell.jobs), most * cell.jobs)
            for count, least, most in zip((cell.map, cell.reduce), (self.least, 1), self.most, strict=True)
        ]
        return Cell(cell.jobs, slots[0], slots[1])

    def full(self, jobs: int) -> Cell:
        """Return a slot for every concurrent task."""
        return Cell(jobs, self.most[0] * jobs, self.most[1] * jobs)


class OutOfTimeError(Exception):
    """The time that a search may take has passed."""


@dataclass
class Search:
    """A search, from step to step; ``points``, ``priors`` and ``fits`` are by class.

    ``runs`` are those of a full evaluation. ``most_runs`` is the limit for a placement that is close to its service
    levels. ``look_runs`` is the expected number for one class on a placement. ``shown`` is the evidence of the safe
    plan: empty if it does not show the service levels, None without runs. ``refuted`` means that it shows that the plan
    misses one. ``looked`` counts the full evaluations. ``until`` is the end by ``time.monotonic`` [s]; ``stopped``
    means that the search ended there.
    """

    spec: Spec
    seed: int
    confidence: float
    looks: int
    wanted: tuple[Wanted, ...] = ()
    safe: CapacityPlan | None = None
    formula: str | None = None
    trials: Trials | None = None
    points: dict[int, list[Point]] = field(default_factory=dict)
    priors: dict[int, Fit] = field(default_factory=dict)
    fits: dict[int, Fit] = field(default_factory=dict)
    runs: int = FEWEST_RUNS
    most_runs: int = FEWEST_RUNS
    look_runs: dict[tuple[int, Cell], int] = field(default_factory=dict)
    made: int = 0
    shown: tuple[Evidence, ...] | None = None
    refuted: bool = False
    looked: int = 0
    until: float | None = None
    stopped: bool = False

    @cached_property
    def instance(self) -> Instance:
        """The spec's own arrays."""
        return instance_of(without_promises(self.spec))

    @property
    def confidence_each(self) -> float:
        """Confidence of one service level at one look, so that all of them at all looks have the search's."""
        return confidence_of_each(self.confidence, self.looks * sum(len(each.promises) for each in self.wanted))

    def placement(self, plan: CapacityPlan) -> Placement:
        """Return the cells of a plan."""
        slots = ceiling(plan.map_slots), ceiling(plan.reduce_slots)
        columns = (each.astype(int).tolist() for each in (np.rint(plan.admitted), *slots))
        return tuple(Cell(*cell) for cell in zip(*columns, strict=True))

    def new_trials(self, plan: CapacityPlan, *place: object) -> Trials:
        """Return trials with a separate seed."""
        facts: CapacityFacts = self.spec.facts
        rules = facts.simulation or Simulation()
        return Trials(held_of(self.spec, plan), rules, seed_of(self.seed, *place), self.go_on)

    def time_of(self, placement: Placement, want: Wanted, runs: int, trials: Trials | None = None) -> float:
        """Return when the target shares end, scaled to the limit of formulas [s]; infinite if an estimate is not met.

        Raises OutOfTimeError.
        """
        self.go_on()
        if want.beside and not self.estimate_keeps(want, placement[want.index]):
            return inf
        trials = trials or self.trials
        assert trials is not None
        times = trials.times(placement, want.index, runs)
        return max(
            quantile(times, level) * want.limit / promise.limit
            for promise, level in zip(want.promises, want.levels, strict=True)
        )

    def estimate_keeps(self, want: Wanted, cell: Cell) -> bool:
        """Return True if the estimate that a class also requires meets its deadline on these slots."""
        work = self.instance.exact.at(slice(want.index, want.index + 1))
        columns = (np.array([float(each)]) for each in (cell.jobs, cell.map, cell.reduce))
        return bool(mapreduce.completion(work, *columns)[0] <= want.limit * (1.0 + ROUNDING))

    def go_on(self) -> None:
        """Raise OutOfTimeError if the time is over."""
        if self.until is not None and time.monotonic() > self.until:
            self.stopped = True
            raise OutOfTimeError

    @contextmanager
    def half_of_the_time(self) -> Iterator[None]:
        """Limit the block to half of the remaining time."""
        until = self.until
        if until is not None:
            self.until = (time.monotonic() + until) / 2.0
        try:
            yield
        finally:
            self.until, self.stopped = until, until is not None and time.monotonic() > until

    def note(self, want: Wanted, cell: Cell, seen: float) -> None:
        """Store an observation."""
        self.points.setdefault(want.index, []).append(Point(cell, seen))

    def rebuilt(self, plan: CapacityPlan, placement: Placement) -> CapacityPlan:
        """Return the plan of coefficients as a plan of the spec, with whole slots of each class."""
        slots = np.array([ceiling(plan.map_slots), ceiling(plan.reduce_slots)])
        for index in self.fits:
            slots[:, index] = placement[index].map, placement[index].reduce
        bought = plan.on_demand, plan.reserved
        return plan_of(self.instance, bought, plan.admitted, relax=False, slots=(slots[0], slots[1]))


def wanted_of(spec: Spec, instance: Instance) -> tuple[Wanted, ...]:
    """Return the requirements of every class with a service level; :func:`sized` adds the targets."""
    facts: CapacityFacts = spec.facts
    rules = facts.simulation or Simulation()
    by_class: dict[int, list[Promise]] = {}
    for promise in promises_of(spec):
        by_class.setdefault(promise.index, []).append(promise)
    limits = instance.limits
    most = class_bounds_of(spec).tighten(instance.names, "admitted", instance.expected, at_most=True)
    return tuple(
        Wanted(
            index,
            mine[0].name,
            tuple(mine),
            tuple(promise.level for promise in mine),
            float(instance.completion_limit[index]),
            (int(instance.map_per_vm[index]), int(instance.reduce_per_vm[index])),
            (int(limits.map_most[index]), int(limits.reduce_most[index])),
            any(promise.beside for promise in mine),
            int(instance.expected[index]),
            max(1, int(instance.expected[index] * rules.jobs_per_user * (1.0 - rules.warm_up))),
            tasks_of(facts.classes[index]),
            max(1, int(limits.map_least[index])),
        )
        for index, mine in by_class.items()
        if most[index] >= 1.0
    )


def may_be_rejected(search: Search, index: int) -> bool:
    """Return True if a plan may reject all jobs of a class."""
    bounds, instance = class_bounds_of(search.spec), search.instance
    return float(bounds.tighten(instance.names, "admitted", instance.low, at_most=False)[index]) <= 0.0


def without_jobs(spec: Spec, indices: Iterable[int]) -> Spec:
    """Return the spec with constraints that no jobs of some classes are admitted."""
    names = names_of(spec.facts.classes)
    none = (Constraint(PlanQuantity("admitted", names[index]), "<=", Constant(0.0)) for index in sorted(indices))
    return replace(spec, constraints=(*spec.constraints, *none))


def tasks_of(node: JobClass) -> int:
    """Return the tasks of one job."""
    if node.stages:
        return sum(stage.width for stage in node.stages)
    return sum(phase.tasks for phase in (node.map, node.reduce) if phase is not None)


def runs_of(wanted: Sequence[Wanted], confidence: float) -> int:
    """Return the runs of a full evaluation: enough jobs for every service level, unless they have too many tasks."""
    return max(_runs_of(want, promise.level, confidence) for want in wanted for promise in want.promises)


def _runs_of(want: Wanted, level: float, confidence: float) -> int:
    runs = ceil(ALIKE * jobs_needed(level, confidence) / want.jobs)
    return max(FEWEST_RUNS, runs_to_show(want, level, confidence), min(runs, affordable_runs(want)))


def most_runs_of(wanted: Sequence[Wanted], runs: int) -> int:
    """Return the most runs of a full evaluation that usually has ``runs``: more runs show smaller differences."""
    return max(runs, min(CLOSE * runs, *(affordable_runs(want) for want in wanted)))


def runs_to_show(want: Wanted, level: float, confidence: float) -> int:
    """Return the fewest runs that can show a share, if all jobs are independent and on time."""
    return ceil(jobs_to_show(level, confidence) / want.jobs)


def affordable_runs(want: Wanted) -> int:
    """As many runs as :data:`MOST_TASKS` allow for."""
    return int(MOST_TASKS / (want.jobs * want.tasks))


def sized(want: Wanted, runs: int, confidence: float) -> Wanted:
    """Return the class with targets at which a look with ``runs`` runs shows its service levels nine times in ten."""
    from scipy.special import ndtri

    errors, independent = float(ndtri(confidence)) + POWER, runs * want.jobs / ALIKE
    return replace(want, levels=tuple(aim(promise.level, independent, errors) for promise in want.promises))


def jobs_needed(level: float, confidence: float) -> int:
    """Return the number of independent jobs that a full evaluation of a service level needs."""
    return max(LEAST_JOBS, 2 * jobs_to_show(level, confidence), int(MISSES / (1.0 - level)))


def aim(level: float, jobs: float, errors: float) -> float:
    """Return the share t above the level: t - level = errors sqrt(t (1 - t) / n), with n jobs."""
    scale = errors * errors / jobs
    half = (level + scale / 2.0) / (1.0 + scale)
    return half + sqrt(max(0.0, half * half - level * level / (1.0 + scale)))


def safest(search: Search, want: Wanted) -> str | None:
    """Return the estimate for a class's start: the upper one if some slots meet it, otherwise the next one."""
    instance = search.instance
    for name in reversed(GUARANTEES):
        if bool(estimates.kept(instance.estimates[name], instance.completion_limit, instance.limits)[want.index]):
            return name
    return None


def with_guarantees(spec: Spec, words: Mapping[int, str]) -> Spec:
    """Return the spec in which estimates replace the service levels of classes."""
    plain = without_promises(spec)
    facts: CapacityFacts = spec.facts
    nodes = [
        replace(node, guarantee=words[index]) if index in words else node for index, node in enumerate(facts.classes)
    ]
    return replace(plain, facts=replace(facts, classes=tuple(nodes)))
