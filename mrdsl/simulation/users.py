"""Who submits jobs: users that wait for their job and think, random arrivals, or submissions laid down beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge

from mrdsl.simulation.cluster import Pool, Simulation
from mrdsl.simulation.tasks import Draw, Job, TaskRun, Work


@dataclass(frozen=True)
class Submitters:
    """Those who submit the jobs of one class.

    ``users`` of them each wait for their job's end, then ``gap()`` seconds, then submit the next one. With ``open``
    there is one stream of jobs instead, ``gap()`` seconds apart whatever becomes of them; with ``users`` as well, one
    stream per user.
    """

    work: Work
    gap: Draw
    users: int = 1
    open: bool = False


def observe(
    pools: Sequence[Pool],
    submitters: Sequence[Submitters],
    enough: Sequence[int],
    record: Callable[[TaskRun], None] | None = None,
    patience: float | None = None,
    masters: bool = False,
) -> tuple[list[list[float]], Simulation]:
    """Simulates until every class has completed ``enough`` jobs; gives the completion times per class, in order.

    The completion time runs from a job's submission to the end of its last task.
    """
    seen: list[list[float]] = [[] for _ in submitters]
    missing = sum(count > 0 for count in enough)

    def completed(job: Job, now: float) -> Job | None:
        nonlocal missing
        mine = seen[job.kind]
        mine.append(now - job.submitted)
        if len(mine) == enough[job.kind]:
            missing -= 1
            if not missing:
                simulation.stop()
        who = submitters[job.kind]
        return None if who.open else Job(job.kind, who.work, now + who.gap(), job.user)

    simulation = Simulation(pools, arrivals(submitters), completed, record, patience, masters)
    return seen, simulation


def arrivals(submitters: Sequence[Submitters]) -> Iterator[Job]:
    """The first job of every user and the streams of all open classes, by time."""
    streams = [_stream(kind, who, user) for kind, who in enumerate(submitters) for user in range(who.users)]
    return merge(*streams, key=lambda job: job.submitted)


def _stream(kind: int, who: Submitters, user: int) -> Iterator[Job]:
    now = who.gap()
    yield Job(kind, who.work, now, user)
    while who.open:
        now += who.gap()
        yield Job(kind, who.work, now, user)
