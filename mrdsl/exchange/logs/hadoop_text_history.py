"""Hadoop 1 job history: lines of ``Word KEY="value" ... .``, one job a file, or many after ``!!FILE=name!!`` lines.

Hadoop 0.18 and earlier write no line ``Meta VERSION="1" .``, and their lines end without the point.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mrdsl.exchange.logs.formats import LogFormat, Telling
from mrdsl.exchange.logs.opening import lines
from mrdsl.exchange.logs.records import Attempt, AttemptEnd, MapReduceJob, TaskKind, machine, moment

_PAIR = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_LINE = re.compile(r"^(Job|Task|MapAttempt|ReduceAttempt|Meta) ")
_ENDS = {"SUCCESS": AttemptEnd.SUCCEEDED, "FAILED": AttemptEnd.FAILED, "KILLED": AttemptEnd.KILLED}
_END, _OLD_END = re.compile(r'"\s*\.\s*$'), re.compile(r'"\s*\.?\s*$')
LONGEST_EVENT = 16 * 2**20
_MARK = re.compile(r"^\s*!!FILE=(.*)!!\s*$")


def is_text_history(head: bytes) -> bool:
    """Return True if a file that begins so is job history of Hadoop 1."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n\x0b\x0c")
    return text.startswith((b"Meta VERSION=", b"Job JOBID=", b"!!FILE="))


def read_text_history(lines: Iterable[bytes], source: str, telling: Telling) -> Iterator[MapReduceJob]:
    """Yield every job of the file, one after the other; unreadable parts are reported and left out."""
    job = _Job(source)
    number, inside = 0, True
    for number, line in _events(lines, source, telling):
        if mark := _MARK.match(line):
            yield from job.ended(telling, number)
            job, inside = _Job(source), not mark[1].endswith("_conf.xml")
        elif inside and _LINE.match(line):
            if job.is_another(line):
                yield from job.ended(telling, number)
                job = _Job(source)
            job.take(line)
        elif inside and line.strip() and not line.startswith(("<", " ")):
            telling.warn("broken-log", "this line is not an event", source, number)
    yield from job.ended(telling, number)


def _events(lines: Iterable[bytes], source: str, telling: Telling) -> Iterator[tuple[int, str]]:
    """Yield each event with the number of its first line; its values may hold line ends, so it goes on until
    ``" .``, or ``"`` in a file without a version.
    """
    begun, held, size, end = 0, [""], 0, _OLD_END
    for number, raw in enumerate(lines, 1):
        line = raw.decode("utf-8", "replace")
        starts = bool(_LINE.match(line) or _MARK.match(line))
        if begun and (starts or size > LONGEST_EVENT):
            telling.warn("cut-log", "this event is cut", source, begun)
            begun = 0
        if _MARK.match(line) or line.startswith("Meta VERSION="):
            end = _OLD_END if _MARK.match(line) else _END
        if not begun and not _LINE.match(line):
            yield number, line
            continue
        begun, held, size = (begun, held, size) if begun else (number, [], 0)
        held.append(line)
        size += len(line)
        if end.search(line):
            yield begun, "\n".join(held)
            begun = 0
    if begun:
        telling.warn("cut-log", "this event is cut", source, begun)


@dataclass
class _Job:
    """One job as its lines come."""

    source: str
    facts: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, dict[str, str]] = field(default_factory=dict)

    def is_another(self, line: str) -> bool:
        """Return True if the line begins the next job of the file."""
        found = re.match(r'^Job JOBID="([^"]*)"', line)
        return bool(found and "JOBID" in self.facts and found[1] != self.facts["JOBID"])

    def take(self, line: str) -> None:
        word = line.partition(" ")[0]
        pairs = {key: re.sub(r"\\(.)", r"\1", value) for key, value in _PAIR.findall(line)}
        if word == "Job":
            self.facts.update(pairs)
        elif word in ("MapAttempt", "ReduceAttempt") and pairs.get("TASK_TYPE") in ("MAP", "REDUCE"):
            self.attempts.setdefault(pairs.get("TASK_ATTEMPT_ID", ""), {}).update(pairs)

    def ended(self, telling: Telling, line: int) -> Iterator[MapReduceJob]:
        """Yield the job, if there was one."""
        if "JOBID" not in self.facts:
            if self.attempts:
                telling.warn("broken-log", "attempts of a job that is never named", self.source, line)
            return
        facts, status = self.facts, self.facts.get("JOB_STATUS", "")
        if status not in _ENDS:
            message = f"the history of {facts['JOBID']} ends before the job does"
            telling.warn("cut-log", message, self.source, line, "its finished attempts are not used")
            status = "UNFINISHED"
        yield MapReduceJob(
            self.source,
            facts["JOBID"],
            status,
            facts.get("JOBNAME", ""),
            facts.get("USER", ""),
            facts.get("JOB_QUEUE", ""),
            _whole(facts.get("SUBMIT_TIME")),
            _whole(facts.get("LAUNCH_TIME")),
            _whole(facts.get("FINISH_TIME")),
            _whole(facts.get("TOTAL_MAPS")),
            _whole(facts.get("TOTAL_REDUCES")),
            tuple(_attempt(pairs) for pairs in self.attempts.values()),
        )


def _attempt(pairs: dict[str, str]) -> Attempt:
    return Attempt(
        TaskKind(pairs["TASK_TYPE"].lower()),
        _ENDS.get(pairs.get("TASK_STATUS", ""), AttemptEnd.UNFINISHED),
        _whole(pairs.get("START_TIME")),
        _whole(pairs.get("FINISH_TIME")),
        _whole(pairs.get("SHUFFLE_FINISHED")),
        _whole(pairs.get("SORT_FINISHED")),
        machine(pairs.get("HOSTNAME") or pairs.get("TRACKER_NAME")),
    )


def _whole(text: str | None) -> int | None:
    return moment(int(text)) if text and text.isascii() and text.isdecimal() and len(text) < 19 else None


FORMAT = LogFormat(
    is_text_history,
    lambda log, telling: read_text_history(lines(log.pieces()), log.name, telling),
    b'Meta VERSION="1" .\n',
)
