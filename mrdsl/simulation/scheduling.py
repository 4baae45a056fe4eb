"""Deadline jobs on rented VMs, event by event: arrivals, tasks, spot prices, evictions, billing.

The simulation owns time, machines, tasks and the bill. A :class:`Policy` chooses the slots of tasks and the VMs to
rent. Equal items are counted: a :class:`~mrdsl.simulation.fleet.Piece` is all slots that run the same tasks over the
same interval, so that the number of events follows the decisions, not the tasks. Jobs are read as they arrive and
dropped when they end.

Rules (from Vishal 2015, 4.2-4.4, or our choice if the thesis has none):

* A reduce task shuffles after its job's last map task has ended, as (3.13) adds the times up; it takes its slot then.
* A VM whose slots are all free at the end of a billing period is returned; otherwise it is paid for another period.
* A spot VM pays, for every started period, the market price at the start of the period. If the market rises above its
  bid it is taken away: running tasks are lost and run again, finished ones keep their results. The interrupted period
  is not paid (EC2 did not charge it; the thesis has no rule), or is, if the machine type sets that.
* At one moment, ends of tasks come first, then price changes, ends of billing periods, arrivals, and the policy's
    clock.
  The policy is called for phases, losses or arrivals after all those of one moment have happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Any, Protocol

from mrdsl.core.rounding import floor
from mrdsl.simulation.fleet import (
    MAP,
    REDUCE,
    Bill,
    Cohort,
    Job,
    Lateness,
    MachineType,
    Piece,
    charge,
    refund,
    started_periods,
)
from mrdsl.simulation.sampling import PriceProcess

PIECE, PRICE, PERIOD, ARRIVAL, CLOCK = range(5)
DECIDED = (PIECE, PRICE, ARRIVAL)
Observer = Callable[[str, float, Mapping[str, Any]], None]


@dataclass(eq=False, slots=True)
class JobRun:
    """A job in the system: its phase, the tasks of the phase that wait for a slot and that have ended, its sizing.

    ``until`` is when the last task placed so far ends, if no eviction takes it; ``note`` is the policy's own.
    """

    job: Job
    number: int
    phase: int = MAP
    waiting: int = 0
    done: int = 0
    slots: tuple[int, int] = (0, 0)
    evicted: bool = False
    until: float = 0.0
    note: Any = None

    @property
    def duration(self) -> float:
        """Seconds of one task of the present phase."""
        return self.job.durations[self.phase]


class Policy(Protocol):
    """A policy. Every call can place tasks (:meth:`Simulation.place`) and rent VMs (:meth:`Simulation.rent`)."""

    def ready(self, sim: Simulation, run: JobRun) -> None:
        """Tasks of a phase wait for slots: a new job's map tasks, or the reduce tasks after the last map task."""

    def lost(self, sim: Simulation, run: JobRun) -> None:
        """An eviction has put tasks of the job back."""

    def decide(self, sim: Simulation) -> None:
        """Serve waiting tasks after all ends of tasks, losses or arrivals of one moment."""

    def clock(self, sim: Simulation) -> None:
        """The moment that the policy asked for with :meth:`Simulation.call_at`."""


@dataclass(slots=True)
class Observed:
    """Observations of a run. ``busy_seconds`` counts busy slots, lost work included; ``end`` is the last finish."""

    jobs: int = 0
    tardy: int = 0
    evictions: int = 0
    lost_tasks: int = 0
    tasks: int = 0
    rented: int = 0
    busy_seconds: float = 0.0
    start: float = 0.0
    end: float = 0.0
    events: int = 0
    complete: bool = True
    bill: Bill = field(default_factory=Bill)
    lateness: Lateness = field(default_factory=Lateness)


