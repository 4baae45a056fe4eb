"""Rented VMs, counted, and the lateness of their jobs.

A :class:`Cohort` holds the VMs that were rented at the same moment on the same terms. The state of a VM is the time at
which each of its map and reduce slots becomes free (0 for a free slot). The cohort counts its VMs by state, so a
thousand machines with the same work are one entry.

Lateness takes little memory: its count, sum and largest value are exact, its quantiles within one percent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, floor, inf, log
from typing import TYPE_CHECKING, Any

from mrdsl.core.rounding import ROUNDING, begun

if TYPE_CHECKING:
    from mrdsl.formulas.waves import WaveProfile


@dataclass(frozen=True)
class Job:
    """One job: ``due`` and ``submit`` are points in time, the other times durations of one task, all in seconds.

    A reduce task shuffles for ``shuffle_time`` after the last map task has ended, then reduces for ``reduce_time``.
    """

    name: str
    submit: float
    due: float
    map_tasks: int
    map_time: float
    reduce_tasks: int = 0
    shuffle_time: float = 0.0
    reduce_time: float = 0.0

    @cached_property
    def profile(self) -> WaveProfile:
        """The same as the wave model takes it."""
        from mrdsl.formulas.waves import WaveProfile

        return WaveProfile.of_equal_tasks(
            self.map_tasks, self.map_time, self.reduce_tasks, self.shuffle_time, self.reduce_time
        )

    @cached_property
    def tasks(self) -> tuple[int, int]:
        """Map and reduce tasks."""
        return self.map_tasks, self.reduce_tasks

    @cached_property
    def durations(self) -> tuple[float, float]:
        """Seconds that one map task and one reduce task hold their slot."""
        return self.map_time, self.shuffle_time + self.reduce_time

    @property
    def work(self) -> float:
        """Slot seconds of all tasks."""
        return self.map_tasks * self.map_time + self.reduce_tasks * self.durations[1]

    @property
    def punctual_until(self) -> float:
        """The last finish that still counts as in time: the due moment, and what rounding may add to it."""
        return self.due + ROUNDING * (self.due - self.submit) + ROUNDING


@dataclass(frozen=True)
class Entry:
    """One line of a run's log: what happened (``arrive``, ``rent``, ``place``, ``pay``, ...), when, and to what."""

    what: str
    time: float
    facts: Mapping[str, Any]


@dataclass
class Log:
    """Collects a run's entries: pass it as the simulation's observer."""

    entries: list[Entry] = field(default_factory=list)

    def __call__(self, what: str, time: float, facts: Mapping[str, Any]) -> None:
        self.entries.append(Entry(what, time, dict(facts)))


@dataclass(frozen=True, slots=True)
class MachineType:
    """The one VM type: slots, on-demand price per second, billing period and start-up time in seconds.

    ``broken_free``: the period in which the market takes a spot VM is not paid, as on EC2 until 2017.
    """

    map_slots: int
    reduce_slots: int
    price: float
    billing: float
    boot: float = 0.0
    broken_free: bool = True

    @property
    def slots(self) -> tuple[int, int]:
        return self.map_slots, self.reduce_slots


def started_periods(start: float, end: float, period: float) -> int:
    """Return the number of billing periods that have started by ``end``; one that would start exactly there has not."""
    return max(int(begun((end - start) / period)), 0)


MAP, REDUCE = 0, 1
State = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(eq=False, slots=True)
class Piece:
    """Alike work: each of ``lanes`` slots of one cohort runs ``tasks`` tasks of one job's phase one after another."""

    owner: object
    phase: int
    cohort: Cohort
    lanes: int
    tasks: int
    start: float
    duration: float
    lost: bool = False

    @property
    def end(self) -> float:
        return self.start + self.tasks * self.duration


