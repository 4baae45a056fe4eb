"""A timetable run: its runs on the slots that are reserved for them, with drawn times of tasks, faults and losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.core.result import Outcome
from mrdsl.core.units import TICK
from mrdsl.families.timetable.arrivals import filled
from mrdsl.families.timetable.facts import JobClass, TimetableFacts
from mrdsl.families.timetable.night import SEARCHED
from mrdsl.families.timetable.plan import Bill, Evidence, RunSeen, TimetablePlan, types_of_runs
from mrdsl.families.timetable.simulated_runs import second_attempts, timetable_of
from mrdsl.families.timetable.types import Market, market_of_plan
from mrdsl.simulation.described import asked
from mrdsl.simulation.drawn import MOST_TASKS, options_without_effect
from mrdsl.simulation.engine.reserved import Executed, Timetable, execute
from mrdsl.simulation.observed import Observed, Simulated, Verdict
from mrdsl.simulation.planned import check_repeats, override_notes
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import (
    CONFIDENCE,
    IT_TAKES,
    JOBS_TAKE,
    confidence_of_each,
    judge_mean,
    judge_share,
    observed_of,
    on_time_share,
    promised,
    verdict_warnings,
)
from mrdsl.solving.worker import in_processes
from mrdsl.spec.blocks import Simulation
from mrdsl.spec.declared import SIMULATION, require_options
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
OTHER_TYPE = 1 << 32
"""Distance of the numbers of simulated runs of two VM types, whose draws are independent."""
ONCE = "every run of the timetable is run once in each simulated run"


def simulate_plan(spec: Spec, plan: TimetablePlan, settings: Settings) -> tuple[TimetablePlan, tuple[Diagnostic, ...]]:
    """Return the plan with observations from independent executions of the whole timetable.

    A run has the slots that its tasks take in the plan, from when to when they take them. There its tasks start as soon
    as the stages before have ended, and a task that has not started at its planned start takes any idle slot. Rentals
    last until the runs on them have ended. Without a spread of times, every execution is the plan.

    Raises:
        MrdslError: An option has no effect, too many tasks, or an execution would hardly end.
    """
    facts, parts, ends = _executed(spec, plan, settings)
    observed, verdicts = {}, []
    for index, node in enumerate(facts.classes):
        found = _Class(plan, node, ends)
        if len(found.runs):
            observed[node.name] = found.observed(_use(parts, index))
            verdicts += list(found.told(observed[node.name].verdict))
    ran = replace(
        plan,
        observed=observed,
        of_runs=tuple(_of_runs(plan, ends)),
        bill=_bill(
            [
                sum(_cost(plan, part, part.executed[run]) + _again(part, run) for part in parts)
                + _cost_of_masters(plan, market_of_plan(facts, plan), parts, run)
                for run in range(settings.runs)
            ]
        ),
        simulated=Simulated(settings.runs, settings.seed, 1, 0.0, settings.what_if.said()),
    )
    return ran, (*verdicts, *override_notes(settings))


def judged(spec: Spec, plan: TimetablePlan, settings: Settings, confidence: float) -> dict[str, Verdict]:
    """Return the verdict on each class with a simulated guarantee and admitted runs, from executions of the plan.

    Raises MrdslError as :func:`simulate_plan` does.
    """
    facts, _, ends = _executed(spec, plan, settings)
    classes = [_Class(plan, node, ends) for node in facts.classes if node.guarantee in SEARCHED]
    return {
        each.node.name: each.on_average(confidence) if each.node.guarantee == "mean" else each.on_share(confidence)
        for each in classes
        if len(each.runs)
    }


def repeat_runs(spec: Spec, plan: TimetablePlan, processes: int) -> TimetablePlan | None:
    """Return the plan with evidence from new executions; None if it has none."""
    if not plan.shown:
        return None
    found, made = [], {}
    for each in plan.shown:
        key = each.runs, each.seed, each.confidence
        if key not in made:
            require_options(SIMULATION, {"runs": each.runs, "seed": each.seed, "processes": processes})
            made[key] = judged(spec, plan, Settings(each.runs, each.seed, None, processes), each.confidence)
        verdict = made[key].get(each.name)
        found.append(
            replace(each, jobs=0, share=0.0, low=0.0) if verdict is None else evidence(each.name, each.seed, verdict)
        )
    return replace(plan, shown=tuple(found))


def evidence(name: str, seed: int, verdict: Verdict) -> Evidence:
    """Return the evidence of a verdict on a share, or on the mean times of all runs: all are shown on time, or none."""
    if verdict.what == "mean":
        shown = float(verdict.outcome is Outcome.KEPT)
        return Evidence(name, 1.0, seed, verdict.runs, verdict.jobs, shown, shown, verdict.confidence)
    return Evidence(
        name,
        verdict.wanted,
        seed,
        verdict.runs,
        verdict.jobs,
        verdict.seen or 0.0,
        verdict.low or 0.0,
        verdict.confidence,
    )


def _executed(spec: Spec, plan: TimetablePlan, settings: Settings) -> tuple[TimetableFacts, list[_Part], Floats]:
    """Return the facts with all runs, executions by VM type, and the end of each run in each [s], NaN if left out."""
    facts = filled(spec.facts)
    own = facts.simulation
    rules = Simulation() if own is None else Simulation(**{each.name: getattr(own, each.name) for each in fields(own)})
    rules = asked(rules, settings.what_if)
    market = market_of_plan(facts, plan)
    _check_options(spec, market, settings)
    parts = [_Part(facts, plan, market, vm, rules) for vm in used_types(plan, market)]
    _check_scenario(spec, plan, parts, rules, settings)
    requests = [
        (part.timetable, settings.seed, run + OTHER_TYPE * part.vm) for part in parts for run in range(settings.runs)
    ]
    executed: list[Executed] = in_processes(_execute, requests, settings.processes)
    for number, part in enumerate(parts):
        part.executed = executed[number * settings.runs : (number + 1) * settings.runs]
        part.again = [None] * settings.runs
    again = [(part, run) for part in parts for run, each in enumerate(part.executed) if each.stopped]
    requests = [
        (
            second_attempts(
                facts,
                part.timetable,
                part.executed[run].stopped,
                part.night,
                rules,
                [plan.runs[place].second or market.room(part.vm, place)[2] for place in part.places],
            ),
            settings.seed,
            run + OTHER_TYPE * (len(market.nights) + part.vm),
        )
        for part, run in again
    ]
    for (part, run), (timetable, *_), each in zip(
        again, requests, in_processes(_execute, requests, settings.processes), strict=True
    ):
        part.again[run] = timetable, each
    ends = np.full((settings.runs, len(plan.runs)), np.nan)
    for part in parts:
        ends[:, part.places] = [each.ends for each in part.executed]
        for run, found in enumerate(part.again):
            if found is not None:
                ends[run, [part.places[index] for index in sorted(part.executed[run].stopped)]] = found[1].ends
    return facts, parts, ends / TICK


def _bill(costs: Sequence[float]) -> Bill:
    return Bill(float(np.mean(costs)), float(np.percentile(costs, 95)))


def _execute(request: tuple[Timetable, int, int], report: object) -> Executed:
    return execute(*request)


def used_types(plan: TimetablePlan, market: Market) -> list[int]:
    """Return the indices of the VM types that runs are on."""
    return sorted(set(types_of_runs(plan, [machine.name for machine in market.machines]).values()))


class _Part:
    """The runs on one VM type, which share machines with each other alone, and their executions.

    Those that lost spot VMs run again on VMs on demand, in ``again``.
    """

    def __init__(self, facts: TimetableFacts, plan: TimetablePlan, market: Market, vm: int, rules: Simulation) -> None:
        self.vm, self.night = vm, market.nights[vm]
        self.timetable, self.places, self.used = timetable_of(facts, plan, market, vm, rules)
        self.demand = next(night.machine for night in market.nights if night.machine.name == self.night.machine.vm)
        self.executed: Sequence[Executed] = ()
        self.again: list[tuple[Timetable, Executed] | None] = []


def _check_options(spec: Spec, market: Market, settings: Settings) -> None:
    reasons = {"slowstart": "in the plan a stage starts when the stages before it have ended"}
    wrong = list(options_without_effect(spec, settings, reasons | {"jobs": ONCE, "burst": ONCE}))
    tasks = sum(stage.tasks for run in market.runs for stage in market.jobs[run.job].stages)
    if tasks > MOST_TASKS:
        message = f"the timetable has {tasks:,} tasks, and no more than {MOST_TASKS:,} are simulated"
        wrong.append(error("too-large", message, spec.span, "simulate a part of it"))
    if wrong:
        raise MrdslError(wrong)


def _check_scenario(
    spec: Spec, plan: TimetablePlan, parts: Sequence[_Part], rules: Simulation, settings: Settings
) -> None:
    found: list[Diagnostic] = []
    for part in parts:
        found = found or list(check_repeats(part.timetable.scenario, filled(spec.facts).classes[0], rules))
        found += _recorded_elsewhere(spec, part)
    permanent = rules.machine_failures.permanent if rules.machine_failures is not None else 0
    is_one = plan.rent == "constant" and len(parts) == 1
    fewest = sum(each.vms for part in parts for each in part.timetable.scenario.machines) if is_one else 0
    if permanent and permanent >= fewest:
        option = settings.what_if.lose is not None
        place = None if option else rules.machine_failures.span_of("permanent")  # type: ignore[union-attr]
        word = "--fail-machines" if option else "permanent ="
        found.append(
            error(
                "out-of-range",
                f"no machine is left after permanent failures of {permanent}, and no run can end without one"
                if is_one
                else "machines that fail for good are simulated for rent = constant alone, on one VM type",
                place,
                f"write {word} {fewest - 1} or fewer" if fewest > 1 else f"leave out {word.split()[0]}",
            )
        )
    if found:
        raise MrdslError(found)


def _recorded_elsewhere(spec: Spec, part: _Part) -> Iterator[Diagnostic]:
    """Yield classes with recorded times of tasks, which are those of speed 1, that run on a type at another speed."""
    vm = next(each for each in spec.facts.vms if each.name == part.night.machine.vm)
    jobs = {job.kind for job in part.timetable.jobs}
    for index, node in enumerate(filled(spec.facts).classes):
        row = next((each for each in node.on if each.name == vm.name), None)
        recorded = node.recorded or node.samples or any(stage.samples for stage in node.stages)
        if index in jobs and row is not None and row.speed != 1.0 and recorded:
            yield error(
                "not-simulated",
                f"class {node.name} runs on {vm.name} at another speed, and its recorded times are those of speed 1",
                row.span_of("speed"),
                f"write its stages or phases in `on {vm.name}` in place of `speed`, or leave out the recorded times",
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
        verdict = self.on_average() if promise.level is None else promise.judged(aligned)
        return replace(found, kept=on_time_share(aligned, limit), verdict=verdict)

    def on_share(self, confidence: float) -> Verdict:
        """Return the verdict on the share of all runs of the class that are on time, of its percentile."""
        limit = float(self.windows.min())
        aligned = (self.times - (self.windows - limit)).tolist()
        return judge_share(aligned, limit, SEARCHED[self.node.guarantee or ""], confidence)

    def on_average(self, confidence: float = CONFIDENCE) -> Verdict:
        """Return the verdict on the mean times of all runs.

        They are met if each is met: the verdict of the run that is the last to show it. They are missed if any run is,
        at a confidence that holds for all runs together.
        """

        def of(run: int, confidence: float = confidence) -> Verdict:
            return judge_mean(self.times[:, [run]].tolist(), float(self.windows[run]), confidence)

        endless = ~np.isfinite(self.times).all(axis=0)
        if endless.any():
            self.worst = int(np.argmax(endless))
            return of(self.worst)
        error_of_mean, late = self._errors(), self.times.mean(axis=0) - self.windows
        together = confidence_of_each(confidence, len(self.runs))
        self.worst = int(np.argmax(late - _factor(len(self.times), together) * error_of_mean))
        missed = of(self.worst, together)
        if missed.outcome == "broken":
            return missed
        self.worst = int(np.argmax(late + _factor(len(self.times), confidence) * error_of_mean))
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


def _use(parts: Sequence[_Part], kind: int) -> float:
    """Return the part of the rented slot time in which tasks of a class ran."""
    ran = [
        pair
        for part in parts
        for pair in (*((part.timetable, each) for each in part.executed), *(each for each in part.again if each))
    ]
    rented = sum(
        (until - begin) * machines.vms * machines.slots
        for timetable, executed in ran
        for until, (begin, _), machines in zip(
            executed.until, timetable.there, timetable.scenario.machines, strict=True
        )
    )
    return sum(executed.busy[kind] for _, executed in ran) / rented if rented else 0.0


def _cost(plan: TimetablePlan, part: _Part, executed: Executed) -> float:
    """Return the cost of all rentals of a type without masters, each until the runs on it have ended."""
    until = dict(zip(part.used, executed.until, strict=True))
    machine = part.night.machine
    paid = {False: 0, True: 0}
    for index, rental in enumerate(plan.rentals):
        if rental.kind != machine.name or rental.master:
            continue
        end = until.get(index, until.get(-1, round(rental.end * TICK)))
        paid[rental.reserved] += rental.count * machine.billed(end - round(rental.begin * TICK))
    return sum(machine.price_of(reserved) * ticks / TICK for reserved, ticks in paid.items())


def _cost_of_masters(plan: TimetablePlan, market: Market, parts: Sequence[_Part], run: int) -> float:
    """Return the cost of masters, each until the last runs of its cluster have ended, second attempts among them."""
    until: dict[int, int] = {}
    for part in parts if any(rental.master for rental in plan.rentals) else ():
        until.update(zip(part.used, part.executed[run].until, strict=True))
        found = part.again[run]
        for job, end in zip(sorted(part.executed[run].stopped), found[1].until if found else (), strict=True):
            for at in {part.used[wave.group] for wave in part.timetable.jobs[job].waves}:
                until[at] = max(until[at], end)
    cost, masters, names = 0.0, market.machines[0].masters, [machine.name for machine in market.machines]
    for index, rental in enumerate(plan.rentals):
        if not rental.master:
            continue
        last = index  # masters of a run come after its machines
        while plan.rentals[last - 1].master:
            last -= 1
        first = last
        while first and not plan.rentals[first - 1].master:
            first -= 1
        mine = range(first, last) if plan.rent == "per_job" else until
        end = max([round(rental.end * TICK), *(until.get(at, 0) for at in mine)])
        of_type = next(each for each in masters if names[each.vm] == rental.vm)
        cost += of_type.price * rental.count * of_type.billed(end - round(rental.begin * TICK)) / TICK
    return cost


def _again(part: _Part, run: int) -> float:
    """Return the cost of second attempts, on VMs on demand from a boot before until each ends."""
    found = part.again[run]
    if found is None:
        return 0.0
    timetable, executed = found
    machine = part.demand
    return sum(
        machine.price * machine.billed(until - begin + machine.boot) * machines.vms / TICK
        for until, (begin, _), machines in zip(
            executed.until, timetable.there, timetable.scenario.machines, strict=True
        )
    )
