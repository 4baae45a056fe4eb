"""The simulator against the same model written plainly on simpy, and a day of 24,000 jobs and a million tasks.

    python benchmarks/bounds_simulation.py            # both, medians of 5
    python benchmarks/bounds_simulation.py peer       # Table 3, row 1, 100 completed jobs per user
    python benchmarks/bounds_simulation.py day        # with the peak memory of 6,000, 24,000 and 96,000 jobs

Every measurement is a process of its own; the peer needs `pip install simpy`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from itertools import repeat
from pathlib import Path
from statistics import median

import numpy as np

REPEATS = 5
USERS, JOBS_PER_USER, CORES = (4, 10), 100, 128
# Table 3 of the paper, first row: tasks, average and longest time of map and of shuffle with reduce.
TWITTER, SORT = (370, 30.0, 42.0, 64, 59.0, 84.0), (1024, 5.0, 16.0, 64, 83.0, 125.0)


def times(avg, longest, random):
    from mrdsl.simulation.task_times import spread

    return spread(max(0.0, 2 * avg - longest), avg, longest, random)


def draws(seed):
    """The same task and think times for both sides."""
    from mrdsl.simulation.task_times import exponential

    random = np.random.RandomState(seed)
    return [
        (c[0], c[3], times(c[1], c[2], random), times(c[4], c[5], random), exponential(think, random))
        for c, think in ((TWITTER, 174.0), (SORT, 127.0))
    ]


def ours():
    from mrdsl.simulation.cluster import Pool
    from mrdsl.simulation.queues import FewestRunning, Queue
    from mrdsl.simulation.tasks import Work
    from mrdsl.simulation.users import Submitters, observe

    submitters = [
        Submitters(Work(maps, reduces, m, r, r), think, users)
        for (maps, reduces, m, r, think), users in zip(draws(1), USERS, strict=True)
    ]
    started = time.perf_counter()
    seen, simulation = observe([Pool(CORES, [Queue(FewestRunning())])], submitters, [JOBS_PER_USER * u for u in USERS])
    simulation.run()
    return simulation.tasks, time.perf_counter() - started, [float(np.mean(each)) for each in seen]


def on_simpy():
    import simpy

    env = simpy.Environment()
    classes, jobs, free, seen = draws(1), [], [CORES], [[], []]
    done, tasks = env.event(), [0]

    class Job:
        def __init__(self, kind):
            self.kind, self.running, self.ended = kind, 0, env.event()
            self.pending = self.left = classes[kind][0]
            self.draw = classes[kind][2]
            self.mapping = True

    def dispatch():
        while free[0]:
            waiting = [job for job in jobs if job.pending]
            if not waiting:
                return
            job = min(waiting, key=lambda job: job.running)
            job.pending -= 1
            job.running += 1
            free[0] -= 1
            env.process(task(job))

    def task(job):
        yield env.timeout(job.draw())
        tasks[0] += 1
        job.running -= 1
        job.left -= 1
        free[0] += 1
        if job.left == 0 and job.mapping:
            job.mapping, job.pending, job.draw = False, classes[job.kind][1], classes[job.kind][3]
            job.left = job.pending
        elif job.left == 0:
            jobs.remove(job)
            job.ended.succeed()
        dispatch()

    def user(kind):
        while True:
            yield env.timeout(classes[kind][4]())
            job, submitted = Job(kind), env.now
            jobs.append(job)
            dispatch()
            yield job.ended
            seen[kind].append(env.now - submitted)
            if all(len(each) >= JOBS_PER_USER * u for each, u in zip(seen, USERS, strict=True)) and not done.triggered:
                done.succeed()

    for kind, users in enumerate(USERS):
        for _ in range(users):
            env.process(user(kind))
    started = time.perf_counter()
    env.run(done)
    return tasks[0], time.perf_counter() - started, [float(np.mean(each)) for each in seen]


def day(jobs):
    """Jobs of ~42 tasks through a day on 400 slots at about 80 % load, under fair sharing."""
    from mrdsl.simulation.cluster import Pool, Simulation
    from mrdsl.simulation.queues import FewestRunning, Queue
    from mrdsl.simulation.tasks import Job, Work

    random = np.random.RandomState(7)
    m, r = times(20.0, 60.0, random), times(40.0, 90.0, random)
    gaps, sizes = random.exponential(86400.0 / 24000, jobs), random.geometric(1 / 36.0, jobs)
    arrivals = (
        Job(0, Work(int(n), max(1, int(n) // 6), m, r, r), at)
        for n, at in zip(sizes, np.cumsum(gaps).tolist(), strict=True)
    )
    pools = [Pool(300, [Queue(FewestRunning())]), Pool(150, [Queue(FewestRunning())])]
    spent = [0, 0.0]

    def completed(job, now):
        spent[0] += 1
        spent[1] += now - job.submitted

    started = time.perf_counter()
    simulation = Simulation(pools, arrivals, completed)
    simulation.run()
    return simulation.tasks, time.perf_counter() - started, [spent[1] / spent[0]]


def measure(*arguments):
    """One run in a process of its own: tasks, seconds, mean completion times, peak memory in MB."""
    done = subprocess.run([sys.executable, __file__, "--one", *arguments], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def peer():
    rounds = [{name: measure(name) for name in ("ours", "simpy")} for _ in repeat(None, REPEATS)]
    found = {name: [each[name] for each in rounds] for name in ("ours", "simpy")}
    rates = {name: median(tasks / seconds for tasks, seconds, _, _ in runs) for name, runs in found.items()}
    for name, runs in found.items():
        tasks, _, means, peak = runs[0]
        print(
            f"{name:6} {rates[name]:10,.0f} tasks/s, {tasks:,} tasks, mean completion "
            f"{', '.join(f'{mean:.0f} s' for mean in means)}, peak {peak:.0f} MB"
        )
    print(f"ratio  {rates['ours'] / rates['simpy']:.1f}")


def whole_day():
    for jobs in (6_000, 24_000, 96_000):
        runs = [measure("day", str(jobs)) for _ in repeat(None, REPEATS if jobs == 24_000 else 1)]
        tasks, _, means, peak = runs[0]
        print(
            f"{jobs:7,} jobs, {tasks:9,} tasks: {median(run[1] for run in runs):5.1f} s, mean completion "
            f"{means[0]:.0f} s, peak {peak:.0f} MB"
        )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        run = {"ours": ours, "simpy": on_simpy}.get(sys.argv[2])
        found = run() if run else day(int(sys.argv[3]))
        print(json.dumps([*found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
        return
    for name, what in (("peer", peer), ("day", whole_day)):
        if name in (sys.argv[1:] or ("peer", "day")):
            what()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