@dataclass(eq=False, slots=True)
class Cohort:
    """VMs rented together: ``spot`` with its ``bid``, or on demand (``bid`` infinite).

    ``paid_periods`` billing periods from ``started`` on are paid for the VMs that are left.
    """

    number: int
    spot: bool
    bid: float
    started: float
    count: int
    slots: tuple[int, int]
    states: dict[State, int] = field(default_factory=dict)
    pieces: dict[int, Piece] = field(default_factory=dict)
    paid_periods: int = 0
    paid_price: float = 0.0
    idle: list[int] = field(default_factory=lambda: [0, 0])
    next_free: float = inf

    def settle(self, now: float) -> None:
        """Turn slots that have fallen free into free ones and merge what became alike."""
        if self.next_free > now:
            return
        merged: dict[State, int] = {}
        for (maps, reduces), count in self.states.items():
            state = (_clip(maps, now), _clip(reduces, now))
            merged[state] = merged.get(state, 0) + count
        self.states = merged
        self._count()

    def take(self, phase: int, free: float, lanes: int, until: float) -> None:
        """Occupies ``lanes`` of the slots that fall free at ``free`` (0: now), until a time."""
        if free == 0.0:
            self.idle[phase] -= lanes
        if until < self.next_free:
            self.next_free = until
        for state in list(self.states):
            per_vm = state[phase].count(free)
            if per_vm == 0:
                continue
            taken = min(lanes, per_vm * self.states[state])
            whole, rest = divmod(taken, per_vm)
            self._move(state, phase, free, per_vm, whole, until)
            self._move(state, phase, free, rest, min(rest, 1), until)
            lanes -= taken
            if lanes == 0:
                return
        raise ValueError(f"{lanes} slots more than fall free at {free}")

    def busy(self, phase: int) -> dict[float, int]:
        """Occupied slots: how many, by the moment they fall free."""
        counts: dict[float, int] = {}
        for state, count in self.states.items():
            for free in state[phase]:
                if free:
                    counts[free] = counts.get(free, 0) + count
        return counts

    def drop_idle(self) -> int:
        """Give back the VMs on which no task runs or waits, and return their number."""
        none: State = ((0.0,) * self.slots[0], (0.0,) * self.slots[1])
        gone = self.states.pop(none, 0)
        self.count -= gone
        self._count()
        return gone

    def first_idle(self) -> float:
        """Return the first time at which one of its VMs is idle."""
        return min(max(maps[-1], reduces[-1]) for maps, reduces in self.states)

    def start(self, count: int, free: float) -> None:
        """All VMs begin alike, their slots free at ``free``."""
        state: State = ((free,) * self.slots[0], (free,) * self.slots[1])
        self.states = {state: count}
        self._count()

    def _move(self, state: State, phase: int, free: float, slots: int, vms: int, until: float) -> None:
        if vms == 0:
            return
        left = self.states[state] - vms
        if left:
            self.states[state] = left
        else:
            del self.states[state]
        times = list(state[phase])
        for _ in range(slots):
            times[times.index(free)] = until
        times.sort()
        changed = tuple(times)
        target: State = (changed, state[1]) if phase == MAP else (state[0], changed)
        self.states[target] = self.states.get(target, 0) + vms

    def _count(self) -> None:
        self.idle[MAP] = self.idle[REDUCE] = 0
        self.next_free = inf
        for (maps, reduces), count in self.states.items():
            self.idle[MAP] += maps.count(0.0) * count
            self.idle[REDUCE] += reduces.count(0.0) * count
            for free in maps + reduces:
                if 0.0 < free < self.next_free:
                    self.next_free = free


@dataclass(slots=True)
class Bill:
    """Payments: money and VM seconds, on demand and spot; ``broken_seconds`` ran in periods that are not paid."""

    on_demand: float = 0.0
    spot: float = 0.0
    on_demand_seconds: float = 0.0
    spot_seconds: float = 0.0
    broken_seconds: float = 0.0


def charge(bill: Bill, cohort: Cohort, now: float, price: float, period: float) -> int:
    """Charges every billing period that has started before ``now`` and is not paid; gives their number."""
    periods = started_periods(cohort.started, now, period) - cohort.paid_periods
    if periods <= 0:
        return 0
    cohort.paid_periods += periods
    cohort.paid_price = price
    seconds = periods * period * cohort.count
    if cohort.spot:
        bill.spot += seconds * price
        bill.spot_seconds += seconds
    else:
        bill.on_demand += seconds * price
        bill.on_demand_seconds += seconds
    return periods


def refund(bill: Bill, cohort: Cohort, now: float, period: float) -> bool:
    """Refund the period that the market ends early now; return False if none runs."""
    begun = cohort.started + (cohort.paid_periods - 1) * period
    if cohort.paid_periods == 0 or now >= begun + period * (1.0 - ROUNDING):
        return False
    cohort.paid_periods -= 1
    bill.spot -= period * cohort.count * cohort.paid_price
    bill.spot_seconds -= period * cohort.count
    bill.broken_seconds += (now - begun) * cohort.count
    return True


def _clip(times: tuple[float, ...], now: float) -> tuple[float, ...]:
    return times if times[0] > now else tuple(sorted(0.0 if time <= now else time for time in times))


STEP = log(1.02)
LEAST_SECONDS = 1e-12


class Lateness:
    """Seconds late, of late jobs only; values fall into bins two percent wide."""

    __slots__ = ("_bins", "count", "largest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.largest = 0.0
        self._bins: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        """One job that was late."""
        self.count += 1
        self.total += seconds
        self.largest = max(self.largest, seconds)
        bin_ = floor(log(max(seconds, LEAST_SECONDS)) / STEP)
        self._bins[bin_] = self._bins.get(bin_, 0) + 1

    @property
    def mean(self) -> float:
        """Mean over the late jobs; 0 without any."""
        return self.total / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """Return the value below which that share of the late jobs lies; 0 without any."""
        wanted, below = share * self.count, 0
        for bin_ in sorted(self._bins):
            below += self._bins[bin_]
            if below >= wanted:
                return min(exp((bin_ + 0.5) * STEP), self.largest)
        return 0.0
