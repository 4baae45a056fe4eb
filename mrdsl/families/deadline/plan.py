"""The plan of a deadline spec, stored as columns, with its report and its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mrdsl.contracts.family import SET, Operated, Setting
from mrdsl.core.result import Outcome, Plan, Result, Table, plain
from mrdsl.core.rounding import ROUNDING
from mrdsl.core.tables import Rows
from mrdsl.core.units import show
from mrdsl.families.deadline.network import Floats, Network, network_of
from mrdsl.families.deadline.workload import Tasks, tasks_of
from mrdsl.simulation.observed import Observed, Simulated, outcomes_of, table_of
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.charts import Bar, Chart, Graph
    from mrdsl.reporting.report import Shown


SHOWN = 40
"""Tasks that a table shows."""
DRAWN = 400
"""Most tasks in a Gantt chart."""


@dataclass(frozen=True, eq=False)
class DeadlinePlan(Plan):
    """Time window of each task. Arrays have the shape (tasks,), with one element for a task or a counted group.

    Attributes:
        names: Names of the tasks.
        count: Tasks of each element.
        duration: Duration of one task [s].
        delay: Time from the earliest start to the latest finish [s].
        slack: Delay minus duration [s].
        latest_start: Latest start after the submission [s].
        latest_finish: Latest finish after the submission [s], if all tasks before it use their delays.
        follows: Pairs of numbers of tasks, of which the second waits for the first.
        members: Number of the element by every name in the spec.
        observed: Observed time of each graph in a simulation.
        in_time: Share of runs in which each task was within its delay, shape (tasks,).
        simulated: Settings of the simulation.
    """

    planned: ClassVar[str] = "Tasks"

    names: Sequence[str]
    count: Sequence[int]
    duration: Floats
    delay: Floats
    slack: Floats
    latest_start: Floats
    latest_finish: Floats
    follows: Sequence[tuple[int, int]] = ()
    members: Mapping[str, int] = field(default_factory=dict, repr=False)
    observed: Mapping[str, Observed] = field(default_factory=dict)
    in_time: Floats | None = None
    simulated: Simulated | None = None

    def derived(self, spec: Spec) -> DeadlinePlan:
        """Return the plan with the names and the order of the tasks of its spec."""
        tasks = tasks_of(spec)
        return replace(self, follows=_follows(tasks) if len(tasks) <= DRAWN else (), members=tasks.members)

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the verdicts of the runs on the allowable delays."""
        return outcomes_of(self.observed, self.observed)

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        columns = (
            self.count,
            self.duration.tolist(),
            self.delay.tolist(),
            self.slack.tolist(),
            self.latest_start.tolist(),
            self.latest_finish.tolist(),
        )
        keys = ("count", "duration", "delay", "slack", "latest_start", "latest_finish")
        rows = zip(*columns, strict=True)
        tasks = {name: dict(zip(keys, row, strict=True)) for name, row in zip(self.names, rows, strict=True)}
        if self.simulated is None or self.in_time is None:
            return {"tasks": tasks}
        for name, share in zip(self.names, self.in_time.tolist(), strict=True):
            tasks[name]["kept"] = share
        dags = {name: seen.beside() for name, seen in self.observed.items()}
        return {"tasks": tasks, "dags": dags, "simulation": plain(self.simulated)}

    def tables(self) -> tuple[Table, ...]:
        """Return the tasks in the order of the spec."""
        tasks = Table(
            "Tasks",
            ("task", "count", "duration [s]", "delay [s]", "slack [s]", "latest start [s]", "latest finish [s]"),
            Rows(len(self.names), self._rows),
            most=SHOWN,
        )
        return (tasks, *self._seen()) if self.observed else (tasks,)

    def _rows(self, part: slice) -> Iterator[tuple[Any, ...]]:
        columns = (self.duration, self.delay, self.slack, self.latest_start, self.latest_finish)
        return zip(self.names[part], self.count[part], *(each[part].tolist() for each in columns), strict=True)

    def _seen(self) -> Iterator[Table]:
        """Yield the observations of the DAGs, and of the tasks that exceeded their delays in some run."""
        yield table_of(list(self.observed.items()), "dag")
        assert self.in_time is not None
        late = np.flatnonzero(self.in_time < 1.0).tolist()
        if late:
            rows = [(self.names[i], float(self.delay[i]), float(self.in_time[i])) for i in late]
            yield Table("Tasks beyond their delays", ("task", "delay [s]", "share of runs in time"), rows, most=SHOWN)

    def bars(self) -> tuple[Bar, ...]:
        """Per task its delay up to the latest finish: the slack first, then the duration; the first 400 tasks."""
        from mrdsl.core.charts import Bar

        bars = []
        for i, name in enumerate(self.names[:DRAWN]):
            lane = f"{name} ({self.count[i]})" if self.count[i] > 1 else name
            start, finish = float(self.latest_start[i]), float(self.latest_finish[i])
            bars.append(Bar(lane, name, start, finish, "runs at the latest"))
            bars.append(Bar(lane, "", max(start - float(self.slack[i]), 0.0), start, "slack"))
        return tuple(bars)

    def graph(self, title: str) -> Graph | None:
        """Return the tasks in layers with their durations and slacks; a box is filled by the duration's share of the
        delay.

        The task of the least slack has a strong border. Plans of more than 400 tasks are not drawn.
        """
        from mrdsl.core.charts import Graph, GraphNode

        if len(self.names) > DRAWN:
            return None
        nodes = tuple(
            GraphNode(
                str(i),
                f"{name} ({self.count[i]})" if self.count[i] > 1 else name,
                (f"runs {self.duration[i]:.4g} s", f"slack {self.slack[i]:.4g} s"),
                share=float(self.duration[i] / self.delay[i]) if self.delay[i] > 0 else 1.0,
                marked=bool(self.slack[i] <= 1.001 * self.slack.min()),
            )
            for i, name in enumerate(self.names)
        )
        return Graph(title, nodes, tuple((str(a), str(b)) for a, b in self.follows))


