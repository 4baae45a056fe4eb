"""The parts of Spark's events that are decoded; needs msgspec, so it is imported where a log is read."""

from __future__ import annotations

from collections.abc import Callable
from sys import intern
from typing import Any

import msgspec
from msgspec import Struct, field


class TaskInfo(Struct, gc=False):
    """``Task Info``."""

    index: int = field(name="Index", default=-1)
    launch: int = field(name="Launch Time", default=0)
    finish: int = field(name="Finish Time", default=0)
    failed: bool = field(name="Failed", default=False)
    killed: bool = field(name="Killed", default=False)
    speculative: bool = field(name="Speculative", default=False)


class Reason(Struct, gc=False):
    """``Task End Reason``."""

    reason: str = field(name="Reason", default="")


class ShuffleRead(Struct, gc=False):
    """``Shuffle Read Metrics``: bytes fetched from other executors and from the own one."""

    remote: int = field(name="Remote Bytes Read", default=0)
    local: int = field(name="Local Bytes Read", default=0)


class ShuffleWrite(Struct, gc=False):
    """``Shuffle Write Metrics``."""

    written: int = field(name="Shuffle Bytes Written", default=0)


class Input(Struct, gc=False):
    """``Input Metrics``."""

    read: int = field(name="Bytes Read", default=0)


class Metrics(Struct, gc=False):
    """``Task Metrics``."""

    shuffle_read: ShuffleRead | None = field(name="Shuffle Read Metrics", default=None)
    shuffle_write: ShuffleWrite | None = field(name="Shuffle Write Metrics", default=None)
    input: Input | None = field(name="Input Metrics", default=None)


class StageInfo(Struct, gc=False):
    """``Stage Info``."""

    stage: int = field(name="Stage ID")
    attempt: int = field(name="Stage Attempt ID", default=0)
    name: str = field(name="Stage Name", default="")
    tasks: int | None = field(name="Number of Tasks", default=None)
    parents: list[int] = field(name="Parent IDs", default_factory=list)


class ExecutorInfo(Struct, gc=False):
    """``Executor Info``."""

    cores: int = field(name="Total Cores", default=0)
    host: str = field(name="Host", default="")


class JobResult(Struct, gc=False):
    """``Job Result``."""

    result: str = field(name="Result", default="")


class Event(Struct, gc=False):
    """Any event: the fields of those that matter."""

    event: str = field(name="Event")
    stage: int = field(name="Stage ID", default=-1)
    attempt: int = field(name="Stage Attempt ID", default=0)
    task_type: str = field(name="Task Type", default="")
    reason: Reason | None = field(name="Task End Reason", default=None)
    task_info: TaskInfo | None = field(name="Task Info", default=None)
    metrics: Metrics | None = field(name="Task Metrics", default=None)
    stage_info: StageInfo | None = field(name="Stage Info", default=None)
    stage_infos: list[StageInfo] = field(name="Stage Infos", default_factory=list)
    stage_ids: list[int] = field(name="Stage IDs", default_factory=list)
    job: int | None = field(name="Job ID", default=None)
    job_submitted: int | None = field(name="Submission Time", default=None)
    job_ended: int | None = field(name="Completion Time", default=None)
    job_result: JobResult | None = field(name="Job Result", default=None)
    app_name: str = field(name="App Name", default="")
    app_id: str | None = field(name="App ID", default=None)
    timestamp: int | None = field(name="Timestamp", default=None)
    user: str = field(name="User", default="")
    executor: str = field(name="Executor ID", default="")
    executor_info: ExecutorInfo | None = field(name="Executor Info", default=None)
    version: str = field(name="Spark Version", default="")
    spark_properties: Any = field(name="Spark Properties", default=None)

    def properties_of_spark(self) -> dict[str, str]:
        """``Spark Properties`` of an environment: an object, or pairs in some versions."""
        found = self.spark_properties
        if isinstance(found, dict):
            return {intern(str(key)): intern(str(value)) for key, value in found.items()}
        if isinstance(found, list):
            pairs = (pair for pair in found if isinstance(pair, list) and len(pair) == 2)
            return {intern(str(key)): intern(str(value)) for key, value in pairs}
        return {}


def decoder() -> Callable[[bytes | memoryview], Event]:
    """Return the function from a line to its event."""
    return msgspec.json.Decoder(Event).decode


def mistakes() -> tuple[type[Exception], ...]:
    """What the decoder raises for a line that is no event."""
    return msgspec.DecodeError, UnicodeDecodeError, RecursionError
