"""Files of YARN's schedulers: ``capacity-scheduler.xml`` with shares, ``fair-scheduler.xml``; start times.

Both have a tree of queues, which is checked before it is written.

Start times are a crontab, a DAG of Airflow, and recurring reservations of YARN. They name programs, queues and
addresses in variables at the top, since plans do not have them.
"""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_FLOOR, Decimal
from math import ceil, isfinite

from mrdsl.core.units import DAY_SECONDS
from mrdsl.exchange.markup import settings, written

ROOT = "root"
HUNDRED = Decimal(100)


@dataclass(frozen=True)
class Queue:
    """One queue: its share of its parent in percent, and the most that it may take while others are idle.

    ``user_limit``: how many times its share a single user of it may take; None leaves the scheduler's default of 1.
    ``running``: applications that run at once, the others wait. ``masters``: the part of it that drivers and
    application masters may take, by default a tenth.
    """

    name: str
    capacity: Decimal = HUNDRED
    maximum: Decimal = HUNDRED
    children: tuple[Queue, ...] = ()
    user_limit: int | None = None
    running: int | None = None
    masters: Decimal | None = None
    note: str = ""

    def walk(self, path: str = "") -> Iterator[tuple[str, Queue]]:
        """This queue and all below it with their full names, such as ``root.mapreduce.sort``."""
        full = f"{path}.{self.name}" if path else self.name
        yield full, self
        for child in self.children:
            yield from child.walk(full)


def percentages(weights: Sequence[float], digits: int = 3) -> tuple[Decimal, ...]:
    """Return the weights as percentages of ``digits`` decimals that add up to exactly 100.

    Each is rounded down, and the missing last digits go to those that lost most, in order if they lost the same. Shares
    are equal if all weights are 0. Raises ValueError for a negative weight or no weights.
    """
    if not weights or min(weights) < 0:
        raise ValueError("weights are needed, none of them negative")
    total = sum(map(_exact, weights))
    shares = [_exact(w) / total if total else Decimal(1) / len(weights) for w in weights]
    unit = Decimal(1).scaleb(-digits)
    exact = [share * HUNDRED for share in shares]
    floors = [value.quantize(unit, ROUND_FLOOR) for value in exact]
    missing = int(((HUNDRED - sum(floors)) / unit).to_integral_value())
    losers = sorted(range(len(exact)), key=lambda i: floors[i] - exact[i])
    for i in losers[:missing]:
        floors[i] += unit
    return tuple(floors)


def _exact(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def mistakes(root: Queue) -> list[str]:
    """Return errors that YARN would reject: shares of a level that do not add up to 100, a share above its maximum, a
    bad name.
    """
    wrong = []
    for path, queue in root.walk():
        if not queue.name or any(not (c.isalnum() or c in "-_") for c in queue.name):
            wrong.append(f"the queue name {queue.name!r} holds more than letters, digits, - and _")
        if not 0 <= queue.capacity <= queue.maximum <= HUNDRED:
            wrong.append(f"{path}: capacity {queue.capacity} and maximum {queue.maximum} are not 0 <= c <= m <= 100")
        if queue.children and sum(child.capacity for child in queue.children) != HUNDRED:
            wrong.append(f"{path}: its queues add up to {sum(child.capacity for child in queue.children)}, not to 100")
        names = [child.name for child in queue.children]
        if len(set(names)) < len(names):
            wrong.append(f"{path}: two of its queues have one name")
    return wrong


PREFIX = "yarn.scheduler.capacity"


CALCULATOR = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"


def capacity_scheduler(root: Queue, comments: tuple[str, ...] = ()) -> str:
    """Return the file for a tree of queues, below comments. Raises ValueError if YARN would reject it."""
    notes = {name: note for name, _, note in _properties(root) if note}
    return settings(capacity_settings(root), comments, notes)


def capacity_settings(root: Queue) -> dict[str, str]:
    """Return the names and values of the file. Raises ValueError if YARN would reject them."""
    wrong = mistakes(root)
    if wrong:
        raise ValueError("; ".join(wrong))
    return {name: value for name, value, _ in _properties(root)}


def _properties(root: Queue) -> Iterator[tuple[str, str, str]]:
    yield f"{PREFIX}.resource-calculator", CALCULATOR, "cores count too, not memory alone"
    for path, queue in root.walk():
        at = f"{PREFIX}.{path}"
        if queue is not root:
            yield f"{at}.capacity", _number(queue.capacity), queue.note
            yield f"{at}.maximum-capacity", _number(queue.maximum), ""
            yield f"{at}.state", "RUNNING", ""
            if queue.user_limit is not None:
                yield f"{at}.user-limit-factor", str(queue.user_limit), ""
            if queue.running is not None:
                yield f"{at}.max-parallel-apps", str(queue.running), "jobs of the plan that run at once"
            if queue.masters is not None:
                yield f"{at}.maximum-am-resource-percent", _number(queue.masters), "room for a driver of each job"
        if queue.children:
            yield f"{at}.queues", ",".join(child.name for child in queue.children), queue.note if queue is root else ""


def _number(value: Decimal) -> str:
    """Without an exponent and without trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


NAME = re.compile(r"[^\s.\u2000-\u200b]+")
"""A queue's name: no dot, which parts a path, and no white space at its ends; ours have none at all."""


@dataclass(frozen=True)
class FairQueue:
    """One queue below ``root``: MiB and virtual cores that it is promised, None without such a promise."""

    name: str
    weight: float = 1.0
    memory: int | None = None
    vcores: int | None = None
    jobs: int | None = None
    children: tuple[FairQueue, ...] = ()


def fair_mistakes(queues: tuple[FairQueue, ...]) -> list[str]:
    """Return errors that YARN's allocation file rejects: a bad or repeated name, a negative weight, numbers below 0."""
    wrong = []
    if len({queue.name for queue in queues}) < len(queues):
        wrong.append("two queues have one name")
    for queue in queues:
        if not NAME.fullmatch(queue.name):
            wrong.append(f"the queue name {queue.name!r} has a dot or white space")
        if not isfinite(queue.weight) or queue.weight < 0:
            wrong.append(f"{queue.name}: the weight must be at least 0, got {queue.weight}")
        if (queue.memory is None) != (queue.vcores is None):
            wrong.append(f"{queue.name}: write both memory and cores, or neither")
        if any(value is not None and value < 0 for value in (queue.memory, queue.vcores, queue.jobs)):
            wrong.append(f"{queue.name}: a promise or a number of jobs is negative")
        wrong += fair_mistakes(queue.children)
    return wrong


def fair_scheduler(queues: tuple[FairQueue, ...], comments: tuple[str, ...] = ()) -> str:
    """Return the file for queues below ``root``, below comments. Raises ValueError if YARN would reject it."""
    wrong = fair_mistakes(queues)
    if wrong:
        raise ValueError("; ".join(wrong))
    root = ET.Element("allocations")
    for queue in queues:
        _add(root, queue)
    ET.SubElement(root, "defaultQueueSchedulingPolicy").text = "drf"
    return written(root, comments)


def _add(above: ET.Element, queue: FairQueue) -> None:
    one = ET.SubElement(above, "queue", name=queue.name)
    if queue.memory is not None:
        ET.SubElement(one, "minResources").text = f"{queue.memory} mb, {queue.vcores} vcores"
    if queue.jobs is not None:
        ET.SubElement(one, "maxRunningApps").text = str(queue.jobs)
    ET.SubElement(one, "weight").text = repr(queue.weight)
    for child in queue.children:
        _add(one, child)


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
