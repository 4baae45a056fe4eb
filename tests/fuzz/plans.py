"""Saved plans with parts put elsewhere, taken out or made something else, half of them under a fingerprint anew."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.planning.saved_plans import fingerprint

_KINDS = (
    "capacity/quickstart",
    "makespan/two-jobs",
    "energy/reference",
    "deadline/reference",
    "hybrid/recorded",
    "joint/reference",
)
_VALUES = (
    None,
    True,
    0,
    -1,
    1,
    2**70,
    1e200,
    -0.5,
    "",
    "x",
    "\x1b[31m",
    "../../etc/passwd",
    [],
    [1, 2],
    {},
    {"is": "Spec"},
)


@cache
def _saved() -> tuple[str, ...]:
    paths = (resource("models") / f"{kind}.mrspec" for kind in _KINDS)
    return tuple(mrdsl.solve(mrdsl.load(str(path))).to_json() for path in paths)


def plan(draw: random.Random) -> bytes:
    """A plan with one to three of its values changed."""
    document = json.loads(draw.choice(_saved()))
    for _ in range(draw.randint(1, 3)):
        _change(draw, document)
    if draw.random() < 0.5:
        document["fingerprint"] = fingerprint(document)
    return json.dumps(document).encode()


def _change(draw: random.Random, document: Any) -> None:
    holder = document
    while True:
        places = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not places:
            return
        place = draw.choice(places)
        inner = holder[place]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.85:
            holder = inner
            continue
        break
    what = draw.random()
    if what < 0.2:
        del holder[place]
    elif what < 0.4 and isinstance(inner, int | float):
        holder[place] = inner * draw.choice((0, -1, 0.5, 2, 1e3)) + draw.choice((0, 1))
    elif what < 0.5 and isinstance(holder, list):
        holder.append(draw.choice(holder))
    else:
        holder[place] = draw.choice(_VALUES)
