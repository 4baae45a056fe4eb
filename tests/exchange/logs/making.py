"""Logs made for tests, by other libraries than those that read them; ``python -m tests.exchange.logs.making FOLDER``
writes the small ones that ship.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PACKAGE = "org.apache.hadoop.mapreduce.jobhistory"
BEGIN = 1_700_000_000_000
_FIELDS: dict[str, tuple[tuple[str, Any], ...]] = {
    "JobSubmitted": (
        ("jobid", "string"),
        ("jobName", "string"),
        ("userName", "string"),
        ("submitTime", "long"),
        ("jobQueueName", ["null", "string"]),
    ),
    "JobInited": (
        ("jobid", "string"),
        ("launchTime", "long"),
        ("totalMaps", "int"),
        ("totalReduces", "int"),
        ("uberized", "boolean"),
    ),
    "TaskAttemptStarted": (
        ("taskid", "string"),
        ("taskType", "string"),
        ("attemptId", "string"),
        ("startTime", "long"),
        ("locality", ["null", "string"]),
    ),
    "MapAttemptFinished": (
        ("taskid", "string"),
        ("attemptId", "string"),
        ("taskType", "string"),
        ("taskStatus", "string"),
        ("finishTime", "long"),
    ),
    "ReduceAttemptFinished": (
        ("taskid", "string"),
        ("attemptId", "string"),
        ("taskType", "string"),
        ("taskStatus", "string"),
        ("shuffleFinishTime", "long"),
        ("sortFinishTime", "long"),
        ("finishTime", "long"),
    ),
    "TaskAttemptUnsuccessfulCompletion": (
        ("taskid", "string"),
        ("taskType", "string"),
        ("attemptId", "string"),
        ("finishTime", "long"),
        ("status", "string"),
    ),
    "JobFinished": (("jobid", "string"), ("finishTime", "long"), ("finishedMaps", "int"), ("finishedReduces", "int")),
}
KINDS = (
    "JOB_SUBMITTED", "JOB_INITED", "JOB_FINISHED", "MAP_ATTEMPT_STARTED", "MAP_ATTEMPT_FINISHED", "MAP_ATTEMPT_FAILED",
    "REDUCE_ATTEMPT_STARTED", "REDUCE_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_KILLED",
)  # fmt: skip
Event = tuple[str, str, dict[str, Any]]


def schema() -> dict[str, Any]:
    """The Avro schema of the events above, shaped as Hadoop's."""
    records = [
        {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}
        for name, fields in _FIELDS.items()
    ]
    kind = {"type": "enum", "name": "EventType", "symbols": list(KINDS)}
    fields = [{"name": "type", "type": kind}, {"name": "event", "type": records}]
    return {"type": "record", "name": "Event", "namespace": PACKAGE, "fields": fields}


def job_events(
    job: str,
    name: str,
    begin: int,
    maps: list[tuple[int, int]],
    reduces: list[tuple[int, int, int, int]],
    lost: int = 0,
) -> list[Event]:
    """A job's events: maps as (start, finish), reduces as (start, shuffled, sorted, finish), in ms after ``begin``."""
    number = job.removeprefix("job_")
    events: list[Event] = [
        ("JOB_SUBMITTED", "JobSubmitted",
         {"jobid": job, "jobName": name, "userName": "ops", "submitTime": begin, "jobQueueName": "root.night"}),
        ("JOB_INITED", "JobInited", {"jobid": job, "launchTime": begin + 500, "totalMaps": len(maps),
                                     "totalReduces": len(reduces), "uberized": False}),
    ]  # fmt: skip
    for kind, attempts in (("MAP", maps), ("REDUCE", reduces)):
        for position, times in enumerate(attempts):
            task = f"task_{number}_{kind[0].lower()}_{position:06d}"
            attempt = task.replace("task", "attempt") + "_0"
            about = {"taskid": task, "taskType": kind, "attemptId": attempt}
            started = {**about, "startTime": begin + times[0], "locality": "NODE_LOCAL"}
            events.append((f"{kind}_ATTEMPT_STARTED", "TaskAttemptStarted", started))
            ended = {**about, "taskStatus": "SUCCEEDED", "finishTime": begin + times[-1]}
            if kind == "REDUCE":
                ended |= {"shuffleFinishTime": begin + times[1], "sortFinishTime": begin + times[2]}
            record = "MapAttemptFinished" if kind == "MAP" else "ReduceAttemptFinished"
            events.append((f"{kind}_ATTEMPT_FINISHED", record, ended))
    for position in range(lost):
        task = f"task_{number}_m_{position:06d}"
        ended = {"taskid": task, "taskType": "MAP", "attemptId": task.replace("task", "attempt") + "_9",
                 "finishTime": begin + 1000, "status": "FAILED"}  # fmt: skip
        events.append(("MAP_ATTEMPT_FAILED", "TaskAttemptUnsuccessfulCompletion", ended))
    last = max([times[-1] for times in (*maps, *reduces)], default=0) + 700
    finished = {"jobid": job, "finishTime": begin + last, "finishedMaps": len(maps), "finishedReduces": len(reduces)}
    return [*events, ("JOB_FINISHED", "JobFinished", finished)]


