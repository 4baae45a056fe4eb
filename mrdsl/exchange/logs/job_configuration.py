"""``JOB_conf.xml``, which Hadoop keeps beside a job's history: the settings that the job ran with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from mrdsl.exchange.logs.telling import Telling

LARGEST = 32 * 2**20


def configuration_beside(history: str, job: str, telling: Telling) -> Mapping[str, str]:
    """The settings in the file that belongs to ``job``, in the folder of its history; none where there is no such file.

    One that is broken, too large or declares entities is told and not used.
    """
    path = Path(history).parent / f"{job}_conf.xml"
    try:
        if not path.is_file():
            return {}
        if path.stat().st_size > LARGEST:
            return _unused(path, f"it is larger than {LARGEST:,} bytes", telling)
        text = path.read_bytes()
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            return _unused(path, "it declares entities", telling)
        root = ElementTree.fromstring(text)
    except OSError as cause:
        return _unused(path, cause.strerror or "the system refuses", telling)
    except ElementTree.ParseError as cause:
        return _unused(path, str(cause), telling, cause.position[0])
    return {
        entry.findtext("name", ""): entry.findtext("value", "")
        for entry in root.iter("property")
        if entry.find("name") is not None
    }


def _unused(path: Path, reason: str, telling: Telling, line: int = 1) -> Mapping[str, str]:
    telling.warn(
        "broken-log", f"these settings are not used: {reason}", str(path), line, "the job is read without them"
    )
    return {}
