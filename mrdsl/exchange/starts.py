"""Start times for other schedulers: a crontab, a DAG of Airflow, and recurring reservations of YARN.

Both name programs, queues and addresses in variables at the top, since plans do not have them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil

from mrdsl.core.clock import DAY_SECONDS

HOUR, MINUTE, MILLI = 3600, 60, 1000
EPOCH = date(1970, 1, 1).toordinal()
CRON_FILE, DAG_FILE, RESERVATIONS_FILE = "crontab", "timetable_dag.py", "reservations.sh"
PROGRAMS = {"START": "start-job", "RENT": "rent-machines", "RELEASE": "release-machines"}
WITHOUT_GAPS, IN_ORDER = 3, 2
"""YARN's `reservation-request-interpreter` R_ORDER_NO_GAP and R_ORDER."""


@dataclass(frozen=True)
class Event:
    """A call of a program of :data:`PROGRAMS` at a time [s] after the first midnight."""

    time: float
    program: str
    words: tuple[str, ...]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words, after `--` if the program could take one of them for an option."""
        return ("--", *self.words) if any(word.startswith("-") for word in self.words) else self.words


@dataclass(frozen=True)
class Reservation:
    """Containers of one run from ``begin`` to ``end`` [s]; ``parts`` are pairs of containers and seconds, in turn."""

    name: str
    begin: float
    end: float
    parts: tuple[tuple[int, float], ...]
    memory: float
    cores: float


def crontab(events: Iterable[Event], day: int | None, comments: Sequence[str]) -> str:
    """Return a crontab: every day at these times, or on dates if ``day``, the ordinal of the first one, is known."""
    lines = [f"# {each}" for each in comments]
    lines.append("# Times are those of the spec: set CRON_TZ to its time zone. Set these to programs of yours:")
    lines.append(f"# {_called()}.")
    lines += [f"{name}={path}" for name, path in PROGRAMS.items()]
    for event in sorted(events, key=lambda each: each.time):
        lines.append(_line(event, day))
    return "\n".join(lines) + "\n"


def _line(event: Event, day: int | None) -> str:
    days, second = divmod(event.time, DAY_SECONDS)
    hour, rest = divmod(second, HOUR)
    minute, wait = divmod(rest, MINUTE)
    at = "* *"
    if day is not None:
        on = date.fromordinal(day + int(days))
        at = f"{on.day} {on.month}"
    words = " ".join(shlex.quote(word) for word in event.arguments).replace("%", "\\%")
    sleep = f"sleep {round(wait, 6):g}; " if wait else ""
    return f"{int(minute)} {int(hour)} {at} * {sleep}${event.program} {words}"


DAG = '''
import subprocess
from datetime import timedelta

import pendulum

try:
    from airflow.sdk import DAG, task
    from airflow.providers.standard.sensors.date_time import DateTimeSensor
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.decorators import task
    from airflow.sensors.date_time import DateTimeSensor

# Set the time zone of the spec, and programs of yours: {called}.
TIME_ZONE = "UTC"
PROGRAMS = {programs}
# Seconds after the start of the DAG, program, its arguments.
EVENTS = [
{events}
]


def caller(words):
    """Return a function without arguments, so that Airflow does not take the words for templates."""

    def call():
        subprocess.run(words, check=True)

    return call


with DAG(
    {name!r},
    schedule={schedule!r},
    start_date=pendulum.datetime({start}, tz=TIME_ZONE),
    catchup={catchup},
    max_active_runs=2,
    max_active_tasks=1000,
) as dag:
    for number, (seconds, program, words) in enumerate(EVENTS, 1):
        wait = DateTimeSensor(
            task_id=f"wait_{{number}}",
            target_time="{{{{ data_interval_end.add(seconds=%s) }}}}" % seconds,
            mode="reschedule",
            poke_interval=timedelta(seconds=5).total_seconds(),
        )
        wait >> task(task_id=f"{{program.lower()}}_{{number}}")(caller([PROGRAMS[program], *words]))()
'''


def airflow_dag(events: Iterable[Event], day: int | None, name: str, comments: Sequence[str]) -> str:
    """Return a Python file with a DAG of Airflow: one wait and one call for each event.

    It starts every day at the first event, or once if ``day``, the ordinal of the first one, is known.
    """
    found = sorted(events, key=lambda each: each.time)
    first = int(found[0].time // MINUTE) * MINUTE if found else 0
    days, second = divmod(first, DAY_SECONDS)
    hour, minute = divmod(second // MINUTE, 60)
    on = date.fromordinal((day or date(2024, 1, 1).toordinal()) + days)
    lines = [f"    ({round(each.time - first, 6):g}, {each.program!r}, {each.arguments!r})," for each in found]
    body = DAG.format(
        called=_called(),
        programs=repr(PROGRAMS),
        events="\n".join(lines),
        name=name,
        schedule="@once" if day is not None else f"{minute} {hour} * * *",
        start=f"{on.year}, {on.month}, {on.day}, {hour}, {minute}"
        if day is not None
        else f"{on.year}, {on.month}, {on.day}",
        catchup=day is not None,
    )
    return "".join(f"# {each}\n" for each in comments) + body


def _called() -> str:
    called = {
        "START": "CLASS RUN [TYPE [spot]]",
        "RENT": "ID TYPE MACHINES [spot | reserved]",
        "RELEASE": "ID",
    }
    return ", ".join(f"{name} gets {words}" for name, words in called.items())


def reservations(found: Iterable[Reservation], day: int | None, comments: Sequence[str]) -> str:
    """Return a shell script that makes reservations by YARN's REST interface.

    They recur every day from tomorrow on, or are made once if ``day``, the ordinal of the first day, is known.
    """
    midnight = "\"${MIDNIGHT:-$(date -d 'tomorrow 00:00' +%s)}\"" if day is None else f"{(day - EPOCH) * DAY_SECONDS}"
    lines = [
        "#!/bin/sh",
        *(f"# {each}" for each in comments),
        "set -eu",
        'RM="${RM:-http://localhost:8088}"',
        'QUEUE="${QUEUE:-reserved}"',
        f"MIDNIGHT={midnight}",
        f"RECURRENCE={DAY_SECONDS * MILLI if day is None else 0}",
        "reserve() {  # name, arrival and deadline [ms after MIDNIGHT], order of the requests, requests",
        '  id=$(curl -sSf -X POST "$RM/ws/v1/cluster/reservation/new-reservation" |',
        """    sed -n 's/.*"reservation-id" *: *"\\([^"]*\\)".*/\\1/p')""",
        "  curl -sSf -X POST -H 'Content-Type: application/json' \"$RM/ws/v1/cluster/reservation/submit\" -d @- <<END",
        '{"queue": "$QUEUE", "reservation-id": "$id", "reservation-definition": {"reservation-name": "$1",',
        ' "arrival": $((MIDNIGHT * 1000 + $2)), "deadline": $((MIDNIGHT * 1000 + $3)),',
        ' "recurrence-expression": "$RECURRENCE", "reservation-requests": {"reservation-request-interpreter": $4,',
        ' "reservation-request": $5}}}',
        "END",
        "}",
    ]
    lines += [line for each in found for line in _reserve(each)]
    return "\n".join(lines) + "\n"


def _reserve(one: Reservation) -> Iterator[str]:
    size = {"memory": ceil(one.memory / 2**20), "vCores": ceil(one.cores)}
    parts = [(count, ceil(seconds * MILLI)) for count, seconds in one.parts]
    gaps = any(not count for count, _ in parts)
    requests = [
        {"duration": length, "num-containers": count, "min-concurrency": count, "capability": size}
        for count, length in parts
        if count
    ]
    begin = int(one.begin * MILLI)
    end = max(ceil(one.end * MILLI), begin + sum(length for _, length in parts))
    order = IN_ORDER if gaps else WITHOUT_GAPS
    name = json.dumps(one.name)[1:-1]
    yield f"reserve {shlex.quote(name)} {begin} {end} {order} {shlex.quote(json.dumps(requests))}"