Stage = tuple[int, tuple[int, ...], tuple[tuple[int, int], ...]]
"""A stage's number, its parents, and (launch, finish) of its tasks in ms after the begin."""


def spark_events(name: str, begin: int, jobs: list[tuple[int, int, list[Stage]]], retried: int = 0) -> bytes:
    """An event log of jobs as (submitted, ended, stages); a stage without tasks is skipped.

    ``retried`` tasks of every stage fail first, and run once more in a second attempt at the stage.
    """
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"},
        {"Event": "SparkListenerApplicationStart", "App Name": name, "App ID": f"{name}-{begin}", "Timestamp": begin,
         "User": "ops"},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.yarn.queue": "night"}},
    ]  # fmt: skip
    for host in range(2):
        info = {"Host": f"worker{host}", "Total Cores": 4}
        events.append({"Event": "SparkListenerExecutorAdded", "Timestamp": begin, "Executor ID": str(host + 1),
                       "Executor Info": info})  # fmt: skip
    for job, (submitted, ended, stages) in enumerate(jobs):
        infos = [{"Stage ID": number, "Stage Attempt ID": 0, "Stage Name": f"step {number}", "Number of Tasks":
                  len(tasks) or 1, "Parent IDs": list(parents)} for number, parents, tasks in stages]  # fmt: skip
        events.append({"Event": "SparkListenerJobStart", "Job ID": job, "Submission Time": begin + submitted,
                       "Stage IDs": [number for number, _, _ in stages], "Stage Infos": infos})  # fmt: skip
        for info, (number, _, tasks) in zip(infos, stages, strict=True):
            for attempt, kept in enumerate((tasks[retried:], tasks[:retried])):
                events += _attempt(number, attempt, {**info, "Stage Attempt ID": attempt}, begin, kept, retried)
        events.append({"Event": "SparkListenerJobEnd", "Job ID": job, "Completion Time": begin + ended,
                       "Job Result": {"Result": "JobSucceeded"}})  # fmt: skip
    events.append({"Event": "SparkListenerApplicationEnd", "Timestamp": begin + max(end for _, end, _ in jobs)})
    return "\n".join(json.dumps(event) for event in events).encode() + b"\n"


def _attempt(
    number: int, attempt: int, info: dict[str, Any], begin: int, tasks: tuple[tuple[int, int], ...], failed: int
) -> Iterable[dict[str, Any]]:
    if not tasks:
        return
    yield {"Event": "SparkListenerStageSubmitted", "Stage Info": info}
    lost = [(begin, begin + 1, "FetchFailed")] * (failed if attempt == 0 else 0)
    for launch, finish, reason in [*lost, *((begin + first, begin + last, "Success") for first, last in tasks)]:
        times = {"Launch Time": launch, "Finish Time": finish, "Failed": reason != "Success", "Killed": False}
        yield {"Event": "SparkListenerTaskEnd", "Stage ID": number, "Stage Attempt ID": attempt,
               "Task Type": "ResultTask", "Task End Reason": {"Reason": reason}, "Task Info": times,
               "Task Metrics": {"Input Metrics": {"Bytes Read": 1000}}}  # fmt: skip


