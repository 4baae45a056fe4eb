"""Hadoop 2 and 3 job history, ``.jhist``: Avro-Json, one event a line, or Avro-Binary, one event after the other.

The first line that is not a comment names the encoding, the second is the schema. Values of optional fields can be
wrapped in the name of their type. A job's name and times come from its own events, since copies of files are renamed.
``JOB_conf.xml`` in the same folder has the settings of the job.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from sys import intern
from typing import Any
from xml.etree import ElementTree

from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.exchange.logs.formats import LogFormat, OpenedLog, Telling
from mrdsl.exchange.logs.opening import lines
from mrdsl.exchange.logs.records import Attempt, AttemptEnd, MapReduceJob, TaskKind, machine, moment

LARGEST_EVENTS = 2**30
Events = Iterator[tuple[int, str, Any]]


def binary_events(numbered: Iterator[tuple[int, bytes]], source: str, telling: Telling) -> Events:
    """Yield each event's place, kind and fields, from the lines after the first; broken ones are reported."""
    try:
        import fastavro
    except ImportError:
        message = "this history is in binary Avro, which the extra `logs` reads"
        telling.fail("missing-extra", message, source, 1, "install the extra `logs`")
        return
    document = _schema(numbered)
    try:
        if takes_no_bytes_for_many(document):
            telling.fail("broken-log", "its schema has lists of things that take no bytes", source, 2)
            return
        schema = fastavro.parse_schema(document)
    except Exception as cause:  # fastavro raises whatever a schema that is none leads it to
        telling.fail("broken-log", f"the second line is not an Avro schema: {cause}", source, 2)
        return
    data = _rest(numbered)
    if data is None:
        telling.fail("broken-log", f"its events are more than {LARGEST_EVENTS:,} bytes", source, 3)
        return
    stream, number = io.BytesIO(data), 0
    while stream.tell() < len(data):
        number += 1
        at = stream.tell()
        try:
            event: Any = fastavro.schemaless_reader(stream, schema, None)
            kind, fields = str(event["type"]), dict(event["event"])
        except Exception:
            if data[at:].strip():
                telling.warn("cut-log", f"event {number} is cut or broken; the rest is lost", source, 3)
            return
        if stream.tell() == at:
            telling.warn("broken-log", "its events take no bytes", source, 3)
            return
        yield 2 + number, kind, fields


def _schema(numbered: Iterator[tuple[int, bytes]]) -> Any:
    try:
        return json.loads(next(numbered)[1])
    except (StopIteration, ValueError, RecursionError):
        return None


def _rest(numbered: Iterator[tuple[int, bytes]]) -> bytes | None:
    """Return the bytes after the schema, or None if there are too many."""
    held = bytearray()
    for _, line in numbered:
        held += line + b"\n"
        if len(held) > LARGEST_EVENTS:
            return None
    return bytes(held[:-1])


def takes_no_bytes_for_many(schema: Any) -> bool:
    """Return True if a schema has an array whose items take no bytes, so that a few bytes can mean any number
    of them.
    """
    named: dict[str, Any] = {}
    arrays: list[Any] = []
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            if isinstance(node.get("name"), str):
                named.setdefault(node["name"], node)
            if node.get("type") == "array":
                arrays.append(node.get("items"))
            waiting += node.values()
    return any(_takes_no_bytes(items, named, frozenset()) for items in arrays)


def _takes_no_bytes(node: Any, named: dict[str, Any], above: frozenset[str]) -> bool:
    if isinstance(node, str):
        known = named.get(node.rpartition(".")[2], named.get(node))
        if node == "null" or node in above:
            return True
        return known is not None and _takes_no_bytes(known, named, above | {node})
    if not isinstance(node, dict):
        return False
    kind = node.get("type")
    if kind in ("record", "error"):
        fields = node.get("fields")
        return isinstance(fields, list) and all(
            _takes_no_bytes(field.get("type"), named, above) for field in fields if isinstance(field, dict)
        )
    if kind == "fixed":
        return not node.get("size")
    return isinstance(kind, str | dict) and kind != node and _takes_no_bytes(kind, named, above)


LARGEST_CONFIGURATION = 32 * 2**20
_JOB = re.compile(r"job_[0-9a-z]+_[0-9]+")
JOB_NAME = "mapreduce.job.name", "mapred.job.name"
USER = "mapreduce.job.user.name", "user.name"
QUEUE = "mapreduce.job.queuename", "mapred.job.queue.name"
KEPT = frozenset(
    (
        *JOB_NAME,
        *USER,
        *QUEUE,
        "mapreduce.map.memory.mb",
        "mapreduce.reduce.memory.mb",
        "mapreduce.map.cpu.vcores",
        "mapreduce.reduce.cpu.vcores",
        "mapreduce.map.speculative",
        "mapreduce.reduce.speculative",
        "mapreduce.job.reduce.slowstart.completedmaps",
        "mapreduce.input.fileinputformat.split.maxsize",
    )
)
"""The settings that are kept, of the thousand or so of every job: who ran it, and what decides how its tasks run."""


