"""Attempts at tasks, a column a fact: some forty bytes each, however many a log has."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import overload

import numpy as np
from numpy.typing import NDArray

_UNKNOWN = -1


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
    """A sequence of attempts; each is made anew when it is asked for."""

    __slots__ = ("_facts", "_hosts", "_names", "_times")

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._facts, self._hosts = bytearray(), array("l")
        self._times = tuple(array("q") for _ in range(4))
        numbers: dict[str, int] = {}
        for each in attempts:
            self._facts.append(_KINDS.index(each.kind) * len(_ENDS) + _ENDS.index(each.end))
            self._hosts.append(numbers.setdefault(each.host, len(numbers)))
            for column, time in zip(self._times, (each.start, each.finish, each.shuffled, each.sorted), strict=True):
                column.append(_UNKNOWN if time is None else time)
        self._names = tuple(numbers)

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
        start, finish, shuffled, merged = (column[place] for column in self._times)
        kind, end = divmod(self._facts[place], len(_ENDS))
        return Attempt(
            _KINDS[kind],
            _ENDS[end],
            None if start == _UNKNOWN else start,
            None if finish == _UNKNOWN else finish,
            None if shuffled == _UNKNOWN else shuffled,
            None if merged == _UNKNOWN else merged,
            self._names[self._hosts[place]],
        )

    def spans(self, kind: TaskKind) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """Starts, ends and machines of the attempts of a kind whose both times are known, in milliseconds."""
        starts, ends = (np.frombuffer(column, dtype=np.int64) for column in self._times[:2])
        kinds = np.frombuffer(self._facts, dtype=np.uint8) // len(_ENDS)
        chosen = (kinds == _KINDS.index(kind)) & (starts != _UNKNOWN) & (ends != _UNKNOWN)
        hosts = [self._names[self._hosts[place]] for place in np.flatnonzero(chosen)]
        return starts[chosen], ends[chosen], hosts

    def __iter__(self) -> Iterator[Attempt]:
        return map(self.__getitem__, range(len(self)))