def as_json(events: Iterable[Event]) -> bytes:
    """A history in Avro-Json, with optional values wrapped in their type's name as Avro's encoder does."""
    lines = ["Avro-Json", json.dumps(schema(), separators=(",", ":"))]
    for kind, record, fields in events:
        optional = {name for name, type_ in _FIELDS[record] if isinstance(type_, list)}
        wrapped = {key: {"string": value} if key in optional else value for key, value in fields.items()}
        lines += ["", json.dumps({"type": kind, "event": {f"{PACKAGE}.{record}": wrapped}}, separators=(",", ":"))]
    return ("\n".join(lines) + "\n").encode()


def as_binary(events: Iterable[Event]) -> bytes:
    """The same in Avro-Binary, encoded by hand: zigzag numbers, lengths before texts, the branch before a union."""
    names = list(_FIELDS)
    out = b"Avro-Binary\n" + json.dumps(schema()).encode() + b"\n"
    for kind, record, fields in events:
        out += _number(KINDS.index(kind)) + _number(names.index(record))
        for name, type_ in _FIELDS[record]:
            value = fields[name]
            out += _number(1) + _value("string", value) if isinstance(type_, list) else _value(type_, value)
    return out


def _value(kind: str, value: Any) -> bytes:
    if kind == "string":
        text = value.encode()
        return _number(len(text)) + text
    return bytes([int(value)]) if kind == "boolean" else _number(value)


def _number(value: int) -> bytes:
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    out = b""
    while rest > 0x7F:
        out += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return out + bytes([rest])


def lz4_java(data: bytes, size: int = 1 << 16) -> bytes:
    """lz4-java's LZ4Block framing with blocks that are stored, and packed as literals only."""
    out = b""
    for position, begin in enumerate(range(0, len(data), size)):
        block = data[begin : begin + size]
        packed, method = (block, 0x10) if position % 2 else (_lz4_literals(block), 0x20)
        out += b"LZ4Block" + bytes([method | 6]) + struct.pack("<iii", len(packed), len(block), 0) + packed
    return out + b"LZ4Block" + bytes([0x16]) + struct.pack("<iii", 0, 0, 0)


def _lz4_literals(block: bytes) -> bytes:
    """A block of LZ4 that is one run of literals."""
    if len(block) < 15:
        return bytes([len(block) << 4]) + block
    rest, lengths = len(block) - 15, b""
    while rest >= 255:
        lengths, rest = lengths + b"\xff", rest - 255
    return b"\xf0" + lengths + bytes([rest]) + block


def xerial_snappy(data: bytes, size: int = 1 << 15) -> bytes:
    """snappy-java's stream: its header, then blocks behind their lengths, packed as literals only."""
    out = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for begin in range(0, len(data), size):
        block = data[begin : begin + size]
        packed = _varint(len(block))
        for at in range(0, len(block), 60):
            run = block[at : at + 60]
            packed += bytes([(len(run) - 1) << 2]) + run
        out += struct.pack(">i", len(packed)) + packed
    return out


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def night() -> dict[str, bytes]:
    """Twelve small jobs of two kinds over an hour: the logs that ship."""
    draw = random.Random(7)
    files = {}
    for number in range(12):
        clicks = number % 3 != 2
        begin = BEGIN + number * 300_000
        maps = [
            (1000 + 9000 * (i // 4), 1000 + 9000 * (i // 4) + draw.randint(5000, 8900))
            for i in range(16 if clicks else 8)
        ]
        ended = max(finish for _, finish in maps)
        reduces = []
        for i in range(3 if clicks else 0):
            start = 3000 if i < 2 else ended + 1000
            shuffled = max(ended, start) + draw.randint(800, 2500)
            reduces.append((start, shuffled, shuffled + 150, shuffled + draw.randint(3000, 6000)))
        job = f"job_1700000000000_{number + 1:04d}"
        name = f"clicks-2023-11-{14 + number % 5}" if clicks else f"thumbnails #{number}"
        files[f"{job}.jhist"] = as_json(job_events(job, name, begin, maps, reduces, lost=number % 2))
    return files


if __name__ == "__main__":
    for file_name, content in night().items():
        Path(sys.argv[1], file_name).write_bytes(content)
