"""Completion times and slots of a plan for each class, and the observations of a simulation.

Propositions 2.2 and 2.3 of paper 000 bound two jobs of one phase that start together on a work-conserving cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.family import GIVE, Operated, Setting
from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Outcome, Plan, Result, Table, Trace, lacking, plain
from mrdsl.core.rounding import SAME_SUM
from mrdsl.core.tables import Rows
from mrdsl.core.units import show
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, is_fifo
from mrdsl.formulas import mapreduce
from mrdsl.formulas.estimates import kinds_of, stage_counts
from mrdsl.formulas.mapreduce import Floats, Profile
from mrdsl.simulation.observed import Observed, Simulated, outcomes_of, table_of
from mrdsl.spec.blocks import Stage, any_stages, dags_of
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.charts import Bar, Chart, Graph
    from mrdsl.reporting.report import Shown


@dataclass(frozen=True)
class TwoJobs:
    """Bounds [s] on the job that ends first and the one that ends last (2.2), and on each by name (2.3).

    ``first_lower`` is None if a job has fewer tasks than its share of the slots, contrary to a premise of 2.2.
    """

    first_lower: float | None = field(metadata=lacking("a job has fewer tasks than its share of the slots"))
    last_lower: float
    upper: Mapping[str, float]

    def table(self) -> Table:
        """Return the bounds on ends, and on each job."""
        rows = [
            ("the first end, at least (2.2)", self.first_lower),
            ("the last end, at least (2.2)", self.last_lower),
            *((f"{name}, at most (2.3)", value) for name, value in self.upper.items()),
        ]
        return Table("Two jobs that start together", ("what", "time [s]"), rows)


def two_jobs_of(facts: BoundsFacts, profile: Profile, slots: Floats) -> TwoJobs | None:
    """Return the bounds for a spec with two classes of one map-only job each; None for other specs.

    ``slots`` are those of one job of each class, its share of all of them. The propositions cover neither reduce
    phases, stages, nor several jobs of a class. They do not cover clusters that lend no idle slots or serve one job
    after the other.
    """
    classes, cluster = facts.classes, facts.cluster or Cluster()
    plain = len(classes) == 2 and bool((column(classes, "jobs") == 1.0).all()) and bool(profile.map_only.all())
    plain = plain and not column(classes, "startup").any()
    if not plain or any_stages(classes) or is_fifo(facts) or cluster.work_conserving != "yes":
        return None
    total = float(slots.sum())
    share, work = slots / total, profile.map_tasks * profile.map_avg
    first, last = mapreduce.two_jobs_lower(work[0], share[0], work[1], total)
    upper = mapreduce.two_jobs_upper(profile.map_tasks, profile.map_avg, profile.map_max, share, work[::-1], total)
    fills = bool((profile.map_tasks >= slots * (1.0 - SAME_SUM)).all())
    names = [str(name) for name in names_of(classes)]
    bounds = dict(zip(names, np.asarray(upper).tolist(), strict=True))
    return TwoJobs(float(first) if fills else None, float(last), bounds)


SHOWN = 50
"""Most classes that the terminal shows."""
BARS = 3000
"""Most tasks in a Gantt chart."""
ESTIMATES = ("lower", "average", "upper", "waves")
NAMES = {"mean": "expected"}
"""Keys in JSON, if they are not those of estimates: `mean` is that of a simulation."""
WAVES = ("waves_lower", "waves", "waves_upper")
"""(3.11), (3.14) and (3.12)."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One run of a task on a slot of a pool, times in seconds; ``outcome`` as the engine's attempts have it."""

    job: int
    kind: int
    stage: str
    pool: int
    slot: int
    start: float
    end: float
    outcome: str


