"""``JOB_conf.xml``, which Hadoop keeps beside a job's history: the settings that the job ran with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

LARGEST = 32 * 2**20


def configuration_beside(history: str, job: str) -> Mapping[str, str]:
    """The settings in the file that belongs to ``job``, in the folder of its history; none where there is no such file.

    A file that declares entities is not read.
    """
    path = Path(history).parent / f"{job}_conf.xml"
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return {}
        text = path.read_bytes()
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            return {}
        root = ElementTree.fromstring(text)
    except (OSError, ElementTree.ParseError):
        return {}
    return {
        entry.findtext("name", ""): entry.findtext("value", "")
        for entry in root.iter("property")
        if entry.find("name") is not None
    }
