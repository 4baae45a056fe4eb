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
USERS, JOBS_PER_USER, CORES, THINK = (4, 10), 100, 128, (174.0, 127.0)
# Table 3 of the paper, first row: tasks, average and longest time of map and of shuffle with reduce.
TWITTER, SORT = (370, 30.0, 42.0, 64, 59.0, 84.0), (1024, 5.0, 16.0, 64, 83.0, 125.0)


def spread(avg, longest):
    from mrdsl.simulation.engine.draws import Spread

    return Spread(max(0.0, 2 * avg - longest), avg, longest)


def ours():
    from mrdsl.simulation.engine.draws import TaskTimes
    from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users, run_once
    from mrdsl.simulation.engine.world import JobKind, Machines, Stage

    classes = tuple(
        JobClass(
            JobKind(name, (Stage("map", c[0]), Stage("reduce", c[3], (0,)))),
            (TaskTimes(spread(c[1], c[2])), TaskTimes(spread(c[4], c[5]))),
            Users(users, think),
            JOBS_PER_USER * users,
        )
        for name, c, think, users in zip(("twitter", "sort"), (TWITTER, SORT), THINK, USERS, strict=True)
    )
    started = time.process_time()
    seen = run_once(Scenario(classes, (Machines(1, CORES),), ((QueueRule(),),), 0.0), 1, 0)
    return seen.tasks, time.process_time() - started, [float(np.mean(each)) for each in seen.times]


def draws(seed):
    """Task and think times from the same distributions, drawn many at once."""
    random = np.random.RandomState(seed)

    def chunks(draw):
        while True:
            yield from draw(1024).tolist()

    def exponential(mean):
        return chunks(lambda count: mean * random.standard_exponential(count)).__next__

    def drawn(avg, longest):
        return chunks(lambda count: spread(avg, longest)(random, count)).__next__

    return [
        (c[0], c[3], drawn(c[1], c[2]), drawn(c[4], c[5]), exponential(think))
        for c, think in zip((TWITTER, SORT), THINK, strict=True)
    ]


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
    started = time.process_time()
    env.run(done)
    return tasks[0], time.process_time() - started, [float(np.mean(each)) for each in seen]


def day(jobs):
    """Jobs of ~42 tasks through a day on 400 slots at about 80 % load, under fair sharing."""
    from mrdsl.simulation.engine.draws import StreamDraws, TaskTimes
    from mrdsl.simulation.engine.engine import Engine
    from mrdsl.simulation.engine.flow import Submission
    from mrdsl.simulation.engine.world import JobKind, Machines, Sharing, Stage
    from mrdsl.simulation.queues import FewestRunning, Queue
    from mrdsl.simulation.sampling import stream

    random = np.random.RandomState(7)
    gaps, sizes = random.exponential(86400.0 / 24000, jobs), random.geometric(1 / 36.0, jobs)
    kinds = [
        JobKind(f"{n} maps", (Stage("map", n), Stage("reduce", max(1, n // 6), (0,), 1)))
        for n in range(1, int(sizes.max()) + 1)
    ]
    times = [TaskTimes(spread(20.0, 60.0)), TaskTimes(spread(40.0, 90.0))]
    blocks = StreamDraws(
        [times] * len(kinds),
        [[stage.tasks for stage in kind.stages] for kind in kinds],
        lambda *place: stream(7, *place),
    )
    arrivals = (Submission(at, int(n) - 1) for n, at in zip(sizes, np.cumsum(gaps).tolist(), strict=True))
    spent = [0, 0.0]

    def completed(job, now):
        spent[0] += 1
        spent[1] += now - job.submitted

    machines = [Machines(1, 300), Machines(1, 150, 1)]
    shares = [Sharing([Queue(FewestRunning())]) for _ in machines]
    started = time.process_time()
    engine = Engine(kinds, machines, shares, arrivals, blocks, completed)
    engine.run()
    return engine.tasks, time.process_time() - started, [spent[1] / spent[0]]


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