def plan_of(tasks: Tasks, network: Network, slack: Floats) -> DeadlinePlan:
    """Return the plan that allows each task its duration and ``slack``, which must meet every deadline."""
    delay = network.duration + slack
    finish = network.earliest(delay)[network.tail] + delay
    return DeadlinePlan(
        names=tasks.names,
        count=tasks.counts,
        duration=network.duration,
        delay=delay,
        slack=slack,
        latest_start=finish - network.duration,
        latest_finish=finish,
        follows=_follows(tasks) if len(tasks) <= DRAWN else (),
        members=tasks.members,
    )


def _follows(tasks: Tasks) -> tuple[tuple[int, int], ...]:
    pairs = []
    for number, after in enumerate(tasks.after):
        for other in after:
            pairs += [(other, number)] if other >= 0 else [(member, number) for member in tasks.groups[~other]]
    return tuple(pairs)


KEPT_ROUNDS = 8
"""Lowering once is enough but for roundings of its own."""


def kept(network: Network, slack: Floats) -> Floats:
    """Lower the slack on paths of delays that exceed their deadline by a solver's tolerance or a rounding error.

    Only tasks on such a path lose slack: each loses the excess of its longest path, or the share that suffices if all
    lose it, whichever is less. Either is enough. Along such a path, one task that loses the whole excess suffices; if
    none does, all scale. That share is safe because the longest path is a convex function of the factor, at most the
    deadline if it is 0.
    """
    slack = np.maximum(slack, 0.0)
    allowed = np.maximum(network.deadlines, network.earliest(network.duration)[1 : network.fixed])
    for _ in range(KEPT_ROUNDS):
        lengths = network.duration + slack
        earliest = network.earliest(lengths)
        reached = earliest[1 : network.fixed]
        if not (reached > allowed).any():
            break
        critical = network.earliest(network.duration)[1 : network.fixed]
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(reached > allowed, (allowed - critical) / (reached - critical), 1.0)
        over = earliest[network.tail] + lengths - network.latest(lengths, allowed)[network.head]
        spared = np.maximum(
            slack - np.maximum(over, 0.0) * (1 + ROUNDING), slack * np.clip(factor, 0.0, 1.0)[network.dag]
        )
        slack = np.where(over > 0, spared, slack)
    return np.asarray(slack)


def plan_from(spec: Spec, slack: Floats) -> DeadlinePlan:
    """Return the plan of a spec with the given slacks, lowered if a rounding error exceeds a deadline."""
    tasks = tasks_of(spec)
    network = network_of(tasks)
    return plan_of(tasks, network, kept(network, slack))


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (DeadlinePlan,)


def report(spec: Spec, result: Result) -> Shown:
    """Report how much every task may slip: a table of durations and slacks."""
    from mrdsl.reporting.report import Shown

    plan = result.plan
    assert isinstance(plan, DeadlinePlan)
    least = int(plan.slack.argmin())
    decision = (
        f"Every task may take longer than planned, {plan.names[least]} the least, by "
        f"{show(round(float(plan.slack[least]), 2), 'time')}, and all still end within "
        f"{show(round(float(plan.latest_finish.max()), 2), 'time')}."
    )
    if plan.slack[least] <= 0.0:
        decision = f"There is no time to spare: {plan.names[least]} must take no longer than planned."
    return Shown(decision, (_delays(plan),), _ASSUMPTIONS)


_ASSUMPTIONS = (
    "A task starts when all that it comes after have ended; durations are the spec's, waiting is part of the delay.",
    "A task that keeps its delay keeps every deadline, whatever the others do within theirs.",
)


def _delays(plan: DeadlinePlan) -> Chart:
    parts = {"duration": plan.duration[:SHOWN].tolist(), "slack": plan.slack[:SHOWN].tolist()}
    names = tuple(plan.names[:SHOWN])
    from mrdsl.core.charts import BarChart

    return BarChart("Delay of every task", names, parts, y_label="time [s]", stacked=True, horizontal=True)


def operated(_: Spec, plan: DeadlinePlan) -> Operated:
    """Return the settings of a plan."""
    delays = zip(plan.names, plan.delay.tolist(), strict=True)
    return Operated(tuple(Setting(SET, f"the delay of {name}", delay, "s") for name, delay in delays))
