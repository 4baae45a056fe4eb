"""Hadoop 2 and 3 job history, ``.jhist``: one event a line (Avro-Json), or one behind the other (Avro-Binary).

The first line that is no comment names the encoding, the second is the schema. Values of optional fields may be wrapped
in their type's name. What a file says of a job beyond its attempts comes from its own events; the file's name is not
believed, since copies are renamed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mrdsl.exchange.logs.attempts import Attempt, AttemptEnd, TaskKind
from mrdsl.exchange.logs.binary_history import binary_events
from mrdsl.exchange.logs.formats import LogFormat, OpenedLog
from mrdsl.exchange.logs.job_configuration import JOB_NAME, QUEUE, USER, configuration_beside, first_of
from mrdsl.exchange.logs.opening import lines
from mrdsl.exchange.logs.records import MapReduceJob, machine, moment
from mrdsl.exchange.logs.telling import Telling

_JOB_ID = re.compile(r"job_\d+_\d+")
JSON, BINARY = b"Avro-Json", b"Avro-Binary"
_ENDS = {"FINISHED": AttemptEnd.SUCCEEDED, "FAILED": AttemptEnd.FAILED, "KILLED": AttemptEnd.KILLED}


def is_history(head: bytes) -> bool:
    """Whether a file that begins so is job history of Hadoop 2 or 3."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"<!--"):
        text = text.partition(b"-->")[2].lstrip()
    return text.startswith((JSON, BINARY))


def read_history(lines: Iterable[bytes], source: str, telling: Telling) -> Iterator[MapReduceJob]:
    """The one job of a history file; what cannot be read is told and left out."""
    numbered = enumerate(lines, 1)
    encoding = _encoding(numbered)
    events = binary_events(numbered, source, telling) if encoding == BINARY else _json(numbered, source, telling)
    job = _Job(source)
    for line, kind, fields in events:
        job.line = line
        job.take(kind, fields)
    if job.identifier is None:
        if not telling.failed(source):
            telling.fail("broken-log", "this job history names no job", source, 1, "take the whole file")
        return
    named = _JOB_ID.search(source.replace("\\", "/").rpartition("/")[2])
    if named and named[0] != job.identifier:
        message = f"the file is named after {named[0]}, but tells of {job.identifier}, which counts"
        telling.warn("broken-log", message, source, 1, "nothing to do; the copy was renamed")
    if not job.status:
        message = f"the history of {job.identifier} ends before the job does"
        telling.warn("cut-log", message, source, job.line, "its attempts that ended are used for nothing")
    yield job.whole()


def _encoding(numbered: Iterator[tuple[int, bytes]]) -> bytes:
    for _, line in numbered:
        found = line.strip()
        if found in (JSON, BINARY):
            return found
    return JSON


def _json(numbered: Iterator[tuple[int, bytes]], source: str, telling: Telling) -> Iterator[tuple[int, str, Any]]:
    for number, line in numbered:
        text = line.strip()
        if not text.startswith(b'{"type":"') or b'"event"' not in text[:80]:
            if text and not text.startswith(b'{"type":"record"'):
                telling.warn("broken-log", "this line is no event", source, number)
            continue
        try:
            document = json.loads(text)
            (fields,) = document["event"].values()
            yield number, str(document["type"]), {key: _unwrapped(value) for key, value in fields.items()}
        except (ValueError, KeyError, AttributeError, RecursionError):
            telling.warn("broken-log", "this event is no whole JSON object", source, number)


def _unwrapped(value: Any) -> Any:
    """``{"string": "VIRGIN"}`` is ``"VIRGIN"``."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        if name in ("string", "long", "int", "boolean", "double"):
            return inner
    return value


@dataclass
class _Job:
    """One job as its events come."""

    source: str
    line: int = 1
    identifier: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    status: str = ""
    input_bytes: int | None = None

    def take(self, kind: str, fields: Mapping[str, Any]) -> None:
        if kind.startswith("JOB_"):
            self._job(kind, fields)
        elif "_ATTEMPT_" in kind:
            phase, _, event = kind.partition("_ATTEMPT_")
            if phase in ("MAP", "REDUCE"):
                self._attempt(TaskKind(phase.lower()), event, fields)

    def _job(self, kind: str, fields: Mapping[str, Any]) -> None:
        if self.identifier is None and isinstance(fields.get("jobid"), str):
            self.identifier = fields["jobid"]
        for name in ("jobName", "userName", "jobQueueName"):
            if isinstance(fields.get(name), str):
                self.facts[name] = fields[name]
        for name in ("submitTime", "launchTime", "finishTime", "totalMaps", "totalReduces"):
            if (number := moment(fields.get(name))) is not None:
                self.facts[name] = number
        self.facts["uberized"] = bool(fields.get("uberized")) or self.facts.get("uberized", False)
        if kind in ("JOB_FINISHED", "JOB_FAILED", "JOB_KILLED", "JOB_ERROR"):
            self.status = kind.removeprefix("JOB_")
            self.input_bytes = _counter(fields.get("totalCounters"), "HDFS_BYTES_READ")

    def _attempt(self, kind: TaskKind, event: str, fields: Mapping[str, Any]) -> None:
        name = str(fields.get("attemptId"))
        known = self.attempts.get(name)
        start = moment(fields.get("startTime")) if event == "STARTED" else known.start if known else None
        if event == "STARTED":
            if known is None:
                self.attempts[name] = Attempt(
                    kind,
                    AttemptEnd.UNFINISHED,
                    start,
                    host=machine(fields.get("trackerName")),
                )
            return
        end = _ENDS.get(event, AttemptEnd.FAILED)
        if end is AttemptEnd.SUCCEEDED and fields.get("taskStatus") not in (None, "SUCCEEDED", "SUCCESS"):
            end = AttemptEnd.FAILED
        self.attempts[name] = Attempt(
            kind,
            end,
            start,
            moment(fields.get("finishTime")),
            moment(fields.get("shuffleFinishTime")),
            moment(fields.get("sortFinishTime")),
            machine(fields.get("hostname")) or (known.host if known else ""),
        )

    def whole(self) -> MapReduceJob:
        facts = self.facts
        assert self.identifier is not None
        return MapReduceJob(
            self.source,
            self.identifier,
            self.status or "UNFINISHED",
            facts.get("jobName", ""),
            facts.get("userName", ""),
            facts.get("jobQueueName", ""),
            facts.get("submitTime"),
            facts.get("launchTime"),
            facts.get("finishTime"),
            facts.get("totalMaps"),
            facts.get("totalReduces"),
            tuple(self.attempts.values()),
            facts["uberized"],
            self.input_bytes,
        )


def _counter(counters: Any, name: str) -> int | None:
    try:
        for group in counters["groups"]:
            for counter in group["counts"]:
                if counter["name"] == name:
                    return moment(counter["value"])
    except (TypeError, KeyError):
        pass
    return None


def _read(log: OpenedLog, telling: Telling) -> Iterator[MapReduceJob]:
    for job in read_history(lines(log.pieces()), log.name, telling):
        yield _with_settings(job, configuration_beside(log.name, job.job, telling))


def _with_settings(job: MapReduceJob, settings: Mapping[str, str]) -> MapReduceJob:
    """The settings say who ran the job where its history does not, as old ones leave out the queue."""
    return replace(
        job,
        name=job.name or first_of(settings, JOB_NAME),
        user=job.user or first_of(settings, USER),
        queue=job.queue or first_of(settings, QUEUE),
        configuration=settings,
    )


FORMAT = LogFormat(is_history, _read, b"Avro-Json\n")
