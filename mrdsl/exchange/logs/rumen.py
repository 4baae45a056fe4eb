"""Rumen traces: jobs as JSON objects one behind the other, plain or compressed, as TraceBuilder and Folder write them.

-1 stands for what is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern
from typing import Any

from mrdsl.exchange.logs.attempts import Attempt, AttemptEnd, TaskKind
from mrdsl.exchange.logs.concatenated import objects
from mrdsl.exchange.logs.formats import LogFormat, Pieces
from mrdsl.exchange.logs.records import MapReduceJob, machine, moment
from mrdsl.exchange.logs.telling import Telling

_ENDS = {
    "SUCCESS": AttemptEnd.SUCCEEDED,
    "SUCCEEDED": AttemptEnd.SUCCEEDED,
    "FAILED": AttemptEnd.FAILED,
    "KILLED": AttemptEnd.KILLED,
}


def read_rumen(chunks: Pieces, source: str, telling: Telling) -> Iterator[MapReduceJob]:
    """Every job of the trace; a job that says it did not end has the status UNFINISHED."""
    for line, document in objects(chunks, source, telling):
        if not isinstance(document, dict) or not isinstance(document.get("jobID"), str):
            telling.warn("broken-log", "this object is no job of Rumen", source, line)
            continue
        finished = moment(document.get("finishTime"))
        status = _text(document.get("outcome"))
        if finished is None:
            message = f"{document['jobID']} has no end"
            telling.warn("cut-log", message, source, line, "its attempts that ended are used for nothing")
            status = "UNFINISHED"
        yield MapReduceJob(
            source,
            document["jobID"],
            status,
            _text(document.get("jobName")),
            _text(document.get("user")),
            _text(document.get("queue")),
            moment(document.get("submitTime")),
            moment(document.get("launchTime")),
            finished,
            moment(document.get("totalMaps")),
            moment(document.get("totalReduces")),
            tuple(_attempts(document)),
            input_bytes=_input(document),
        )


def _attempts(document: dict[str, Any]) -> Iterator[Attempt]:
    for key, kind in (("mapTasks", TaskKind.MAP), ("reduceTasks", TaskKind.REDUCE)):
        for task in _dicts(document.get(key)):
            for attempt in _dicts(task.get("attempts")):
                yield Attempt(
                    kind,
                    _ENDS.get(str(attempt.get("result")), AttemptEnd.UNFINISHED),
                    moment(attempt.get("startTime")),
                    moment(attempt.get("finishTime")),
                    moment(attempt.get("shuffleFinished")),
                    moment(attempt.get("sortFinished")),
                    machine(attempt.get("hostName")),
                )


def _input(document: dict[str, Any]) -> int | None:
    read = [moment(task.get("inputBytes")) for task in _dicts(document.get("mapTasks"))]
    known = [each for each in read if each is not None]
    return sum(known) if known else None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return intern(value) if isinstance(value, str) else ""


FORMAT = LogFormat(
    lambda head: b'"jobID"' in head or b'"mapTasks"' in head,
    lambda log, telling: read_rumen(log.pieces(), log.name, telling),
    b'{"jobID": "job_1",',
)
