"""The plan of a timetable: rentals of machines, and when each run and each of its tasks starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mrdsl.contracts.family import ADMIT, RENTAL, SET, Operated, Setting
from mrdsl.core.result import MONEY, Outcome, Plan, Table, plain
from mrdsl.core.tables import Rows
from mrdsl.core.units import HOUR, clock_text
from mrdsl.simulation.observed import Observed, Simulated, outcomes_of, table_of
from mrdsl.spec.spec import Spec

SHOWN, CLASSES_SHOWN = 20, 100
"""Runs and kinds of rentals, and classes, in the tables of the terminal."""
LATEST = 10
"""Simulated runs in the tables of the terminal."""


@dataclass(frozen=True)
class Rental:
    """Alike machines from request to release [s], each paid for ``billed`` [s]; masters hold no slots.

    Those that are ``reserved`` have the price of reserved VMs, or the fee alone if these are prepaid.
    """

    vm: str
    begin: float
    end: float
    billed: float = 0.0
    count: int = 1
    master: bool = False
    reserved: bool = False
    spot: bool = False

    @property
    def kind(self) -> str:
        """The VM type, with a mark if it is on spot."""
        return f"{self.vm} (spot)" if self.spot else self.vm


@dataclass(frozen=True)
class RunTimes:
    """One run: its class, its number there from 1 on, and its times [s]; it has no start and end if it is rejected.

    A run on spot VMs is started again on ``second`` VMs on demand if one of them is lost.
    """

    job: str
    run: int
    release: float
    start: float | None
    end: float | None
    deadline: float
    admitted: bool = True
    second: int = 0


@dataclass(frozen=True)
class RunSeen:
    """Times of one run from its release to its end in a simulation [s], and the share of executions in which it met its
    deadline; ``failed`` of them gave it up.
    """

    mean: float | None
    p95: float | None
    longest: float | None
    on_time: float
    failed: int


@dataclass(frozen=True)
class Evidence:
    """Evidence on ``guarantee = p95``: ``jobs`` runs of the class in ``runs`` fresh executions from ``seed``.

    ``share`` of them were on time. With ``confidence``, at least ``low`` are; the required share is ``level``.
    """

    name: str
    level: float
    seed: int
    runs: int
    jobs: int
    share: float
    low: float
    confidence: float


@dataclass(frozen=True)
class Bill:
    """Cost of all rentals in a simulation, in the currency of the spec."""

    mean: float
    p95: float


@dataclass(frozen=True)
class VmUse:
    """A VM type in a plan: the slots of one VM, the most VMs at once, and the slot time in which tasks run [s].

    ``reserved`` is the most reserved VMs at once. Spot VMs are a use of their own, with `(spot)` after their name.
    """

    vm: str
    slots: int
    machines: int
    busy: float
    reserved: int = 0
    spot: bool = False


@dataclass(frozen=True, eq=False)
class Tasks:
    """Starts of tasks, one element for tasks of one stage of one run that start together on machines of one rental.

    ``run`` is the index among the plan's runs, ``stage`` that among the stages of its class, ``machine`` that among the
    rentals. The machines of a rental are alike, so that any of them with a free slot may run a task. In plans of
    earlier releases -1 is any machine of all rentals.
    """

    run: NDArray[np.int64]
    stage: NDArray[np.int64]
    machine: NDArray[np.int64]
    start: NDArray[np.float64]
    count: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TimetablePlan(Plan):
    """Rentals, and the start and end of each run. Times are seconds after midnight, or after offset 0.

    Attributes:
        rent: Kind of rental: `constant`, `elastic` or `per_job`.
        machines: Greatest number of machines at once, of all types.
        vm: Name of the first VM type.
        rentals: Rentals with billed time [s].
        runs: Release, start, end and deadline of each run [s].
        cost: Cost of all rentals without the price of prepaid VMs, in the currency of the spec.
        prepaid: Price of prepaid VMs over the horizon, used or not; `cost` does not include it.
        risk: What losses of spot VMs are expected to add to it: second attempts, less what is not paid after a loss.
        again: Cost of second attempts if each run on spot VMs is lost.
        penalties: Penalties of the rejected runs, in the same currency.
        slots: Slots of one VM of the first type.
        busy: Slot time in which tasks run [s].
        types: VM types of the spec; none in plans of earlier releases, which have one type.
        clock: Times of the spec are clock times.
        day: Ordinal of the first day, if times have dates.
        tasks: Start of each task.
        observed: Observed times of each class in a simulation.
        of_runs: Observed times of each run; None for those that were rejected.
        bill: Observed cost.
        simulated: Settings of the simulation.
        factors: Planned time of tasks, as a multiple of their average, of each class with a percentile.
        shown: Evidence on each percentile.
    """

    planned: ClassVar[str] = "Classes"

    rent: str
    machines: int
    vm: str
    rentals: tuple[Rental, ...]
    runs: tuple[RunTimes, ...]
    cost: float
    slots: int
    busy: float
    clock: bool = False
    day: int | None = None
    penalties: float = 0.0
    risk: float = 0.0
    again: float = 0.0
    types: tuple[VmUse, ...] = ()
    prepaid: float = 0.0
    tasks: Tasks | None = field(default=None, repr=False)
    observed: Mapping[str, Observed] = field(default_factory=dict)
    of_runs: tuple[RunSeen | None, ...] = field(default=(), repr=False)
    bill: Bill | None = None
    simulated: Simulated | None = None
    factors: Mapping[str, float] = field(default_factory=dict)
    shown: tuple[Evidence, ...] = ()

    def on_spot(self) -> dict[str, float]:
        """Return the part of the admitted runs of each class that is on spot."""
        runs, spot = (Counter(each.job for each in self.runs if each.admitted and each.second >= n) for n in (0, 1))
        return {name: count / runs[name] for name, count in spot.items()}

    def derived(self, spec: Spec) -> TimetablePlan:
        """Return the plan with the first VM type and the calendar of its spec."""
        from mrdsl.families.timetable.releases import calendar_of

        calendar, uses = calendar_of(spec.facts), self.types or (VmUse(self.vm, self.slots, self.machines, self.busy),)
        left = round(self.busy - sum(each.busy for each in uses[:-1]), 6)
        return replace(
            self,
            vm=spec.facts.vms[0].name,
            slots=uses[0].slots,
            clock=calendar.clock,
            day=calendar.first_day,
            types=(*uses[:-1], replace(uses[-1], busy=left)),
        )

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        how = {} if self.simulated is None else {"simulation": plain(self.simulated)}
        prepaid = {"prepaid": self.prepaid} if self.prepaid else {}
        spot = any(each.spot for each in self.rentals)
        bill = {} if self.bill is None else {"observed": plain(self.bill)}
        return {
            "rent": self.rent,
            "machines": self.machines,
            "vms": self._vms(),
            "classes": dict(self._classes()),
            "cost": {
                "vms": self.cost,
                "penalties": self.penalties,
                "total": self.value,
                **({"best": self.value - self.risk, "worst": self.value - self.risk + self.again} if spot else {}),
                **prepaid,
                **bill,
            },
            "rentals": [
                {
                    "vm": each.vm,
                    "from": each.begin,
                    "to": each.end,
                    "billed": each.billed,
                    "machines": each.count,
                    **({"reserved": True} if each.reserved else {}),
                    **({"spot": True} if each.spot else {}),
                }
                for each in self.rentals
            ],
            "runs": [
                {
                    "class": each.job,
                    "run": each.run,
                    "release": each.release,
                    "start": each.start,
                    "end": each.end,
                    "deadline": each.deadline,
                    "admitted": each.admitted,
                    **({"second_attempt": each.second} if each.second else {}),
                    **({} if seen is None else {"observed": plain(seen)}),
                }
                for each, seen in zip_longest(self.runs, self.of_runs)
            ],
            "utilization": self.utilization,
            **({"guarantees": plain(self.shown), "factors": plain(self.factors)} if self.shown else {}),
            **how,
        }

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the outcome of the deadlines of each class with admitted runs, from a simulation."""
        return {} if self.simulated is None else outcomes_of(self.observed, self.observed)

    def _vms(self) -> dict[str, dict[str, int]]:
        """Return the most VMs at once by type and way; `spot` if the spec has spot VMs of the type."""
        found: dict[str, dict[str, int]] = {}
        for each in self.uses:
            if each.spot:
                found[each.vm.removesuffix(" (spot)")]["spot"] = each.machines
            else:
                found[each.vm] = {"on_demand": each.machines - each.reserved, "reserved": each.reserved}
        return found

    @property
    def value(self) -> float:
        """Expected cost of rentals and second attempts, and penalties."""
        return self.cost + self.risk + self.penalties

    @property
    def utilization(self) -> float:
        """The share of the rented slot time in which tasks run."""
        slots = {each.vm: each.slots for each in self.uses}
        rented = sum((each.end - each.begin) * each.count * slots.get(each.kind, 0) for each in self.rentals)
        return self.busy / rented if rented else 0.0

    @property
    def uses(self) -> tuple[VmUse, ...]:
        """The VM types of the spec, and how many VMs of each are rented."""
        return self.types or (VmUse(self.vm, self.slots, self.machines, self.busy),)

    def time(self, seconds: float) -> Any:
        """Return a time as the spec writes it."""
        return clock_text(seconds, self.day) if self.clock else seconds

    def tables(self) -> tuple[Table, ...]:
        """Machines, classes, cost, rentals and runs."""
        unit = "" if self.clock else " [s]"
        rented = Table(
            "Machines",
            ("vm", "most at once", "rentals", "rented [h]", "paid [h]", "slots at work [%]"),
            [self._of_type(each) for each in self.uses],
            keys=1,
        )
        rows = [
            (name, each["admitted"], each["rejected"], each["completion"]["average"], each["deadline"])
            for name, each in self._classes()
        ]
        classes = Table(
            "Classes", ("class", "runs", "rejected", "longest [s]", "tightest [s]"), rows, most=CLASSES_SHOWN
        )
        prepaid = {f"prepaid, not in the total {MONEY}": self.prepaid} if self.prepaid else {}
        best = self.cost + self.penalties
        spot = {f"losses on spot {MONEY}": self.risk} if any(each.spot for each in self.rentals) else {}
        ends = {f"best {MONEY}": best, f"worst {MONEY}": best + self.again} if spot else {}
        total = f"{'expected ' if spot else ''}total {MONEY}"
        cost = Table(
            "Cost",
            (f"VMs {MONEY}", *spot, f"penalties {MONEY}", total, *ends, *prepaid),
            [(self.cost, *spot.values(), self.penalties, self.value, *ends.values(), *prepaid.values())],
        )
        alike: Counter[Rental] = Counter()
        for rental in self.rentals:
            alike[replace(rental, count=1, master=False)] += rental.count
        rentals = Table(
            "Rentals",
            ("vm", "machines", f"from{unit}", f"to{unit}", "billed each [s]"),
            [
                (
                    f"{each.vm} (reserved)" if each.reserved else each.kind,
                    count,
                    self.time(each.begin),
                    self.time(each.end),
                    each.billed,
                )
                for each, count in alike.items()
            ],
            keys=1,
            most=SHOWN,
        )
        runs = Table(
            "Runs",
            ("class", "run", f"release{unit}", f"start{unit}", f"end{unit}", "slack [s]"),
            Rows(len(self.runs), lambda part: (tuple(self._row(each)) for each in self.runs[part])),
            keys=2,
            most=SHOWN,
        )
        return rented, classes, cost, *self._shown(), rentals, runs, *self._simulated(unit)

    def _shown(self) -> Iterator[Table]:
        """Yield the evidence on percentiles, and the times of tasks that are planned with."""
        if self.shown:
            rows = [
                (each.name, each.level, each.share, each.low, each.confidence, each.jobs, each.runs, each.seed)
                for each in self.shown
            ]
            head = ("class", "required", "on time", "at least", "confidence", "runs", "executions", "seed")
            yield Table("Kept in simulation", head, rows)
            yield Table("Planned time of tasks", ("class", "x average"), list(self.factors.items()))

    def _of_type(self, use: VmUse) -> tuple[Any, ...]:
        """Return the row of a VM type in the table of machines."""
        mine = [each for each in self.rentals if each.kind == use.vm]
        rented = sum((each.end - each.begin) * each.count for each in mine)
        paid = sum(each.billed * each.count for each in mine)
        share = 100.0 * use.busy / (rented * use.slots) if rented else 0.0
        most = f"{use.machines} ({use.reserved} reserved)" if use.reserved else use.machines
        return use.vm, most, sum(each.count for each in mine), rented / HOUR, paid / HOUR, share

    def _simulated(self, unit: str) -> Iterator[Table]:
        """Yield tables of a simulation: classes, and the runs that are late most often."""
        if self.bill is None:
            return
        yield table_of(self.observed.items(), most=SHOWN)
        pairs = [(run, seen) for run, seen in zip(self.runs, self.of_runs, strict=True) if seen is not None]
        pairs.sort(key=lambda pair: (pair[1].on_time, -_or_inf(pair[1].longest) + pair[0].deadline - pair[0].release))
        yield Table(
            "Simulated runs, those that are late most often first",
            ("class", "run", f"release{unit}", "mean [s]", "p95 [s]", "longest [s]", "deadline [s]", "on time"),
            [
                (
                    *(run.job, run.run, self.time(run.release), seen.mean, seen.p95, seen.longest),
                    *(run.deadline - run.release, seen.on_time),
                )
                for run, seen in pairs
            ],
            keys=2,
            most=LATEST,
        )
        yield Table("Simulated cost", (f"mean {MONEY}", f"p95 {MONEY}"), [(self.bill.mean, self.bill.p95)])

    def _row(self, run: RunTimes) -> Iterator[Any]:
        yield run.job
        yield run.run
        yield self.time(run.release)
        if run.start is None or run.end is None:
            yield from (None, None, None)
            return
        yield self.time(run.start)
        yield self.time(run.end)
        yield run.deadline - run.end

    def _classes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        by_class: dict[str, list[RunTimes]] = {}
        for each in self.runs:
            by_class.setdefault(each.job, []).append(each)
        for name, runs in by_class.items():
            longest = max((each.end - each.release for each in runs if each.end is not None), default=None)
            yield (
                name,
                {
                    "admitted": sum(each.admitted for each in runs),
                    "rejected": sum(not each.admitted for each in runs),
                    "completion": {"lower": None, "average": longest, "upper": None},
                    "deadline": min(each.deadline - each.release for each in runs),
                    **(self.observed[name].beside() if name in self.observed else {}),
                },
            )


