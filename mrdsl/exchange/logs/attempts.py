"""Attempts at tasks in some twenty bytes each, however many a log has."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import overload

import numpy as np
from numpy.typing import NDArray

_UNKNOWN = -1
_TIMES = 4


class TaskKind(StrEnum):
    """What a MapReduce task does."""

    MAP = "map"
    REDUCE = "reduce"


class AttemptEnd(StrEnum):
    """How an attempt at a task ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    KILLED = "killed"
    UNFINISHED = "unfinished"


_KINDS = tuple(TaskKind)
_ENDS = tuple(AttemptEnd)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a map or reduce task; ``shuffled`` and ``sorted`` end a reduce's first two phases.

    ``host`` is the machine that it ran on, "" where untold.
    """

    kind: TaskKind
    end: AttemptEnd
    start: int | None = None
    finish: int | None = None
    shuffled: int | None = None
    sorted: int | None = None
    host: str = ""


class Attempts(Sequence[Attempt]):
    """A sequence of attempts; each is made anew when it is asked for.

    Times are held as distances from the first one, in four bytes where they are less than 24 days.
    """

    __slots__ = ("_begin", "_facts", "_hosts", "_names", "_times")

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._facts = bytearray()
        hosts, times = array("i"), array("q")
        numbers: dict[str, int] = {}
        for each in attempts:
            self._facts.append(_KINDS.index(each.kind) * len(_ENDS) + _ENDS.index(each.end))
            hosts.append(numbers.setdefault(each.host, len(numbers)))
            for time in (each.start, each.finish, each.shuffled, each.sorted):
                times.append(_UNKNOWN if time is None else time)
        self._names = tuple(numbers)
        self._hosts = hosts if len(numbers) > 1 else None
        self._begin = min((time for time in times if time != _UNKNOWN), default=0)
        self._times = small(_UNKNOWN if time == _UNKNOWN else time - self._begin for time in times)

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> Attempts:
        """The attempts as they are, where they are held so already."""
        return attempts if isinstance(attempts, Attempts) else cls(attempts)

    def __len__(self) -> int:
        return len(self._facts)

    @overload
    def __getitem__(self, place: int) -> Attempt: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Attempt]: ...

    def __getitem__(self, place: int | slice) -> Attempt | Sequence[Attempt]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        kind, end = divmod(self._facts[place], len(_ENDS))
        first = range(len(self))[place] * _TIMES
        start, finish, shuffled, merged = (
            None if time == _UNKNOWN else time + self._begin for time in self._times[first : first + _TIMES]
        )
        return Attempt(_KINDS[kind], _ENDS[end], start, finish, shuffled, merged, self._host(place))

    def spans(self, kind: TaskKind) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """Starts, ends and machines of the attempts of a kind whose both times are known, in milliseconds."""
        times = np.array(self._times, dtype=np.int64).reshape(-1, _TIMES)[:, :2]
        kinds = np.frombuffer(self._facts, dtype=np.uint8) // len(_ENDS)
        chosen = np.flatnonzero((kinds == _KINDS.index(kind)) & (times != _UNKNOWN).all(axis=1))
        starts, ends = times[chosen].T + self._begin
        return starts, ends, [self._host(int(place)) for place in chosen]

    def __iter__(self) -> Iterator[Attempt]:
        return map(self.__getitem__, range(len(self)))

    def _host(self, place: int) -> str:
        return self._names[0 if self._hosts is None else self._hosts[place]]


def small(values: Iterable[int]) -> array[int]:
    """Whole numbers in four bytes each where all of them fit, else in eight."""
    held = values if isinstance(values, array) else array("q", values)
    if held.typecode != "q":
        return held
    if max(held, default=0) < 2**31 and min(held, default=0) >= -(2**31):
        return array("i", held)
    return held
