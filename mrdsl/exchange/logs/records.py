"""Records that readers of logs return: MapReduce jobs with their attempts, Spark applications with their stages.

Times are milliseconds since 1970, as in the logs; None if a log does not have the value. An attempt takes about twenty
bytes of memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import sub
from sys import intern
from typing import overload

import numpy as np
from numpy.typing import NDArray

_UNKNOWN = -1
_TIMES = 4


class TaskKind(StrEnum):
    """The kind of a MapReduce task."""

    MAP = "map"
    REDUCE = "reduce"


class AttemptEnd(StrEnum):
    """The end of an attempt at a task."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    KILLED = "killed"
    UNFINISHED = "unfinished"


_KINDS = tuple(TaskKind)
_ENDS = tuple(AttemptEnd)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a map or reduce task; ``shuffled`` and ``sorted`` end a reduce's first two phases.

    ``host`` is its machine, or "" if unknown.
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
        """Return the attempts as they are, where they are held so already."""
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
    """Return whole numbers in four bytes each if all of them fit, otherwise in eight."""
    held = values if isinstance(values, array) else array("q", values)
    if held.typecode != "q":
        return held
    if max(held, default=0) < 2**31 and min(held, default=0) >= -(2**31):
        return array("i", held)
    return held


@dataclass(frozen=True, slots=True)
class MapReduceJob:
    """One job of MapReduce. ``status`` is the word of the log; ``shuffle_bytes`` and ``input_bytes`` are its counters.

    ``phases_known`` is False if the log has only containers, not the time at which a reduce had its data (SLS).
    """

    source: str
    job: str
    status: str
    name: str = ""
    user: str = ""
    queue: str = ""
    submitted: int | None = None
    launched: int | None = None
    finished: int | None = None
    total_maps: int | None = None
    total_reduces: int | None = None
    attempts: Sequence[Attempt] = ()
    uberized: bool = False
    input_bytes: int | None = None
    phases_known: bool = True
    configuration: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attempts", Attempts.of(self.attempts))

    @property
    def succeeded(self) -> bool:
        """Return True if the job ended well, whichever word its log has for it."""
        return self.status in {"SUCCESS", "SUCCEEDED", "FINISHED"}


@dataclass(frozen=True, slots=True)
class StageRun:
    """One attempt at a stage of a Spark application, its tasks summed up.

    ``launches`` and ``finishes`` are when its successful tasks began and ended, in their order; ``parents``
    are ids of stages; ``skipped`` ones were never submitted. ``failed_time`` and ``killed_time`` are the milliseconds
    of the tasks that failed and that were killed, copies that another one overtook included. ``completed`` ones ended
    without a failure. ``unexplained`` is the longest time [ms] that a task held its slot beyond what its executor
    accounts for. ``run_time`` and ``gc_time`` [ms] are those of the executors for its successful tasks, ``spilled`` the
    bytes that did not fit in memory, ``largest_input`` the most bytes that one task read. ``operators`` are the names
    of its data sets or of their SQL operators, without numbers. ``hosts`` has the number of
    successful tasks and their milliseconds by machine. Each task takes ``slots``; ``barrier``: all of them at once.
    """

    stage: int
    attempt: int
    name: str
    task_type: str
    parents: tuple[int, ...]
    launches: array[int]
    finishes: array[int]
    failed: int = 0
    killed: int = 0
    planned: int | None = None
    input_bytes: int = 0
    shuffle_read: int = 0
    shuffle_write: int = 0
    skipped: bool = False
    failed_time: int = 0
    killed_time: int = 0
    completed: bool = False
    unexplained: int = 0
    run_time: int = 0
    gc_time: int = 0
    spilled: int = 0
    output_bytes: int = 0
    largest_input: int = 0
    hosts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    operators: str = ""
    slots: int = 1
    barrier: bool = False

    @property
    def durations(self) -> tuple[int, ...]:
        """Milliseconds of its successful tasks."""
        return tuple(map(sub, self.finishes, self.launches))


@dataclass(frozen=True, slots=True)
class SparkJob:
    """One job of an application: the stages that it names, submitted or not, and when it was submitted and ended."""

    stages: tuple[int, ...]
    submitted: int | None = None
    ended: int | None = None
    failed: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True)
class Executor:
    """One executor: its cores, when it came and went (None if the log does not say), and its machine."""

    cores: int
    added: int | None = None
    removed: int | None = None
    host: str = ""


@dataclass(frozen=True, slots=True)
class Peaks:
    """The most memory of an executor of an application that its log has [B]: heap in use, and resident memory.

    ``polled`` is the part of the time of successful tasks over which it was measured.
    """

    heap: int = 0
    resident: int = 0
    polled: float = 0.0


@dataclass(frozen=True, slots=True)
class SparkApplication:
    """One run of a Spark application, with its jobs in the order of their numbers.

    ``cores`` are the most cores of all ``executors`` together, None if unknown; ``lives`` are all
    executors; ``host_cores`` those on one machine, ``hosts`` all machines with its executors. ``missing_files`` are
    the files that a rolled log lacks, ``executor_memory`` are memory, memoryOverhead and the like of its default
    resource profile in MiB, ``dropped_jobs`` those that failed or did not end and were removed, and ``dropped_time``
    the slot-milliseconds of all their tasks. ``attempt`` is its number on YARN, ``lost_attempts`` are the earlier ones.
    """

    source: str
    application: str
    name: str
    user: str = ""
    queue: str = ""
    version: str = ""
    started: int | None = None
    finished: int | None = None
    stages: tuple[StageRun, ...] = ()
    jobs: tuple[SparkJob, ...] = ()
    executors: int | None = None
    cores: int | None = None
    task_cpus: int = 1
    hosts: tuple[str, ...] = ()
    host_cores: int | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    missing_files: int = 0
    dropped_jobs: tuple[SparkJob, ...] = ()
    lives: tuple[Executor, ...] = ()
    executor_memory: Mapping[str, float] = field(default_factory=dict)
    peaks: Peaks = Peaks()
    dropped_time: int = 0
    attempt: str = ""
    lost_attempts: tuple[SparkApplication, ...] = ()


LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def moment(value: object) -> int | None:
    """Return a time in milliseconds, or None for invalid ones, such as -1 and times after the year 9999."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= LATEST else None


def machine(name: object) -> str:
    """Return the machine in the forms of logs: ``/rack/host``, ``host:port`` or ``tracker_host:port``."""
    if not isinstance(name, str):
        return ""
    plain = name.replace("\\", "").rpartition("/")[2].removeprefix("tracker_").partition(":")[0]
    return intern(plain)


Run = MapReduceJob | SparkApplication
