"""A, B and C of equation (4) fitted to simulated times, and the plan by P2 that follows from them.

The fit is local: a point has more weight the closer its slots are to the current ones. If points do not separate
coefficients, the closed forms, scaled to the observed times, fill in.

Placements of classes tried in simulation: the same jobs run on every placement, and no run is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, log

import numpy as np

from mrdsl.contracts.subject_to import add_comparisons
from mrdsl.core.result import Limits, SolutionStatus
from mrdsl.core.rounding import ceiling
from mrdsl.families.capacity.constraints import serves, without_promises
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.simulation.engine.scenario import Scenario, Seen, load_of, run_once
from mrdsl.simulation.planned import Held, groups_of, scenario_of
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.settings import Settings
from mrdsl.spec.blocks import Coefficients, Simulation, Slots
from mrdsl.spec.expression import Constant, PlanQuantity
from mrdsl.spec.schema import PERCENTILES
from mrdsl.spec.spec import Constraint, Spec

Times = Sequence[Sequence[float]]
"""The completion times of a class's jobs [s], run by run."""


@dataclass(frozen=True)
class Cell:
    """Placement of one class: concurrent jobs and the whole map (or stage) and reduce slots that they share."""

    jobs: int
    map: int
    reduce: int

    def vms(self, per_vm: tuple[int, int]) -> float:
        """Return the VMs that the slots take, as a fraction."""
        return self.map / max(1, per_vm[0]) + self.reduce / max(1, per_vm[1])


Placement = tuple[Cell, ...]
"""A cell for every class, in the order of the spec."""


def seed_of(seed: int, *place: object) -> int:
    """Return a separate seed for one purpose of a search."""
    return int(stream(seed, "calibrated", *place).randint(0, 2**31 - 1))


@dataclass
class Trials:
    """Runs of placements with one seed.

    ``held`` describes how each class runs; ``made`` counts the runs of classes. ``go_on`` is called before each run and
    can raise. With ``as_packed``, slots are on VMs as in the plan.
    """

    held: Sequence[Held]
    rules: Simulation
    seed: int
    go_on: Callable[[], None] = lambda: None
    as_packed: bool = False
    made: int = 0
    seen: dict[tuple[object, ...], Seen] = field(default_factory=dict)

    def times(self, placement: Placement, index: int, runs: int) -> Times:
        """Return the times of a class's jobs in ``runs`` runs [s]; infinite if its slots are overloaded."""
        group = self._group(placement, index)
        scenario = scenario_of(group, self.rules, Settings())
        place = [each.name for each in group].index(self.held[index].name)
        if self.overload(placement, index) >= 1.0:
            return [(float("inf"),)] * runs
        key = tuple((each.name, each.users, each.slots) for each in group)
        return [self._run(key, scenario, run).times[place] for run in range(runs)]

    def overload(self, placement: Placement, index: int) -> float:
        """Return the work of random arrivals in excess of the capacity of a class's slots; see :func:`load_of`."""
        return max(load_of(scenario_of(self._group(placement, index), self.rules, Settings())))

    def _run(self, key: tuple[object, ...], scenario: Scenario, run: int) -> Seen:
        known = (*key, run)
        if known not in self.seen:
            self.go_on()
            self.made += 1
            self.seen[known] = run_once(scenario, self.seed, run)
        return self.seen[known]

    def _group(self, placement: Placement, index: int) -> tuple[Held, ...]:
        placed = [
            replace(
                each,
                users=cell.jobs,
                slots=(cell.map, cell.reduce),
                machines=each.machines if self.as_packed else (),
            )
            for each, cell in zip(self.held, placement, strict=True)
        ]
        name = self.held[index].name
        return next(group for group in groups_of(placed, self.rules) if any(each.name == name for each in group))


def quantile(times: Times, level: float) -> float:
    """Return the time within which the share ``level`` of all jobs ends: the least of which no fewer are seen."""
    values = np.sort(np.concatenate([np.asarray(run, dtype=np.float64) for run in times]))
    rank = int(ceiling(level * len(values)))
    return float(values[min(max(rank, 1), len(values)) - 1])


NEAR = 0.35
"""At this distance, in logarithms of slots per job, a point counts e times less."""
PRIOR = 0.05
"""Weight of the closed forms relative to a point."""
LEAST_SHARE = 0.02
"""A and B are at least this share of the closed form's: more slots never make jobs slower."""
LEAST_LEFT = 0.05
"""C leaves at least this share of the deadline to the phases."""


@dataclass(frozen=True)
class Fit:
    """``T = A h/s_M + B h/s_R + C`` for a class, in seconds."""

    a: float
    b: float
    c: float

    def time(self, cell: Cell) -> float:
        """By the fit, on the slots of a cell."""
        parts = ((self.a, cell.map), (self.b, cell.reduce))
        return sum(work * cell.jobs / slots if slots else inf for work, slots in parts if work > 0.0) + self.c


@dataclass(frozen=True)
class Point:
    """An observation of a class on some slots: the time by which the required share of its jobs ends [s]."""

    cell: Cell
    time: float


