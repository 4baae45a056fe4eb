"""Many runs of a schedule's policy with confidence intervals, and one run with its log of decisions and its plots."""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.charts import LineChart, Series
from mrdsl.core.diagnostics import MrdslError, error, one_error
from mrdsl.core.result import MONEY, Limits, Plan, Result, SolutionStatus, Table, Termination
from mrdsl.core.units import HOUR
from mrdsl.core.watching import counted
from mrdsl.core.writer import Together, make_folder
from mrdsl.families.schedule.methods.policy import decisions, run_policy, simulation
from mrdsl.families.schedule.plan import Cost, Jobs, SchedulePlan, Tardiness, VmHours, plan_of
from mrdsl.families.schedule.trace import jobs as jobs_of
from mrdsl.reporting.report_files import write_chart
from mrdsl.simulation.rental import Entry
from mrdsl.simulation.verdicts import half_width
from mrdsl.solving import registry
from mrdsl.solving.pipelines import run_pipeline
from mrdsl.solving.references import options_given
from mrdsl.spec.spec import Spec

POINTS = 1000
FAMILY, OWN_POLICY = "schedule", "policy"


@dataclass(frozen=True)
class Interval:
    """Mean over the runs and half of its 95 % confidence interval, None for a single run."""

    mean: float
    half_width: float | None


@dataclass(frozen=True)
class SimulatedSchedule(SchedulePlan):
    """The mean of several runs; ``observed`` gives the intervals."""

    tardiness: Tardiness = field(default=Tardiness())
    utilization: float = field(default=0.0)
    runs: int = field(default=0)
    observed: Mapping[str, Interval] = field(default_factory=dict)

    def tables(self) -> tuple[Table, ...]:
        """Return the mean run, and how far the runs lie apart."""
        rows = [
            (f"cost {MONEY}" if name == "cost" else name, each.mean, each.half_width)
            for name, each in self.observed.items()
        ]
        return (*super().tables(), Table(f"Over {self.runs} runs", ("quantity", "mean", "± (95%)"), rows))


def run_once(spec: Spec, seed: int, jobs: int | None = None) -> SchedulePlan:
    """Return one run of the spec's policy from a seed, with the first ``jobs`` jobs or all of them."""
    run = simulation(spec.facts, seed, jobs=islice(jobs_of(spec.facts, seed), jobs))
    return plan_of(run.run(), sum(run.machine.slots), partial(decisions, spec.facts, seed, jobs))


def simulate(spec: Spec, runs: int, seed: int | None, jobs: int | None) -> Result:
    """Simulate the policy over the seeds ``seed``, ``seed + 1``, ... with new deadlines, prices and arrivals.

    The method of `solve with` decides, with its options and within its limits, which apply to each run. Raises
    MrdslError if a run of it has no log.
    """
    first = seed or 0
    once = _by_method(spec, jobs) or partial(run_once, spec, jobs=jobs)
    plan = mean_of([once(first + i) for i in counted("simulating", range(runs))])
    return Result(Termination.COMPLETED, SolutionStatus.FEASIBLE, plan, plan.cost.total)


def _by_method(spec: Spec, jobs: int | None = None) -> Callable[[int], SchedulePlan] | None:
    """Return a run, by its seed, of the heuristic in ``solve with``; None without one, or for a model.

    Raises MrdslError if the method does not have an option, and if only the first jobs are requested: only the spec's
    policy supports that.
    """
    method = spec.method
    if method is None or (method.name == "auto" and method.options.get("formulation")):
        return None
    declared = registry.find(OWN_POLICY if method.name == "auto" else method.name, method.span)
    limits, given = options_given(declared, FAMILY, method, Limits())
    if FAMILY not in declared.pipelines:
        return None
    own = declared.name == OWN_POLICY
    if jobs is not None and not own:
        message = f"`solve with {method.name}` runs all jobs of the spec"
        raise one_error("wrong-option", message, method.span, "leave out `jobs`, or `solve with`")

    def once(seed: int) -> SchedulePlan:
        draft = Draft(spec, seed=seed, limits=limits, started=time.monotonic())
        result = (
            run_steps([(run_policy, {"jobs": jobs})], draft) if own else run_pipeline(declared, FAMILY, given, draft)
        )
        if not isinstance(result.plan, SchedulePlan):
            message = f"solver `{declared.name}` returned no plan that can be simulated"
            raise MrdslError(
                [
                    *result.diagnostics,
                    error("no-simulation", message, method.span, "to simulate a policy, remove `solve with`"),
                ]
            )
        return result.plan

    return once


def mean_of(plans: Sequence[SchedulePlan]) -> SimulatedSchedule:
    """Return the mean plan of several runs, with intervals."""
    quantities = {
        "tardy_share": [plan.jobs.tardy_share for plan in plans],
        "cost": [plan.cost.total for plan in plans],
        "vm_hours": [plan.vm_hours.on_demand + plan.vm_hours.spot for plan in plans],
        "evictions": [float(plan.evictions) for plan in plans],
        "utilization": [plan.utilization for plan in plans],
        "tardiness": [plan.tardiness.mean for plan in plans],
    }

    def mean(path: str) -> float:
        values = []
        for plan in plans:
            value: Any = plan
            for part in path.split("."):
                value = getattr(value, part)
            values.append(float(value))
        return float(np.mean(values))

    return SimulatedSchedule(
        jobs=Jobs(round(mean("jobs.count")), round(mean("jobs.tardy")), mean("jobs.tardy_share")),
        cost=Cost(mean("cost.on_demand"), mean("cost.spot"), mean("cost.total")),
        vm_hours=VmHours(mean("vm_hours.on_demand"), mean("vm_hours.spot"), mean("vm_hours.broken")),
        evictions=round(mean("evictions")),
        tardiness=Tardiness(
            mean("tardiness.mean"),
            mean("tardiness.p50"),
            mean("tardiness.p95"),
            max(plan.tardiness.max for plan in plans),
        ),
        utilization=mean("utilization"),
        lost_tasks=round(mean("lost_tasks")),
        rented=round(mean("rented")),
        finished=mean("finished"),
        log=plans[0].log,
        runs=len(plans),
        observed={
            name: Interval(float(np.mean(values)), half_width(np.array(values)) if len(values) > 1 else None)
            for name, values in quantities.items()
        },
    )


