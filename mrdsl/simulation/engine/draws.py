"""Where task times come from: the nth job of a class has the same ones in every run of one seed, whatever runs beside.

So two clusters, or two schedulers, are compared on the same jobs (common random numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Sampler = Callable[[np.random.RandomState, int], Floats]
CHUNK = 4096


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """How long the tasks of one stage take [s]: work, which a machine's speed divides, and the network's part.

    ``first`` is the shuffle of tasks that start before any of their stage has ended, ``shuffle`` that of later ones;
    None for stages that fetch nothing. ``slow`` multiplies all that an attempt takes, its shuffle included; None if no
    attempt is slow.
    """

    work: Sampler
    first: Sampler | None = None
    shuffle: Sampler | None = None
    slow: Sampler | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """The times of one job's stage, task by task. ``luck`` is uniform in [0, 1): an attempt fails where it is small.

    ``equal``: all tasks are alike, in work and network.
    """

    work: Sequence[float]
    first: Sequence[float] | None = None
    shuffle: Sequence[float] | None = None
    luck: Sequence[float] | None = None
    equal: bool = False


class Draws(Protocol):
    """The times of tasks; :class:`StreamDraws` draws them."""

    def block(self, kind: int, number: int, stage: int) -> Block:
        """Those of the first attempts of a stage of the ``number``-th job of a class; asked for once."""

    def again(self, kind: int, stage: int) -> tuple[float, float, float]:
        """Work, shuffle and luck of one more attempt or copy."""

    def forget(self, kind: int, number: int, stage: int) -> None:
        """The block will not be asked for."""


class _Series:
    """Blocks of one stage, drawn for some jobs at a time and held until the job asks."""

    def __init__(self, sampler: Sampler, tasks: int, random: np.random.RandomState) -> None:
        self.sampler = sampler
        self.tasks = tasks
        self.random = random
        self.held: dict[int, Floats] = {}
        self.drawn = 0

    def block(self, number: int) -> Floats:
        jobs = max(1, CHUNK // self.tasks)
        while number >= self.drawn:
            values = self.sampler(self.random, jobs * self.tasks).reshape(jobs, self.tasks)
            self.held.update(enumerate(values, self.drawn))
            self.drawn += jobs
        return self.held.pop(number)


class StreamDraws:
    """Times drawn from streams of their own for every class, stage and purpose.

    ``stream`` gives the stream of a place: (what, class, stage). Lucks are drawn only where attempts may ``fail``.
    """

    def __init__(
        self,
        times: Sequence[Sequence[TaskTimes]],
        tasks: Sequence[Sequence[int]],
        stream: Callable[..., np.random.RandomState],
        fail: bool = False,
    ) -> None:
        self.times = times
        self.series: list[list[list[_Series | None]]] = [
            [
                [
                    None if sampler is None else _Series(sampler, count, stream(what, kind, stage))
                    for what, sampler in (
                        ("work", each.work),
                        ("first", each.first),
                        ("shuffle", each.shuffle),
                        ("slow", each.slow),
                        ("luck", _uniform if fail else None),
                    )
                ]
                for stage, (each, count) in enumerate(zip(stages, counts, strict=True))
            ]
            for kind, (stages, counts) in enumerate(zip(times, tasks, strict=True))
        ]
        self.more, self.slow = [
            [[stream(what, kind, stage) for stage in range(len(s))] for kind, s in enumerate(times)]
            for what in ("again", "slow again")
        ]

    def block(self, kind: int, number: int, stage: int) -> Block:
        """See :class:`Draws`."""
        *times, slow, luck = [None if series is None else series.block(number) for series in self.series[kind][stage]]
        work, first, shuffle = [
            None if each is None else (each if slow is None else each * slow).tolist() for each in times
        ]
        assert work is not None
        luck = None if luck is None else luck.tolist()
        return Block(work, first, shuffle, luck, _equal(work) and _equal(first) and _equal(shuffle))

    def again(self, kind: int, stage: int) -> tuple[float, float, float]:
        """See :class:`Draws`."""
        times, random = self.times[kind][stage], self.more[kind][stage]
        slow = 1.0 if times.slow is None else float(times.slow(self.slow[kind][stage], 1)[0])
        return (
            slow * float(times.work(random, 1)[0]),
            0.0 if times.shuffle is None else slow * float(times.shuffle(random, 1)[0]),
            float(random.random_sample()),
        )

    def forget(self, kind: int, number: int, stage: int) -> None:
        """See :class:`Draws`."""
        for series in self.series[kind][stage]:
            if series is not None:
                series.block(number)


def _uniform(random: np.random.RandomState, count: int) -> Floats:
    return random.random_sample(count)


def _equal(values: list[float] | None) -> bool:
    return values is None or (values[0] == values[-1] and values.count(values[0]) == len(values))
