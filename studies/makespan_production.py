"""The study of 003, 5.7: a day of production batches on clusters of several sizes.

Six jobs arrive every hour; their tasks and durations are drawn from the printed normal distributions (mean, standard
deviation), again where a draw is below 1. Each hour's six jobs are one batch. The text gives neither the sizes of
Figure 5.7 nor at which level its makespans were measured, so the sizes are an option and both levels are shown:
with phases that hold a whole machine (the abstraction of 5.3), and at task and slot level; and as a third reading
BalancedPools at slot level against Johnson's rule at the level of phases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mrdsl.contracts.pipeline import Draft, Step, last_draft
from mrdsl.core.charts import LineChart, Series
from mrdsl.core.result import Table
from mrdsl.families.makespan.facts import Cluster, Job, MakespanFacts, MapTasks, ReduceTasks
from mrdsl.families.makespan.methods.balanced_pools import Effort, balanced_pools, divide, genetic, search
from mrdsl.families.makespan.methods.orders import Judge, johnson, johnson_rows, makespans, phase_makespans
from mrdsl.families.makespan.methods.priorities import priorities
from mrdsl.families.makespan.schedule import Batch, batch_of
from mrdsl.reporting.report_files import write_chart
from mrdsl.spec.blocks import MapReduceSlots
from mrdsl.spec.spec import Spec
from studies.study_files import written

JOBS_AN_HOUR = 6
DISTRIBUTIONS = {
    "map tasks": (150.0, 550.0),
    "map time": (50.0, 200.0),
    "reduce tasks": (19.0, 145.0),
    "reduce time": (100.0, 300.0),
}
PRINTED = {"BalancedPools": 31.0, "BalancedPools with genetic search": 34.0}
LEVELS: dict[str, Judge] = {"phases": phase_makespans, "slots": makespans}
PIPELINE_EFFORT, POOL_EFFORT = Effort(40, 60, 15), Effort(20, 12, 4)
BASE = "Johnson"
OURS = "Local search at slot level"
BOUND = "Lower bound"


@dataclass(frozen=True)
class _Averages:
    """Average makespans in seconds of one cluster size, by level and method."""

    slots: int
    seconds: dict[tuple[str, str], float]

    def decrease(self, level: str, method: str, base: str = "") -> float:
        """How much less than Johnson's at the same level, or at the level ``base``, in percent."""
        return 100.0 * (1.0 - self.seconds[level, method] / self.seconds[base or level, BASE])


def production(
    folder: Path, vms: str = "25,50,100,150,200,300,400", hours: int = 24, seed: int = 1, rounds: int = 60
) -> Iterable[Table]:
    """Average makespans per cluster size, the decreases against Johnson's rule, and the printed ones beside them."""
    sizes = [2 * int(number) for number in vms.split(",")]
    averages = [_average(slots, hours, seed, rounds) for slots in sizes]
    yield written(folder, "makespans", _makespan_table(averages))
    yield written(folder, "decreases", _decrease_table(averages))
    for level in LEVELS:
        _draw(folder, level, averages)


def batch_of_hour(slots: int, seed: int, hour: int) -> Spec:
    """The spec of one hour's six jobs on so many slots of either kind; the jobs do not depend on the slots."""
    stream = np.random.RandomState([seed, hour])
    drawn = {name: _drawn(stream, *parameters) for name, parameters in DISTRIBUTIONS.items()}
    jobs = tuple(
        Job(
            name=f"J{j + 1}",
            map=MapTasks(tasks=round(drawn["map tasks"][j]), time=float(drawn["map time"][j])),
            reduce=ReduceTasks(tasks=round(drawn["reduce tasks"][j]), time=float(drawn["reduce time"][j])),
        )
        for j in range(JOBS_AN_HOUR)
    )
    cluster = Cluster(slots=MapReduceSlots(map=slots, reduce=slots))
    return Spec(problem="makespan", facts=MakespanFacts(cluster=cluster, jobs=jobs), seed=seed)


def _drawn(stream: np.random.RandomState, mean: float, deviation: float) -> np.ndarray:
    values = stream.normal(mean, deviation, JOBS_AN_HOUR)
    while (low := values < 1.0).any():
        values[low] = stream.normal(mean, deviation, int(low.sum()))
    return values