class Recorder:
    """Observer of a run: writes each decision as a line of JSON, and stores price, fleet and backlog as steps."""

    def __init__(self, log: IO[str] | None = None) -> None:
        self._log = log
        self._fleet = {"on_demand": 0, "spot": 0}
        self._kinds: dict[int, str] = {}
        self._backlog = self.jobs = 0
        self.late: list[float] = []
        self.steps: dict[str, list[tuple[float, float]]] = {"price": [], "on_demand": [], "spot": [], "backlog": []}

    def __call__(self, what: str, time: float, facts: Mapping[str, Any]) -> None:
        if self._log is not None:
            self._log.write(json.dumps({"time": round(time, 9), "what": what, **facts}) + "\n")
        match what:
            case "price":
                self.steps["price"].append((time, facts["price"] * HOUR))
            case "arrive" | "finish":
                self._backlog += 1 if what == "arrive" else -1
                self.steps["backlog"].append((time, float(self._backlog)))
                if what == "finish":
                    self.jobs += 1
                    if facts["tardy"]:
                        self.late.append(time - facts["due"])
            case "rent":
                self._kinds[facts["cohort"]] = facts["kind"]
                self._resize(time, facts["kind"], facts["vms"])
            case "release" | "evict":
                self._resize(time, self._kinds[facts["cohort"]], -facts["vms"])

    def _resize(self, time: float, kind: str, vms: int) -> None:
        self._fleet[kind] += vms
        self.steps[kind].append((time, float(self._fleet[kind])))


def watch(spec: Spec, seed: int | None, folder: Path) -> tuple[Path, ...]:
    """Write one run into a folder: ``decisions.jsonl``, and plots of price, fleet, backlog and lateness.

    Raises MrdslError if the method of `solve with` has no log of a run.
    """
    entries = _log_of_method(spec, seed or 0)
    make_folder(folder)
    with Together() as files, files.text(folder / "decisions.jsonl") as log:
        recorder = Recorder(log)
        run = simulation(spec.facts, seed or 0, recorder)
        if run.prices is not None:
            recorder("price", 0.0, {"price": run.prices.current})
        if entries is None:
            seen = run.run()
            start, end = seen.start, seen.end
        else:
            for entry in entries:
                recorder(entry.what, entry.time, entry.facts)
            start, end = (entries[0].time, entries[-1].time) if entries else (0.0, 0.0)
    return folder / "decisions.jsonl", *draw(recorder, start, end, folder, spec.currency)


def _log_of_method(spec: Spec, seed: int) -> Sequence[Entry] | None:
    """Return the log of a run by the method of ``solve with``; None if the spec's policy decides."""
    method = spec.method
    once = _by_method(spec)
    if method is None or once is None or method.name in ("auto", OWN_POLICY):
        return None
    plan = once(seed)
    if plan.log is None:
        message = f"`{method.name}` keeps no log of its decisions"
        raise one_error("no-simulation", message, method.span, "remove `solve with`")
    return plan.log()


def draw(recorder: Recorder, start: float, end: float, folder: Path, currency: str) -> tuple[Path, ...]:
    """Return the plots of a run."""
    lines = {
        name: _sampled(name.replace("_", " "), steps, start, end) for name, steps in recorder.steps.items() if steps
    }
    charts = {
        "price": ([lines["price"]] if "price" in lines else [], "Spot price of one VM", f"{currency} per hour"),
        "fleet": ([lines[name] for name in ("on_demand", "spot") if name in lines], "Rented VMs", "VMs"),
        "backlog": ([lines["backlog"]] if "backlog" in lines else [], "Jobs in the system", "jobs"),
    }
    written = []
    for name, (series, title, unit) in charts.items():
        if series:
            file = folder / f"{name}.svg"
            write_chart(file, LineChart(title, "hours", unit, tuple(series), y_zero=True))
            written.append(file)
    if recorder.late:
        late = [0.0, *sorted(recorder.late)]
        ended = [100.0 * (recorder.jobs - len(late) + 1 + i) / recorder.jobs for i in range(len(late))]
        few = sorted({round(i) for i in np.linspace(0, len(late) - 1, POINTS)})
        file = folder / "lateness.svg"
        curve = Series("jobs", [late[i] for i in few], [ended[i] for i in few])
        write_chart(file, LineChart("Jobs that have ended", "seconds after the due time", "%", (curve,)))
        written.append(file)
    return tuple(written)


def _sampled(name: str, steps: Sequence[tuple[float, float]], start: float, end: float) -> Series:
    """Return a step function at evenly spaced moments, the highest value of each stretch that has several."""
    times = [time for time, _ in steps]
    edges = np.linspace(start, end, POINTS)
    values = []
    for left, right in zip(edges, [*edges[1:], end], strict=True):
        first, last = bisect_right(times, left) - 1, bisect_right(times, right)
        inside = [value for _, value in steps[max(first, 0) : max(last, first + 1)]]
        values.append(max(inside) if inside and first >= 0 else 0.0)
    return Series(name, (edges / HOUR).tolist(), values)


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (SchedulePlan, SimulatedSchedule)
