"""Jobs of map and reduce tasks whose times are known, on the engine: each a class of its own, in the queue it names."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from mrdsl.simulation.engine.draws import Block
from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.faults import FaultyEngine
from mrdsl.simulation.engine.flow import Submission
from mrdsl.simulation.engine.world import Faults, JobKind, Machines, Sharing, Stage


@dataclass(eq=False)
class Known:
    """``limits``: how many map and how many reduce tasks run at once; ``first``: shuffles of the first wave."""

    maps: list[float]
    reduces: list[float] = field(default_factory=list)
    at: float = 0.0
    queue: int = 0
    limits: tuple[float, float] = (inf, inf)
    first: list[float] | None = None
    later: list[float] | None = None
    started: float = -1.0
    ended: float = -1.0

    def kind(self, pools):
        stages = [Stage("map", len(self.maps), (), 0, limit=self.limits[0])]
        if self.reduces:
            stages.append(Stage("reduce", len(self.reduces), (0,), pools - 1, limit=self.limits[1]))
        return JobKind("known", tuple(stages), self.queue)

    def block(self, stage):
        if stage == 0:
            return Block(self.maps, luck=[1.0] * len(self.maps))
        return Block(self.reduces, self.first, self.later, [1.0] * len(self.reduces))


class Written:
    """Times of the jobs as they say."""

    def __init__(self, jobs):
        self.jobs = jobs

    def block(self, kind, number, stage):
        return self.jobs[kind].block(stage)

    def again(self, kind, stage):
        raise AssertionError("nothing fails here")

    def forget(self, kind, number, stage):
        pass


def run(pools, jobs, patience=None, masters=False, recorded=True):
    """Runs the jobs on pools (slots, queues), one for both phases or one for each; gives every attempt in order."""
    ordered = sorted(jobs, key=lambda job: job.at)
    seen = []

    def completed(job, now):
        ordered[job.kind].started, ordered[job.kind].ended = job.started, now

    world = (
        [job.kind(len(pools)) for job in ordered],
        [Machines(1, slots, pool) for pool, (slots, _) in enumerate(pools)],
        [Sharing(queues) for _, queues in pools],
        iter([Submission(job.at, kind) for kind, job in enumerate(ordered)]),
        Written(ordered),
        completed,
        seen.append if recorded else None,
        masters,
    )
    (Engine(*world) if patience is None else FaultyEngine(*world, faults=Faults(patience=patience))).run()
    return seen