def _average(slots: int, hours: int, seed: int, rounds: int) -> _Averages:
    totals: dict[tuple[str, str], float] = {}
    for hour in range(hours):
        spec = batch_of_hour(slots, seed, hour)
        for key, seconds in _methods(spec, seed, hour, rounds):
            totals[key] = totals.get(key, 0.0) + seconds
    return _Averages(slots, {key: total / hours for key, total in totals.items()})


def _methods(spec: Spec, seed: int, hour: int, rounds: int) -> Iterator[tuple[tuple[str, str], float]]:
    batch = batch_of(spec)
    for level, judge in LEVELS.items():
        for method, ticks in _thesis_methods(batch, judge, np.random.RandomState([seed, hour]).randint(2**31)):
            yield (level, method), batch.seconds(ticks)
    steps: list[tuple[Step, dict[str, int]]] = [
        (johnson, {}),
        (genetic, {}),
        (balanced_pools, {}),
        (priorities, {"neighbours": rounds}),
    ]
    draft = last_draft(steps, Draft(spec, seed=seed))
    yield ("slots", OURS), batch.seconds(draft.state.schedule.makespan)
    yield ("slots", BOUND), batch.seconds(draft.state.bound)


def _thesis_methods(batch: Batch, judge: Judge, seed: int) -> Iterator[tuple[str, float]]:
    everything = np.arange(len(batch))[None, :], np.array([batch.map_slots]), np.array([batch.reduce_slots])
    order = johnson_rows(batch, *everything)
    yield BASE, float(judge(batch, order, *everything[1:])[0])
    rng = np.random.default_rng(seed)
    yield "Genetic", float(search(batch, *everything, PIPELINE_EFFORT, rng, judge=judge)[1][0])
    yield "BalancedPools", divide(batch, None, rng, judge=judge).makespan
    yield "BalancedPools with genetic search", divide(batch, POOL_EFFORT, rng, judge=judge).makespan


def _makespan_table(averages: list[_Averages]) -> Table:
    keys = list(averages[0].seconds)
    columns = ("VMs", "slots of a kind", *(f"{method}, {level} [s]" for level, method in keys))
    rows = [(one.slots // 2, one.slots, *(round(one.seconds[key], 1) for key in keys)) for one in averages]
    return Table("Average makespan of a day's batches", columns, rows)


def _decrease_table(averages: list[_Averages]) -> Table:
    keys = [(level, method, "") for level, method in averages[0].seconds if method != BASE]
    keys += [("slots", method, "phases") for method in PRINTED]
    sizes = [f"{one.slots} slots [%]" for one in averages]
    columns = ("method", "level", "Johnson's level", *sizes, "mean [%]", "printed [%]")
    rows = []
    for level, method, base in keys:
        ours = [one.decrease(level, method, base) for one in averages]
        rounded = [round(x, 1) for x in (*ours, float(np.mean(ours)))]
        rows.append((method, level, base or level, *rounded, PRINTED.get(method)))
    return Table("Decrease of the average makespan against Johnson's rule", columns, rows)


def _draw(folder: Path, level: str, averages: list[_Averages]) -> None:
    slots = [float(one.slots) for one in averages]
    methods = [method for at, method in averages[0].seconds if at == level]
    title = "one job at a time on a machine" if level == "phases" else "at task and slot level"
    lines = [Series(method, slots, [one.seconds[level, method] for one in averages]) for method in methods]
    axis = "map and reduce slots each"
    chart = LineChart(f"Average makespan, {title}", axis, "makespan [s]", tuple(lines), y_zero=True)
    write_chart(folder / f"makespans-{level}.svg", chart)
    lines = [Series(m, slots, [one.decrease(level, m) for one in averages]) for m in methods if m not in (BASE, BOUND)]
    lines += [Series(f"{name}, printed", slots, [value] * len(slots)) for name, value in PRINTED.items()]
    chart = LineChart(f"Decrease against Johnson's rule, {title}", axis, "decrease [%]", tuple(lines), y_zero=True)
    write_chart(folder / f"decreases-{level}.svg", chart)
