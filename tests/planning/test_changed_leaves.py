"""Each number, text and part of a saved plan, changed alone and sealed again, is reported or named as not covered.

The plans are of every family, small enough to try all of their leaves; lists are changed at both ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.planning.saved_plans import fingerprint, read_saved
from mrdsl.planning.verified_plans import ALWAYS, Verified, verify

MODELS = Path(str(resource("models")))
CAPACITY = """problem capacity "Night"
param short = 10 min
vm m5 { on_demand { price = 0.2 USD/h } }
class sort {
  stage one { tasks = 40, avg = 10 s, max = 20 s }
  stage two { tasks = 20, avg = 9 s, max = 20 s, after = [one] }
  slots { task = 4 }
  jobs = 2..3, deadline = short, penalty = 20 USD
}
let money = cost
minimize cost
"""
BOUNDS = """problem bounds "Cluster"
seed = 4
cluster { slots { map = 20, reduce = 10 } }
class sort {
  map { tasks = 40, avg = 10 s, max = 20 s }
  jobs = 2
}
estimate completion
"""
JOINT = "joint/reference.mrspec"
DEADLINE = """problem deadline "Graph"
dag d {
  allowable_delay = 1 min
  task a { duration = 10 s }
  task b { duration = 5 s, after = [a] }
}
maximize slack
"""
MAKESPAN = """problem makespan "Batch"
cluster { slots { map = 4, reduce = 2 } }
job a { map { tasks = 9, time = 4 s }, reduce { tasks = 3, time = 5 s } }
job b { map { tasks = 3, time = 7 s }, reduce { tasks = 2, time = 2 s } }
minimize makespan
"""
TIMETABLE = """problem timetable "Night"
rent = elastic
vm m { on_demand { price = 1 USD/h }, boot = 1 min }
class a {
  stage one { tasks = 4, avg = 1 min, max = 2 min }
  slots { task = 2 }
  runs { at = [20:00, 21:00] }
  deadline = 10 min
}
minimize cost
"""


PERIODS = """problem capacity "Day"
seed = 3
vm m5 { on_demand { price = 0.192 USD/h }, reserved "year" { price = 0.121 USD/h, available = 200 } }
demand { periods = 4, day = bimodal, floor = 0.5 }
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 4, deadline = 20 min, penalty = 20 USD
}
minimize cost
"""


@cache
def solved(case: str) -> str:
    given = {"short": "9 min"} if case == "params" else {}
    text = TEXTS[case]
    spec = mrdsl.load(MODELS / text) if text.endswith(".mrspec") else mrdsl.loads(text, given)
    if case == "runs":
        return mrdsl.simulate(spec, runs=3, jobs=2, seed=3).to_json()
    return mrdsl.solve(spec, relax=case == "relaxed", limits=mrdsl.Limits(time=20.0)).to_json()


TEXTS = {
    "params": CAPACITY,
    "relaxed": CAPACITY,
    "runs": CAPACITY,
    "a file": "capacity/quickstart.mrspec",
    "bounds": BOUNDS,
    "joint": JOINT,
    "deadline": DEADLINE,
    "makespan": MAKESPAN,
    "energy": "energy/reference.mrspec",
    "schedule": "schedule/reference.mrspec",
    "hybrid": "hybrid/recorded.mrspec",
    "timetable": TIMETABLE,
    "periods": PERIODS,
}
MOST = 250
"""Changes of a plan that are tried, over all of its parts; parts of one kind are tried once or twice."""
NAMED = {
    "params": ("spec",),
    "relaxed": ("relaxed", "fixed"),
    "runs": ("diagnostics",),
    "bounds": (),
}
"""Parts besides those of all plans that may not be covered."""
Path_ = tuple[str | int, ...]


def parts(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key in value:
            yield from parts(value[key], (*path, key))
    elif isinstance(value, list):
        for index in sorted({0, len(value) - 1}) if value else ():
            yield from parts(value[index], (*path, index))


def others(value: Any) -> Iterator[Any]:
    """Yield values in place of another one, first of all one of its type."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
        yield value * 1.01
    elif isinstance(value, str):
        yield value + "x"
        yield ""
    elif value is None:
        yield 1.0
        yield "x"


def changes(document: dict[str, Any]) -> Iterator[tuple[Path_, str, dict[str, Any]]]:
    """Yield the document with each part changed, removed and, in objects and lists, one added."""
    text = json.dumps(document)

    def at(path: Path_) -> tuple[dict[str, Any], Any]:
        whole = json.loads(text)
        inner = whole
        for key in path[:-1]:
            inner = inner[key]
        return whole, inner

    for path, value in parts(document):
        for other in (each for each in others(value) if path and each != value):
            whole, inner = at(path)
            inner[path[-1]] = other
            yield path, f"is {other!r} instead of {value!r}", whole
        if path:
            whole, inner = at(path)
            del inner[path[-1]]
            yield path, "is removed", whole
        if isinstance(value, dict | list):
            whole, inner = at((*path, ""))
            if isinstance(inner, dict):
                inner["added"] = 1.0
            else:
                inner.append(inner[-1] if inner else 1.0)
            yield path, "has one more", whole


def shown(path: Path_) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def is_told(found: Verified, path: Path_, always: set[str]) -> bool:
    """Return True if a mistake or warning was found, or if the part, or one of its parts, is named as not covered."""
    if any(each.severity in ("error", "warning") for each in found.found):
        return True
    places = {shown(path[:length]) for length in range(1, len(path) + 1)}
    taken = set(found.trust.parts)
    return bool(places & taken) or any(each.startswith(shown(path)) for each in taken - always)


@pytest.mark.parametrize("case", TEXTS)
def test_each_changed_part_is_reported_or_not_covered(case: str) -> None:
    text = solved(case)
    whole = verify(read_saved(text))
    assert whole.found == ()
    always = set(whole.trust.parts)
    assert {re.split(r"[.[]", each)[0] for each in always} <= {*ALWAYS, *NAMED.get(case, ()), "objective", "state"}
    document = json.loads(text)
    del document["fingerprint"]
    tried = {}
    for number, (path, what, changed) in enumerate(changes(document)):
        alike = re.sub(r"[0-9]+", "#", shown(path)), what.split()[0]
        if "span" not in alike[0] or number % 20 == 0:
            tried.setdefault((*alike, number % 2 if alike[0].startswith("state") else 0), (path, what, changed))
    silent = []
    for path, what, changed in list(tried.values())[:: 1 + len(tried) // MOST]:
        try:
            found = verify(read_saved(json.dumps({**changed, "fingerprint": fingerprint(changed)})))
        except mrdsl.MrdslError:
            continue
        nothing = path[-2:] == ("bought", 0) and what == "is removed"  # an offer of which the plan takes no VM
        if not nothing and not is_told(found, path, always):
            silent.append(f"{shown(path)} {what}")
    assert silent == [], "\n".join(silent)
