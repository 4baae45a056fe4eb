"""The optimum of a drawn spec by an integer program of its own, for HiGHS.

Its columns are pairs of slots that a job may hold, and contents of VMs to which nothing can be added.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import highspy
import numpy as np

from tests.families.capacity.oracle.jobs import Job, Losses, fewest, job_on, pairs
from tests.families.capacity.oracle.structure import Drawn, JobClass, Row, Vm

MOST_CONTENTS = 4_000
MOST_SPARE = 300.0
"""Slots, or VMs, that a job may hold beyond the fewest if its tasks are not known: more than any part on spot takes."""
Lane = tuple[int, bool]
"""A type by its place, and if its VMs are on spot."""


class TooLargeError(Exception):
    """A spec has more contents of VMs than this program tries."""


class Program:
    """Columns and rows, as HiGHS takes them."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self.bounds: list[tuple[float, float]] = []
        self.whole: list[bool] = []
        self.rows: list[tuple[float, float, dict[int, float]]] = []
        self.constant = 0.0

    def add(self, cost: float = 0.0, low: float = 0.0, high: float = inf, whole: bool = True) -> int:
        """Add a column."""
        self.costs.append(cost)
        self.bounds.append((low, high))
        self.whole.append(whole)
        return len(self.costs) - 1

    def row(self, low: float, high: float, *terms: tuple[float, int]) -> None:
        """Add a row: low <= sum of terms <= high."""
        total: dict[int, float] = {}
        for value, column in terms:
            total[column] = total.get(column, 0.0) + value
        self.rows.append((low, high, total))

    def solve(self, seconds: float) -> tuple[float, float]:
        """Minimise: the value of the best point and its bound; infinite if there is none."""
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        for name, value in (("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9), ("threads", 1)):
            solver.setOptionValue(name, value)
        solver.setOptionValue("time_limit", seconds)
        lower, upper = (np.array(side, dtype=float) for side in zip(*self.bounds, strict=True))
        none = np.array([], dtype=np.int32)
        solver.addCols(len(self.costs), np.array(self.costs), lower, upper, 0, none, none, np.array([]))
        for low, high, terms in self.rows:
            solver.addRow(low, high, len(terms), np.array(list(terms), dtype=np.int32), np.array(list(terms.values())))
        for column in np.flatnonzero(self.whole):
            solver.changeColIntegrality(int(column), highspy.HighsVarType.kInteger)
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return inf, inf
        info = solver.getInfo()
        bound = info.mip_dual_bound if any(self.whole) else info.objective_function_value
        found = info.primal_solution_status == 2
        return (info.objective_function_value + self.constant if found else inf), bound + self.constant


@dataclass
class Columns:
    """Where the columns of the VMs and the jobs are: purchases with their cost, jobs and VM time of each class."""

    bought: dict[int, list[tuple[int, str, float]]]
    jobs: dict[int, list[tuple[float, int]]]
    time: dict[tuple[int, bool], list[tuple[float, int]]]
    used: dict[Lane, list[tuple[float, int]]]


def optimum(drawn: Drawn, how: Losses, *, strict: bool = False, seconds: float = 20.0) -> tuple[float, float]:
    """Compute the least cost in USD and its proven bound; infinite if no plan exists.

    ``strict`` decides what the docs leave open so that plans cost more, else so that they cost less.
    """
    program = Program()
    columns = _purchases(drawn, program)
    for place, node in enumerate(drawn.classes):
        columns.jobs[place] = []
        program.constant += node.penalty * node.jobs[1]
        _places(drawn, program, columns, place, how)
    for lane in columns.used:
        if drawn.whole != "no":
            _contents(drawn, program, columns, lane, how)
        elif strict or not any(node.container for node in drawn.classes):
            _fractions(drawn, program, columns, lane, how)
        else:
            _sized(drawn, program, columns, lane, how)
    for place, node in enumerate(drawn.classes):
        _admission(program, columns, place, node)
    _vms(drawn, program, columns)
    for row in drawn.rows:
        _comparison(drawn, program, columns, row)
    return program.solve(seconds)


def _purchases(drawn: Drawn, program: Program) -> Columns:
    """Add the VMs that are bought: integer whatever else is whole."""
    columns = Columns({}, {}, {}, {})
    for place, vm in enumerate(drawn.vms):
        ways = [("on_demand", vm.on_demand, inf)]
        ways += [("reserved", 0.0 if c.paid else c.price, float(c.available)) for c in vm.contracts]
        ways += [("spot", vm.spot[0], inf)] if vm.spot else []
        columns.bought[place] = []
        for way, price, most in ways:
            cost = (price + vm.fee) * drawn.period
            columns.bought[place].append((program.add(cost, high=most), way, cost))
        columns.used[place, False] = []
        if vm.spot:
            columns.used[place, True] = []
    return columns


def _places(drawn: Drawn, program: Program, columns: Columns, place: int, how: Losses) -> None:
    """Keep the jobs of a class of ``types = one`` together."""
    node = drawn.classes[place]
    if node.types != "one":
        return
    taken = [program.add(high=1.0) for _ in drawn.vms]
    program.row(-inf, 1.0, *((1.0, column) for column in taken))
    columns.time[-1 - place, False] = [(0.0, column) for column in taken]


def runs(drawn: Drawn, node: JobClass, lane: Lane) -> tuple[Job, float] | None:
    """Describe a job of the class in the lane, and the interruptions a second there."""
    vm = drawn.vms[lane[0]]
    if lane[1] and node.spot == 0.0:
        return None
    job = job_on(drawn, node, vm)
    return None if job is None else (job, vm.spot[1] / 3600 if lane[1] and vm.spot else 0.0)


def modes(drawn: Drawn, how: Losses) -> tuple[tuple[tuple[int, int], ...], ...]:
    """List the pairs of every class in every lane: two readings with the same ones have the same optimum."""
    places = [(place, spot) for place, vm in enumerate(drawn.vms) for spot in ((False, True) if vm.spot else (False,))]
    found = [runs(drawn, node, lane) for node in drawn.classes for lane in places]
    return tuple(() if one is None else pairs(*one, drawn.shuffle_service, how) for one in found)


def _partly(node: JobClass) -> bool:
    return node.spot is not None and 0.0 < node.spot < 1.0


def _runs(
    drawn: Drawn, program: Program, columns: Columns, place: int, lane: Lane, column: int, time: float | None
) -> None:
    """Count the jobs of a new column, and their VM time where it is a multiple of the jobs."""
    node = drawn.classes[place]
    program.costs[column] -= node.penalty
    columns.jobs[place].append((1.0, column))
    if time is not None:
        columns.time.setdefault((place, lane[1]), []).append((time, column))
    if node.types == "one":
        program.row(-inf, 0.0, (1.0, column), (-float(node.jobs[1]), columns.time[-1 - place, False][lane[0]][1]))


def _contents(drawn: Drawn, program: Program, columns: Columns, lane: Lane, how: Losses) -> None:
    """Add jobs by pairs of slots, and VMs by what they hold."""
    held: dict[tuple[float, ...], list[tuple[float, int]]] = {}
    for place, node in enumerate(drawn.classes):
        found = runs(drawn, node, lane)
        if found is None:
            continue
        job, rate = found
        apart = (float(place),) if drawn.whole == "machines" else ()
        keys = [(*size, *apart) for size in job.sizes]
        modes = pairs(job, rate, drawn.shuffle_service, how)
        free: list[list[tuple[float, int]]] = [[], []]
        for pair in modes:
            column = program.add(high=node.jobs[1])
            time = sum(n / c for n, c in zip(pair, job.per_vm, strict=True) if n)
            _runs(drawn, program, columns, place, lane, column, time)
            for kind, (slots, key) in enumerate(zip(pair, keys, strict=True)):
                if slots:
                    held.setdefault(key, []).append((float(slots), column))
                free[kind].append((min(job.most[kind] - slots, MOST_SPARE), column))
        if modes and _partly(node) and not lane[1]:
            for kind, key in enumerate(keys):
                if job.most[kind]:
                    more = program.add()
                    held.setdefault(key, []).append((1.0, more))
                    columns.time[place, False].append((1 / job.per_vm[kind], more))
                    program.row(-inf, 0.0, (1.0, more), *((-n, column) for n, column in free[kind]))
    _packed(drawn, program, columns, lane, held)


def _packed(drawn: Drawn, program: Program, columns: Columns, lane: Lane, held: dict) -> None:
    """Add a column for each content of a VM to which nothing can be added."""
    groups = {key[2:] for key in held}
    holds: dict[tuple[float, ...], list[tuple[float, int]]] = {key: [] for key in held}
    for group in sorted(groups):
        keys = sorted(key for key in held if key[2:] == group)
        for content in contents(tuple(key[:2] for key in keys)):
            column = program.add()
            columns.used[lane].append((1.0, column))
            for key, count in zip(keys, content, strict=True):
                if count:
                    holds[key].append((float(count), column))
    for key, slots in held.items():
        program.row(0.0, inf, *holds[key], *((-n, column) for n, column in slots))


def contents(sizes: tuple[tuple[float, float], ...]) -> list[tuple[int, ...]]:
    """List what a VM can hold of pieces of these sizes, if nothing more fits."""
    found: list[tuple[int, ...]] = []

    def fits(free: tuple[float, float], size: tuple[float, float]) -> bool:
        return size[0] <= free[0] + 1e-9 and size[1] <= free[1] + 1e-9

    def fill(taken: tuple[int, ...], free: tuple[float, float]) -> None:
        if len(found) > MOST_CONTENTS:
            raise TooLargeError
        if len(taken) == len(sizes):
            if not any(fits(free, size) for size in sizes):
                found.append(taken)
            return
        size, count = sizes[len(taken)], 0
        while True:
            fill((*taken, count), free)
            if not fits(free, size):
                return
            count, free = count + 1, (free[0] - size[0], free[1] - size[1])

    fill((), (1.0, 1.0))
    return found


def _fractions(drawn: Drawn, program: Program, columns: Columns, lane: Lane, how: Losses) -> None:
    """Add jobs with slots in fractions; firm jobs may hold more than the least, up to a slot for each task."""
    takes: list[tuple[float, int]] = []
    for place, node in enumerate(drawn.classes):
        found = runs(drawn, node, lane)
        if found is None:
            continue
        job, rate = found
        least = fewest(job, rate, drawn.shuffle_service, how)
        if least is None:
            continue
        column = program.add(high=node.jobs[1])
        _runs(drawn, program, columns, place, lane, column, least[0])
        takes.append((least[0], column))
        if _partly(node) and not lane[1]:
            more = program.add(whole=False)
            columns.time[place, False].append((1.0, more))
            takes.append((1.0, more))
            most = sum(n / c for n, c in zip(job.most, job.per_vm, strict=True) if n)
            program.row(-inf, 0.0, (1.0, more), (-min(most - least[0], MOST_SPARE), column))
    columns.used[lane] += takes


def _sized(drawn: Drawn, program: Program, columns: Columns, lane: Lane, how: Losses) -> None:
    """Bound fractions of slots from below, by cores and by memory apart; the part on spot stays free.

    ``A/x + B/y`` lies above its tangent in each (x0, y0), so with X and Y slots of h jobs
    ``X A/x0^2 + Y B/y0^2 >= h (2 A/x0 + 2 B/y0 - E)``.
    """
    vms = program.add(whole=False)
    columns.used[lane].append((1.0, vms))
    takes: list[list[tuple[float, int]]] = [[], []]
    for place, node in enumerate(drawn.classes):
        found = runs(drawn, node, lane)
        least = found and fewest(found[0], found[1], drawn.shuffle_service, how)
        if not found or least is None:
            continue
        job = found[0]
        column = program.add(high=node.jobs[1])
        _runs(drawn, program, columns, place, lane, column, None)
        slots = [program.add(whole=False) if most else None for most in job.most]
        for kind, more in enumerate(slots):
            if more is not None:
                program.row(0.0, inf, (1.0, more), (-1.0, column))
                for resource, size in enumerate(job.sizes[kind]):
                    takes[resource].append((size, more))
        for x, y in _points(job):
            terms = [
                (w / n**2, more) for w, n, more in zip((job.map_work, job.reduce_work), (x, y), slots, strict=True) if n
            ]
            ahead = 2 * job.map_work / x + (2 * job.reduce_work / y if y else 0.0) - job.left * (1 + 1e-6)
            program.row(0.0, inf, *((w, more) for w, more in terms if more is not None), (-ahead, column))
    for taken in takes:
        program.row(0.0, inf, (1.0, vms), *((-size, column) for size, column in taken))


def _points(job: Job) -> list[tuple[float, float]]:
    """List points at which a deadline is just kept."""
    if not job.reduce_work:
        return [(job.map_work / job.left, 0.0)]
    parts = [k / 40 for k in range(1, 40)]
    return [(job.map_work / (job.left * part), job.reduce_work / (job.left * (1 - part))) for part in parts]


def _admission(program: Program, columns: Columns, place: int, node: JobClass) -> None:
    program.row(*map(float, node.jobs), *columns.jobs[place])
    if _partly(node) and (place, True) in columns.time:
        spot = [(value * (1 - node.spot), column) for value, column in columns.time[place, True]]
        firm = [(-value * node.spot, column) for value, column in columns.time.get((place, False), [])]
        program.row(-inf, 0.0, *spot, *firm)


def _vms(drawn: Drawn, program: Program, columns: Columns) -> None:
    """Buy enough VMs for each lane, masters among the firm ones, within the quota."""
    for place, vm in enumerate(drawn.vms):
        firm = [(1.0, column) for column, way, _ in columns.bought[place] if way != "spot"]
        program.row(float(vm.masters), inf, *firm, *((-n, column) for n, column in columns.used[place, False]))
        if vm.spot:
            spot = [(1.0, column) for column, way, _ in columns.bought[place] if way == "spot"]
            program.row(0.0, inf, *spot, *((-n, column) for n, column in columns.used[place, True]))
        if vm.available is not None:
            program.row(-inf, float(vm.available), *((1.0, column) for column, _, _ in columns.bought[place]))


def _comparison(drawn: Drawn, program: Program, columns: Columns, row: Row) -> None:
    names = [vm.name for vm in drawn.vms]
    classes = [node.name for node in drawn.classes]
    everything = [x for one in columns.bought.values() for x in one]
    limit = row.limit
    if row.quantity == "completion":
        return
    if row.quantity == "admitted":
        terms = columns.jobs[classes.index(row.argument)]
    elif row.quantity == "share":
        terms = [((way == row.argument) - limit, column) for column, way, _ in everything]
        limit = 0.0
    elif row.argument is None:
        terms = [(1.0 if row.quantity == "vms" else cost, column) for column, _, cost in everything]
        if row.quantity == "cost":
            terms += [(-node.penalty * n, c) for i, node in enumerate(drawn.classes) for n, c in columns.jobs[i]]
            limit -= program.constant
    else:
        bought = columns.bought[names.index(row.argument)]
        terms = [(1.0 if row.quantity == "vms" else cost, column) for column, _, cost in bought]
    program.row(-inf if row.sense == "<=" else limit, limit if row.sense == "<=" else inf, *terms)


__all__ = ["Vm", "contents", "optimum", "runs"]
