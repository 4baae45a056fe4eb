"""What a plan comes from, as tags: few, short, and of letters that every service takes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mrdsl.exchange.targets.deployment import Origin

KEY_LENGTH = 128
VALUE_LENGTH = 256
MOST = 50
"""Tags of one resource on AWS: docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html."""
PLAIN = re.compile(r"[A-Za-z0-9 _.:/=+@-]*")
"""What tags of all AWS services may hold."""
PREFIX = "mrdsl"


def plain(text: str) -> str:
    """The text in the signs that tags may hold; every other one is a `_`."""
    return re.sub(r"[^A-Za-z0-9 _.:/=+@-]", "_", text.replace(",", " /"))


def tags(origin: Origin, notes: Iterable[str]) -> dict[str, str]:
    """Tags by key: spec, plan, version, and one per note, as many as may be; the last then counts what is left out."""
    found = {
        f"{PREFIX}:spec": f"{origin.spec} {origin.title}".strip(),
        f"{PREFIX}:problem": origin.problem,
        f"{PREFIX}:plan": origin.plan,
        f"{PREFIX}:version": origin.version,
    }
    told = list(notes)
    room = MOST - len(found)
    if len(told) > room:
        told = [*told[: room - 1], f"and {len(told) - room + 1} notes more"]
    found |= {f"{PREFIX}:note-{number}": text for number, text in enumerate(told, 1)}
    return {key: plain(value)[:VALUE_LENGTH] for key, value in found.items() if value}


def mistakes_of_tags(found: Iterable[tuple[str, str]]) -> Iterable[str]:
    """What AWS refuses of tags."""
    pairs = list(found)
    if len(pairs) > MOST:
        yield f"there are {len(pairs)} tags, and a resource takes {MOST}"
    for key, value in pairs:
        if not 1 <= len(key) <= KEY_LENGTH or key.lower().startswith("aws:") or not PLAIN.fullmatch(key):
            yield f"the tag key {key!r} is not of 1 to {KEY_LENGTH} letters, digits and _.:/=+@-, or begins with aws:"
        if len(value) > VALUE_LENGTH or not PLAIN.fullmatch(value):
            yield f"the tag {key} has a value beyond {VALUE_LENGTH} letters, digits, spaces and _.:/=+@-"
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        yield "two tags have one key"
