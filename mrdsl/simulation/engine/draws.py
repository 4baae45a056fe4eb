"""Draws of task times: the nth job of a class has the same times in every run of one seed, independent of other jobs.

So two clusters, or two schedulers, are compared with the same jobs (common random numbers). A sampler draws many times
at once and knows their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import log, sqrt
from operator import mul
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Sampler = Callable[[np.random.RandomState, int], Floats]
CHUNK = 4096


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """Times of the tasks of one stage [s]: work, which the speed of a machine divides, and the time of the network.

    ``first`` is the shuffle of tasks that start before any of their stage has ended, ``shuffle`` that of later ones;
    None for stages without a shuffle. ``slow`` multiplies the whole time of an attempt with its shuffle; None if no
    attempt is slow. ``shared`` is the deviation of a lognormal factor that all tasks of a job have in common.
    """

    work: Sampler
    first: Sampler | None = None
    shuffle: Sampler | None = None
    slow: Sampler | None = None
    shared: float = 0.0


class Block(NamedTuple):
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
        """Return those of the first attempts of a stage of the ``number``-th job of a class; asked for once."""

    def again(self, kind: int, stage: int) -> tuple[float, float, float]:
        """Work, shuffle and luck of one more attempt or copy."""

    def forget(self, kind: int, number: int, stage: int) -> None:
        """The block will not be asked for."""


class _Series:
    """Blocks of one stage, drawn for some jobs at a time and held until the job asks.

    Recorded times are not drawn: jobs take the recorded runs in turn.
    """

    def __init__(self, sampler: Sampler, tasks: int, random: np.random.RandomState) -> None:
        self.sampler = sampler
        self.tasks = tasks
        self.random = random
        self.held: dict[int, list[float]] = {}
        self.drawn = 0
        self.recorded = recorded_runs(sampler)

    def block(self, number: int) -> list[float]:
        if self.recorded is not None:
            row: list[float] = self.recorded[number % len(self.recorded)].tolist()
            return row
        jobs = max(1, CHUNK // self.tasks)
        while number >= self.drawn:
            values = self.sampler(self.random, jobs * self.tasks).reshape(jobs, self.tasks)
            self.held.update(enumerate(values.tolist(), self.drawn))
            self.drawn += jobs
        return self.held.pop(number)

    def rows(self, jobs: int) -> Floats:
        """Return the values of the first jobs, a row for each, of a stage of which no block was asked for."""
        if self.recorded is not None:
            return self.recorded[np.arange(jobs) % len(self.recorded)]
        each = max(1, CHUNK // self.tasks)
        parts = [self.sampler(self.random, each * self.tasks) for _ in range(-(-jobs // each))]
        return np.concatenate(parts).reshape(-1, self.tasks)[:jobs]


class StreamDraws:
    """Times drawn from a separate stream for every class, stage and purpose.

    ``stream`` gives the stream of a place: (what, class, stage). Lucks are drawn only if attempts can ``fail``.
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
        self.stream = cache(stream)
        self.shared = [max((each.shared for each in stages), default=0.0) for stages in times]
        self.factors: list[list[float]] = [[] for _ in times]

    def block(self, kind: int, number: int, stage: int) -> Block:
        """See :class:`Draws`."""
        of_work, *more, of_slow, of_luck = self.series[kind][stage]
        assert of_work is not None
        work = of_work.block(number)
        first, shuffle = [None if series is None else series.block(number) for series in more]
        if of_slow is not None:
            slow = of_slow.block(number)
            work = list(map(mul, work, slow))
            first, shuffle = [None if times is None else list(map(mul, times, slow)) for times in (first, shuffle)]
        if self.shared[kind]:
            factor = self._factors(kind, number + 1)[number]
            work = [factor * time for time in work]
            first, shuffle = (None if some is None else [factor * time for time in some] for some in (first, shuffle))
        luck = None if of_luck is None else of_luck.block(number)
        return Block(work, first, shuffle, luck, _equal(work) and _equal(first) and _equal(shuffle))

    def rows(self, kind: int, stage: int, jobs: int) -> tuple[Floats, Floats | None, Floats | None]:
        """Return work, first shuffle and shuffle of the blocks of the first jobs, a row for each job."""
        work, first, shuffle, slow = (
            None if series is None else series.rows(jobs) for series in self.series[kind][stage][:4]
        )
        assert work is not None
        if self.shared[kind]:
            factors = np.array(self._factors(kind, jobs)[:jobs])[:, None]
            slow = factors if slow is None else slow * factors
        if slow is not None:
            work, first, shuffle = work * slow, *(None if each is None else each * slow for each in (first, shuffle))
        return work, first, shuffle

    def _factors(self, kind: int, jobs: int) -> list[float]:
        """Return the factors of the first jobs of a class, or of more."""
        known, deviation = self.factors[kind], self.shared[kind]
        while len(known) < jobs:
            normal = self.stream("shared", kind, 0).standard_normal(CHUNK)
            known += np.exp(deviation * normal - deviation**2 / 2.0).tolist()
        return known

    def again(self, kind: int, stage: int) -> tuple[float, float, float]:
        """See :class:`Draws`."""
        times, random = self.times[kind][stage], self.stream("again", kind, stage)
        slow = 1.0 if times.slow is None else float(times.slow(self.stream("slow again", kind, stage), 1)[0])
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


