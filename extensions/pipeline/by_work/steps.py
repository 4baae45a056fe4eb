"""The steps of by-work: each takes a draft and the parameters of its file, and hands a draft on."""

from __future__ import annotations

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.makespan.methods.orders import cut_short, offer, work_of
from mrdsl.families.makespan.schedule import whole_cluster


def longest_first(draft: Draft) -> Draft:
    """The jobs on the whole cluster, those with the most map work first."""
    progress = work_of(draft)
    batch = progress.batch
    work = (batch.map_tasks * batch.map_time).tolist()
    order = sorted(range(len(batch)), key=lambda job: (-work[job], job))
    return offer(draft, progress, whole_cluster(batch, order))


def exchange_neighbours(draft: Draft, rounds: int = 3) -> Draft:
    """Exchanges two jobs that follow each other where that ends the batch sooner, until the time limit."""
    for _ in range(rounds):
        for at in range(len(work_of(draft).batch) - 1):
            progress = work_of(draft)
            stopped = cut_short(draft, progress)
            if stopped is not None or progress.schedule is None:
                return stopped or draft
            order = list(progress.schedule.pools[0].order)
            order[at], order[at + 1] = order[at + 1], order[at]
            draft = offer(draft, progress, whole_cluster(progress.batch, order))
    return draft
