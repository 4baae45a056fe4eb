"""``frugal``, mrdsl's policy: whole waves, paid time first, and lateness only if it saves most.

It differs from MDASA in five points:

* **Whole waves.** (3.15) takes waves as fractions; a job sized by it is late whenever its tasks do not fill them
    evenly.
  Here a job gets the whole waves of map and of reduce tasks that meet its deadline on the fewest
  VMs. A VM has slots of both kinds, so the larger of the two needs counts, not their sum.
* **Paid time first.** Tasks use slots of VMs that are paid for long enough anyway, the tightest fit first. Then
    they queue after the work of such slots, then they use free slots whose VM will be paid once more. New VMs are last.
* **Bids at the on-demand price.** A spot VM pays the market price for any bid, so a low bid only loses VMs. If
  the period that the market ends is free, losing them saves it. Then the bid is the least that outlasts the work
  with probability ``reliability``, if that is lower.
* **Late jobs are cheap.** A job that cannot be on time any more gets just the VMs that end it within
  ``late_within``, by default one billing period, which they fill.
* **Intended lateness.** At most ``tardy_share`` of the jobs that have arrived are made late on
  purpose: those whose saving is among the largest so far. On demand, every other job is on time if a new VM can
      boot and run one map wave, then one reduce wave, before its due time.

VMs that boot could break that guarantee in the reduce phase, whose slots other jobs may have by then. So a job is sized
with time for a second boot. If that needs more VMs, the policy reserves reduce slots for it instead. They are on VMs
that are paid for until its map phase ends, otherwise on VMs that are rented one boot before.

The functions that find and fill slots serve every policy, once it knows how many slots a job shall have.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import ceil, inf, nextafter

from mrdsl.core.rounding import begun, floor
from mrdsl.core.units import HOUR
from mrdsl.formulas import waves
from mrdsl.simulation.fleet import MAP, REDUCE, Cohort, Lateness, started_periods
from mrdsl.simulation.scheduling import JobRun, Simulation

#: Late jobs held back for the largest savings; measured on the Facebook day (benchmarks/README.md).
RESERVE = 10


@dataclass(frozen=True, slots=True)
class Waves:
    """Whole waves of map and reduce tasks, the most VMs that they need, and the reduce slots reserved for the job."""

    map: int
    reduce: int
    vms: int
    held: int = 0


@dataclass(frozen=True, slots=True)
class PhaseDue:
    """Due time of the map phase of a job that shall be on time, and the reduce slots still to be reserved."""

    map_due: float
    held: int


def fewest_vms(run: JobRun, time: float, slots: tuple[int, int]) -> Waves | None:
    """Return the waves that end a new job within ``time`` on the fewest VMs; None where it is too short for one of
    each.
    """
    job = run.job
    map_time, reduce_time = job.durations
    if not job.reduce_tasks:
        waves = min(fitting(time, map_time), job.map_tasks)
        return Waves(waves, 0, _vms(job.map_tasks, waves, slots[MAP])) if waves else None
    best: Waves | None = None
    map_most, reduce_most = fitting(time - reduce_time, map_time), fitting(time - map_time, reduce_time)
    if map_most < 1 or reduce_most < 1:
        return None
    by_map = map_most <= reduce_most
    for one in range(1, min(map_most if by_map else reduce_most, job.tasks[MAP if by_map else REDUCE]) + 1):
        own, other = (map_time, reduce_time) if by_map else (reduce_time, map_time)
        rest = fitting(time - one * own, other)
        maps, reduces = (one, rest) if by_map else (rest, one)
        maps, reduces = min(maps, job.map_tasks), min(reduces, job.reduce_tasks)
        vms = max(_vms(job.map_tasks, maps, slots[MAP]), _vms(job.reduce_tasks, reduces, slots[REDUCE]))
        if best is None or vms < best.vms:
            best = Waves(maps, reduces, vms)
    return best


def waves_in_time(run: JobRun, time: float, boot: float, slots: tuple[int, int]) -> Waves | None:
    """Return the waves that end a new job within ``time`` on the fewest VMs, for any other load; None without any.

    Either there is time for VMs of the reduce phase to boot after the map phase, or its slots are reserved.
    """
    once = fewest_vms(run, time - boot, slots)
    if once is None or boot == 0.0 or not run.job.reduce_tasks:
        return once
    twice = fewest_vms(run, time - 2 * boot, slots)
    if twice is not None and twice.vms <= once.vms:
        return twice
    return replace(once, held=-(-run.job.reduce_tasks // once.reduce))


@dataclass(eq=False)
class Frugal:
    """The policy; ``instances`` as everywhere, ``tardy_share`` the share of jobs that it may make late.

    A job that is late gets the slots that end either phase of it in ``late_within`` seconds.
    """

    instances: str
    tardy_share: float = 0.0
    late_within: float = HOUR
    reliability: float = 0.9
    arrived: int = 0
    late: int = 0
    savings: Lateness = field(default_factory=Lateness)
    ahead: list[tuple[float, int, JobRun]] = field(default_factory=list)
    held: dict[int, dict[int, int]] = field(default_factory=dict)

    def ready(self, sim: Simulation, run: JobRun) -> None:
        """Begin a phase: in whole waves for the due time, or cheaply if the job is or shall be late."""
        if run.phase == MAP:
            self.arrived += 1
            self._size(sim, run)
        self._serve(sim, run)

    def lost(self, sim: Simulation, run: JobRun) -> None:
        """Run lost tasks immediately if they can still be on time, otherwise cheaply."""
        self._serve(sim, run)

    def decide(self, sim: Simulation) -> None:
        """Nothing waits."""

    def clock(self, sim: Simulation) -> None:
        """Rent VMs in advance for jobs whose map phase ends in one boot."""
        while self.ahead and self.ahead[0][0] <= sim.now:
            _, _, run = heappop(self.ahead)
            if run.phase == MAP and run.note is not None:
                vms = -(-run.note.held // sim.machine.slots[REDUCE])
                self._hold(sim.rent(vms, self._bid(sim, run.job.due - sim.now)), run, run.note.held)

    def _size(self, sim: Simulation, run: JobRun) -> None:
        """Decides on the waves of a new job, and whether it shall be late."""
        period, slots, boot = sim.machine.billing, sim.machine.slots, sim.machine.boot
        in_time = waves_in_time(run, run.job.due - sim.now, boot, slots)
        cheap = fewest_vms(run, max(self.late_within - boot, sum(run.job.durations)), slots)
        assert cheap is not None
        if in_time is None:
            run.note = self._on_idle_slots(sim, run)
            self.late += run.note is None
            return
        missing = self._missing(sim, run, in_time)
        saving = (missing - min(cheap.vms, missing)) * period * sim.machine.price
        if saving > 0.0:
            self.savings.add(saving)
        if saving > 0.0 and self._may_be_late(saving):
            self._give_up(run)
        else:
            run.note = PhaseDue(sim.now + in_time.map * run.duration + boot, in_time.held)

    def _on_idle_slots(self, sim: Simulation, run: JobRun) -> PhaseDue | None:
        """Plan a job that is due before a new VM could end it: on time if the idle slots remain idle."""
        idle = [sum(self._idle(cohort, phase, run) for cohort in sim.fleet()) for phase in (MAP, REDUCE)]
        if any(tasks and not slots for tasks, slots in zip(run.job.tasks, idle, strict=True)):
            return None
        times = [
            -(-tasks // slots) * duration if tasks else 0.0
            for tasks, slots, duration in zip(run.job.tasks, idle, run.job.durations, strict=True)
        ]
        return PhaseDue(run.job.due - times[REDUCE], 0) if sim.now + sum(times) <= run.job.due else None

    def _may_be_late(self, saving: float) -> bool:
        """Return True if the budget has room and the saving is among the largest that the budget can take.

        The less of the budget is left, the larger the saving must be: a job that dwarfs all others may still arrive.
        """
        left = self.tardy_share * self.arrived - self.late
        if left < 1.0:
            return False
        affordable = self.tardy_share * self.arrived / self.savings.count * min(1.0, left / RESERVE)
        return affordable >= 1.0 or saving >= self.savings.quantile(1.0 - affordable)

    def _give_up(self, run: JobRun) -> None:
        self.late += 1
        run.note = None

    def _missing(self, sim: Simulation, run: JobRun, waves: Waves) -> int:
        """VMs that would have to be rented for the map phase, and for the reduce phase if it needs more."""
        per_slot = max(waves.map, 1)
        free = sum(cohort.idle[MAP] for cohort in sim.fleet())
        missing = max(ceil(run.job.map_tasks / per_slot) - free, 0)
        vms = -(-missing // sim.machine.slots[MAP])
        return max(vms, waves.vms - sim.vms)

    def _serve(self, sim: Simulation, run: JobRun) -> None:
        """Place all waiting tasks of the phase."""
        due = run.note.map_due if run.phase == MAP and run.note is not None else run.job.due
        if run.note is not None and fitting(due - sim.now, run.duration) < 1:
            self._give_up(run)
        if run.note is None:
            due = sim.now + max(self.late_within, sim.machine.boot + run.duration)
        if run.phase == REDUCE and self.held:
            self._fill_held(sim, run, due)
        for only_paid in (True, False):
            if run.waiting:
                self._fill(sim, run, due, only_paid)
        if run.waiting:
            self._rent(sim, run, due)
        if run.phase == MAP and run.note is not None and run.note.held:
            self._hold_reduce_slots(sim, run)

    def _hold_reduce_slots(self, sim: Simulation, run: JobRun) -> None:
        """Reserve idle slots whose VMs are paid for until the map phase ends; rent VMs in advance for the rest.

        These are rented one boot before the map phase ends, so that they are ready at its end.
        """
        left = run.note.held
        for cohort in sim.fleet():
            if sim.period_end(cohort) >= run.until:
                slots = self._idle(cohort, REDUCE, None)
                if not slots and cohort.number not in self.held:
                    slots = cohort.busy(REDUCE).get(sim.now + sim.machine.boot, 0)
                self._hold(cohort, run, min(left, slots))
                left -= min(left, slots)
        run.note = PhaseDue(run.note.map_due, left)
        if not left:
            return
        at = run.until - sim.machine.boot
        while at + sim.machine.boot < run.until:
            at = nextafter(at, inf)
        heappush(self.ahead, (max(at, sim.now), run.number, run))
        sim.call_at(at)

    def _fill_held(self, sim: Simulation, run: JobRun, due: float) -> None:
        """Fill the reduce slots that were rented in advance for the job, and release the rest."""
        for cohort in sim.fleet():
            own = self.held.get(cohort.number, {}).get(run.number, 0)
            for free, lanes in ({0.0: cohort.idle[REDUCE]} | cohort.busy(REDUCE)).items() if own else ():
                each = fitting(due - max(free, sim.now), run.duration)
                if run.waiting and each and min(lanes, own):
                    self._place(sim, run, cohort, free, min(lanes, own), each)
                    own -= min(lanes, own)
        self.held = {
            number: rest
            for number, holds in self.held.items()
            if (rest := {holder: slots for holder, slots in holds.items() if holder != run.number})
        }

    def _hold(self, cohort: Cohort, run: JobRun, slots: int) -> None:
        if slots:
            holds = self.held.setdefault(cohort.number, {})
            holds[run.number] = holds.get(run.number, 0) + slots

    def _idle(self, cohort: Cohort, phase: int, run: JobRun | None) -> int:
        """Count the idle slots of a cohort that a job may take: those not reserved for another one."""
        if phase == MAP or cohort.number not in self.held:
            return cohort.idle[phase]
        others = sum(slots for holder, slots in self.held[cohort.number].items() if run is None or holder != run.number)
        return max(cohort.idle[REDUCE] - others, 0)

    def _fill(self, sim: Simulation, run: JobRun, due: float, only_paid: bool) -> None:
        """Fill free slots, then busy ones, up to the end of their VM's paid time, otherwise free ones up to due."""
        fleet = sorted((sim.period_end(cohort), cohort.number, cohort) for cohort in sim.fleet())
        for paid, _, cohort in fleet:
            idle = self._idle(cohort, run.phase, run)
            if idle:
                each = fitting(min(due, paid if only_paid else due) - sim.now, run.duration)
                self._place(sim, run, cohort, 0.0, idle, each)
            if not run.waiting:
                return
        if only_paid:
            for paid, _, cohort in fleet:
                self._queue(sim, run, cohort, due, paid)
                if not run.waiting:
                    return

    def _queue(self, sim: Simulation, run: JobRun, cohort: Cohort, due: float, paid: float) -> None:
        """Queue tasks after the work of busy slots if they end on time and in the period that is paid anyway."""
        if cohort.next_free + run.duration > due or (run.phase == REDUCE and cohort.number in self.held):
            return
        period = sim.machine.billing
        for free, lanes in cohort.busy(run.phase).items():
            until = paid if free <= paid else paid + started_periods(paid, free, period) * period
            each = fitting(min(due, until) - free, run.duration)
            self._place(sim, run, cohort, free, lanes, each)
            if not run.waiting:
                return

    def _place(self, sim: Simulation, run: JobRun, cohort: Cohort, free: float, lanes: int, each: int) -> None:
        """As many waiting tasks as go, ``each`` per slot, the last slot with the rest."""
        each = min(each, run.waiting)
        if each < 1:
            return
        full = min(lanes, run.waiting // each)
        sim.place(run, cohort, free, full, each)
        if run.waiting and full < lanes and run.waiting < each:
            sim.place(run, cohort, free, 1, run.waiting)

    def _rent(self, sim: Simulation, run: JobRun, due: float) -> None:
        """Rent the VMs that the waiting tasks need up to the due time; if that is too soon, the job is late."""
        each = fitting(due - sim.now - sim.machine.boot, run.duration)
        if each < 1:
            self._give_up(run)
            each = max(fitting(self.late_within - sim.machine.boot, run.duration), 1)
        lanes: list[Lanes] = rent_slots(
            sim, run.phase, ceil(run.waiting / each), self._bid(sim, sim.machine.boot + each * run.duration)
        )
        spread(sim, run, lanes, run.waiting)

    def _bid(self, sim: Simulation, length: float) -> float | None:
        if self.instances == "on_demand" or sim.prices is None:
            return None
        if self.instances == "hybrid" and sim.prices.current > sim.machine.price:
            return None
        bid = max(sim.machine.price, sim.prices.current)
        return min(bid, sim.prices.lasting_bid(sim.now, length, self.reliability)) if sim.machine.broken_free else bid


def _vms(tasks: int, waves: int, slots: int) -> int:
    return -(-tasks // (waves * slots)) if tasks else 0


#: Slots of one cohort that fall free at the same moment (0: they are free): cohort, moment, count.
Lanes = tuple[Cohort, float, int]


#: More tasks than any job has: tasks that take no time fit in any number.
MANY = 2**53


def free_slots(sim: Simulation, phase: int, wanted: int) -> list[Lanes]:
    """Up to ``wanted`` free slots of a phase, from the VMs rented first."""
    lanes: list[Lanes] = []
    for cohort in sim.fleet():
        if wanted <= 0:
            break
        taken = min(cohort.idle[phase], wanted)
        if taken:
            lanes.append((cohort, 0.0, taken))
            wanted -= taken
    return lanes


def rent_slots(sim: Simulation, phase: int, wanted: int, bid: float | None) -> list[Lanes]:
    """``wanted`` slots of a phase on as few new VMs as hold them."""
    cohort = sim.rent(-(-wanted // sim.machine.slots[phase]), bid)
    return [(cohort, sim.now + sim.machine.boot if sim.machine.boot else 0.0, wanted)]


def spread(sim: Simulation, run: JobRun, lanes: list[Lanes], tasks: int) -> None:
    """Place tasks on slots as evenly as possible: if the division has a rest, the first slots get one more."""
    each, longer = divmod(tasks, sum(count for _, _, count in lanes))
    for cohort, free, count in lanes:
        more = min(count, longer)
        longer -= more
        if more:
            sim.place(run, cohort, free, more, each + 1)
        if each and count > more:
            sim.place(run, cohort, free, count - more, each)


SHORT = 2e-10
"""Seconds that rounding may take from a stretch of time."""


def fitting(time: float, duration: float) -> int:
    """Count the tasks that fit one after another into a stretch of time, with a tolerance for rounding."""
    if duration == 0.0:
        return MANY if time + SHORT >= 0.0 else 0
    return int(floor((time + SHORT) / duration))


def phase_due(run: JobRun) -> float:
    """Return MDASA's endtime(j): the due time of the present phase for the job to be on time.

    For map tasks that is the moment by which the map phase must end for the reduce phase to meet the deadline; the
    thesis leaves this implicit.
    """
    if run.phase == MAP and run.job.reduce_tasks:
        return run.job.due - waves.reduce_time(run.job.profile, run.slots[1]).average
    return run.job.due


def slots_for_rest(sim: Simulation, run: JobRun) -> int:
    """Return slots for the waiting tasks of the present phase in the time left, by work over time; all where it is
    short.
    """
    left = phase_due(run) - sim.now
    if left <= run.duration:
        return run.waiting
    return min(run.waiting, max(int(begun(run.waiting * run.duration / left)), 1))