@dataclass(frozen=True)
class Spread:
    """Times between ``least`` and ``longest``: ``least + (longest - least) U^p`` with the mean ``avg``.

    ``p = (longest - avg) / (avg - least)``: the uniform distribution if the average is the middle. If the average is at
    either end, all times equal it.
    """

    least: float
    avg: float
    longest: float

    @property
    def mean(self) -> float:
        return self.avg

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        if not self.least < self.avg < self.longest:
            return np.full(count, self.avg)
        power = (self.longest - self.avg) / (self.avg - self.least)
        return self.least + (self.longest - self.least) * random.random_sample(count) ** power


@dataclass(frozen=True)
class Exponential:
    """Exponential with the mean ``avg``; no longest time bounds it."""

    avg: float

    @property
    def mean(self) -> float:
        return self.avg

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        return self.avg * random.standard_exponential(count)


@dataclass(frozen=True)
class Lognormal:
    """Lognormal times with the mean ``avg``; ``longest`` is the expected rank of the longest of ``tasks`` tasks.

    With the standard normal's quantile z at ``tasks / (tasks + 1)``, the deviation s of the logarithm solves
    ``ln(longest / avg) = z s - s^2 / 2``. If the ratio is beyond the range of a lognormal, s = z.
    """

    avg: float
    longest: float
    tasks: int

    @property
    def mean(self) -> float:
        return self.avg

    @cached_property
    def deviation(self) -> float:
        """s."""
        from scipy.special import ndtri

        z = float(ndtri(self.tasks / (self.tasks + 1.0)))
        under = z * z - 2.0 * log(self.longest / self.avg)
        return z - sqrt(under) if under > 0.0 else z

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        s = self.deviation
        return self.avg * np.exp(s * random.standard_normal(count) - s * s / 2.0)