@dataclass(frozen=True, eq=False)
class BoundsPlan(Plan):
    """Completion times and slots of each class. Arrays have the shape (classes,).

    Attributes:
        names: Names of the classes.
        jobs: Concurrent jobs.
        map_slots: Map slots of one job, not rounded; task slots for a class of stages.
        reduce_slots: Reduce slots of one job, not rounded.
        completion: Completion time by estimate [s].
        deadline: Deadline [s]; NaN without one.
        sizes: The slots are the result of `minimize slots`.
        stages: Number of stages; 0 for map and reduce phases.
        dags: Stages by class.
        upper_is_bound: The spec meets the premises of the upper estimate.
        observed: Observations of a simulation by class; empty without one.
        simulated: Settings of the simulation.
        replay: Function that repeats all task runs of the first run.
        two_jobs: Propositions 2.2 and 2.3, for specs of two jobs.
    """

    planned: ClassVar[str] = "Completion"

    names: Sequence[str]
    jobs: Floats
    map_slots: Floats
    reduce_slots: Floats
    completion: Mapping[str, Floats] = field(metadata=lacking("the estimate is not known"))
    deadline: Floats = field(metadata=lacking("the class has no deadline"))
    sizes: bool
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]]
    upper_is_bound: NDArray[np.bool_]
    observed: Mapping[str, Observed] = field(default_factory=dict)
    simulated: Simulated | None = None
    replay: Callable[[], Iterator[TaskRun]] | None = None
    two_jobs: TwoJobs | None = None

    @property
    def slots(self) -> float:
        """Map and reduce slots of all jobs of all classes."""
        return float(((self.map_slots + self.reduce_slots) * self.jobs).sum())

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        classes = {name: self._class(index, name) for index, name in enumerate(self.names)}
        slots = {"slots": plain(self.slots)} if self.sizes else {}
        how = {} if self.simulated is None else {"simulation": plain(self.simulated)}
        two = {} if self.two_jobs is None else {"two_jobs": plain(self.two_jobs)}
        return {"classes": classes, **slots, **two, **how}

    def derived(self, spec: Spec) -> BoundsPlan:
        """Return the plan with the stages and deadlines of its spec."""
        classes = spec.facts.classes
        deadline = column(classes, "deadline")
        return replace(self, stages=stage_counts(classes), dags=dags_of(classes), deadline=deadline)

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the verdicts of the runs on the deadlines that slots were sized for."""
        return outcomes_of(self.observed, (name for name, seen in self.observed.items() if seen.verdict is not None))

    def tables(self) -> tuple[Table, ...]:
        """Return the estimates and slots per class, with the observations."""
        kinds = kinds_of(self.stages)
        told = not self.upper_is_bound.all()
        head: tuple[str, ...] = (
            "class",
            "jobs",
            *(f"{kind} slots" for kind in kinds),
            *(f"{each} [s]" for each in self._estimates),
            *(("upper is a bound",) if told else ()),
        )

        def rows(part: slice) -> Iterator[tuple[Any, ...]]:
            for i, name in zip(range(part.start, part.stop), self.names[part], strict=True):
                yield (
                    name,
                    int(self.jobs[i]),
                    *(self._slots_of(i).get(f"{kind}_slots") for kind in kinds),
                    *(float(self.completion[each][i]) for each in self._estimates),
                    *(("yes" if self.upper_is_bound[i] else "no",) if told else ()),
                )

        title = "Completion of one job, on the slots of one job"
        tables = [Table(title, head, Rows(len(self.names), rows), most=SHOWN), *self._in_waves()]
        if self.two_jobs is not None:
            tables.append(self.two_jobs.table())
        if self.sizes:
            tables.append(
                Table(
                    "Slots",
                    (f"{', '.join(kinds[:-1])}{' and ' if len(kinds) > 1 else ''}{kinds[-1]} slots of all jobs",),
                    [(self.slots,)],
                )
            )
        if self.observed:
            head = ("class", "upper / mean", "average / mean")
            ratios = [(name, *self._ratios(name, each.mean)) for name, each in self.observed.items()]
            seen = table_of(self.observed.items(), most=SHOWN)
            tables += [seen, Table("Estimates beside what was seen", head, ratios, most=SHOWN)]
        return tuple(tables)

    @property
    def _estimates(self) -> tuple[str, ...]:
        """The estimates that a plan shows; the mean comes before the waves."""
        return (*ESTIMATES[:3], "mean", "waves") if "mean" in self.completion else ESTIMATES

    def _in_waves(self) -> tuple[Table, ...]:
        """Whole waves and their bounds, of the classes that have waves."""
        waved = np.flatnonzero(self.stages == 0).tolist() if all(each in self.completion for each in WAVES) else []

        def rows(part: slice) -> Iterator[tuple[Any, ...]]:
            for i in waved[part]:
                yield self.names[i], *(float(self.completion[each][i]) for each in WAVES)

        head = (
            "class",
            "every task its shortest (3.11) [s]",
            "halfway (3.14) [s]",
            "every task its longest (3.12) [s]",
        )
        return (Table("In whole waves", head, Rows(len(waved), rows), most=SHOWN),) if waved else ()

    def graph(self, title: str) -> Graph | None:
        """Return the stages of the classes that consist of some, with tasks and times."""
        from mrdsl.reporting.report import stage_graph

        return stage_graph(self.dags, title)

    def bars(self) -> tuple[Bar, ...]:
        """Return the first tasks to end, slot by slot, if the plan was simulated."""
        from mrdsl.core.charts import Bar

        runs = self.replay() if self.replay is not None else iter(())
        first = sorted(islice(runs, BARS), key=lambda run: (run.pool, run.slot, run.start))
        return tuple(
            Bar(
                f"pool {run.pool + 1}, slot {run.slot + 1}",
                f"{run.stage} task of job {run.job + 1}",
                run.start,
                run.end,
                self.names[run.kind],
            )
            for run in first
        )

    def trace(self) -> Trace:
        """Return every task run of the first run."""
        runs = self.replay() if self.replay is not None else iter(())
        return Trace(
            ("job", "class", "stage", "pool", "slot", "start [s]", "end [s]", "killed"),
            (
                (
                    run.job + 1,
                    self.names[run.kind],
                    run.stage,
                    run.pool + 1,
                    run.slot + 1,
                    run.start,
                    run.end,
                    int(run.outcome == "killed"),
                )
                for run in runs
            ),
        )

    def _class(self, index: int, name: str) -> dict[str, Any]:
        bounds = () if self.stages[index] else ("waves_lower", "waves_upper")
        shown = [each for each in (*self._estimates, *bounds) if each in self.completion]
        times = {NAMES.get(each, each): plain(float(self.completion[each][index])) for each in shown}
        seen = self.observed.get(name)
        if seen is not None:
            times |= {"mean": seen.mean, "p50": seen.p50, "p95": seen.p95, "half_width": seen.half_width}
        return {
            "completion": times,
            "upper_is_bound": bool(self.upper_is_bound[index]),
            **self._slots_of(index),
            **({} if seen is None else seen.beside()),
        }

    def _slots_of(self, index: int) -> dict[str, float]:
        if self.stages[index]:
            return {"task_slots": float(self.map_slots[index])}
        return {"map_slots": float(self.map_slots[index]), "reduce_slots": float(self.reduce_slots[index])}

    def _ratios(self, name: str, mean: float | None) -> tuple[float | None, ...]:
        index = self.names.index(name)
        estimates = (float(self.completion[each][index]) for each in ("upper", "average"))
        return tuple(None if mean is None else estimate / mean for estimate in estimates)


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (BoundsPlan,)


NAMED = 3
"""Most classes that the decision names."""


def report(spec: Spec, result: Result) -> Shown:
    """Report completion times, or the slots that meet the deadlines, with the deadlines and the observations."""
    from mrdsl.reporting.report import Shown

    plan = result.plan
    assert isinstance(plan, BoundsPlan)
    return Shown(_decision(plan), tuple(_charts(plan)), _assumptions(plan))


def _decision(plan: BoundsPlan) -> str:
    times = [
        f"{name} about {show(float(round(average)), 'time')}" if average == average else f"{name} an unknown time"
        for name, average in zip(plan.names[:NAMED], plan.completion["average"].tolist(), strict=False)
    ]
    more = f" and {number_of(len(plan.names) - NAMED, 'more class', ',')}" if len(plan.names) > NAMED else ""
    takes = f"a job takes as long as this: {', '.join(times)}{more}"
    if plan.sizes:
        slots = number_of(plan.slots, "slot", ".6g")
        return f"Give all jobs {slots} together, the least that keep every deadline: {takes}."
    return f"On these slots, by the average estimate, {takes}."


def _charts(plan: BoundsPlan) -> list[Chart]:
    from mrdsl.core.charts import BarChart, Interval, IntervalChart

    named = list(enumerate(plan.names[:SHOWN]))
    rows = tuple(Interval(name, _times(plan, i, name), float(plan.deadline[i])) for i, name in named)
    slots = BarChart(
        "Slots of one job",
        tuple(plan.names[:SHOWN]),
        {
            "map, or of stages": plan.map_slots[:SHOWN].tolist(),
            **({"reduce": plan.reduce_slots[:SHOWN].tolist()} if plan.reduce_slots.any() else {}),
        },
        y_label="slots",
        stacked=True,
        horizontal=True,
    )
    return [IntervalChart("Completion of one job by every estimate", "time [s]", rows), slots]


def _times(plan: BoundsPlan, index: int, name: str) -> dict[str, float | None]:
    times: dict[str, float | None] = {each: float(plan.completion[each][index]) for each in ESTIMATES}
    seen = plan.observed.get(name)
    return times if seen is None else {**times, "simulated mean": seen.mean, "simulated p95": seen.p95}


def _assumptions(plan: BoundsPlan) -> tuple[str, ...]:
    shared = "Every job has its share of the slots to itself from its start to its end; slots are counted in fractions."
    if plan.upper_is_bound.all():
        return (shared,)
    return (shared, "Where the plan says so, the upper estimate is none that every job keeps: tasks may take longer.")


NO_SLOTS = "it estimates completion times, and gives no slots"


def operated(_: Spec, plan: BoundsPlan) -> Operated:
    """Return the settings of a plan: none of one that estimates only."""
    if not plan.sizes:
        return Operated((), NO_SLOTS)
    classes = plan.document()["classes"]
    return Operated(
        tuple(
            Setting(GIVE, f"each job of class {name}", slots, key.replace("_", " "))
            for name, got in classes.items()
            for key, slots in got.items()
            if key.endswith("_slots")
        )
    )
