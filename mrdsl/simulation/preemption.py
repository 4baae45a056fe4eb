"""Preemption: who waits below its share, and which running tasks are killed for it.

Shares are those of fair sharing among the queues (the jobs, where there is one queue) that run or wait: by weight,
never more than what one can use, at least its minimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mrdsl.simulation.tasks import Job

if TYPE_CHECKING:
    from mrdsl.simulation.cluster import Pool

EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class _Running:
    slot: int
    start: float
    duration: float


@dataclass(frozen=True, slots=True)
class Claim:
    """What one party asks: its weight, its guaranteed slots, and how many it could use."""

    weight: float
    minimum: float
    demand: float


class Preemption:
    """Keeps who is in which pool and what of each job runs, by the sequence number of its end."""

    def __init__(self, pools: Sequence[Pool]) -> None:
        self.present: tuple[dict[int, Job], ...] = tuple({} for _ in pools)
        self.running: dict[int, dict[int, _Running]] = {}

    def enter(self, index: int, job: Job) -> None:
        """A job begins a stage in a pool."""
        self.present[index][job.number] = job
        self.running.setdefault(job.number, {})

    def leave(self, index: int, job: Job) -> None:
        """A job has ended its stage."""
        del self.present[index][job.number]
        del self.running[job.number]

    def started(self, job: Job, sequence: int, slot: int, now: float, duration: float) -> None:
        """A task has started."""
        self.running[job.number][sequence] = _Running(slot, now, duration)

    def ended(self, job: Job, sequence: int) -> bool:
        """Whether the task that ends had not been killed before."""
        return self.running.get(job.number, {}).pop(sequence, None) is not None

    def kill(self, index: int, pool: Pool) -> Iterator[tuple[Job, int]]:
        """The tasks to kill, as jobs and slots; the jobs' counts are brought up to date, their work is lost."""
        parties = self._parties(index, pool)
        entitled = fair_shares({key: claim for key, (claim, _) in parties.items()}, pool.slots)
        missing = sum(
            min(int(entitled[key] + EPSILON), claim.demand) - _count(jobs)
            for key, (claim, jobs) in parties.items()
            if _count(jobs) < min(int(entitled[key] + EPSILON), claim.demand)
        )
        while missing >= 1:
            victims = [
                (_count(jobs) - entitled[key], key)
                for key, (_, jobs) in parties.items()
                if _count(jobs) >= entitled[key] + 1.0 - EPSILON
            ]
            if not victims:
                return
            _, worst = max(victims)
            yield self._kill_youngest(parties[worst][1])
            missing -= 1

    def _parties(self, index: int, pool: Pool) -> dict[int, tuple[Claim, list[Job]]]:
        jobs = list(self.present[index].values())
        if len(pool.queues) == 1:
            return {job.number: (Claim(1.0, 0.0, job.running + job.pending), [job]) for job in jobs}
        parties: dict[int, tuple[Claim, list[Job]]] = {}
        for kind, queue in enumerate(pool.queues):
            mine = [job for job in jobs if job.kind == kind]
            if mine:
                demand = min(sum(job.running + job.pending for job in mine), queue.limit)
                parties[kind] = Claim(queue.weight, queue.minimum, demand), mine
        return parties

    def _kill_youngest(self, jobs: Sequence[Job]) -> tuple[Job, int]:
        sequence, job = max((max(self.running[job.number]), job) for job in jobs if self.running[job.number])
        task = self.running[job.number].pop(sequence)
        job.running -= 1
        job.pending += 1
        job.redo.append(task.duration)
        return job, task.slot


def fair_shares(claims: Mapping[int, Claim], slots: float) -> dict[int, float]:
    """Weighted max-min shares within demands; minima first where they fit."""
    shares = {key: min(claim.minimum, claim.demand) for key, claim in claims.items()}
    if sum(shares.values()) > slots:
        return shares
    open_keys = [key for key, claim in claims.items() if claim.demand > 0.0]
    settled: dict[int, float] = {}
    left = float(slots)
    while open_keys:
        level = left / sum(claims[key].weight for key in open_keys)
        fixed = {}
        for key in open_keys:
            wanted = level * claims[key].weight
            if claims[key].demand <= wanted:
                fixed[key] = float(claims[key].demand)
            elif shares[key] > wanted:
                fixed[key] = shares[key]
        if not fixed:
            settled |= {key: level * claims[key].weight for key in open_keys}
            break
        settled |= fixed
        left -= sum(fixed.values())
        open_keys = [key for key in open_keys if key not in fixed]
        left = max(left, 0.0)
    return {key: settled.get(key, 0.0) for key in claims}


def _count(jobs: Sequence[Job]) -> int:
    return sum(job.running for job in jobs)
