"""Users who submit jobs of stages to a pool of slots for each kind of task, on simpy; the engine shares nothing of it.

Fair sharing: a free slot goes to the job with the fewest running tasks of its kind, the oldest where they tie. Task
times are drawn when a task starts.
"""

from __future__ import annotations

import numpy as np
import simpy


class Plain:
    """``stages``: (tasks, parents, pool, draw), where draw(first) gives the time of a task, ``first`` whether none of
    its stage has ended."""

    def __init__(self, stages, slots, users, jobs, think=0.0, seed=0):
        self.env, self.stages, self.free = simpy.Environment(), stages, list(slots)
        self.random, self.think = np.random.default_rng(seed), think
        self.active, self.times, self.jobs = [], [], jobs
        self.done = self.env.event()
        for _ in range(users):
            self.env.process(self.user())
        self.env.run(self.done)

    def user(self):
        while True:
            if self.think:
                yield self.env.timeout(self.random.exponential(self.think))
            begun, over = self.env.now, self.env.event()
            job = {
                "waiting": [tasks for tasks, *_ in self.stages],
                "left": [tasks for tasks, *_ in self.stages],
                "running": [0] * len(self.free),
                "over": over,
            }
            self.active.append(job)
            self.give()
            yield over
            self.times.append(self.env.now - begun)
            if len(self.times) == self.jobs:
                self.done.succeed()

    def startable(self, job, pool):
        return [
            number
            for number, (_, parents, where, _) in enumerate(self.stages)
            if where == pool and job["waiting"][number] and not any(job["left"][parent] for parent in parents)
        ]

    def give(self):
        for pool in range(len(self.free)):
            while self.free[pool]:
                able = [job for job in self.active if self.startable(job, pool)]
                if not able:
                    break
                job = min(able, key=lambda job: job["running"][pool])
                number = self.startable(job, pool)[0]
                self.free[pool] -= 1
                job["running"][pool] += 1
                job["waiting"][number] -= 1
                self.env.process(self.task(job, number, pool))

    def task(self, job, number, pool):
        tasks, _, _, draw = self.stages[number]
        length = draw(self.random, job["left"][number] == tasks)
        yield self.env.timeout(length)
        self.free[pool] += 1
        job["running"][pool] -= 1
        job["left"][number] -= 1
        if not any(job["left"]):
            self.active.remove(job)
            job["over"].succeed()
        self.give()


def spread(avg, longest, shortest=None):
    """Uniform to a power, as the simulation's page says, with this mean between these ends."""
    low = max(0.0, 2 * avg - longest) if shortest is None else shortest

    def draw(random, first):
        if not low < avg < longest:
            return avg
        return low + (longest - low) * random.random() ** ((longest - avg) / (avg - low))

    return draw


def summed(first, later, work):
    """Shuffle and reduce of one task, with another shuffle in the first wave."""
    return lambda random, early: (first if early else later)(random, early) + work(random, early)


def means(build, runs):
    """Mean over independent runs, the first tenth left out, and half of its 95 % interval (normal)."""
    found = []
    for run in range(runs):
        times = build(run).times
        found.append(float(np.mean(times[len(times) // 10 :])))
    return float(np.mean(found)), 1.96 * float(np.std(found, ddof=1)) / runs**0.5
