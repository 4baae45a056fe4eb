"""A timetable run: its runs on the slots that are reserved for them, with drawn times of tasks, faults and losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import compress
from math import inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.clock import TICK
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.families.timetable.arrivals import filled
from mrdsl.families.timetable.facts import JobClass, TimetableFacts
from mrdsl.families.timetable.night import Night, night_of
from mrdsl.families.timetable.plan import Bill, RunSeen, TimetablePlan
from mrdsl.simulation.described import asked, class_of, faults_of
from mrdsl.simulation.drawn import MOST_TASKS, options_without_effect
from mrdsl.simulation.engine.reserved import Executed, PlannedJob, Timetable, Wave, execute
from mrdsl.simulation.engine.scenario import JobClass as SimulatedClass
from mrdsl.simulation.engine.scenario import LossRule, QueueRule, Recorded, Scenario
from mrdsl.simulation.engine.world import Machines
from mrdsl.simulation.observed import Observed, Simulated, Verdict
from mrdsl.simulation.planned import check_repeats, override_notes
from mrdsl.simulation.promises import IT_TAKES, JOBS_TAKE, observed_of, promised, verdict_warnings
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import CONFIDENCE, confidence_of_each, judge_mean, on_time_share
from mrdsl.solving.parallel import in_processes
from mrdsl.spec.blocks import Simulation
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
ONCE = "every run of the timetable is run once in each simulated run"


def simulate_plan(spec: Spec, plan: TimetablePlan, settings: Settings) -> tuple[TimetablePlan, tuple[Diagnostic, ...]]:
    """Return the plan with observations from independent executions of the whole timetable.

    A run has the slots that its tasks take in the plan, from when to when they take them. There its tasks start as soon
    as the stages before have ended, and a task that has not started at its planned start takes any idle slot. Rentals
    last until the runs on them have ended. Without a spread of times, every execution is the plan.

    Raises:
        MrdslError: An option has no effect, too many tasks, or an execution would hardly end.
    """
    facts = filled(spec.facts)
    own = facts.simulation
    rules = Simulation() if own is None else Simulation(**{each.name: getattr(own, each.name) for each in fields(own)})
    rules = asked(rules, settings.what_if)
    night = night_of(facts)
    _check_options(spec, night, settings)
    timetable, places, used = timetable_of(facts, plan, night, rules)
    _check_scenario(spec, plan, timetable, rules, settings)
    requests = [(timetable, settings.seed, run) for run in range(settings.runs)]
    executed: list[Executed] = in_processes(_execute, requests, settings.processes)
    ends = np.full((len(executed), len(plan.runs)), np.nan)
    ends[:, places] = [each.ends for each in executed]
    ends /= TICK
    observed, verdicts = {}, []
    for index, node in enumerate(facts.classes):
        found = _Class(plan, node, ends)
        if len(found.runs):
            observed[node.name] = found.observed(_use(timetable, executed, index))
            verdicts += list(found.told(observed[node.name].verdict))
    ran = replace(
        plan,
        observed=observed,
        of_runs=tuple(_of_runs(plan, ends)),
        bill=_bill([_cost(plan, night, used, each) for each in executed]),
        simulated=Simulated(settings.runs, settings.seed, 1, 0.0, settings.what_if.said()),
    )
    return ran, (*verdicts, *override_notes(settings))


def _bill(costs: Sequence[float]) -> Bill:
    return Bill(float(np.mean(costs)), float(np.percentile(costs, 95)))


def _execute(request: tuple[Timetable, int, int], report: object) -> Executed:
    return execute(*request)


def _check_options(spec: Spec, night: Night, settings: Settings) -> None:
    reasons = {"slowstart": "in the plan a stage starts when the stages before it have ended"}
    wrong = list(options_without_effect(spec, settings, reasons | {"jobs": ONCE, "burst": ONCE}))
    tasks = sum(stage.tasks for run in night.runs for stage in night.jobs[run.job].stages)
    if tasks > MOST_TASKS:
        message = f"the timetable has {tasks:,} tasks, and no more than {MOST_TASKS:,} are simulated"
        wrong.append(error("too-large", message, spec.span, "simulate a part of it"))
    if wrong:
        raise MrdslError(wrong)


def _check_scenario(
    spec: Spec, plan: TimetablePlan, timetable: Timetable, rules: Simulation, settings: Settings
) -> None:
    found = list(check_repeats(timetable.scenario, filled(spec.facts).classes[0], rules))
    permanent = rules.machine_failures.permanent if rules.machine_failures is not None else 0
    fewest = sum(each.vms for each in timetable.scenario.machines) if plan.rent == "constant" else 0
    if permanent and permanent >= fewest:
        option = settings.what_if.lose is not None
        place = None if option else rules.machine_failures.span_of("permanent")  # type: ignore[union-attr]
        word = "--fail-machines" if option else "permanent ="
        found.append(
            error(
                "out-of-range",
                f"{permanent} machines fail for good, and no run can end without machines"
                if plan.rent == "constant"
                else "machines that fail for good are simulated for rent = constant alone",
                place,
                f"write {word} {fewest - 1} or fewer" if fewest > 1 else f"leave out {word.split()[0]}",
            )
        )
    if found:
        raise MrdslError(found)


def timetable_of(
    facts: TimetableFacts, plan: TimetablePlan, night: Night, rules: Simulation
) -> tuple[Timetable, list[int], list[int]]:
    """Return a plan for the engine, the index of each of its jobs among the plan's runs, and the rental of each group.

    A group with the rental -1 has all machines.
    """
    tasks = plan.tasks
    assert tasks is not None
    ran = sorted(set(tasks.run.tolist()))
    classes = [class_of(replace(node, startup=0.0), Recorded(()), rules, 0, (0, 0)) for node in facts.classes]
    order = [
        [[stage.name for stage in each.kind.stages].index(stage.name) for stage in job.stages]
        for each, job in zip(classes, night.jobs, strict=True)
    ]
    used = sorted(set(tasks.machine.tolist()))
    waves: dict[int, list[Wave]] = {run: [] for run in ran}
    for run, stage, machine, start, count in zip(
        *(column.tolist() for column in (tasks.run, tasks.stage, tasks.machine, tasks.start, tasks.count)), strict=True
    ):
        job = night.runs[run].job
        begin = round(start * TICK)
        end = begin + night.jobs[job].stages[stage].ticks
        waves[run].append(Wave(order[job][stage], used.index(machine), begin, end, count))
    jobs = [PlannedJob(night.runs[run].job, night.runs[run].number, tuple(waves[run])) for run in ran]
    machines, there = [], []
    for machine in used:
        rental = plan.rentals[max(machine, 0)]
        vms = rental.count if machine >= 0 else len(plan.rentals) - night.machine.masters
        machines.append(Machines(vms, plan.slots))
        there.append((round(rental.begin * TICK) + night.machine.boot, round(rental.end * TICK)))
    return Timetable(_scenario(classes, jobs, machines, rules), tuple(jobs), tuple(there)), ran, used


def _scenario(
    classes: Sequence[SimulatedClass], jobs: Sequence[PlannedJob], machines: Sequence[Machines], rules: Simulation
) -> Scenario:
    first = min(job.start for job in jobs)
    starts: list[list[float]] = [[] for _ in classes]
    for job in jobs:
        starts[job.kind].append((job.start - first) / TICK)
    losses = rules.machine_failures
    return Scenario(
        tuple(
            replace(each, who=Recorded(tuple(times)), jobs=len(times))
            for each, times in zip(classes, starts, strict=True)
        ),
        tuple(machines),
        ((QueueRule(fair=False),),),
        0.0,
        faults_of(rules, rules.shuffle_service == "yes"),
        None if losses is None else LossRule(losses.rate, losses.repair_time, losses.permanent),
        max_running=rules.max_running or inf,
    )


class _Class:
    """The runs of a class that took place, and their times in each execution."""

    def __init__(self, plan: TimetablePlan, node: JobClass, ends: Floats) -> None:
        mine = np.array([run.job == node.name and run.admitted for run in plan.runs])
        self.node = node
        self.runs = list(compress(plan.runs, mine.tolist()))
        self.times = ends[:, mine] - np.array([run.release for run in self.runs])
        self.windows = np.array([run.deadline - run.release for run in self.runs])
        self.worst = 0

    def observed(self, use: float) -> Observed:
        """Return the observations of the class.

        Shares on time are counted by the deadline of each run: times count from the same time before it.
        """
        found = observed_of(self.times.tolist(), None, use)
        assert found is not None
        limit = float(self.windows.min())
        aligned = (self.times - (self.windows - limit)).tolist()
        promise = promised(limit, self.node.guarantee)
        assert promise is not None
        verdict = self._on_average() if promise.level is None else promise.judged(aligned)
        return replace(found, kept=on_time_share(aligned, limit), verdict=verdict)

    def _on_average(self) -> Verdict:
        """Return the verdict on the mean times of all runs.

        They are met if each is met: the verdict of the run that is the last to show it. They are missed if any run is,
        at a confidence that holds for all runs together.
        """

        def of(run: int, confidence: float = CONFIDENCE) -> Verdict:
            return judge_mean(self.times[:, [run]].tolist(), float(self.windows[run]), confidence)

        endless = ~np.isfinite(self.times).all(axis=0)
        if endless.any():
            self.worst = int(np.argmax(endless))
            return of(self.worst)
        error_of_mean, late = self._errors(), self.times.mean(axis=0) - self.windows
        together = confidence_of_each(CONFIDENCE, len(self.runs))
        self.worst = int(np.argmax(late - _factor(len(self.times), together) * error_of_mean))
        missed = of(self.worst, together)
        if missed.outcome == "broken":
            return missed
        self.worst = int(np.argmax(late + _factor(len(self.times), CONFIDENCE) * error_of_mean))
        last = of(self.worst)
        return of(self.worst, together) if last.outcome == "broken" else last

    def _errors(self) -> Floats:
        count = len(self.times)
        if count < 2:
            return np.zeros(len(self.runs))
        return np.asarray(self.times.std(axis=0, ddof=1) / np.sqrt(count))

    def told(self, verdict: Verdict | None) -> Iterator[Diagnostic]:
        """Yield the warnings of a verdict."""
        place: Span | None = self.node.span_of("due" if self.node.deadline is None else "deadline")
        if verdict is None or verdict.what == "share":
            yield from verdict_warnings(verdict, f"class {self.node.name}", place, JOBS_TAKE)
        else:
            name = f"run {self.runs[self.worst].run} of class {self.node.name}"
            yield from verdict_warnings(verdict, name, place, IT_TAKES)


def _factor(count: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(count - 1, 1), confidence))


def _of_runs(plan: TimetablePlan, ends: Floats) -> Iterator[RunSeen | None]:
    """Yield what was seen of each run, None for rejected ones."""
    for index, run in enumerate(plan.runs):
        if not run.admitted:
            yield None
            continue
        times = ends[:, index] - run.release
        ended = times[np.isfinite(times)]
        on_time = float(np.mean(times <= (run.deadline - run.release) * (1.0 + 1e-9)))
        if not len(ended):
            yield RunSeen(None, None, None, on_time, len(times))
            continue
        yield RunSeen(
            float(ended.mean()),
            float(np.percentile(ended, 95)),
            float(ended.max()),
            on_time,
            len(times) - len(ended),
        )


def _use(timetable: Timetable, executed: Sequence[Executed], kind: int) -> float:
    """Return the part of the rented slot time in which tasks of a class ran."""
    rented = sum(
        (until - begin) * machines.vms * machines.slots
        for each in executed
        for until, (begin, _), machines in zip(each.until, timetable.there, timetable.scenario.machines, strict=True)
    )
    return sum(each.busy[kind] for each in executed) / rented if rented else 0.0


def _cost(plan: TimetablePlan, night: Night, used: Sequence[int], executed: Executed) -> float:
    """Return the cost of all rentals, each until the runs on it have ended, and masters until theirs have."""
    until = dict(zip(used, executed.until, strict=True))
    last = max(executed.until)
    paid = 0
    for index, rental in enumerate(plan.rentals):
        if rental.master:  # of one run, they follow its machines
            end = until[index - 1] if plan.rent == "per_job" else last
        else:
            end = until.get(index, until.get(-1, round(rental.end * TICK)))
        paid += rental.count * night.machine.billed(end - round(rental.begin * TICK))
    return night.machine.price * paid / TICK