def fitted(prior: Fit, points: Sequence[Point], limit: float) -> Fit:
    """Return the fit near the last point with a finite time, scaled to it first; without such a point, the prior."""
    known = [point for point in points if point.time < inf]
    if not known:
        return prior
    centre = known[-1]
    ratio = centre.time / prior.time(centre.cell)
    scaled = np.array([prior.a, prior.b, prior.c]) * ratio
    rows, wanted = [], []
    for point in known:
        weight = exp(-0.5 * (_distance(point.cell, centre.cell) / NEAR) ** 2)
        jobs, cell = point.cell.jobs, point.cell
        row = (jobs / cell.map if cell.map else 0.0, jobs / cell.reduce if cell.reduce else 0.0, 1.0)
        rows.append([weight * each / point.time for each in row])
        wanted.append(weight)
    sizes = np.array([max(abs(each), LEAST_SHARE) for each in (*scaled[:2], limit)])
    for place in range(3):
        row3 = np.zeros(3)
        row3[place] = PRIOR / sizes[place]
        rows.append(row3.tolist())
        wanted.append(PRIOR * scaled[place] / sizes[place])
    found = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    a = max(float(found[0]), LEAST_SHARE * float(scaled[0]))
    b = max(float(found[1]), LEAST_SHARE * float(scaled[1])) if prior.b > 0.0 else 0.0
    c = centre.time - Fit(a, b, 0.0).time(centre.cell)
    return _leaving(Fit(a, b, c), centre, limit)


def _leaving(fit: Fit, centre: Point, limit: float) -> Fit:
    """Return the fit through the centre, with a C that leaves time to the phases."""
    most = (1.0 - LEAST_LEFT) * limit
    if fit.c <= most:
        return fit
    phases = centre.time - fit.c
    grown = max(centre.time - most, LEAST_LEFT * limit) / phases if phases > 0.0 else 1.0
    return Fit(fit.a * grown, fit.b * grown, most)


def _distance(one: Cell, other: Cell) -> float:
    def per_job(cell: Cell) -> tuple[float, ...]:
        return tuple(slots / cell.jobs for slots in (cell.map, cell.reduce) if slots)

    return max((abs(log(x / y)) for x, y in zip(per_job(one), per_job(other), strict=True)), default=0.0)


def choosing(cell: Cell, per_vm: tuple[int, int], limit: float, constant: float) -> Fit:
    """Return the A and B with which Theorem 4.1 takes exactly the slots of a cell, given C.

    With x and y slots of one job and E = D - C, the theorem's slots solve A/x + B/y = E and A c_M/x^2 = B c_R/y^2.
    These two equations give A and B.
    """
    x, y = cell.map / cell.jobs, cell.reduce / cell.jobs
    vms = x / per_vm[0] + (y / per_vm[1] if y else 0.0)
    left = limit - min(constant, (1.0 - LEAST_LEFT) * limit)
    b = left * y * y / per_vm[1] / vms if y else 0.0
    return Fit(left * x * x / per_vm[0] / vms, b, limit - left)


def planned(
    spec: Spec, fits: Mapping[int, Fit], pinned: Mapping[int, int], relax: bool, limits: Limits
) -> CapacityPlan | None:
    """Return the plan by P2 with given coefficients and ``pinned`` jobs of some classes; None if there is none."""
    changed = _with_fits(spec, fits, pinned)
    if serves(changed):
        result = direct(changed, relax)
        plan = None if result is None else result.plan
        assert plan is None or isinstance(plan, CapacityPlan)
        return plan
    from mrdsl.families.capacity.models.linear import build, decode
    from mrdsl.solving.checked_answer import solve_model

    model = build(changed, relax)
    add_comparisons(changed, model)
    answer = solve_model(model, limits=limits)
    return None if answer.solution is SolutionStatus.NONE else decode(changed, model, relax)


def at_plan(spec: Spec, plan: CapacityPlan) -> Spec:
    """Return the spec for which a plan is one of P2.

    It has the plan's coefficients, or the upper estimate if the plan has none.
    """
    known = {} if plan.calibration is None else plan.calibration.coefficients
    fits = {
        index: Fit(known[name].A, known[name].B, known[name].C)
        for index, name in enumerate(plan.names)
        if name in known
    }
    return _with_fits(spec, fits, {})


def _with_fits(spec: Spec, fits: Mapping[int, Fit], pinned: Mapping[int, int]) -> Spec:
    facts: CapacityFacts = spec.facts
    classes = tuple(
        _given_by(node, fits[index])
        if index in fits
        else replace(node, guarantee="upper")
        if node.guarantee in PERCENTILES
        else node
        for index, node in enumerate(facts.classes)
    )
    fixed = tuple(
        Constraint(PlanQuantity("admitted", classes[index].name), "=", Constant(float(jobs)))
        for index, jobs in pinned.items()
    )
    plain = without_promises(spec)
    return replace(plain, facts=replace(facts, classes=classes), constraints=(*plain.constraints, *fixed))


def _given_by(node: JobClass, fit: Fit) -> JobClass:
    """Return a class with the coefficients of a fit; its stages have the tasks of its map slots."""
    slots = node.slots
    if slots is not None and slots.task is not None:
        slots = Slots(map=slots.task, reduce=slots.task)
    return replace(
        node,
        map=None,
        shuffle=None,
        reduce=None,
        stages=(),
        coefficients=Coefficients(A=fit.a, B=fit.b, C=fit.c),
        slots=slots,
        guarantee=None,
    )
