"""NDASA, epEDF and evEDF once more, plainly: a list of free moments per VM, one number per slot, no counting.

Written from the pseudo-code (Vishal 2015, Algorithm 1 and 4.4.2) and the rules in ``mrdsl.simulation.scheduling``. Runs
in which no billing period ends, so that no VM is given back: which of several alike slots is taken does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, inf

from mrdsl.families.schedule.methods.policy import slots_for
from mrdsl.formulas import waves
from mrdsl.simulation.fleet import Job
from mrdsl.simulation.sampling import PriceProcess


@dataclass(eq=False)
class Vm:
    group: int
    bid: float
    price: float
    free: tuple[list[float], list[float]]


@dataclass(eq=False)
class Chunk:
    run: Run
    vm: Vm
    order: int
    tasks: int
    start: float
    end: float


@dataclass(eq=False)
class Run:
    job: Job
    number: int
    phase: int = 0
    waiting: int = 0
    done: int = 0
    slots: tuple[int, int] = (0, 0)
    evicted: bool = False


@dataclass(eq=False)
class Plain:
    policy: str
    instances: str
    idle: str
    slots: tuple[int, int]
    price: float
    boot: float
    prices: PriceProcess | None
    epoch: float = 60.0
    low: float = 0.7
    now: float = 0.0
    order: int = 0
    groups: int = 0
    rented: int = 0
    evictions: int = 0
    cost_periods: float = 0.0
    clock: float = inf
    vms: list[Vm] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    queue: list[Run] = field(default_factory=list)
    ends: dict[str, float] = field(default_factory=dict)

    def simulate(self, jobs: list[Job]) -> None:
        left = [Run(job, number, waiting=job.map_tasks) for number, job in enumerate(jobs)]
        self.now = jobs[0].submit
        while self.prices is not None and self.prices.next_move <= self.now:
            self.prices.advance()
        while len(self.ends) < len(jobs):
            move = self.prices.next_move if self.prices is not None else inf
            self.now = min([move, self.clock, *(run.job.submit for run in left[:1]), *(c.end for c in self.chunks)])
            if any(chunk.end == self.now for chunk in self.chunks):
                self.end_tasks()
            if move == self.now:
                self.move_price()
            begun = [run for run in left if run.job.submit == self.now]
            left = left[len(begun) :]
            if begun:
                self.tell(begun)
            if self.clock == self.now:
                self.clock = inf
                self.serve_queue()

    def end_tasks(self) -> None:
        ended = sorted((c for c in self.chunks if c.end == self.now), key=lambda c: c.order)
        begun: list[Run] = []
        for chunk in ended:
            self.chunks.remove(chunk)
            run = chunk.run
            run.done += chunk.tasks
            if run.done == run.job.tasks[run.phase]:
                if run.phase == 0 and run.job.reduce_tasks:
                    run.phase, run.done, run.waiting = 1, 0, run.job.reduce_tasks
                    begun.append(run)
                else:
                    self.ends[run.job.name] = self.now
        self.tell(begun)

    def move_price(self) -> None:
        assert self.prices is not None
        self.prices.advance()
        gone = [vm for vm in self.vms if vm.bid < self.prices.current]
        self.vms = [vm for vm in self.vms if vm not in gone]
        self.evictions += len(gone)
        hit: list[Run] = []
        for chunk in sorted((c for c in self.chunks if c.vm in gone), key=lambda c: (c.vm.group, c.order)):
            self.chunks.remove(chunk)
            run = chunk.run
            each = run.job.durations[run.phase]
            done = min(max(int((self.now - chunk.start) / each + 1e-9), 0), chunk.tasks - 1)
            run.done, run.waiting, run.evicted = run.done + done, run.waiting + chunk.tasks - done, True
            if run not in hit:
                hit.append(run)
        for vm in gone:
            self.cost_periods -= vm.price
        self.tell(hit, lost=True)

    def tell(self, runs: list[Run], lost: bool = False) -> None:
        """Phases that begin, or runs that lost tasks: served at once, or queued."""
        if self.policy == "ndasa":
            for run in runs:
                self.serve_one(run, sized=not lost)
            return
        self.queue += runs
        if self.policy == "ev_edf":
            working = [0, 0]
            for chunk in self.chunks:
                working[chunk.run.phase] += 1
            if max(working[phase] / self.slots[phase] for phase in (0, 1)) <= self.low * len(self.vms):
                self.serve_queue()
        elif self.queue and self.clock == inf:
            self.clock = ceil(self.now / self.epoch - 1e-9) * self.epoch

    def serve_queue(self) -> None:
        for run in sorted(self.queue, key=lambda run: (run.job.due, run.number)):
            if run.waiting:
                self.serve_one(run, sized=run.phase == 0 and run.done == 0 and not run.evicted)
        self.queue = []

    def serve_one(self, run: Run, sized: bool) -> None:
        if sized:
            if run.phase == 0:
                run.slots = slots_for(run.job.profile, run.job.due - self.now - self.boot, "least_slots")
            self.place(run, run.slots[run.phase])
            return
        due = run.job.due
        if run.phase == 0 and run.job.reduce_tasks:
            due -= waves.reduce_time(run.job.profile, run.slots[1]).average
        each, time = run.job.durations[run.phase], due - self.now
        self.place(run, run.waiting if time <= each else min(run.waiting, ceil(run.waiting * each / time - 1e-9)))

    def place(self, run: Run, wanted: int) -> None:
        wanted, phase = min(wanted, run.waiting), run.phase
        each = run.job.durations[phase]
        idle = [(vm, i) for vm in self.vms for i, free in enumerate(vm.free[phase]) if free <= self.now]
        lanes = idle[: run.waiting if self.idle == "all" else wanted]
        missing = wanted - len(lanes)
        if missing > 0:
            new = self.rent(-(-missing // self.slots[phase]), -(-run.waiting // wanted) * each)
            lanes += [(vm, i) for vm in new for i in range(self.slots[phase])][:missing]
        tasks, run.waiting = run.waiting, 0
        share, longer = divmod(tasks, len(lanes))
        self.order += 1
        for number, (vm, i) in enumerate(lanes):
            count = share + (number < longer)
            start = max(vm.free[phase][i], self.now)
            vm.free[phase][i] = start + count * each
            self.chunks.append(Chunk(run, vm, self.order, count, start, start + count * each))

    def rent(self, count: int, length: float) -> list[Vm]:
        bid, price = inf, self.price
        if self.instances != "on_demand" and self.prices is not None:
            least = self.prices.lasting_bid(self.now, length, 0.9)
            if self.instances == "spot" or least <= self.price:
                bid, price = least, self.prices.current
        there = self.now + self.boot
        new = [Vm(self.groups, bid, price, ([there] * self.slots[0], [there] * self.slots[1])) for _ in range(count)]
        self.vms += new
        self.groups += 1
        self.rented += count
        self.cost_periods += count * price
        return new
