"""``JOB_conf.xml``, which Hadoop keeps beside a job's history: the settings that the job ran with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from sys import intern
from xml.etree import ElementTree

from mrdsl.core.regular_files import UnreadableError, read_bytes
from mrdsl.exchange.logs.telling import Telling

LARGEST = 32 * 2**20
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
    """Those of the :data:`KEPT` settings that stand in the file that belongs to ``job``, in the folder of its history.

    None where there is no such file, or the id is none that Hadoop gives. One that is broken, too large or declares
    entities is told and not used.
    """
    if not _JOB.fullmatch(job):
        return {}
    path = Path(history).parent / f"{job}_conf.xml"
    try:
        if not path.is_file():
            return {}
        if path.stat().st_size > LARGEST:
            return _unused(path, f"it is larger than {LARGEST:,} bytes", telling)
        text = read_bytes(path, LARGEST)
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
    """The first of the settings that is there, "" where none is."""
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
