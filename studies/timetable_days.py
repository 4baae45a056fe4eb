"""Three days of jobs by each way to rent machines, beside a first-come-first-served cluster and clusters for each job.

The first day is SWIM's day of a Facebook cluster. The others are drawn: runs of the jobs in event logs of Spark, and in
histories of MapReduce, at random times of a day.
"""

from __future__ import annotations

import resource as usage
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import mrdsl
from mrdsl.core.diagnostics import MrdslError, error, has_errors
from mrdsl.core.result import Table
from mrdsl.core.units import DAY_SECONDS, TICK
from mrdsl.core.writer import write_text
from mrdsl.families.timetable.bounds import fewest_machines
from mrdsl.families.timetable.facts import Arrivals, Billing, JobClass, Runs, TimetableFacts
from mrdsl.families.timetable.methods.per_job import Sizes
from mrdsl.families.timetable.night import Night
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.types import night_of
from mrdsl.simulation.engine.draws import TaskTimes, sampler
from mrdsl.simulation.engine.scenario import JobClass as SimulatedClass
from mrdsl.simulation.engine.scenario import QueueRule, Recorded, Scenario, run_once
from mrdsl.simulation.engine.world import JobKind, Machines, Stage
from mrdsl.simulation.sampling import stream
from mrdsl.spec.blocks import Slots
from mrdsl.spec.schema import Source
from mrdsl.spec.spec import Spec
from studies.shared_data import shared_folder
from studies.study_files import written

BASE = """
problem timetable "{title}"
vm "m5.2xlarge" {{ on_demand {{ price = 0.384 USD/h }}, boot = 2 min }}
class x {{ stage s {{ tasks = 1, avg = 1 s, max = 1 s }}, slots {{ task = 8 }}, runs = [0 s], deadline = 1 h }}
minimize cost
"""
SLOTS = 8
TRACE = "swim/FB-2009_samples_24_times_1hr_0.tsv"
LOGS: Mapping[str, tuple[str, ...]] = {
    "spark": (
        "spark/delight/example_spark_event_log.txt",
        "spark/nvidia/e2e__join_agg_on_yarn_eventlog.zstd",
        "spark/nvidia/qualification__cluster_information__eventlog_4nodes_8cores_dynamic_alloc.zstd",
        "spark/sparklint/application_1472176676028_407508_1",
        "spark/sparklint/event_log_1",
    ),
    "mapreduce": (
        "hadoop/rumen/2jobs2min-rumen-jh.json",
        "hadoop/rumen/wordcount.json",
        "hadoop/rumen/mr2011/folder-input-trace.json.gz",
        "hadoop/rumen/mr2011/job-tracker-logs-trace-output.gz",
        "hadoop/jhist/apache-hadoop-common/job_1329348432655_0001-10.jhist",
        "hadoop/jhist/linkedin-dr-elephant/job_1526555215992_0001-1526555642677-user-QuasiMonteCarlo-1526555658299-1-1-"
        "SUCCEEDED-default-1526555648931.jhist",
    ),
}
TITLES = {
    "swim": "A day of a Facebook cluster",
    "spark": "A drawn day of Spark",
    "mapreduce": "A drawn day of MapReduce",
}
BILLINGS = {"second": Billing(), "hour": Billing(period=3600.0, minimum=3600.0)}
WAYS = ("constant", "elastic", "per_job")
COLUMNS = ("rented", "billed by the", "cost [USD]", "bound [USD]", "gap [%]", "VMs at once", "late runs", "CPU [s]")


