"""Jobs of a profile as a simulation runs them: task times spread between the shortest and the longest."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrdsl.formulas.mapreduce import Profile
from mrdsl.formulas.wave_estimates import least
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.task_times import spread, together
from mrdsl.simulation.tasks import Draw, Work


def profiled_work(profile: Profile, kind: int, node: Any, run: tuple[int, int], growth: float = 1.0) -> Work:
    """The jobs of the class at ``kind``, whose block ``node`` may say shortest times.

    ``run`` is the seed and the number of the run. ``growth`` is what the profile's shuffle and reduce times have been
    multiplied by, which the block's own numbers have not.
    """
    p = profile

    def draw(what: str, avg: float, longest: float, given: float | None, scale: float = 1.0) -> Draw:
        shortest = np.nan if given is None else given * scale
        low = float(least(*(np.array(time) for time in (avg, longest, shortest))))
        return spread(low, avg, longest, stream(run[0], what, run[1], node.name))

    maps = draw("map", float(p.map_avg[kind]), float(p.map_max[kind]), node.map.min)
    first = later = maps
    if node.reduce is not None and node.shuffle is not None and node.reduce.tasks:
        reduce = draw("reduce", float(p.reduce_avg[kind]), float(p.reduce_max[kind]), node.reduce.min, growth)
        first = together(
            draw(
                "first shuffle",
                float(p.shuffle_first_avg[kind]),
                float(p.shuffle_first_max[kind]),
                node.shuffle.first_min,
                growth,
            ),
            reduce,
        )
        later = together(
            draw("shuffle", float(p.shuffle_avg[kind]), float(p.shuffle_max[kind]), node.shuffle.min, growth), reduce
        )
    return Work(int(p.map_tasks[kind]), int(p.reduce_tasks[kind]), maps, first, later)
