"""What the readers of logs hand on: jobs of MapReduce with their attempts, applications of Spark with their stages.

Times are milliseconds since 1970 as the logs have them; what a log does not say is None.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import sub
from sys import intern

from mrdsl.exchange.logs.attempts import Attempt, Attempts


@dataclass(frozen=True, slots=True)
class MapReduceJob:
    """One job of MapReduce. ``status`` is the log's own word; ``shuffle_bytes`` and ``input_bytes`` its counters.

    ``phases_known`` is False where the log tells containers only, not when a reduce had its data (SLS).
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
        """Whether the job ended well, whichever word its log has for it."""
        return self.status in {"SUCCESS", "SUCCEEDED", "FINISHED"}


@dataclass(frozen=True, slots=True)
class StageRun:
    """One attempt at a stage of a Spark application, its tasks summed up.

    ``launches`` and ``finishes`` are when its successful tasks began and ended, in the order of the log; ``parents``
    are ids of stages; ``skipped`` ones were never submitted. ``failed_time`` and ``killed_time`` are the milliseconds
    of the tasks that failed and that were killed, copies that another one overtook included.
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


@dataclass(frozen=True, slots=True)
class SparkApplication:
    """One run of a Spark application, with its jobs in the order of their numbers.

    ``cores`` are the cores of all ``executors`` at their most, None where untold; ``host_cores`` those on one machine,
    ``hosts`` all machines that it had executors on.
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


LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def moment(value: object) -> int | None:
    """A time in milliseconds; None for what is none, -1 and times after the year 9999 included."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= LATEST else None


def machine(name: object) -> str:
    """The machine out of what logs have for it: ``/rack/host``, ``host:port`` or ``tracker_host:port``."""
    if not isinstance(name, str):
        return ""
    plain = name.replace("\\", "").rpartition("/")[2].removeprefix("tracker_").partition(":")[0]
    return intern(plain)


Run = MapReduceJob | SparkApplication