def days(
    output: Path, data: str = "", which: str = "swim,spark,mapreduce", runs: int = 400, seed: int = 1
) -> Iterator[Table]:
    """Yield a table for each day, and write the spec of each drawn day into the folder.

    Args:
        output: Folder for tables and specs.
        data: Folder with the logs; without it, that of `MRDSL_SHARED` or beside the project.
        which: The days.
        runs: Runs of a drawn day.
        seed: Seed of the draws.

    Raises:
        MrdslError: A day is unknown, or a log is missing.
    """
    folder = _folder(data)
    for name in which.split(","):
        if name not in TITLES:
            raise MrdslError([error("wrong-option", f"there is no day `{name}`", None, f"days: {', '.join(TITLES)}")])
        spec = swim_day(folder) if name == "swim" else drawn_day(folder, name, runs, seed)
        if name != "swim":
            write_text(output / f"{name}.mrspec", mrdsl.dumps(spec))
        count, jobs = len(night_of(spec.facts).runs), len(night_of(spec.facts).jobs)
        kinds = f"{count:,} runs" if name == "swim" else f"{count:,} runs of {jobs} jobs, drawn with seed {seed}"
        yield written(output, name, Table(f"{TITLES[name]}: {kinds}", COLUMNS, list(_rows(spec))))


def swim_day(folder: Path) -> Spec:
    """Return the day of SWIM, whose jobs each have a deadline of an hour. Raises MrdslError without the trace."""
    file = _file(folder, TRACE)
    arrivals = Arrivals(
        source=Source("swim", str(file), file.name),
        slots=Slots(map=SLOTS, reduce=SLOTS),
        deadline=3600.0,
        task_overhead=1.0,
        block=64e6,
        map_speed=20e6,
        reduce_input=512e6,
        shuffle_speed=10e6,
        reduce_speed=20e6,
    )
    return _with(_base("swim"), arrivals=arrivals, classes=())


def drawn_day(folder: Path, name: str, runs: int, seed: int) -> Spec:
    """Return a day of jobs in logs: each of ``runs`` runs is of a drawn job and starts at a drawn second.

    Deadlines are twice the longest time in the log. Raises MrdslError if a log is missing.
    """
    classes = []
    for number, log in enumerate(LOGS[name]):
        found = mrdsl.profile([_file(folder, log)]).to_spec("timetable").facts.classes
        classes += [replace(node, name=f"{node.name}_{number + 1}") for node in found]
    draw = stream(seed, "timetable-days", name)
    jobs = draw.randint(0, len(classes), runs)
    starts = draw.randint(0, int(DAY_SECONDS), runs)
    drawn = [
        _with_runs(node, sorted(starts[jobs == index].tolist())) for index, node in enumerate(classes) if index in jobs
    ]
    return _with(_base(name), classes=tuple(drawn))


def _with_runs(node: JobClass, starts: list[int]) -> JobClass:
    slots = Slots(task=SLOTS) if node.stages else Slots(map=SLOTS, reduce=SLOTS if node.reduce is not None else None)
    return replace(node, slots=slots, container=None, runs=Runs(at=tuple(float(each) for each in starts)))


def _rows(spec: Spec) -> Iterator[tuple[object, ...]]:
    night = night_of(spec.facts)
    fewest = first_come(night)
    for billing, paid in BILLINGS.items():
        facts: TimetableFacts = replace(spec.facts, billing=paid)
        for way in WAYS:
            before = _cpu()
            result = mrdsl.solve(replace(spec, facts=replace(facts, rent=way))).of(TimetablePlan)
            spent = _cpu() - before
            if result.plan is None or result.value is None or has_errors(result.diagnostics):
                yield way, billing, None, result.bound, None, None, None, spent
                continue
            late = sum((run.end or inf) > run.deadline + 1e-6 for run in result.plan.runs)
            bound = result.bound or 0.0
            gap = round(100.0 * (1.0 - bound / result.value), 4)
            yield way, billing, result.value, bound, gap, result.plan.machines, late, spent
        machine = night_of(facts).machine
        alone = replace(night, machine=machine)
        cost = machine.cost(fewest.machines, round(fewest.end * TICK) - (night.first - machine.boot))
        yield "first come, first served", billing, cost, None, None, fewest.machines, 0, fewest.cpu
        yield "cluster for each job", billing, *transient(alone)


