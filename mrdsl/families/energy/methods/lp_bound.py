"""The counted LP over VM types instead of single VMs: a bound, and a first guess at the machines.

Its value is that of the relaxed counted model: that model is convex and treats the VMs of a type alike, so the mean of
any solution over the orders of a type's VMs is a solution of the same value in which they are all equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mrdsl.families.energy.cluster import Floats, JobData, Machines
from mrdsl.families.energy.limits import JobLimits, limits_of


@dataclass(frozen=True)
class Relaxed:
    """``energy`` is a bound on every plan's; ``vms[j][k]`` says how many VMs of a type a job takes, fractional."""

    energy: float
    vms: tuple[Floats, ...]


@dataclass
class _Program:
    """Columns and rows as they are written down; ``rows`` hold (lower, upper, {column: coefficient})."""

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    rows: list[tuple[float, float, dict[int, float]]] = field(default_factory=list)

    def column(self, cost: float = 0.0, upper: float = np.inf, lower: float = 0.0) -> int:
        self.cost.append(cost)
        self.upper.append(upper)
        self.lower.append(lower)
        return len(self.cost) - 1

    def at_least(self, column: int, terms: dict[int, float], constant: float = 0.0) -> None:
        """``column >= terms + constant``."""
        row = {key: -value for key, value in terms.items()}
        row[column] = row.get(column, 0.0) + 1.0
        self.rows.append((constant, np.inf, row))

    def exactly(self, terms: dict[int, float], value: float) -> None:
        self.rows.append((value, value, terms))

    def at_most(self, terms: dict[int, float], value: float) -> None:
        self.rows.append((-np.inf, value, terms))


def relaxation(machines: Machines, jobs: tuple[JobData, ...], share: float | None = None) -> Relaxed | None:
    """The relaxed optimum, None where even the relaxation has none.

    With ``share`` every job's uptime is that share of the longest that its promises allow: then the VMs taken are not
    blurred by (9)'s product of uptime and VMs, but the value is no bound.
    """
    program = _Program()
    taken, ups = [], []
    for job in jobs:
        limits = limits_of(machines, job)
        on, paid, uptime = _add_job(program, machines, job, limits if share is None else _fixed(limits, share))
        if share is not None:
            program.lower[uptime] = program.upper[uptime]
        taken.append((on, paid))
        ups.append(uptime)
    for kind in range(len(machines)):
        own = {on[kind]: 1.0 for on, _ in taken if kind in on}
        if len(own) > 1:
            program.at_most(own, float(machines.available[kind]))
    values, value = _solve(program)
    if values is None:
        return None
    vms = []
    for (_, paid), uptime in zip(taken, ups, strict=True):
        counts = np.zeros(len(machines))
        for kind, column in paid.items():
            counts[kind] = values[column] / max(values[uptime], 1e-9)
        vms.append(np.minimum(counts, machines.available))
    constant = sum(job.placement_energy + job.shuffle_energy for job in jobs)
    return Relaxed(value + constant, tuple(vms))


def _fixed(limits: JobLimits, share: float) -> JobLimits:
    horizon = limits.horizon * share
    return replace(limits, horizon=horizon, uptime=np.minimum(limits.uptime, horizon))


def _add_job(
    program: _Program, machines: Machines, job: JobData, limits: JobLimits
) -> tuple[dict[int, int], dict[int, int], int]:
    """One job's columns and rows; the columns of VMs taken and of seconds paid per type, and that of the uptime."""
    finite = [value if np.isfinite(value) else 0.0 for value in limits.shortest]
    phases = [program.column(lower=min(value, limits.horizon)) for value in finite]
    uptime = program.column(upper=limits.horizon)
    program.exactly({uptime: 1.0, **dict.fromkeys(phases, -1.0)}, 0.0)
    on, paid, maps, reduces = {}, {}, {}, {}
    for kind in np.flatnonzero(limits.usable).tolist():
        count = float(min(machines.available[kind], job.map_tasks + job.reduce_tasks))
        on[kind] = program.column(upper=count)
        paid[kind] = program.column(upper=count * float(limits.uptime[kind]))
        work: dict[int, float] = {}
        load: dict[int, float] = {}
        if limits.maps[kind]:
            column = maps[kind] = program.column(float(job.map_energy[kind]), count * float(limits.maps[kind]))
            program.at_most({column: 1.0, on[kind]: -float(limits.maps[kind])}, 0.0)
            program.at_least(phases[0], {column: job.place / count})
            time, slots = float(job.map_time[kind]), int(machines.map_slots[kind])
            program.at_least(phases[1], {column: time / (slots * count)})
            load[column] = job.send / count
            work[column] = job.place + job.send + time / slots
        if limits.reduces[kind]:
            column = reduces[kind] = program.column(float(job.reduce_energy[kind]), count * float(limits.reduces[kind]))
            program.at_most({column: 1.0, on[kind]: -float(limits.reduces[kind])}, 0.0)
            time, slots = float(job.reduce_time[kind]), int(machines.reduce_slots[kind])
            program.at_least(phases[3], {column: time / (slots * count)})
            load[column] = job.fetch / count
            work[column] = job.fetch + time / slots
        program.at_least(phases[2], load)
        program.at_least(paid[kind], work)
        program.at_least(paid[kind], {uptime: count, on[kind]: limits.horizon}, -limits.horizon * count)
        program.at_most({paid[kind]: 1.0, uptime: -count}, 0.0)
        program.at_most({paid[kind]: 1.0, on[kind]: -float(limits.uptime[kind])}, 0.0)
    program.exactly(dict.fromkeys(maps.values(), 1.0), float(job.map_tasks))
    program.exactly(dict.fromkeys(reduces.values(), 1.0), float(job.reduce_tasks))
    if np.isfinite(job.budget):
        program.at_most({column: float(machines.price[kind]) / job.budget for kind, column in paid.items()}, 1.0)
    return on, paid, uptime


def _solve(program: _Program) -> tuple[Floats | None, float]:
    """The optimum of the program by HiGHS."""
    import highspy

    if any(not row and (low > 1e-9 or high < -1e-9) for low, high, row in program.rows):
        return None, np.inf
    rows = [row for row in program.rows if row[2]]
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.cost), len(rows)
    model.col_cost_ = np.array(program.cost)
    model.col_lower_, model.col_upper_ = np.array(program.lower), np.array(program.upper)
    model.row_lower_ = np.array([low for low, _, _ in rows])
    model.row_upper_ = np.array([high for _, high, _ in rows])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.cumsum([0, *(len(row) for _, _, row in rows)])
    model.a_matrix_.index_ = np.array([column for _, _, row in rows for column in row])
    model.a_matrix_.value_ = np.array([value for _, _, row in rows for value in row.values()])
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.passModel(model)
    solver.run()
    highspy.Highs.resetGlobalScheduler(True)
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None, np.inf
    return np.array(solver.getSolution().col_value), float(solver.getInfo().objective_function_value)
