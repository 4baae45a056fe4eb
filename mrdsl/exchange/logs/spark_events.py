"""Spark event logs, versions 1.5 to 4: one JSON event a line.

Only what a plan needs is decoded, by typed structs, so that SQL plans and the like are skipped over, not built. A
rolled log is the lines of its files, one file behind the other.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from sys import intern
from typing import Any

import msgspec
from msgspec import Struct
from msgspec import field as struct_field

from mrdsl.exchange.logs.formats import LogFormat, OpenedLog, Telling
from mrdsl.exchange.logs.opening import UnreadableLogError, numbered
from mrdsl.exchange.logs.records import LATEST, Executor, Peaks, SparkApplication, SparkJob, StageRun, moment

Part = tuple[str, Iterable[tuple[int, memoryview]]]
"""A file of a log, and its lines with their numbers."""
_HEAD = b'{"Event":"'
SKIPPED = tuple(
    _HEAD + name
    for name in (
        b"SparkListenerTaskStart",
        b"SparkListenerTaskGettingResult",
        b"SparkListenerBlock",
        b"SparkListenerExecutorMetricsUpdate",
        b"SparkListenerUnpersistRDD",
        b"org.apache.spark.sql.",
        b"org.apache.spark.streaming.",
    )
)


MOST_CORES = 100_000
"""Most cores of one executor; a larger number is a mistake."""
MOST_TASKS = 2**25
"""Ids of tasks that are compared for doubled events, four bytes each."""
UNKNOWN = -1


def is_event_log(head: bytes) -> bool:
    """Return True if a text that begins so is an event log, or a later part of a rolled one."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return text.startswith((_HEAD, b'{"Event" :')) or (text.startswith(b"{") and b'"Event"' in text[:200])


def read_events(parts: Iterable[Part], source: str, telling: Telling, missing: int = 0) -> Iterator[SparkApplication]:
    """Yield the one application of a log; broken parts are reported, and the events before a break are used.

    ``parts`` are the files of the log in order, each with its numbered lines except the :data:`SKIPPED` ones;
    ``missing`` more are not there.
    """

    decode, broken = decoder(), mistakes()
    application = _Application(source, missing)
    path, number = source, 1
    for path, lines in parts:
        number = 1
        try:
            for number, line in lines:
                try:
                    event = decode(line)
                except broken as cause:
                    if line.tobytes().strip():
                        telling.warn("broken-log", f"this event is broken: {cause}", path, number)
                    continue
                if not application.take(event):
                    telling.warn("broken-log", "this task ends before it begins, or at no possible time", path, number)
        except UnreadableLogError as cause:
            telling.warn("cut-log", str(cause), path, number, "what came before it is used")
    if application.lines == 0:
        telling.fail("empty-log", "there is no event in this log", path, number, "take another file")
        return
    if application.doubled:
        message = f"{application.doubled:,} ends of tasks come twice; the first ones count"
        telling.warn("broken-log", message, source, 1, "copy the log again")
    if application.finished is None:
        telling.warn(
            "cut-log", "the log ends before its application does", path, number, "the events before that are used"
        )
    yield application.whole()


@dataclass
class _Tasks:
    """The tasks of one attempt at a stage."""

    task_type: str = ""
    launches: array[int] = field(default_factory=lambda: array("q"))
    finishes: array[int] = field(default_factory=lambda: array("q"))
    indices: array[int] = field(default_factory=lambda: array("i"))
    speculative: bool = False
    failed: int = 0
    killed: int = 0
    failed_time: int = 0
    killed_time: int = 0
    input_bytes: int = 0
    shuffle_read: int = 0
    shuffle_write: int = 0
    unexplained: int = 0
    run_time: int = 0
    gc_time: int = 0
    spilled: int = 0
    output_bytes: int = 0
    largest_input: int = 0
    hosts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def succeed(self, info: TaskInfo) -> None:
        """Keep a task that was done."""
        if info.host:
            tasks, held = self.hosts.get(info.host, (0, 0))
            self.hosts[intern(info.host)] = tasks + 1, held + info.finish - info.launch
        self.launches.append(info.launch)
        self.finishes.append(info.finish)
        self.indices.append(info.index if 0 <= info.index < 2**31 else UNKNOWN)
        self.speculative = self.speculative or info.speculative

    def without_copies(self) -> None:
        """Of the copies of a task that all succeeded the first to end counts, the others were killed too late."""
        first: dict[int, int] = {}
        for place in sorted(range(len(self.finishes)), key=self.finishes.__getitem__):
            first.setdefault(self.indices[place], place)
        launches, finishes, indices = array("q"), array("q"), array("i")
        for place, (launch, finish, index) in enumerate(zip(self.launches, self.finishes, self.indices, strict=True)):
            if index != UNKNOWN and first[index] != place:
                self.lose(finish - launch, True)
                continue
            launches.append(launch)
            finishes.append(finish)
            indices.append(index)
        self.launches, self.finishes, self.indices = launches, finishes, indices

    def in_order(self) -> None:
        """Put the tasks in the order of their indices, unless some are unknown."""
        if len(self.indices) == len(self.launches) > 1 and min(self.indices) > UNKNOWN:
            places = sorted(range(len(self.indices)), key=self.indices.__getitem__)
            self.launches = array("q", map(self.launches.__getitem__, places))
            self.finishes = array("q", map(self.finishes.__getitem__, places))

    def lose(self, held: int, killed: bool) -> None:
        """Count a task that was lost after that many milliseconds."""
        if killed:
            self.killed += 1
            self.killed_time += held
        else:
            self.failed += 1
            self.failed_time += held


class _Application:
    """One application as its events come."""

    def __init__(self, source: str, missing: int) -> None:
        self.source = source
        self.missing = missing
        self.lines = self.doubled = 0
        self.ended = array("I")
        self.name = self.identifier = self.user = self.version = self.attempt = ""
        self.started: int | None = None
        self.finished: int | None = None
        self.tasks: dict[tuple[int, int], _Tasks] = {}
        self.stages: dict[tuple[int, int], StageInfo] = {}
        self.submitted: set[tuple[int, int]] = set()
        self.completed: set[tuple[int, int]] = set()
        self.failed: set[tuple[int, int]] = set()
        self.jobs: dict[int, SparkJob] = {}
        self.ends: dict[int, tuple[int | None, bool]] = {}
        self.lives: dict[str, list[Executor]] = {}
        self.removals: dict[str, list[int]] = {}
        self.properties: dict[str, str] = {}
        self.profiles: dict[int, tuple[dict[str, float], dict[str, float]]] = {}
        self.heap = self.resident = self.polled = self.held = 0
        self.whole_stages = False

    def take(self, event: Event) -> bool:
        """Return True if the event could be used."""
        self.lines += 1
        kind = event.event
        if kind == "SparkListenerTaskEnd":
            return self._task(event)
        if kind in ("SparkListenerStageSubmitted", "SparkListenerStageCompleted"):
            if event.stage_info is not None:
                key = event.stage_info.stage, event.stage_info.attempt
                self.stages[key] = event.stage_info
                self.submitted.add(key)
                if kind == "SparkListenerStageCompleted":
                    (self.completed if event.stage_info.failure is None else self.failed).add(key)
        elif kind == "SparkListenerJobStart":
            for each in event.stage_infos:
                self.stages.setdefault((each.stage, each.attempt), each)
            if event.job is not None:
                stages = tuple(event.stage_ids or (each.stage for each in event.stage_infos))
                self.jobs[event.job] = SparkJob(stages, moment(event.job_submitted), number=event.job)
        elif kind == "SparkListenerJobEnd":
            if event.job is not None:
                failed = event.job_result is not None and event.job_result.result == "JobFailed"
                self.ends[event.job] = moment(event.job_ended), failed
        else:
            self._about(event)
        return True

    def _about(self, event: Event) -> None:
        kind = event.event
        if kind == "SparkListenerApplicationStart":
            self.name, self.identifier, self.user = event.app_name, event.app_id or "", event.user
            self.started, self.attempt = moment(event.timestamp), event.app_attempt or ""
        elif kind == "SparkListenerApplicationEnd":
            self.finished = moment(event.timestamp)
        elif kind == "SparkListenerLogStart":
            self.version = event.version
        elif kind == "SparkListenerEnvironmentUpdate":
            self.properties.update(event.properties_of_spark())
        elif (
            kind == "SparkListenerStageExecutorMetrics" and event.of_executor is not None and event.executor != "driver"
        ):
            self.whole_stages = self._measured(event.of_executor) or self.whole_stages
        elif kind == "SparkListenerResourceProfileAdded":
            self.profiles[event.profile] = tuple(  # type: ignore[assignment]
                {name: each.amount for name, each in found.items()} for found in (event.resources, event.of_tasks)
            )
        elif kind == "SparkListenerExecutorAdded" and event.executor_info is not None:
            info = event.executor_info
            if 0 < info.cores <= MOST_CORES:
                added = Executor(info.cores, moment(event.timestamp), host=intern(info.host))
                self.lives.setdefault(event.executor, []).append(added)
        elif kind == "SparkListenerExecutorRemoved" and (gone := moment(event.timestamp)) is not None:
            self.removals.setdefault(event.executor, []).append(gone)

    def _measured(self, memory: Memory) -> bool:
        """Return True if the memory was measured: unmeasured one is 0."""
        self.heap = max(self.heap, memory.heap)
        self.resident = max(self.resident, memory.jvm + memory.python + memory.other)
        return memory.heap > 0

    def _task(self, event: Event) -> bool:
        key = event.stage, event.attempt
        tasks = self.tasks.get(key)
        if tasks is None:
            tasks = self.tasks[key] = _Tasks(event.task_type)
        info, reason, metrics = event.task_info, event.reason, event.metrics
        if info is not None and not 0 <= info.launch <= info.finish <= LATEST:
            return False
        if info is not None and self._came_before(info):
            self.doubled += 1
            return True
        if metrics is not None:
            if info is not None and metrics.run_time:
                tasks.unexplained = max(tasks.unexplained, info.finish - info.launch - metrics.accounted)
            if (read := metrics.shuffle_read) is not None:
                tasks.shuffle_read += read.remote + read.local
            if (write := metrics.shuffle_write) is not None:
                tasks.shuffle_write += write.written
            if (taken := metrics.input) is not None:
                tasks.input_bytes += taken.read
                tasks.largest_input = max(tasks.largest_input, taken.read)
            if (given := metrics.output) is not None:
                tasks.output_bytes += given.written
            tasks.spilled += metrics.spilled
        ended = "" if reason is None else reason.reason
        if ended == "Success" and info is not None and not info.failed and not info.killed:
            tasks.succeed(info)
            self.held += info.finish - info.launch
            if event.of_task is not None and self._measured(event.of_task):
                self.polled += info.finish - info.launch
            if metrics is not None:
                tasks.run_time += metrics.run_time
                tasks.gc_time += metrics.gc_time
        else:
            held = 0 if info is None else info.finish - info.launch
            tasks.lose(held, ended == "TaskKilled" or (info is not None and info.killed))
        return True

    def _came_before(self, info: TaskInfo) -> bool:
        """Return True if an end of this task at the same time was read before; ids are counted from 0."""
        if not 0 <= info.task < MOST_TASKS:
            return False
        if info.task >= len(self.ended):
            self.ended.extend([0] * max(info.task + 1 - len(self.ended), len(self.ended), 1024))
        before, now = self.ended[info.task], info.finish % 2**32
        self.ended[info.task] = now
        return before == now

    def whole(self) -> SparkApplication:
        keys = sorted(set(self.stages) | set(self.tasks))
        executor = {name: amount for name, amount in self._profile(0)[0].items() if name != "cores"}
        lives = [life for name, own in self.lives.items() for life in _lives(own, self.removals.get(name, ()))]
        cores, executors = _most_at_once(lives)
        task_cpus, slots = self._slots(Counter(each.cores for each in lives))
        hosts = {each.host: [other for other in lives if other.host == each.host] for each in lives if each.host}
        jobs = [
            replace(job, ended=self.ends[number][0], failed=self.ends[number][1]) if number in self.ends else job
            for number, job in sorted(self.jobs.items())
        ]
        return SparkApplication(
            self.source,
            self.identifier,
            self.name,
            self.user,
            self.properties.get("spark.yarn.queue", ""),
            self.version,
            self.started,
            self.finished,
            tuple(self._stage(key, slots) for key in keys),
            tuple(jobs),
            executors or None,
            cores or None,
            task_cpus,
            tuple(sorted(hosts)),
            max((_most_at_once(each)[0] for each in hosts.values()), default=0) or None,
            self.properties,
            self.missing,
            lives=tuple(lives),
            executor_memory=executor,
            attempt=self.attempt,
            peaks=Peaks(self.heap, self.resident, 1.0 if self.whole_stages else self.polled / max(1, self.held)),
        )

    def _profile(self, number: int) -> tuple[dict[str, float], dict[str, float]]:
        """Return what an executor and a task of a resource profile request."""
        return self.profiles.get(number, ({}, {}))

    def _slots(self, executors: Counter[int]) -> tuple[int, dict[int, int]]:
        """Return the CPUs of a slot, and the slots of a task of each resource profile.

        The smallest tasks take one. Others take as many as leave no more of them on an executor than fit, and as many
        fill it.
        """
        usual = unit = _task_cpus(self.properties)
        if not executors:
            return usual, {}
        cores = max(executors, key=lambda each: (executors[each], each))
        ran = {self.stages[key].profile if key in self.stages else 0 for key in self.tasks}
        fits = {}
        for profile in ran:
            executor, task = self._profile(profile)
            own = executor.get("cores", cores)
            there, needed = {**self._profile(0)[0], **executor, "cpus": own}, {"cpus": float(usual), **task}
            counts = [there[name] // each for name, each in needed.items() if each > 0.0 and name in there]
            fits[profile] = max(1, int(min(counts, default=own) * cores / max(1.0, own)))
        if (most := max(fits.values(), default=0)) and most != cores // usual:
            unit = cores // most if cores // (cores // most) == most else cores // (most + 1) + 1
        whole = max(1, cores // unit)
        return unit, {
            profile: next(each for each in range(1, whole + 1) if whole % each == 0 and whole // each <= max(1, count))
            for profile, count in fits.items()
        }

    def _stage(self, key: tuple[int, int], slots: Mapping[int, int]) -> StageRun:
        info, tasks = self.stages.get(key), self.tasks.get(key, _Tasks())
        if tasks.speculative:
            tasks.without_copies()
        tasks.in_order()
        return StageRun(
            key[0],
            key[1],
            info.name if info is not None else "",
            tasks.task_type,
            tuple(info.parents) if info is not None else (),
            tasks.launches,
            tasks.finishes,
            tasks.failed,
            tasks.killed,
            info.tasks if info is not None else None,
            tasks.input_bytes,
            tasks.shuffle_read,
            tasks.shuffle_write,
            key not in self.submitted and key not in self.tasks,
            tasks.failed_time,
            tasks.killed_time,
            key in self.completed or self._is_done(key, tasks),
            tasks.unexplained,
            tasks.run_time,
            tasks.gc_time,
            tasks.spilled,
            tasks.output_bytes,
            tasks.largest_input,
            tasks.hosts,
            info.operators() if info is not None else "",
            slots.get(info.profile if info is not None else 0, 1),
            info is not None and info.is_barrier(),
        )

    def _is_done(self, key: tuple[int, int], tasks: _Tasks) -> bool:
        """Return True if all tasks of an attempt succeeded and it did not fail: only its last event is lost."""
        info = self.stages.get(key)
        planned = None if info is None or key in self.failed else info.tasks
        known = set(tasks.indices) - {UNKNOWN}
        return planned is not None and 0 < planned <= len(known) + tasks.indices.count(UNKNOWN)


def _lives(added: Sequence[Executor], removed: Sequence[int]) -> Iterator[Executor]:
    """Yield each life of an executor, until its next removal or addition, in whichever order the events come."""
    begins = {each.added or 0: each for each in reversed(added)}
    for begin, following in pairwise([*sorted(begins), LATEST]):
        ends = [each for each in (*removed, following) if begin <= each <= following]
        yield replace(begins[begin], removed=min(ends) if min(ends) < LATEST else None)


def _most_at_once(lives: Sequence[Executor]) -> tuple[int, int]:
    """Return the most cores of executors at once, and their executors, in whichever order the events come."""
    changes = [(each.added or 0, 1, each.cores) for each in lives]
    changes += [(each.removed, -1, -each.cores) for each in lives if each.removed is not None]
    cores = executors = 0
    most = (0, 0)
    for _, one, change in sorted(changes):
        cores, executors = cores + change, executors + one
        most = max(most, (cores, executors))
    return most


def _task_cpus(properties: dict[str, str]) -> int:
    text = properties.get("spark.task.cpus", "1")
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) < 6 else 1


def _read(log: OpenedLog, telling: Telling) -> Iterator[SparkApplication]:
    parts = ((path, numbered(pieces, SKIPPED)) for path, pieces in log.parts)
    return read_events(parts, log.name, telling, log.missing)


FORMAT = LogFormat(is_event_log, _read, b'{"Event":"SparkListenerLogStart"}\n')


class TaskInfo(Struct, gc=False):
    """``Task Info``."""

    task: int = struct_field(name="Task ID", default=-1)
    index: int = struct_field(name="Index", default=-1)
    host: str = struct_field(name="Host", default="")
    launch: int = struct_field(name="Launch Time", default=0)
    finish: int = struct_field(name="Finish Time", default=0)
    failed: bool = struct_field(name="Failed", default=False)
    killed: bool = struct_field(name="Killed", default=False)
    speculative: bool = struct_field(name="Speculative", default=False)


class Reason(Struct, gc=False):
    """``Task End Reason``."""

    reason: str = struct_field(name="Reason", default="")


class ShuffleRead(Struct, gc=False):
    """``Shuffle Read Metrics``: bytes fetched from other executors and from the own one."""

    remote: int = struct_field(name="Remote Bytes Read", default=0)
    local: int = struct_field(name="Local Bytes Read", default=0)


class ShuffleWrite(Struct, gc=False):
    """``Shuffle Write Metrics``."""

    written: int = struct_field(name="Shuffle Bytes Written", default=0)


class Input(Struct, gc=False):
    """``Input Metrics``."""

    read: int = struct_field(name="Bytes Read", default=0)


class Output(Struct, gc=False):
    """``Output Metrics``."""

    written: int = struct_field(name="Bytes Written", default=0)


class Metrics(Struct, gc=False):
    """``Task Metrics``; times are in milliseconds."""

    run_time: int = struct_field(name="Executor Run Time", default=0)
    deserializing: int = struct_field(name="Executor Deserialize Time", default=0)
    serializing: int = struct_field(name="Result Serialization Time", default=0)
    gc_time: int = struct_field(name="JVM GC Time", default=0)
    spilled: int = struct_field(name="Memory Bytes Spilled", default=0)

    shuffle_read: ShuffleRead | None = struct_field(name="Shuffle Read Metrics", default=None)
    shuffle_write: ShuffleWrite | None = struct_field(name="Shuffle Write Metrics", default=None)
    input: Input | None = struct_field(name="Input Metrics", default=None)
    output: Output | None = struct_field(name="Output Metrics", default=None)

    @property
    def accounted(self) -> int:
        """The time that the executor accounts for."""
        return self.run_time + self.deserializing + self.serializing


_OPERATOR = re.compile(r'"name"\s*:\s*"([^"(]*)')
_NO_DIGITS = str.maketrans("", "", "0123456789")


def operator(data_set: Any) -> str:
    """Return the SQL operator of one of ``RDD Info``, otherwise its own name, without numbers."""
    if not isinstance(data_set, dict):
        return ""
    found = _OPERATOR.search(str(data_set.get("Scope", "")))
    name = str(data_set.get("Name", "")) if found is None else found[1]
    return name.translate(_NO_DIGITS).strip()


class Memory(Struct, gc=False):
    """``Task Executor Metrics`` or ``Executor Metrics``: the most bytes of an executor."""

    heap: int = struct_field(name="JVMHeapMemory", default=0)
    jvm: int = struct_field(name="ProcessTreeJVMRSSMemory", default=0)
    python: int = struct_field(name="ProcessTreePythonRSSMemory", default=0)
    other: int = struct_field(name="ProcessTreeOtherRSSMemory", default=0)


class StageInfo(Struct, gc=False):
    """``Stage Info``."""

    stage: int = struct_field(name="Stage ID")
    attempt: int = struct_field(name="Stage Attempt ID", default=0)
    name: str = struct_field(name="Stage Name", default="")
    tasks: int | None = struct_field(name="Number of Tasks", default=None)
    parents: list[int] = struct_field(name="Parent IDs", default_factory=list)
    failure: str | None = struct_field(name="Failure Reason", default=None)
    data: Any = struct_field(name="RDD Info", default=None)
    profile: int = struct_field(name="Resource Profile Id", default=0)

    def is_barrier(self) -> bool:
        """Return True if its tasks run all at once or not at all."""
        sets = self.data if isinstance(self.data, list) else []
        return any(isinstance(each, dict) and each.get("Barrier") is True for each in sets)

    def operators(self) -> str:
        """Return the SQL operators of its data sets, or the names of the others, each once; Spark lists them in any
        order.
        """
        return intern(", ".join(sorted({*map(operator, self.data)}))) if isinstance(self.data, list) else ""


class ExecutorInfo(Struct, gc=False):
    """``Executor Info``."""

    cores: int = struct_field(name="Total Cores", default=0)
    host: str = struct_field(name="Host", default="")


class Resource(Struct, gc=False):
    """One of ``Executor Resource Requests`` or ``Task Resource Requests``: memory in MiB."""

    amount: float = struct_field(name="Amount", default=0.0)


class JobResult(Struct, gc=False):
    """``Job Result``."""

    result: str = struct_field(name="Result", default="")


class Event(Struct, gc=False):
    """Any event: the fields of those that matter."""

    event: str = struct_field(name="Event")
    stage: int = struct_field(name="Stage ID", default=-1)
    attempt: int = struct_field(name="Stage Attempt ID", default=0)
    task_type: str = struct_field(name="Task Type", default="")
    reason: Reason | None = struct_field(name="Task End Reason", default=None)
    task_info: TaskInfo | None = struct_field(name="Task Info", default=None)
    metrics: Metrics | None = struct_field(name="Task Metrics", default=None)
    of_task: Memory | None = struct_field(name="Task Executor Metrics", default=None)
    of_executor: Memory | None = struct_field(name="Executor Metrics", default=None)
    stage_info: StageInfo | None = struct_field(name="Stage Info", default=None)
    stage_infos: list[StageInfo] = struct_field(name="Stage Infos", default_factory=list)
    stage_ids: list[int] = struct_field(name="Stage IDs", default_factory=list)
    job: int | None = struct_field(name="Job ID", default=None)
    job_submitted: int | None = struct_field(name="Submission Time", default=None)
    job_ended: int | None = struct_field(name="Completion Time", default=None)
    job_result: JobResult | None = struct_field(name="Job Result", default=None)
    app_name: str = struct_field(name="App Name", default="")
    app_id: str | None = struct_field(name="App ID", default=None)
    app_attempt: str | None = struct_field(name="App Attempt ID", default=None)
    timestamp: int | None = struct_field(name="Timestamp", default=None)
    user: str = struct_field(name="User", default="")
    executor: str = struct_field(name="Executor ID", default="")
    executor_info: ExecutorInfo | None = struct_field(name="Executor Info", default=None)
    version: str = struct_field(name="Spark Version", default="")
    profile: int = struct_field(name="Resource Profile Id", default=-1)
    resources: dict[str, Resource] = struct_field(name="Executor Resource Requests", default_factory=dict)
    of_tasks: dict[str, Resource] = struct_field(name="Task Resource Requests", default_factory=dict)
    spark_properties: Any = struct_field(name="Spark Properties", default=None)

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
    """Return the exceptions of the decoder for a line that is not an event."""
    return msgspec.DecodeError, UnicodeDecodeError, RecursionError