class Simulation:
    """One run of one policy over one stream of jobs, sorted by submit time."""

    def __init__(
        self,
        machine: MachineType,
        prices: PriceProcess | None,
        jobs: Iterable[Job],
        policy: Policy,
        observer: Observer | None = None,
    ) -> None:
        self.machine = machine
        self.prices = prices
        self.observer = observer
        self.now = 0.0
        self.cohorts: list[Cohort] = []
        self.active: dict[int, JobRun] = {}
        self.working = [0, 0]
        self.vms = 0
        self.seen = Observed()
        self._policy = policy
        self._arrivals = iter(jobs)
        self._heap: list[tuple[float, int, int, Any]] = []
        self._sequence = self._arrived = 0
        self._told: list[JobRun] = []
        self._handlers = (self._piece_ends, self._price_moves, self._period_ends, self._job_arrives, self._clock_rings)

    def run(self, stop: Callable[[], bool] = lambda: False) -> Observed:
        """Run until every job has ended, or ``stop`` returns True (then ``complete`` is False)."""
        self._next_arrival()
        self.seen.start = self._heap[0][0] if self._heap else 0.0
        if self.prices is not None:
            while self.prices.next_move <= self.seen.start:
                self.prices.advance()
            self._push(self.prices.next_move, PRICE, None)
        while self.active or self._arrivals_left():
            time, kind, _, what = heappop(self._heap)
            self.now = time
            self.seen.events += 1
            self._handlers[kind](what)
            if kind in DECIDED and not (self._heap and self._heap[0][:2] == (time, kind)):
                self._decide()
            if self.seen.events % 256 == 0 and stop():
                self.seen.complete = False
                break
        self.seen.end = self.now
        for cohort in self.cohorts:
            self._charge(cohort)
        return self.seen

    # What policies use

    def fleet(self) -> list[Cohort]:
        """Return the rented VMs, oldest first, their states as of now."""
        for cohort in self.cohorts:
            if cohort.next_free <= self.now:
                cohort.settle(self.now)
        return self.cohorts

    def place(self, run: JobRun, cohort: Cohort, free: float, lanes: int, tasks: int) -> None:
        """Give ``tasks`` waiting tasks to each of ``lanes`` slots of a cohort that fall free at ``free`` (0: now)."""
        phase = run.phase
        start = free or self.now
        piece = Piece(run, phase, cohort, lanes, tasks, start, run.duration)
        cohort.take(phase, free, lanes, piece.end)
        run.waiting -= lanes * tasks
        run.until = max(run.until, piece.end)
        self.working[phase] += lanes
        cohort.pieces[self._sequence] = piece
        self._push(piece.end, PIECE, (self._sequence, piece))
        if self.observer:
            self.observer(
                "place",
                self.now,
                {
                    "job": run.job.name,
                    "phase": ("map", "reduce")[phase],
                    "cohort": cohort.number,
                    "slots": lanes,
                    "tasks_each": tasks,
                    "start": start,
                    "end": piece.end,
                },
            )

    def rent(self, count: int, bid: float | None) -> Cohort:
        """Rent that number of VMs now, on demand or, with a bid of at least the market price, on the spot market."""
        if bid is not None and (self.prices is None or bid < self.prices.current):
            raise ValueError(f"a bid of {bid} gets no machine")
        spot = bid is not None
        cohort = Cohort(self.seen.rented, spot, inf if bid is None else bid, self.now, count, self.machine.slots)
        cohort.start(count, self.now + self.machine.boot if self.machine.boot else 0.0)
        self.cohorts.append(cohort)
        self.vms += count
        self.seen.rented += count
        self._push(self.now + self.machine.billing, PERIOD, cohort)
        if self.observer:
            self.observer(
                "rent",
                self.now,
                {"cohort": cohort.number, "vms": count, "kind": "spot" if spot else "on_demand", "bid": bid},
            )
        return cohort

    def tell(self, what: str, **facts: Any) -> None:
        """Tell the observer of something that a policy has seen."""
        if self.observer:
            self.observer(what, self.now, facts)

    def call_at(self, time: float, what: Any = None) -> None:
        """Asks for :meth:`Policy.clock` at a time."""
        self._push(max(time, self.now), CLOCK, what)

    def period_end(self, cohort: Cohort) -> float:
        """Return the end of the current period of a cohort."""
        periods = (self.now - cohort.started) // self.machine.billing + 1
        return cohort.started + periods * self.machine.billing

    # Events

    def _piece_ends(self, what: tuple[int, Piece]) -> None:
        key, piece = what
        if piece.lost:
            return
        del piece.cohort.pieces[key]
        run = piece.owner
        assert isinstance(run, JobRun)
        tasks = piece.lanes * piece.tasks
        self.working[piece.phase] -= piece.lanes
        self.seen.tasks += tasks
        self.seen.busy_seconds += tasks * piece.duration
        run.done += tasks
        if run.done == run.job.tasks[run.phase]:
            self._phase_ends(run)

    def _phase_ends(self, run: JobRun) -> None:
        if run.phase == MAP and run.job.reduce_tasks:
            run.phase, run.done, run.waiting = REDUCE, 0, run.job.reduce_tasks
            self._told.append(run)
            return
        del self.active[run.number]
        self.seen.jobs += 1
        late = self.now > run.job.punctual_until
        if late:
            self.seen.tardy += 1
            self.seen.lateness.add(self.now - run.job.due)
        if self.observer:
            self.observer("finish", self.now, {"job": run.job.name, "due": run.job.due, "tardy": late})

    def _job_arrives(self, job: Job) -> None:
        self._next_arrival()
        run = JobRun(job, self._arrived, waiting=job.map_tasks)
        self._arrived += 1
        self.active[run.number] = run
        if self.observer:
            self.observer(
                "arrive",
                self.now,
                {"job": job.name, "due": job.due, "map_tasks": job.map_tasks, "reduce_tasks": job.reduce_tasks},
            )
        self._told.append(run)

    def _price_moves(self, _: None) -> None:
        assert self.prices is not None
        for cohort in self.cohorts:
            if cohort.spot:
                self._charge(cohort)
        self.prices.advance()
        self._push(self.prices.next_move, PRICE, None)
        if self.observer:
            self.observer("price", self.now, {"price": self.prices.current})
        taken = [cohort for cohort in self.cohorts if cohort.bid < self.prices.current]
        if not taken:
            return
        self.cohorts = [cohort for cohort in self.cohorts if cohort.bid >= self.prices.current]
        hit: dict[int, JobRun] = {}
        for cohort in taken:
            self._evict(cohort, hit)
        for run in hit.values():
            self._policy.lost(self, run)

    def _evict(self, cohort: Cohort, hit: dict[int, JobRun]) -> None:
        if self.machine.broken_free and refund(self.seen.bill, cohort, self.now, self.machine.billing):
            self.tell("refund", cohort=cohort.number, vms=cohort.count, periods=1, price=cohort.paid_price)
        self.seen.evictions += cohort.count
        self.vms -= cohort.count
        lost = 0
        for piece in cohort.pieces.values():
            run = piece.owner
            assert isinstance(run, JobRun)
            piece.lost = True
            elapsed = max(self.now - piece.start, 0.0)
            done = min(int(floor(elapsed / piece.duration)), piece.tasks - 1) if elapsed else 0
            self.working[piece.phase] -= piece.lanes
            self.seen.busy_seconds += piece.lanes * elapsed
            self.seen.tasks += piece.lanes * done
            run.done += piece.lanes * done
            run.waiting += piece.lanes * (piece.tasks - done)
            run.evicted = True
            lost += piece.lanes * (elapsed > done * piece.duration)
            hit[run.number] = run
        self.seen.lost_tasks += lost
        if self.observer:
            self.observer("evict", self.now, {"cohort": cohort.number, "vms": cohort.count, "lost_tasks": lost})
        cohort.pieces.clear()
        cohort.count = 0

    def _period_ends(self, cohort: Cohort) -> None:
        if cohort.count == 0:
            return
        self._charge(cohort)
        cohort.settle(self.now)
        gone = cohort.drop_idle()
        self.vms -= gone
        if self.observer and gone:
            self.observer("release", self.now, {"cohort": cohort.number, "vms": gone})
        if cohort.count == 0:
            self.cohorts.remove(cohort)
            return
        period = self.machine.billing
        periods = max(started_periods(cohort.started, cohort.first_idle(), period), cohort.paid_periods + 1)
        self._push(cohort.started + periods * period, PERIOD, cohort)

    def _clock_rings(self, _: Any) -> None:
        self._policy.clock(self)

    # Bookkeeping

    def _decide(self) -> None:
        """Tell the policy of the jobs whose phases have begun, in the order in which they did, and let it decide."""
        begun, self._told = self._told, []
        for run in begun:
            self._policy.ready(self, run)
        self._policy.decide(self)

    def _charge(self, cohort: Cohort) -> None:
        price = self.prices.current if cohort.spot and self.prices is not None else self.machine.price
        periods = charge(self.seen.bill, cohort, self.now, price, self.machine.billing)
        if self.observer and periods:
            self.observer(
                "pay", self.now, {"cohort": cohort.number, "vms": cohort.count, "periods": periods, "price": price}
            )

    def _next_arrival(self) -> None:
        job = next(self._arrivals, None)
        self._waiting_job = job
        if job is not None:
            self._push(max(job.submit, self.now), ARRIVAL, job)

    def _arrivals_left(self) -> bool:
        return self._waiting_job is not None

    def _push(self, time: float, kind: int, what: Any) -> None:
        if time < inf:
            self._sequence += 1
            heappush(self._heap, (time, kind, self._sequence, what))
