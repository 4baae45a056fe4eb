"""Simulated runs of a schedule spec, the heuristic ``policy``, and the four policies of the thesis.

NDASA, MDASA, epEDF and evEDF: Vishal 2015, 4.3, 4.4.2. Lines 4 to 9 of Algorithms 1 and 2 give every idle slot a task
while the job has one. The sizing (m_j, r_j) bounds only the slots rented for it. ``idle = sized`` applies the sizing to
idle slots too, unlike the thesis.

The thesis leaves details open, and these policies decide them. Idle slots come from the VMs rented first. A job's tasks
are spread evenly over its slots. After an eviction the lost tasks get the slots that the remaining time requires. The
thesis describes EDF in two sentences. Here its jobs wait and are served by due time, each as NDASA serves it, with
slots for the time that is left. The number of slots that a job needs for
its deadline, and the kind of their VMs: 3.5 and 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from itertools import islice

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import warning
from mrdsl.core.result import Termination
from mrdsl.core.rounding import begun
from mrdsl.core.watching import is_stopped
from mrdsl.families.schedule import facts as said
from mrdsl.families.schedule.methods.frugal import (
    Frugal,
    Lanes,
    fitting,
    free_slots,
    phase_due,
    rent_slots,
    slots_for_rest,
    spread,
)
from mrdsl.families.schedule.plan import plan_of
from mrdsl.families.schedule.trace import jobs as jobs_of
from mrdsl.families.schedule.trace import machine_type, price_process
from mrdsl.formulas import waves
from mrdsl.formulas.waves import SlotCounts, WaveProfile
from mrdsl.simulation.fleet import MAP, Entry, Job, Log
from mrdsl.simulation.scheduling import JobRun, Observer, Policy, Simulation


@dataclass(eq=False)
class Naive:
    """NDASA, Algorithm 1: a job retains the slots that it got when its phase began.

    Line 10 requests VMs for all map tasks, which ``request = tasks`` does. ``sized`` requests the slots of the sizing
    for any number of idle ones, ``missing`` only those that it has above the idle ones.
    """

    instances: InstanceTypes
    sizing: Sizing
    idle: str = "all"
    request: str = "missing"

    def ready(self, sim: Simulation, run: JobRun) -> None:
        """Size a new job, and serve either phase immediately."""
        if run.phase == MAP:
            run.slots = slots_for(run.job.profile, run.job.due - sim.now - sim.machine.boot, self.sizing)
        self.serve(sim, run, run.slots[run.phase])

    def lost(self, sim: Simulation, run: JobRun) -> None:
        """Serve lost tasks again immediately."""
        self.serve(sim, run, slots_for_rest(sim, run))

    def decide(self, sim: Simulation) -> None:
        """Nothing waits."""

    def clock(self, sim: Simulation) -> None:
        """No clock is used."""

    def serve(self, sim: Simulation, run: JobRun, wanted: int) -> None:
        """Place all waiting tasks on idle slots and, if those are fewer than ``wanted``, on new ones."""
        wanted = min(wanted, run.waiting)
        lanes = self.idle_slots(sim, run, wanted)
        missing = wanted - sum(count for _, _, count in lanes)
        if missing > 0:
            length = -(-run.waiting // wanted) * run.duration
            lanes += self.rented(sim, run, missing, wanted, length)
        spread(sim, run, lanes, run.waiting)

    def rented(self, sim: Simulation, run: JobRun, missing: int, wanted: int, length: float) -> list[Lanes]:
        """Return slots on new VMs; ``request`` sets their number."""
        tasks = (run.job.map_tasks, run.job.reduce_tasks)[run.phase]
        slots = {"missing": missing, "sized": wanted, "tasks": tasks}[self.request]
        return rent_slots(sim, run.phase, slots, self.instances.bid(sim, length))

    def idle_slots(self, sim: Simulation, run: JobRun, wanted: int) -> list[Lanes]:
        """Lines 4-9: an idle slot for every waiting task, or for the ``wanted`` ones of its sizing."""
        lanes = free_slots(sim, run.phase, run.waiting)
        sim.tell(
            "serve",
            job=run.job.name,
            phase=("map", "reduce")[run.phase],
            slots=wanted,
            idle=sum(count for _, _, count in lanes),
        )
        return lanes if self.idle == "all" else free_slots(sim, run.phase, wanted)


@dataclass(eq=False)
class Malleable(Naive):
    """MDASA, Algorithm 2: before new VMs are requested, slots that become free on time take tasks too.

    Line 20 requests VMs for all map tasks, as ``request = tasks`` does. With ``missing`` a slot that becomes free on
    time counts by its tasks, in units of the tasks that the sizing gives to one slot. Only the slots still missing then
    are requested.
    """

    def serve(self, sim: Simulation, run: JobRun, wanted: int) -> None:
        """Place all waiting tasks: on idle slots, on slots that become free on time, on new ones."""
        wanted = min(wanted, run.waiting)
        tasks = run.waiting
        lanes = self.idle_slots(sim, run, wanted)
        missing = wanted - sum(count for _, _, count in lanes)
        if missing > 0:
            placed = self._fill_busy(sim, run, tasks * missing // wanted)
            missing = int(begun(missing - placed * wanted / tasks))
        if missing > 0 and run.waiting:
            length = -(-tasks // wanted) * run.duration
            lanes += self.rented(sim, run, missing, wanted, length)
        if run.waiting:
            spread(sim, run, lanes, run.waiting)

    def _fill_busy(self, sim: Simulation, run: JobRun, most: int) -> int:
        """Queue whole tasks, at most ``most``, after the work of busy slots if they end on time (lines 10-18).

        Return their number.
        """
        latest, duration, placed = phase_due(run), run.duration, 0
        if latest - sim.now < duration:
            return 0
        for cohort in sim.fleet():
            if cohort.next_free + duration > latest:
                continue
            for free, lanes in cohort.busy(run.phase).items():
                each = min(fitting(latest - free, duration), most - placed)
                if each <= 0:
                    continue
                used = min(lanes, (most - placed) // each)
                sim.place(run, cohort, free, used, each)
                placed += used * each
                if placed == most:
                    return placed
        return placed


@dataclass(eq=False)
class _Queue:
    """Waiting jobs, earliest due time first."""

    heap: list[tuple[float, int, JobRun]] = field(default_factory=list)

    def add(self, run: JobRun) -> None:
        heappush(self.heap, (run.job.due, run.number, run))

    def pop(self) -> JobRun:
        return heappop(self.heap)[2]


@dataclass(eq=False)
class EpochEdf(Naive):
    """epEDF: waiting jobs are served every ``epoch`` seconds; the thesis does not give the epoch's length.

    Events at the very moment of an epoch are served then, even if no other job waits for it.
    """

    epoch: float = 60.0
    queue: _Queue = field(default_factory=_Queue)

    def ready(self, sim: Simulation, run: JobRun) -> None:
        """The job waits for the next epoch."""
        self._wait(sim, run)

    def lost(self, sim: Simulation, run: JobRun) -> None:
        """Lost tasks wait for the next epoch too."""
        self._wait(sim, run)

    def clock(self, sim: Simulation) -> None:
        """An epoch begins: all that wait are served by due time."""
        serve_by_due_time(self, sim, self.queue)

    def _wait(self, sim: Simulation, run: JobRun) -> None:
        if not self.queue.heap:
            sim.call_at(begun(sim.now / self.epoch) * self.epoch)
        self.queue.add(run)


@dataclass(eq=False)
class EventEdf(Naive):
    """evEDF: waiting jobs are served when few of the rented slots work (utilisation at most ``low_utilization``).

    The thesis names the events (low utilisation, low load) but gives no threshold.
    """

    low_utilization: float = 0.7
    queue: _Queue = field(default_factory=_Queue)

    def ready(self, sim: Simulation, run: JobRun) -> None:
        """The job waits."""
        self.queue.add(run)

    def lost(self, sim: Simulation, run: JobRun) -> None:
        """Lost tasks wait likewise."""
        self.queue.add(run)

    def decide(self, sim: Simulation) -> None:
        """Serve all jobs that wait if utilization is low."""
        if not self.queue.heap:
            return
        work = max(sim.working[phase] / slots for phase, slots in enumerate(sim.machine.slots))
        if work <= self.low_utilization * sim.vms:
            serve_by_due_time(self, sim, self.queue)


def serve_by_due_time(policy: Naive, sim: Simulation, queue: _Queue) -> None:
    """Serve every waiting job, the earliest due first, with slots for the time that is left."""
    while queue.heap:
        run = queue.pop()
        if run.waiting == 0:
            continue
        if run.phase == MAP and run.done == 0 and not run.evicted:
            run.slots = slots_for(run.job.profile, run.job.due - sim.now - sim.machine.boot, policy.sizing)
            policy.serve(sim, run, run.slots[MAP])
        else:
            policy.serve(sim, run, slots_for_rest(sim, run))


def policy_of(facts: said.ScheduleFacts) -> Policy:
    """Return the policy that the spec names."""
    chosen = facts.policy
    instances = InstanceTypes(chosen.instances, chosen.reliability)
    match chosen.algorithm:
        case "ndasa":
            return Naive(instances, chosen.sizing, chosen.idle, chosen.request)
        case "mdasa":
            return Malleable(instances, chosen.sizing, chosen.idle, chosen.request)
        case "ep_edf":
            return EpochEdf(instances, chosen.sizing, chosen.idle, chosen.request, chosen.epoch)
        case "ev_edf":
            return EventEdf(instances, chosen.sizing, chosen.idle, chosen.request, chosen.low_utilization)
        case "frugal":
            within = chosen.late_within or facts.vms[0].paid_by.period
            return Frugal(chosen.instances, chosen.tardy_share, within, chosen.reliability)
    raise ValueError(f"no policy {chosen.algorithm!r}")


Make = Callable[[said.ScheduleFacts], Policy]
"""Function that makes a new policy for each run."""
DECIDES = ("ready", "lost", "decide", "clock")
"""Methods of every policy: those of :class:`mrdsl.simulation.scheduling.Policy`."""


def simulation(
    facts: said.ScheduleFacts,
    seed: int,
    observer: Observer | None = None,
    jobs: Iterable[Job] | None = None,
    make: Make = policy_of,
) -> Simulation:
    """Return a run that is ready to start: prices, policy and, unless given, jobs of the spec, from ``seed``."""
    vm = facts.vms[0]
    prices = price_process(vm, seed) if facts.policy.instances != "on_demand" else None
    arrivals = jobs_of(facts, seed) if jobs is None else jobs
    return Simulation(machine_type(vm), prices, arrivals, make(facts), observer)


def decisions(facts: said.ScheduleFacts, seed: int, jobs: int | None = None, make: Make = policy_of) -> Sequence[Entry]:
    """Return the log of a run with the first ``jobs`` jobs, or all of them: the run is made again."""
    log = Log()
    simulation(facts, seed, log, islice(jobs_of(facts, seed), jobs), make).run()
    return log.entries


def run_policy(draft: Draft, jobs: int | None = None) -> Draft:
    """Simulate the spec's policy once, from the draft's seed, with the first ``jobs`` jobs or all of them.

    Stops at the time limit, then without a plan.
    """
    return _run(draft, policy_of, jobs)


def run_own(draft: Draft, make: Make) -> Draft:
    """Run a user-defined policy as :func:`run_policy` does; ``make`` creates it anew for each run.

    Raises TypeError for an object without all methods of a policy.
    """
    made = make(draft.spec.facts)
    missing = [name for name in DECIDES if not callable(getattr(made, name, None))]
    if missing:
        raise TypeError(f"{type(made).__name__} is not a policy: it has no `{'`, `'.join(missing)}`")
    return _run(draft, make)


def _run(draft: Draft, make: Make, jobs: int | None = None) -> Draft:
    facts = draft.spec.facts
    run = simulation(facts, draft.seed, jobs=islice(jobs_of(facts, draft.seed), jobs), make=make)
    seen = run.run(_deadline(draft))
    if not seen.complete:
        told = warning(
            "stopped-early",
            f"the time limit was reached after {seen.jobs} jobs; a part of a run is not a plan",
            hint="give more time, or fewer jobs with `end` in `arrivals`",
        )
        return replace(draft, termination=Termination.TIME_LIMIT, diagnostics=(*draft.diagnostics, told))
    plan = plan_of(seen, sum(run.machine.slots), partial(decisions, facts, draft.seed, jobs, make))
    return replace(draft, plan=plan, value=plan.cost.total)


def _deadline(draft: Draft) -> Callable[[], bool]:
    def is_over() -> bool:
        if is_stopped():
            raise KeyboardInterrupt
        return draft.is_late()

    return is_over


Sizing = str


def slots_for(profile: WaveProfile, time: float, sizing: Sizing) -> tuple[int, int]:
    """Return whole map and reduce slots for a completion within ``time`` by (3.15), at most the number of tasks.

    ``fixed_reduce``: a reduce slot per reduce task, map slots by (3.16). ``least_slots``: (3.17) and (3.18). If one of
    them exceeds its tasks, it is fixed there and the other is solved for from (3.15), which the thesis leaves out.
    """
    if sizing == "fixed_reduce":
        wanted = waves.slots_with_fixed_reduce(profile, time)
    else:
        wanted = _held_within_tasks(profile, time, waves.least_slots(profile, time))
    return (waves.whole_slots(wanted.map, profile.map_tasks), waves.whole_slots(wanted.reduce, profile.reduce_tasks))


def _held_within_tasks(profile: WaveProfile, time: float, wanted: SlotCounts) -> SlotCounts:
    a, b, c = waves.coefficients(profile)
    if not b or time - c <= 0.0:
        return wanted
    if wanted.map > profile.map_tasks:
        left = time - c - a / profile.map_tasks
        return SlotCounts(profile.map_tasks, waves.slots_within(b, left))
    if wanted.reduce > profile.reduce_tasks:
        left = time - c - b / profile.reduce_tasks
        return SlotCounts(waves.slots_within(a, left), profile.reduce_tasks)
    return wanted


@dataclass(frozen=True)
class InstanceTypes:
    """The instance type decision maker (4.2): which VMs to request, and the bid.

    ``kind`` is ``on_demand``, ``spot`` or ``hybrid``. The bid is the least one that outlasts the work with probability
    ``reliability``; hybrid takes on-demand VMs if that bid exceeds their price. The thesis does not define how to
    predict the minimum bid.
    """

    kind: str
    reliability: float

    def bid(self, sim: Simulation, length: float) -> float | None:
        """Return the bid for work of ``length`` seconds; None for on-demand VMs."""
        if self.kind == "on_demand" or sim.prices is None:
            return None
        bid = sim.prices.lasting_bid(sim.now, length, self.reliability)
        return None if self.kind == "hybrid" and bid > sim.machine.price else bid
