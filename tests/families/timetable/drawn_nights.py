"""Small nights in whole minutes, drawn with a seed, and all their timetables enumerated, apart from the family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import ceil, inf
from random import Random

WAYS = ("constant", "elastic", "per_job", "cheapest")


@dataclass(frozen=True)
class SmallRun:
    """One run: release, due time, and stages as (tasks, minutes): one after the other, or side by side.

    A run with a penalty may be left out.
    """

    release: int
    due: int
    stages: tuple[tuple[int, int], ...]
    is_chain: bool = True
    penalty: float | None = None

    @property
    def alone(self) -> int:
        """Its minutes with a slot for each task."""
        minutes = [each for _, each in self.stages]
        return sum(minutes) if self.is_chain else max(minutes)


@dataclass(frozen=True)
class SmallNight:
    """A night in whole minutes; prices are 1 USD a minute."""

    runs: tuple[SmallRun, ...]
    slots: int
    boot: int
    period: int
    minimum: int
    available: int | None = None
    reserved: int = 0
    prepaid: bool = False
    spot: bool = False

    def spent(self, minutes: tuple[int, ...]) -> float:
        """The cost of machines that are rented at the same time, each paid for these minutes; a reserved one costs half
        of the others, or nothing more if it is prepaid.
        """
        longest = sorted(minutes, reverse=True)
        return sum(longest) - sum(longest[: self.reserved]) * (1.0 if self.prepaid else 0.5)

    @property
    def fixed(self) -> float:
        """The cost of prepaid machines from a boot before the first release to the last deadline."""
        span = max(run.due for run in self.runs) - min(run.release for run in self.runs) + self.boot
        return 0.5 * self.reserved * span if self.prepaid else 0.0

    @property
    def is_limited(self) -> bool:
        """Whether machines at once are limited, all or those of a lower price."""
        return self.available is not None or self.reserved > 0

    def billed(self, minutes: int) -> int:
        return max(ceil(minutes / self.period) * self.period, self.minimum)

    def text(self, rent: str) -> str:
        """The night as a spec."""
        lines = [
            'problem timetable "drawn"',
            f"rent = {rent}",
            f"billing {{ period = {self.period} min, minimum = {self.minimum} min }}",
            f"vm m {{ on_demand {{ price = 1 USD/min }}, boot = {self.boot} min{self._reserved()} }}",
        ]
        for number, run in enumerate(self.runs):
            lines.append(f"class c{number} {{")
            for index, (tasks, minutes) in enumerate(run.stages):
                after = f", after = [s{index - 1}]" if index and run.is_chain else ""
                lines.append(f"  stage s{index} {{ tasks = {tasks}, avg = {minutes} min, max = 9 min{after} }}")
            lines.append(f"  slots {{ task = {self.slots} }}")
            lines.append(f"  runs {{ at = [{run.release} min] }}")
            lines.append(f"  deadline = {run.due - run.release} min")
            if run.penalty is not None:
                lines.append(f"  penalty = {run.penalty} USD")
            lines.append("}")
        return "\n".join([*lines, "minimize cost", ""])

    def _reserved(self) -> str:
        if self.spot:
            return ", spot { price = 0.5 USD/min, interruptions = 0.1/h }"
        if not self.reserved:
            return ""
        prepaid = ", prepaid = yes" if self.prepaid else ""
        return f", reserved {{ price = 0.5 USD/min, available = {self.reserved}{prepaid} }}"

    def admissions(self) -> Iterator[tuple[tuple[SmallRun, ...], float]]:
        """All sets of runs that may be admitted, and the penalties of the others."""
        for keeps in product(*([True] if run.penalty is None else [True, False] for run in self.runs)):
            penalties = sum(run.penalty or 0.0 for run, kept in zip(self.runs, keeps, strict=True) if not kept)
            yield tuple(run for run, kept in zip(self.runs, keeps, strict=True) if kept), penalties


def drawn(seed: int, penalties: bool = False) -> SmallNight:
    """One night of that seed."""
    draw = Random(seed)
    runs = []
    for number in range(draw.randint(1, 3)):
        release = draw.randint(2, 6)
        most = 1 if number == 2 else 2
        stages = tuple((draw.randint(1, most), draw.randint(1, 2)) for _ in range(draw.randint(1, 2)))
        is_chain = draw.random() < 0.8
        alone = sum(minutes for _, minutes in stages)
        penalty = draw.choice([None, draw.randint(0, 8)]) if penalties else None
        runs.append(SmallRun(release, release + alone + draw.randint(0, 3), stages, is_chain, penalty))
    period, minimum = draw.choice([(1, 0), (1, 3), (4, 0), (3, 6)])
    return SmallNight(tuple(runs), draw.randint(1, 2), draw.randint(0, 2), period, minimum)


@cache
def least(night: SmallNight, rent: str) -> float:
    """The least cost of a night over all timetables and admissions."""
    if rent == "cheapest":
        return min(least(night, way) for way in WAYS[:3])
    of_admitted = {"constant": _least_constant, "elastic": _least_elastic, "per_job": _least_per_job}[rent]
    return min(of_admitted(night, runs) + penalties if runs else penalties for runs, penalties in night.admissions())


def timetables(runs: tuple[SmallRun, ...]) -> set[tuple[tuple[int, int], ...]]:
    """All ways to start all tasks, as sorted (start, minutes) of every task."""
    ways: set[tuple[tuple[int, int], ...]] = {()}
    for run in runs:
        ways = {tuple(sorted((*way, *each))) for way in ways for each in _of_run(run)}
    return ways


@cache
def _of_run(run: SmallRun) -> tuple[tuple[tuple[int, int], ...], ...]:
    ways: list[tuple[int, tuple[tuple[int, int], ...]]] = [(run.release, ())]
    for number, (tasks, minutes) in enumerate(run.stages):
        rest = sum(each for _, each in run.stages[number + 1 :]) if run.is_chain else 0
        longer = []
        for ready, way in ways:
            for starts in _starts(tasks, ready, run.due - rest - minutes):
                ready_next = max(starts) + minutes if run.is_chain else run.release
                longer.append((ready_next, (*way, *((start, minutes) for start in starts))))
        ways = longer
    return tuple(dict.fromkeys(tuple(sorted(way)) for _, way in ways))


def _starts(tasks: int, first: int, last: int) -> list[tuple[int, ...]]:
    """Starts of alike tasks in order."""
    if not tasks:
        return [()]
    return [(start, *rest) for start in range(first, last + 1) for rest in _starts(tasks - 1, start, last)]


def peak(tasks: tuple[tuple[int, int], ...]) -> int:
    """The most tasks at once."""
    return max(sum(begin <= start < begin + minutes for begin, minutes in tasks) for start, _ in tasks)


def _least_constant(night: SmallNight, runs: tuple[SmallRun, ...]) -> float:
    begin = min(run.release for run in runs) - night.boot
    most = inf if night.available is None else night.available
    return min(
        (
            night.spent(
                ceil(peak(way) / night.slots) * (night.billed(max(start + minutes for start, minutes in way) - begin),)
            )
            for way in timetables(runs)
            if ceil(peak(way) / night.slots) <= most
        ),
        default=inf,
    )


def _least_per_job(night: SmallNight, runs: tuple[SmallRun, ...]) -> float:
    def spent(way: tuple[tuple[int, int], ...]) -> int:
        span = max(start + minutes for start, minutes in way) - min(start for start, _ in way)
        return ceil(peak(way) / night.slots) * night.billed(night.boot + span)

    return sum(min((spent(way) for way in _of_run(run)), default=inf) for run in runs)


Machine = tuple[int, int, tuple[int, ...]]
"""The request of a machine, the end of its last task, and the ends of the tasks that run."""
Progress = tuple[tuple[tuple[int, int], ...], ...]
"""For each stage of each run, the tasks that wait, and the end of the last one that started."""


def _least_elastic(night: SmallNight, runs: tuple[SmallRun, ...]) -> float:
    """Minute by minute: start a task on a machine with a free slot, or on a new one, or let a minute pass."""

    @cache
    def spent(now: int, progress: Progress, machines: tuple[Machine, ...], first: int) -> float:
        if not any(waiting for stages in progress for waiting, _ in stages):
            return _with_reserved(night, machines) if night.reserved else 0.0
        if any(
            waiting and now + minutes > run.due
            for run, stages in zip(runs, progress, strict=True)
            for (waiting, _), (_, minutes) in zip(stages, run.stages, strict=True)
        ):
            return inf
        later = now + 1
        best = spent(
            later,
            tuple(tuple((waiting, end if end > later else 0) for waiting, end in stages) for stages in progress),
            tuple(sorted(_kept(night, machines, later))),
            0,
        )
        for number in range(first, len(runs)):
            run, stages = runs[number], progress[number]
            if run.release > now:
                continue
            for index, (waiting, end) in enumerate(stages):
                minutes = run.stages[index][1]
                before = stages[index - 1] if index and run.is_chain else (0, 0)
                if not waiting or before[0] or before[1] > now:
                    continue
                changed = (*stages[:index], (waiting - 1, max(end, now + minutes)), *stages[index + 1 :])
                after = (*progress[:number], changed, *progress[number + 1 :])
                for more, there in _places(night, machines, now, minutes):
                    if night.available is not None and _most(there) > night.available:
                        continue
                    paid = 0 if night.reserved else more  # reserved machines are chosen at the end
                    best = min(best, paid + spent(now, after, there, number))
        return best

    begin = min(run.release for run in runs)
    return spent(begin, tuple(tuple((tasks, 0) for tasks, _ in run.stages) for run in runs), (), 0)


def _kept(night: SmallNight, machines: tuple[Machine, ...], now: int) -> Iterator[Machine]:
    """The machines that may run tasks from now on; not those on which all cost at least as much as on a new one."""
    for begin, end, busy in machines:
        running = tuple(each for each in busy if each > now)
        paid = night.billed(end - begin)
        if (
            running
            or night.is_limited
            or any(night.billed(now + each - begin) - paid < night.billed(night.boot + each) for each in range(1, 20))
        ):
            yield begin, end, running


def _places(
    night: SmallNight, machines: tuple[Machine, ...], now: int, minutes: int
) -> Iterator[tuple[int, tuple[Machine, ...]]]:
    """The machines that a task may start on, what each costs more, and all machines then."""
    for index, (begin, end, busy) in enumerate(machines):
        if len(busy) < night.slots and machines[index] not in machines[:index]:
            until = max(end, now + minutes)
            one = begin, until, tuple(sorted((*busy, now + minutes)))
            more = night.billed(until - begin) - night.billed(end - begin)
            yield more, tuple(sorted((*machines[:index], one, *machines[index + 1 :])))
    begin = now - night.boot
    one = begin, now + minutes, (now + minutes,)
    yield night.billed(now + minutes - begin), tuple(sorted((*machines, one)))


def _with_reserved(night: SmallNight, machines: tuple[Machine, ...]) -> float:
    """The least cost of machines of which some are reserved, in all ways to choose these."""
    costs = [night.billed(end - begin) for begin, end, _ in machines]
    best = inf
    for chosen in product((False, True), repeat=len(machines)):
        reserved = tuple(each for each, one in zip(machines, chosen, strict=True) if one)
        if not reserved or _most(reserved) <= night.reserved:
            saved = sum(cost for cost, one in zip(costs, chosen, strict=True) if one)
            best = min(best, sum(costs) - saved * (1.0 if night.prepaid else 0.5))
    return best


def _most(machines: tuple[Machine, ...]) -> int:
    """The most machines at once, from their requests to their last tasks."""
    return max(sum(other[0] <= begin < other[1] for other in machines) for begin, _, _ in machines)


def least_with_spot(night: SmallNight, rent: str) -> float:
    """The least cost if each run may be on spot machines at half the price, and ends there early enough to run again.

    The other attempt takes a boot and the time of the run with a slot for each task.
    """
    best = inf
    for places in product((False, True), repeat=len(night.runs)):
        total = 0.0
        for spot, price in ((False, 1.0), (True, 0.5)):
            mine = tuple(
                replace(
                    run,
                    due=run.due - spot * (night.boot + run.alone),
                    penalty=None if run.penalty is None else run.penalty / price,
                )
                for run, place in zip(night.runs, places, strict=True)
                if place == spot
            )
            total += price * least(replace(night, runs=mine), rent) if mine else 0.0
        best = min(best, total)
    return best


@dataclass(frozen=True)
class TypedNight:
    """Runs on VM types with other prices, boots, slots and speeds; each run is on one of the types it may use.

    A task takes ``slower`` times its minutes on a type.
    """

    types: tuple[SmallNight, ...]
    prices: tuple[int, ...]
    slower: tuple[int, ...]
    allowed: tuple[tuple[int, ...], ...]
    one: bool

    @property
    def runs(self) -> tuple[SmallRun, ...]:
        """The runs, with the minutes of a type of speed 1."""
        return self.types[0].runs

    @property
    def tasks(self) -> int:
        """The tasks of all runs."""
        return sum(tasks for run in self.runs for tasks, _ in run.stages)

    def text(self, rent: str) -> str:
        """The night as a spec; with ``one``, all runs are in one class and on one type."""
        lines = ['problem timetable "drawn"', f"rent = {rent}"]
        for number, (each, price) in enumerate(zip(self.types, self.prices, strict=True)):
            more = "" if each.available is None else f", available = {each.available}"
            lines.append(
                f"vm m{number} {{ on_demand {{ price = {price} USD/min }}, boot = {each.boot} min{more}\n"
                f"  billing {{ period = {each.period} min, minimum = {each.minimum} min }} }}"
            )
        runs = self.runs[:1] if self.one else self.runs
        for number, run in enumerate(runs):
            lines.append(f"class c{number} {{")
            for index, (tasks, minutes) in enumerate(run.stages):
                after = f", after = [s{index - 1}]" if index and run.is_chain else ""
                lines.append(f"  stage s{index} {{ tasks = {tasks}, avg = {minutes} min, max = 9 min{after} }}")
            lines.append(f"  slots {{ task = {self.types[0].slots} }}")
            for vm, (each, slower) in enumerate(zip(self.types, self.slower, strict=True)):
                if vm in self.allowed[number]:
                    lines.append(f"  on m{vm} {{ slots {{ task = {each.slots} }}, speed = {1 / slower} }}")
            if self.one:
                lines.append("  types = one")
            elif len(self.allowed[number]) < len(self.types):
                lines.append(f"  types = [{', '.join(f'm{vm}' for vm in self.allowed[number])}]")
            at = [each.release for each in self.runs] if self.one else [run.release]
            lines.append(f"  runs {{ at = [{', '.join(f'{each} min' for each in at)}] }}")
            lines.append(f"  deadline = {run.due - run.release} min")
            if run.penalty is not None:
                lines.append(f"  penalty = {run.penalty} USD")
            lines.append("}")
        return "\n".join([*lines, "minimize cost", ""])

    def least(self, rent: str) -> float:
        """The least cost over all types of the runs, timetables and admissions."""
        if rent == "cheapest":
            return min(self.least(way) for way in WAYS[:3])
        best = inf
        for places in product(*self.allowed):
            if self.one and len(set(places)) > 1:
                continue
            total = 0.0
            for vm, (each, price) in enumerate(zip(self.types, self.prices, strict=True)):
                mine = tuple(
                    self._on(vm, run, price) for run, place in zip(self.runs, places, strict=True) if place == vm
                )
                if mine:
                    total += price * least(replace(each, runs=mine), rent)
            best = min(best, total)
        return best

    def _on(self, vm: int, run: SmallRun, price: int) -> SmallRun:
        """A run with the minutes of a type, and its penalty in prices of that type."""
        stages = tuple((tasks, minutes * self.slower[vm]) for tasks, minutes in run.stages)
        return replace(run, stages=stages, penalty=None if run.penalty is None else run.penalty / price)


def drawn_types(seed: int, quotas: bool = False) -> TypedNight:
    """One night with two or three VM types of that seed; some type serves each run in time."""
    draw = Random(f"types {seed}")
    penalties = draw.random() < 0.3 and not quotas
    base = drawn(seed, penalties)
    one = draw.random() < 0.2
    runs = base.runs
    if one:
        runs = tuple(
            replace(runs[0], release=each.release, due=each.release + runs[0].due - runs[0].release)
            for each in sorted(runs, key=lambda each: each.release)
        )
    types = []
    for number in range(draw.randint(2, 3)):
        period, minimum = draw.choice([(1, 0), (1, 3), (4, 0), (3, 6)])
        available = draw.randint(1, 2) if quotas and number else None
        types.append(SmallNight(runs, draw.randint(1, 2), draw.randint(0, 2), period, minimum, available))
    every = tuple(range(len(types)))
    allowed = tuple(every if one or draw.random() < 0.7 else (0, draw.choice(every[1:])) for _ in runs)
    prices = tuple(draw.randint(1, 3) for _ in types)
    return TypedNight(tuple(types), prices, (1, *(draw.randint(1, 2) for _ in types[1:])), allowed, one)