def configuration_beside(history: str, job: str, telling: Telling) -> Mapping[str, str]:
    """Return the :data:`KEPT` settings in the file of ``job`` in the folder of its history.

    It is None if there is no such file, or the id is not one of Hadoop. A file that is broken, too large or declares
    entities is reported and not used.
    """
    path = Path(history).parent / f"{job}_conf.xml"
    if not _JOB.fullmatch(job) or os.path.normpath(path) in telling.left_out:
        return {}
    try:
        if not path.is_file():
            return {}
        if path.stat().st_size > LARGEST_CONFIGURATION:
            return _unused(path, f"it is larger than {LARGEST_CONFIGURATION:,} bytes", telling)
        text = read_bytes(path, LARGEST_CONFIGURATION)
        if b"\x00" in text:
            return _unused(path, "it is no text of UTF-8", telling)
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            return _unused(path, "it declares entities", telling)
        return _settings(text)
    except UnreadableError as cause:
        return _unused(path, str(cause), telling)
    except OSError as cause:
        return _unused(path, cause.strerror or "the system refuses", telling)
    except ElementTree.ParseError as cause:
        return _unused(path, str(cause), telling, cause.position[0])
    except (LookupError, ValueError) as cause:  # an encoding that is none
        return _unused(path, str(cause), telling)


def first_of(settings: Mapping[str, str], names: tuple[str, ...]) -> str:
    """Return the first of the settings that exists, or ""."""
    return next((settings[name] for name in names if settings.get(name)), "")


def _settings(text: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for _, entry in ElementTree.iterparse(BytesIO(text)):
        if entry.tag == "property":
            name = entry.findtext("name", "").strip()
            if name in KEPT:
                found[intern(name)] = intern(entry.findtext("value", ""))
            entry.clear()
    return found


def _unused(path: Path, reason: str, telling: Telling, line: int = 1) -> Mapping[str, str]:
    telling.warn(
        "broken-log", f"these settings are not used: {reason}", str(path), line, "the job is read without them"
    )
    return {}


_JOB_ID = re.compile(r"job_[0-9]+_[0-9]+")
_EVENT = re.compile(rb'\{\s*"type"\s*:\s*"(\w+)')
JSON, BINARY = b"Avro-Json", b"Avro-Binary"
_ENDS = {"FINISHED": AttemptEnd.SUCCEEDED, "FAILED": AttemptEnd.FAILED, "KILLED": AttemptEnd.KILLED}


def is_history(head: bytes) -> bool:
    """Return True if a file that begins so is job history of Hadoop 2 or 3."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"<!--"):
        text = text.partition(b"-->")[2].lstrip()
    return text.startswith((JSON, BINARY))


def read_history(lines: Iterable[bytes], source: str, telling: Telling) -> Iterator[MapReduceJob]:
    """Yield the one job of a history file; unreadable parts are reported and left out."""
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
        message = f"the file is named after {named[0]}, but contains {job.identifier}, which is used"
        telling.warn("broken-log", message, source, 1, "no action needed: the copy was renamed")
    if not job.status:
        message = f"the history of {job.identifier} ends before the job does"
        telling.warn("cut-log", message, source, job.line, "its finished attempts are not used")
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
        if (found := _EVENT.match(text)) is None or found[1] == b"record":
            if text and found is None:
                telling.warn("broken-log", "this line is not an event", source, number)
            continue
        try:
            document = json.loads(text)
            (fields,) = document["event"].values()
            yield number, str(document["type"]), {key: _unwrapped(value) for key, value in fields.items()}
        except (ValueError, KeyError, AttributeError, RecursionError):
            telling.warn("broken-log", "this event is not a complete JSON object", source, number)


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
            read = [_read_bytes(fields.get(name)) for name in ("mapCounters", "totalCounters")]
            self.input_bytes = next((each for each in read if each is not None), None)

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


_READ = (
    re.compile(r"FileSystemCounters?/(?!FILE_)[A-Z0-9]+_BYTES_READ"),
    re.compile(r"FileInputFormatCounter/BYTES_READ"),
)
"""The counter of each file system, of which ``FILE`` also has the bytes of spills and merges; that of all splits."""


def _read_bytes(counters: Any) -> int | None:
    """Return the bytes read from all file systems; Hadoop counts each byte for one of them. None if it counts none.

    Input in local files has no counter of a file system alone, but that of its splits.
    """
    try:
        values = {
            f"{group['name'].rpartition('.')[2]}/{each['name']}": each["value"]
            for group in counters["groups"]
            for each in group["counts"]
        }
    except (TypeError, KeyError, AttributeError):
        return None
    known = {name: value for name, value in values.items() if isinstance(value, int) and 0 <= value < 2**63}
    read = [[value for name, value in known.items() if each.fullmatch(name)] for each in _READ]
    return max(map(sum, read)) if any(read) else None


def _read(log: OpenedLog, telling: Telling) -> Iterator[MapReduceJob]:
    for job in read_history(lines(log.pieces()), log.name, telling):
        yield _with_settings(job, configuration_beside(log.name, job.job, telling))


def _with_settings(job: MapReduceJob, settings: Mapping[str, str]) -> MapReduceJob:
    """Return the job with user and queue from its settings if its history lacks them, as old ones lack the queue."""
    return replace(
        job,
        name=job.name or first_of(settings, JOB_NAME),
        user=job.user or first_of(settings, USER),
        queue=job.queue or first_of(settings, QUEUE),
        configuration=settings,
    )


FORMAT = LogFormat(is_history, _read, b"Avro-Json\n")
