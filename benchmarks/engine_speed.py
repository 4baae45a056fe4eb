"""The engine against the same model written plainly on simpy, a million tasks, and what memory follows.

    python benchmarks/engine_speed.py            # all, medians of 5
    python benchmarks/engine_speed.py peer       # stages, a shuffle, two VM types, 30 users on 300 slots
    python benchmarks/engine_speed.py million    # a million tasks drawn, and equal; a fifth of it with faults
    python benchmarks/engine_speed.py memory     # peak memory at ever more jobs

CPU seconds; every measurement is a process of its own; the peer needs `pip install simpy`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from math import inf
from pathlib import Path
from statistics import median

import numpy as np

REPEATS = 5
USERS = 30
FAST, SLOW = (25, 4, 1.3), (50, 4, 1.0)  # VMs, slots, speed


def scenario(jobs, fixed=False, alike=False, **more):
    """Jobs of 292 tasks in four stages, of which one fetches, on two VM types; ``alike``: of one speed."""
    from mrdsl.simulation.engine.draws import Spread, TaskTimes
    from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users
    from mrdsl.simulation.engine.world import JobKind, Machines, Stage

    def spread(least, longest):
        middle = (least + longest) / 2
        return Spread(middle, middle, middle) if fixed else Spread(least, middle, longest)

    kind = JobKind(
        "funnel", (Stage("scan", 200), Stage("lookup", 12), Stage("join", 64, (0, 1)), Stage("write", 16, (2,)))
    )
    times = (
        TaskTimes(spread(2.0, 16.0)),
        TaskTimes(spread(2.0, 6.0)),
        TaskTimes(spread(4.0, 24.0), spread(1.0, 3.0), spread(2.0, 5.0)),
        TaskTimes(spread(5.0, 9.0)),
    )
    machines = tuple(Machines(vms, slots, 0, 1.0 if alike else speed) for vms, slots, speed in (FAST, SLOW))
    return Scenario((JobClass(kind, times, Users(USERS), jobs),), machines, ((QueueRule(),),), 0.0, **more)


def faulty():
    from mrdsl.simulation.engine.scenario import LossRule
    from mrdsl.simulation.engine.world import Faults, Speculation

    return {"faults": Faults(0.01, 3, False, Speculation()), "losses": LossRule(0.05 / 3600.0, 120.0)}


def engine(jobs, fixed=False, alike=False, wrong=False):
    from mrdsl.simulation.engine.scenario import run_once

    world = scenario(jobs, fixed, alike, **(faulty() if wrong else {}))
    started = time.process_time()
    seen = run_once(world, 1, 0)
    return seen.tasks, time.process_time() - started, float(np.mean([t for t in seen.times[0] if t < inf]))


def on_simpy(jobs):
    """The same rules and the same times of the same jobs."""
    import simpy

    from mrdsl.simulation.engine.draws import StreamDraws
    from mrdsl.simulation.sampling import stream

    world = scenario(jobs).classes[0]
    stages = world.kind.stages
    draws = StreamDraws(
        [world.times], [[s.tasks for s in stages]], lambda what, kind, s: stream(1, 0, what, "funnel", stages[s].name)
    )
    env = simpy.Environment()
    speeds = (FAST[2], SLOW[2])
    free, active, ended, tasks = [FAST[0] * FAST[1], SLOW[0] * SLOW[1]], [], [], [0]
    done = env.event()

    class Job:
        def __init__(self, number):
            self.number, self.running, self.over = number, 0, env.event()
            self.blocks = [None] * len(stages)
            self.pending, self.left = [0] * len(stages), [s.tasks for s in stages]
            self.next, self.any_ended = [0] * len(stages), [False] * len(stages)
            for index, stage in enumerate(stages):
                if not stage.after:
                    self.open(index)

        def open(self, index):
            self.blocks[index] = draws.block(0, self.number, index)
            self.pending[index] = stages[index].tasks

    def dispatch():
        while free[0] or free[1]:
            waiting = [job for job in active if any(job.pending)]
            if not waiting:
                return
            job = min(waiting, key=lambda job: job.running)
            index = next(i for i, count in enumerate(job.pending) if count)
            group = 0 if free[0] else 1
            free[group] -= 1
            job.pending[index] -= 1
            job.running += 1
            task = job.next[index]
            job.next[index] += 1
            block = job.blocks[index]
            duration = block.work[task] / speeds[group]
            if block.first is not None:
                duration += (block.shuffle if job.any_ended[index] else block.first)[task]
            env.process(run(job, index, group, duration))

    def run(job, index, group, duration):
        yield env.timeout(duration)
        tasks[0] += 1
        job.running -= 1
        job.left[index] -= 1
        job.any_ended[index] = True
        free[group] += 1
        if job.left[index] == 0:
            for child, stage in enumerate(stages):
                if index in stage.after and not any(job.left[parent] for parent in stage.after):
                    job.open(child)
            if not any(job.left):
                active.remove(job)
                job.over.succeed()
        dispatch()

    numbers = iter(range(10**9))

    def user():
        while True:
            job, submitted = Job(next(numbers)), env.now
            active.append(job)
            dispatch()
            yield job.over
            ended.append(env.now - submitted)
            if len(ended) == jobs and not done.triggered:
                done.succeed()

    for _ in range(USERS):
        env.process(user())
    started = time.process_time()
    env.run(done)
    return tasks[0], time.process_time() - started, float(np.mean(ended[:jobs]))


CASES = {
    **{f"engine {jobs}": (lambda jobs=jobs: engine(jobs)) for jobs in (600, 1500)},
    **{f"simpy {jobs}": (lambda jobs=jobs: on_simpy(jobs)) for jobs in (600, 1500)},
    "drawn": lambda: engine(3425),
    "equal": lambda: engine(3425, fixed=True),
    "alike": lambda: engine(3425, fixed=True, alike=True),
    "faults": lambda: engine(685, wrong=True),
    **{f"jobs {jobs}": (lambda jobs=jobs: engine(jobs)) for jobs in (400, 1600, 6400)},
}


def measure(case):
    """One run in a process of its own: tasks, CPU seconds, mean completion time, peak memory in MB."""
    done = subprocess.run([sys.executable, __file__, "--one", case], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def show(case, repeats=REPEATS):
    tell(case, [measure(case) for _ in range(repeats)])


def tell(case, runs):
    tasks, _, mean, peak = runs[0]
    seconds = median(run[1] for run in runs)
    print(
        f"{case:10} {tasks:10,} tasks {seconds:7.2f} s {1e6 * seconds / tasks:6.2f} µs a task, "
        f"mean completion {mean:.1f} s, peak {peak:.0f} MB"
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps([*CASES[sys.argv[2]](), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
        return
    asked = sys.argv[1:] or ["peer", "million", "memory"]
    if "peer" in asked:
        pairs = [(measure(f"engine {jobs}"), measure(f"simpy {jobs}")) for _ in range(REPEATS) for jobs in (600, 1500)]
        for jobs, mine in ((600, pairs[::2]), (1500, pairs[1::2])):
            for name, runs in (("engine", [a for a, _ in mine]), ("simpy", [b for _, b in mine])):
                tell(f"{name} {jobs}", runs)
            ratios = [b[1] / b[0] / (a[1] / a[0]) for a, b in mine]
            print(f"ratio {median(ratios):.1f}, of pairs in turn {', '.join(f'{each:.1f}' for each in ratios)}")
    for part, cases in (
        ("million", ("drawn", "alike", "equal", "faults")),
        ("memory", ("jobs 400", "jobs 1600", "jobs 6400")),
    ):
        if part in asked:
            for case in cases:
                show(case, 1 if part == "memory" else REPEATS)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
