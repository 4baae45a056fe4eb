"""Every mistake of a capacity spec, with the whole text that a user reads: place, line, caret, reason, what to write.

``bad/NAME.mrspec`` is the spec, ``bad/NAME.txt`` what ``mrdsl check`` says of it; of what the language itself finds
only place and code, since its words have tests of their own. Run this file as a program to write
the texts anew, and read them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mrdsl.families.capacity import FAMILY
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.language.loading import load_file
from mrdsl.reporting.diagnostics import as_text
from mrdsl.spec import Columns, Spec

FOLDER = Path(__file__).parent / "bad"
SPECS = sorted(FOLDER.glob("*.mrspec"))
OF_THE_LANGUAGE = {
    "unknown-item",
    "unknown-block",
    "unknown-choice",
    "unknown-name",
    "unknown-goal",
    "wrong-unit",
    "duplicate",
    "reversed-range",
    "missing-comma",
    "mixed-currencies",
}


def told(spec: Path) -> str:
    loaded = load_file(spec)
    assert all(d.hint for d in loaded.diagnostics), "every message says what to write instead"
    assert all(d.span is not None for d in loaded.diagnostics)
    whole = [
        as_text([d], loaded.texts) if d.code not in OF_THE_LANGUAGE else f"{d.span}: {d.severity}[{d.code}]\n"
        for d in loaded.diagnostics
    ]
    return "".join(whole).replace(str(spec.parent) + "/", "")


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_all_of_it_is_told_at_its_place(spec: Path) -> None:
    expected = spec.with_suffix(".txt").read_text(encoding="utf-8")
    assert expected
    assert told(spec) == expected


def test_the_same_mistakes_are_found_in_columns() -> None:
    """Tables hold classes as columns: 1,000 of them, five wrong in five ways."""
    count = 1000
    values = {
        "map.tasks": np.full(count, 100.0),
        "map.avg": np.full(count, 10.0),
        "map.max": np.full(count, 20.0),
        "shuffle.first_max": np.full(count, 10.0),
        "shuffle.avg": np.full(count, 20.0),
        "shuffle.max": np.full(count, 30.0),
        "reduce.tasks": np.full(count, 50.0),
        "reduce.avg": np.full(count, 10.0),
        "reduce.max": np.full(count, 20.0),
        "slots.map": np.full(count, 2.0),
        "slots.reduce": np.full(count, 1.0),
        "jobs.low": np.full(count, 1.0),
        "jobs.high": np.full(count, 3.0),
        "deadline": np.full(count, 900.0),
        "penalty": np.full(count, 5.0),
    }
    values["map.max"][10] = 9.0
    values["reduce.max"][20] = 9.0
    values["jobs.low"][30], values["jobs.high"][30] = 1.2, 1.8
    values["jobs.low"][40], values["jobs.high"][40] = 0.0, 0.0
    values["map.tasks"][50] = 3.0
    classes = Columns(JobClass, [f"c{i}" for i in range(count)], values)
    vm = load_file(FOLDER / "few_tasks.mrspec").spec.facts.vms
    found = list(FAMILY.check(Spec(problem="capacity", facts=CapacityFacts(vms=vm, classes=classes))))
    assert [(d.code, d.message.split()[4 if "jobs" in d.message else 3]) for d in found if "max" in d.code] == [
        ("max-below-avg", "c10"),
        ("max-below-avg", "c20"),
    ]
    assert sorted(d.code for d in found) == ["empty-range", "max-below-avg", "max-below-avg", "out-of-range"]
    for index in (10, 20, 30, 40):
        for path in ("map.max", "reduce.max", "jobs.low", "jobs.high"):
            values[path][index] = values[path][0]
    values["deadline"][60] = 20.0  # below the path of average tasks, 30 s
    spec = Spec(problem="capacity", facts=CapacityFacts(vms=vm, classes=classes, estimates="paper"))
    assert [(d.code, d.message.split()[1]) for d in FAMILY.check(spec)] == [("few-tasks", "c50")]
    assert [d.code for d in FAMILY.impossible(spec)] == ["impossible-deadline"]


if __name__ == "__main__":
    for path in SPECS:
        path.with_suffix(".txt").write_text(told(path), encoding="utf-8")