@dataclass(frozen=True)
class FirstCome:
    """The smallest cluster found on which no run is late if the earliest release goes first; its last end [s]."""

    machines: int
    end: float
    cpu: float


def first_come(night: Night) -> FirstCome:
    """Return a cluster on which all runs end on time, first come, first served, as YARN's FIFO scheduler does it."""
    before = _cpu()
    high, step = fewest_machines(night), 1  # on fewer, some run is late in every order
    low = high - 1
    while (end := _on_time(night, high)) is None:
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        found = _on_time(night, middle)
        low, high, end = (middle, high, end) if found is None else (low, middle, found)
    return FirstCome(high, end, _cpu() - before)


def _on_time(night: Night, machines: int) -> float | None:
    """Return the end of the last run on a cluster [s], None if some run is late; by a run of the engine."""
    classes, windows = [], []
    for index, job in enumerate(night.jobs):
        mine = [run for run in night.runs if run.job == index]
        place = {stage: number for number, stage in enumerate(job.order)}
        stages = [job.stages[stage] for stage in job.order]
        kind = JobKind(
            job.name, tuple(Stage(s.name, s.tasks, tuple(sorted(place[at] for at in s.after))) for s in stages)
        )
        times = [sampler("fixed", s.ticks / TICK, s.ticks / TICK, s.ticks / TICK, s.tasks) for s in stages]
        ready = tuple((run.ready - night.first) / TICK for run in mine)
        classes.append(SimulatedClass(kind, tuple(map(TaskTimes, times)), Recorded(ready), len(mine)))
        windows.append(min(run.due - run.ready for run in mine) / TICK)
    pool = Machines(machines, night.machine.slots)
    seen = run_once(Scenario(tuple(classes), (pool,), ((QueueRule(fair=False),),), 0.0), 0, 0)
    if any(max(times) > window + 1e-6 for times, window in zip(seen.times, windows, strict=True)):
        return None
    return night.first / TICK + seen.span


def transient(night: Night) -> tuple[float, None, None, int, int, float]:
    """Return cost, machines and late runs if each job boots a cluster at its release.

    Its size is the cheapest at which the job ends on time, otherwise a slot for each task.
    """
    before, machine, sizes = _cpu(), night.machine, Sizes()
    late, cost, changes = 0, 0.0, []
    for run in night.runs:
        job = night.jobs[run.job]
        wait = max(machine.boot, run.ready - run.release)
        window = run.due - run.release - wait
        fitting = sizes.of(night, run.job, window)[0] if window > 0 else []
        if not fitting:
            late += 1
            count, path = -(-max(stage.tasks for stage in job.stages) // machine.slots), job.path()
        else:
            count, path = fitting[0].machines, fitting[0].end
        cost += machine.cost(count, wait + path)
        changes += [(run.release, count), (run.release + wait + path, -count)]
    most = there = 0
    for _, change in sorted(changes):
        there += change
        most = max(most, there)
    return cost, None, None, most, late, _cpu() - before


def _base(name: str) -> Spec:
    return mrdsl.loads(BASE.format(title=TITLES[name]))


def _with(spec: Spec, **items: Any) -> Spec:
    return replace(spec, facts=replace(spec.facts, **items))


def _folder(data: str) -> Path:
    return Path(data) if data else shared_folder() / "data"


def _file(folder: Path, name: str) -> Path:
    file = folder / name
    if not file.is_file():
        raise MrdslError(
            [error("missing-file", f"there is no file `{file}`", None, "write --set data=FOLDER, or leave out its day")]
        )
    return file


def _cpu() -> float:
    """Return the CPU time of this process and of those that it has waited for [s]."""
    return sum(
        each.ru_utime + each.ru_stime for each in map(usage.getrusage, (usage.RUSAGE_SELF, usage.RUSAGE_CHILDREN))
    )