@dataclass(frozen=True)
class Samples:
    """Recorded times: any of them, each alike, with putting back.

    With the number of ``tasks`` of a job they are drawn without putting back, as long as there are any. If they are
    those of whole runs, run by run, jobs have these runs in turn, their tasks in order.
    """

    values: tuple[float, ...]
    tasks: int = 0

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def runs(self) -> Floats | None:
        """The recorded runs, a row for each; None if the times are not those of whole runs."""
        if not self.tasks or len(self.values) % self.tasks:
            return None
        return np.array(self.values).reshape(-1, self.tasks)

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        values, runs = np.asarray(self.values), self.runs
        if not self.tasks or count % self.tasks:
            return values[random.randint(0, len(values), count)]
        if runs is not None:
            return np.resize(runs, count)
        whole, rest = divmod(self.tasks, len(values))
        jobs = [
            np.concatenate([np.tile(values, whole), values[random.permutation(len(values))[:rest]]])
            for _ in range(count // self.tasks)
        ]
        return np.concatenate([job[random.permutation(self.tasks)] for job in jobs])


def recorded_runs(times: Sampler) -> Floats | None:
    """Return the recorded runs that jobs have in turn, a row for each; None if times are drawn."""
    if isinstance(times, Repeated):
        runs = recorded_runs(times.times)
        return None if runs is None else np.repeat(runs, times.slots, axis=1)
    return times.runs if isinstance(times, Samples) else None


SHARED = 0.05
"""Deviation of the factor that all tasks of a run share, in one run that counts beside those that are known."""


def shared_deviation(work: Sequence[float]) -> float:
    """Return the deviation of the logarithm of the factor of a run, from the work of runs and :data:`SHARED`."""
    logs = np.log([each for each in work if each > 0.0])
    if not len(logs):
        return SHARED
    return float(np.sqrt((((logs - logs.mean()) ** 2).sum() + SHARED**2) / len(logs)))


def with_shared(times: Sequence[TaskTimes]) -> list[TaskTimes]:
    """Return the times of a class with the factor of its jobs, if some of its times are recorded."""
    known = [runs for runs in (recorded_runs(each.work) for each in times) if runs is not None]
    if not known:
        return list(times)
    alike = len({len(runs) for runs in known}) == 1
    deviation = shared_deviation(sum(runs.sum(axis=1) for runs in known) if alike else ())
    return [replace(each, shared=deviation) for each in times]


@dataclass(frozen=True)
class Straggling:
    """The share of ``times`` that takes ``factor`` times as long."""

    times: Callable[[np.random.RandomState, int], Floats]
    share: float
    factor: float

    @property
    def mean(self) -> float:
        return mean_of(self.times) * (1.0 + self.share * (self.factor - 1.0))

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        slow = random.random_sample(count) < self.share
        return self.times(random, count) * np.where(slow, self.factor, 1.0)


@dataclass(frozen=True)
class Repeated:
    """Each of the times ``slots`` times: a task of several slots is so many parts, which begin and end together."""

    times: Sampler
    slots: int

    @property
    def mean(self) -> float:
        return mean_of(self.times)

    def __call__(self, random: np.random.RandomState, count: int) -> Floats:
        return np.repeat(self.times(random, -(-count // self.slots)), self.slots)[:count]


def repeated(times: Sampler, slots: int) -> Sampler:
    """Return the times of tasks that take so many slots each."""
    return times if slots == 1 else Repeated(times, slots)


def sampler(distribution: str, least: float, avg: float, longest: float, tasks: int) -> Sampler:
    """Return the sampler of a word of the language, from a profile's shortest, average and longest time."""
    if avg <= 0.0 or distribution == "fixed":
        return Spread(avg, avg, avg)
    if distribution == "exponential":
        return Exponential(avg)
    if distribution == "lognormal":
        return Lognormal(avg, max(longest, avg), tasks)
    return Spread(least, avg, longest)


def mean_of(times: Sampler) -> float:
    """Return the mean of the times that a sampler of this module draws."""
    return float(getattr(times, "mean"))  # noqa: B009


def mean_work(times: TaskTimes) -> float:
    """Compute the mean work of one attempt [s], slow ones included."""
    return mean_of(times.work) * _mean_slowdown(times)


def mean_attempt(times: TaskTimes) -> float:
    """Compute the mean time of one attempt [s], its shuffle and slow ones included."""
    shuffle = 0.0 if times.shuffle is None else mean_of(times.shuffle)
    return (mean_of(times.work) + shuffle) * _mean_slowdown(times)


def _mean_slowdown(times: TaskTimes) -> float:
    return 1.0 if times.slow is None else mean_of(times.slow)


def slowdown(share: float, factor: float) -> Sampler:
    """Return factors of attempts: ``factor`` for a ``share`` of them, 1 for the others."""
    return Straggling(Spread(1.0, 1.0, 1.0), share, factor)