def _or_inf(time: float | None) -> float:
    return inf if time is None else time


def operated(_: Spec, plan: TimetablePlan) -> Operated:
    """Return the settings to run a plan: the admitted runs of each class, the rentals, and the start of each run."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: TimetablePlan) -> Iterator[Setting]:
    for name, each in plan._classes():
        yield Setting(ADMIT, f"class {name}", each["admitted"], "runs")
    rentals: Counter[str] = Counter()
    for rental in sorted(plan.rentals, key=lambda rental: (rental.begin, rental.end)):
        begin, end = (plan.time(time) if plan.clock else f"{time:.15g} s" for time in (rental.begin, rental.end))
        mark = f"{' (reserved)' if rental.reserved else ''}{' (master)' if rental.master else ''}"
        rentals[f"{rental.kind}{mark} from {begin} to {end}"] += rental.count
    for name, count in rentals.items():
        yield Setting(RENTAL, name, count)
    for run in plan.runs:
        if run.start is not None:
            start = plan.time(run.start) if plan.clock else f"{run.start:.15g} s"  # as text, so that no digit is lost
            yield Setting(SET, f"the start of {run.job} {run.run}", start)


def types_of_runs(plan: TimetablePlan, names: Sequence[str]) -> dict[int, int]:
    """Return the index among these VM types of the one that each admitted run is on, by the index of the run."""
    if len(names) == 1 or plan.tasks is None:
        return {index: 0 for index, run in enumerate(plan.runs) if run.admitted}
    places = {name: index for index, name in enumerate(names)}
    of_rentals = [places[rental.kind] for rental in plan.rentals]
    pairs = zip(plan.tasks.run.tolist(), plan.tasks.machine.tolist(), strict=True)
    return {run: of_rentals[machine] for run, machine in sorted(pairs)}


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (TimetablePlan,)
