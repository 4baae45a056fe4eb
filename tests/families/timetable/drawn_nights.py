"""Small nights in whole minutes, drawn with a seed, and all their timetables enumerated, apart from the family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from math import ceil, inf
from random import Random

WAYS = ("constant", "elastic", "per_job", "cheapest")
FEATURES = ("several", "spot", "reserved", "masters", "quota", "penalties")
Span = tuple[int, int]
"""A task (start, minutes), or the time of a machine (from, to)."""


@dataclass(frozen=True)
class Kind:
    """A VM type with prices in USD/min; ``reserved`` VMs cost 1, and tasks take ``slower`` times their minutes."""

    price: int
    slots: int
    boot: int
    period: int
    minimum: int
    slower: int = 1
    masters: int = 0
    spot: bool = False
    reserved: int = 0
    prepaid: bool = False
    available: int | None = None
    cores: int = 1

    def billed(self, minutes: int) -> int:
        return max(ceil(minutes / self.period) * self.period, self.minimum)

    def text(self, name: str) -> str:
        lines = [
            f"vm {name} {{ on_demand {{ price = {self.price} USD/min }}, boot = {self.boot} min, cores = {self.cores}"
        ]
        if self.masters:
            lines.append(f"  masters = {self.masters}")
        if self.spot:
            lines.append("  spot { price = 1 USD/min, interruptions = 0/h }")
        if self.reserved:
            prepaid = ", prepaid = yes" if self.prepaid else ""
            lines.append(f"  reserved {{ price = 1 USD/min, available = {self.reserved}{prepaid} }}")
        if self.available is not None:
            lines.append(f"  available = {self.available}")
        lines.append(f"  billing {{ period = {self.period} min, minimum = {self.minimum} min }} }}")
        return "\n".join(lines)


@dataclass(frozen=True)
class SmallRun:
    """One run: its window, and stages as (tasks, minutes), one after the other, or side by side.

    A run with a penalty may be left out. ``within`` limits its start.
    """

    release: int
    due: int
    stages: tuple[Span, ...]
    is_chain: bool = True
    penalty: int | None = None
    startup: int = 0
    within: int | None = None

    def alone(self, slower: int) -> int:
        """Its minutes with a slot for each task."""
        minutes = [each * slower for _, each in self.stages]
        return sum(minutes) if self.is_chain else max(minutes)

    def machines(self, kind: Kind) -> int:
        """The VMs with a slot for each task."""
        tasks = [each for each, _ in self.stages]
        return ceil((max(tasks) if self.is_chain else sum(tasks)) / kind.slots)


@dataclass(frozen=True)
class SmallNight:
    """A night in whole minutes; each run is on one VM type.

    Quotas are limits on cores: of a kind or of all, on spot or not.
    """

    runs: tuple[SmallRun, ...]
    kinds: tuple[Kind, ...]
    quotas: tuple[tuple[int, int | None, bool], ...] = ()

    def text(self, rent: str) -> str:
        """The night as a spec."""
        lines = ['problem timetable "drawn"', f"rent = {rent}"]
        lines += [kind.text(f"m{number}") for number, kind in enumerate(self.kinds)]
        for number, (cores, only, spot) in enumerate(self.quotas):
            types = "" if only is None else f", types = [m{only}]"
            lines.append(f"quota q{number} {{ cores = {cores}{types}, spot = {'yes' if spot else 'no'} }}")
        for number, run in enumerate(self.runs):
            lines.append(f"class c{number} {{")
            for index, (tasks, minutes) in enumerate(run.stages):
                after = f", after = [s{index - 1}]" if index and run.is_chain else ""
                lines.append(f"  stage s{index} {{ tasks = {tasks}, avg = {minutes} min, max = 9 min{after} }}")
            lines.append(f"  slots {{ task = {self.kinds[0].slots} }}")
            for vm, kind in list(enumerate(self.kinds))[1:]:
                lines.append(f"  on m{vm} {{ slots {{ task = {kind.slots} }}, speed = {1 / kind.slower} }}")
            lines.append(f"  runs {{ at = [{run.release} min] }}\n  deadline = {run.due - run.release} min")
            if run.penalty is not None:
                lines.append(f"  penalty = {run.penalty} USD")
            if run.startup:
                lines.append(f"  startup = {run.startup} min")
            if run.within is not None:
                lines.append(f"  start_within = {run.within} min")
            lines.append("}")
        return "\n".join([*lines, "minimize cost", ""])


def drawn(seed: int, *features: str, tasks: int = 5) -> SmallNight:
    """One night of that seed with these features, each in some nights."""
    draw = Random(f"{seed} {features}")

    def has(feature: str, share: float = 0.5) -> bool:
        return feature in features and draw.random() < share

    period, minimum = draw.choice([(1, 0), (1, 3), (4, 0), (3, 6)])
    kinds = []
    for number in range(draw.randint(1, 2) if "several" in features else 1):
        reserved = draw.randint(1, 2) if has("reserved") else 0
        kinds.append(
            Kind(
                price=draw.randint(2, 5),
                slots=draw.randint(1, 2),
                boot=draw.randint(0, 2),
                period=period,
                minimum=minimum,
                slower=draw.randint(1, 2) if number else 1,
                masters=draw.randint(1, 2) if has("masters") else 0,
                spot=has("spot"),
                reserved=reserved,
                prepaid=bool(reserved) and draw.random() < 0.3,
                available=draw.randint(1, 3) if has("quota") else None,
                cores=draw.choice([1, 2, 4]) if "cores" in features else 1,
            )
        )
    quotas = [
        (draw.randint(2, 8), draw.choice([None, len(kinds) - 1]), draw.random() < 0.3)
        for _ in range(draw.randint(1, 2) if has("cores") else 0)
    ]
    runs = []
    for _ in range(draw.randint(1, 3)):
        stages: list[Span] = []
        for _ in range(draw.randint(1, 2)):
            if tasks:
                stages.append((draw.randint(1, min(2, tasks)), draw.randint(1, 2)))
                tasks -= stages[-1][0]
        if stages:
            release, spare, is_chain = draw.randint(2, 6), draw.randint(0, 5), draw.random() < 0.8
            due = release + sum(minutes for _, minutes in stages) + spare
            penalty = draw.randint(0, 25) if has("penalties") else None
            startup = draw.choice([0, 0, 0, 1]) if spare > 1 else 0
            within = draw.choice([None, None, None, 1])
            runs.append(SmallRun(release, due, tuple(stages), is_chain, penalty, startup, within))
    return SmallNight(tuple(runs), tuple(kinds), tuple(quotas))


def least(night: SmallNight, rent: str) -> float:
    """The least cost of a night over all types of its runs, timetables, rentals and admissions; infinite if none."""
    if rent == "cheapest":
        return min(least(night, way) for way in WAYS[:3])
    choices: list[list[tuple[int, bool] | None]] = [
        [
            *([] if run.penalty is None else [None]),
            *((vm, spot) for vm, kind in enumerate(night.kinds) for spot in (False, True)[: 1 + kind.spot]),
        ]
        for run in night.runs
    ]
    best = inf
    for places in product(*choices):
        total = float(sum(run.penalty or 0 for run, each in zip(night.runs, places, strict=True) if each is None))
        used = []
        for vm, kind in enumerate(night.kinds):
            mine = tuple((run, each[1]) for run, each in zip(night.runs, places, strict=True) if each and each[0] == vm)
            has_masters = any(each.masters for each in night.kinds)
            used.append(_on_kind(kind, mine, rent, bool(night.quotas), has_masters) if mine else {((), (), ()): 0.0})
        for chosen in product(*(each.items() for each in used)):
            clusters = [span for (_, _, spans), _ in chosen for span in spans]
            if rent != "per_job" and clusters:
                clusters = [(min(begin for begin, _ in clusters), max(end for _, end in clusters))]
            masters = [kind.masters * kind.price * sum(kind.billed(b - a) for a, b in clusters) for kind in night.kinds]
            cost = total + sum(each for _, each in chosen) + sum(masters)
            if cost < best and _within(night, [there for there, _ in chosen], clusters):
                best = cost
    return best


Counted = tuple[tuple[int, int, int], ...]
There = tuple[Counted, Counted, tuple[Span, ...]]
"""VMs of a type on demand, with room for second attempts, and those on spot: from, to, how many; and its clusters."""


def _within(night: SmallNight, there: Sequence[There], clusters: Sequence[Span]) -> bool:
    """Whether VMs, and the masters of all types of each cluster, are within all quotas."""
    return all(
        _most(
            (),
            [
                (begin, end, count * kind.cores)
                for vm, kind in enumerate(night.kinds)
                for begin, end, count in (
                    (*there[vm][spot], *((*span, 0 if spot else kind.masters) for span in clusters))
                    if only in (None, vm)
                    else ()
                )
            ],
        )
        <= cores
        for cores, only, spot in night.quotas
    )


@cache
def _on_kind(
    kind: Kind, runs: tuple[tuple[SmallRun, bool], ...], rent: str, limited: bool, has_masters: bool
) -> dict[There, float]:
    """The least cost of runs on machines of a type, on spot or not, without masters.

    By the VMs that are there if they are limited, and by the times of clusters if these have masters.
    """
    ways = []
    for run, is_spot in runs:
        again = kind.boot + run.startup + run.alone(kind.slower) if is_spot else 0
        ways.append(_of_run(run, kind.slower, run.due - again))
    rooms = [(run.release, run.due, run.machines(kind)) for run, is_spot in runs if is_spot]
    best: dict[There, float] = {}
    for bought, spot, clusters in _rented(kind, runs, ways, rent):
        if kind.available is None or _most([*bought, *spot], rooms) <= kind.available:
            cost = sum(kind.billed(end - begin) for begin, end in spot) + _paid(kind, bought)
            there = tuple(sorted([*((*each, 1) for each in bought), *rooms])), tuple(sorted((*s, 1) for s in spot))
            key = (*(there if limited else ((), ())), tuple(sorted(clusters)) if has_masters else ())
            best[key] = min(best.get(key, inf), cost)
    return best


Rented = tuple[Sequence[Span], Sequence[Span], Sequence[Span]]
"""Machines on demand or reserved, machines on spot, and the times of the clusters that have masters."""


def _rented(
    kind: Kind, runs: Sequence[tuple[SmallRun, bool]], ways: Sequence[Sequence[tuple[Span, ...]]], rent: str
) -> Iterator[Rented]:
    if rent == "per_job":
        sizes = [{(_machines(kind, way), _span(way, kind.boot)) for way in each} for each in ways]
        for chosen in product(*sizes):
            lanes: tuple[list[Span], list[Span]] = [], []
            for (_, is_spot), (count, span) in zip(runs, chosen, strict=True):
                lanes[is_spot].extend([span] * count)
            yield *lanes, [span for _, span in chosen]
        return
    joined = []
    for lane in (False, True):
        mine = [way for way, (_, is_spot) in zip(ways, runs, strict=True) if is_spot == lane]
        joined.append({tuple(sorted(task for way in each for task in way)) for each in product(*mine)})
    if rent == "elastic":
        for pair in product(*joined):
            cluster = [_span((*pair[0], *pair[1]), kind.boot)]
            for bought, spot in product(*(_divided(tasks, kind.slots, kind.boot) for tasks in pair)):
                yield bought, spot, cluster
        return
    begins = [min((run.release for run, spot in runs if spot == lane), default=0) - kind.boot for lane in (False, True)]
    sized = [{(_machines(kind, way), _span(way, 0)[1]) if way else (0, 0) for way in each} for each in joined]
    for sizes_of_lanes in product(*sized):
        one, other = ([(begin, end)] * count for begin, (count, end) in zip(begins, sizes_of_lanes, strict=True))
        every = [*one, *other]
        yield one, other, [(min(begin for begin, _ in every), max(end for _, end in every))]


@cache
def _of_run(run: SmallRun, slower: int, due: int) -> tuple[tuple[Span, ...], ...]:
    """All ways to start the tasks of a run."""
    ready = run.release + run.startup
    ways: set[tuple[int, tuple[Span, ...]]] = {(ready, ())}
    for tasks, minutes in run.stages:
        minutes *= slower
        ways = {
            (max(starts) + minutes if run.is_chain else ready, tuple(sorted((*way, *((at, minutes) for at in starts)))))
            for begin, way in ways
            for starts in combinations_with_replacement(range(begin, due - minutes + 1), tasks)
        }
    latest = inf if run.within is None or run.startup else run.release + run.within
    return tuple(sorted({way for _, way in ways if way[0][0] <= latest}))


@cache
def _divided(tasks: tuple[Span, ...], slots: int, boot: int) -> tuple[tuple[Span, ...], ...]:
    """All ways to divide tasks among machines with so many slots, as times of machines."""
    ways: set[tuple[tuple[Span, ...], ...]] = {()}
    for task in tasks:
        longer = set()
        for machines in ways:
            longer.add(tuple(sorted((*machines, (task,)))))
            for index, mine in enumerate(machines):
                if sum(begin <= task[0] < begin + minutes for begin, minutes in mine) < slots:
                    longer.add(tuple(sorted((*machines[:index], (*mine, task), *machines[index + 1 :]))))
        ways = longer
    return tuple({tuple(sorted(_span(mine, boot) for mine in machines)) for machines in ways})


@cache
def _span(tasks: tuple[Span, ...], boot: int) -> Span:
    return min(start for start, _ in tasks) - boot, max(start + minutes for start, minutes in tasks)


@cache
def _machines(kind: Kind, tasks: tuple[Span, ...]) -> int:
    return ceil(_most([(start, start + minutes) for start, minutes in tasks]) / kind.slots)


def _most(spans: Iterable[Span], rooms: Sequence[tuple[int, int, int]] = ()) -> int:
    """The most at once."""
    every = [*((begin, end, 1) for begin, end in spans), *rooms]
    return max((sum(n for begin, end, n in every if begin <= at < end) for at, _, _ in every), default=0)


def _paid(kind: Kind, machines: Sequence[Span]) -> float:
    """The least cost of machines of which some are reserved, in all ways to choose these."""
    costs = [kind.billed(end - begin) for begin, end in machines]
    best = float(kind.price * sum(costs))
    if not kind.reserved:
        return best
    for chosen in product((False, True), repeat=len(machines)):
        if _most(span for span, is_reserved in zip(machines, chosen, strict=True) if is_reserved) <= kind.reserved:
            low = 0 if kind.prepaid else 1
            best = min(best, sum(c * (low if r else kind.price) for c, r in zip(costs, chosen, strict=True)))
    return best
