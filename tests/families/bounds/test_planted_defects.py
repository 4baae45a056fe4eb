"""A defect that is planted in what builds plans of bounds is found by what checks them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.families.bounds import estimates, formulas
from mrdsl.families.bounds.verify import verify
from tests.families.planted import planted

CLASSES = """
class etl {
  map { tasks = 60, avg = 12 s, max = 20 s }
  shuffle { first_max = 6 s, avg = 8 s, max = 11 s }
  reduce { tasks = 12, avg = 9 s, max = 14 s }
  jobs = 2, profiled_on = 10 GB, data = 15 GB, DEADLINE
}
class scan { map { tasks = 40, avg = 5 s, max = 7 s, min = 4 s }, jobs = 1, DEADLINE, guarantee = upper }
"""
GIVEN = (
    'problem bounds "Given slots"\ncluster { slots { map = 24, reduce = 12 }, scheduler = SCHEDULER }\n'
    + CLASSES.replace(", DEADLINE", "")
    + "estimate completion\n"
)
SIZED = 'problem bounds "Slots"\n' + CLASSES.replace("DEADLINE", "deadline = 5 min") + "minimize slots\n"
ALONE = """
problem bounds "Two jobs"
cluster { slots { map = 24, reduce = 12 } }
class a { map { tasks = 60, avg = 12 s, max = 20 s } }
class b { map { tasks = 40, avg = 5 s, max = 7 s } }
estimate completion
"""
SPECS = {
    "fair": GIVEN.replace("SCHEDULER", "fair"),
    "fifo": GIVEN.replace("SCHEDULER", "fifo"),
    "slots": SIZED,
    "two jobs": ALONE,
}


def refused(spec: str) -> bool:
    return "broken-plan" in {each.code for each in mrdsl.solve(mrdsl.loads(SPECS[spec])).diagnostics}


def halved_work(found: Any) -> Any:
    work = {n: replace(each, map_work=each.map_work / 2.0, own=None) for n, each in found.by_name.items()}
    return replace(found, by_name=work)


def shorter_waves(found: Any) -> Any:
    return replace(found, times=replace(found.times, map=found.times.map / 2.0))


DEFECTS = {
    "half the map work": planted(formulas, "estimates_of", halved_work),
    "shorter waves": planted(formulas, "estimates_of", shorter_waves),
    "slots that no job has": planted(formulas, "slots_of_one_job", lambda slots: (slots[0] * 2.0, slots[1])),
    "fewer slots than asked for": planted(formulas, "least_slots", lambda slots: (slots[0] * 0.9, slots[1])),
    "upper estimates that bound nothing": planted(formulas, "upper_is_bound", lambda flags: ~flags),
    "no more data": planted(estimates, "growth_of", lambda growth: np.ones_like(growth)),
    "more of the slots": planted(estimates, "shares_of", lambda shares: shares * 0.8),
    "bounds of two jobs": planted(
        formulas, "two_jobs_of", lambda two: two and replace(two, last_lower=two.last_lower * 0.9)
    ),
}
APPLIES = {
    "half the map work": SPECS,
    "shorter waves": SPECS,
    "slots that no job has": ("fair", "fifo", "two jobs"),
    "fewer slots than asked for": ("slots",),
    "upper estimates that bound nothing": SPECS,
    "no more data": ("fair", "fifo", "slots"),
    "more of the slots": ("fair", "two jobs"),
    "bounds of two jobs": ("two jobs",),
}


@pytest.mark.parametrize("spec", SPECS)
def test_without_a_defect_plans_are_right(spec: str) -> None:
    assert not refused(spec)


@pytest.mark.parametrize(("defect", "spec"), [(defect, spec) for defect in DEFECTS for spec in APPLIES[defect]])
def test_defects_are_found(defect: str, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    DEFECTS[defect](monkeypatch)
    assert refused(spec)


def drawn(random: Random) -> str:
    """A spec of one to three classes with numbers at edges: one task, equal times, shares, waves, stages, own slots."""
    sized = random.random() < 0.4
    stages = not sized and random.random() < 0.3
    blocks = []
    for number in range(random.randint(1, 3)):
        avg = random.choice([1.0, 7.5, 30.0])
        longest = avg * random.choice([1.0, 1.5, 4.0])
        parts = [f"jobs = {random.choice([1, 2, 4])}"]
        if stages and random.random() < 0.6:
            parts.append(f"stage s {{ tasks = {random.randint(1, 40)}, avg = {avg} s, max = {longest} s }}")
            after = random.choice(["", ", after = [s]"])
            parts.append(f"stage t {{ tasks = {random.randint(1, 9)}, avg = 2 s, max = 3 s{after} }}")
        else:
            parts.append(f"map {{ tasks = {random.choice([1, 3, 64])}, avg = {avg} s, max = {longest} s }}")
            if random.random() < 0.6:
                parts.append("shuffle { first_max = 3 s, avg = 4 s, max = 9 s }")
                parts.append(f"reduce {{ tasks = {random.choice([0, 1, 12])}, avg = 5 s, max = 6 s }}")
            if random.random() < 0.3:
                parts.append(f"profiled_on = 10 GB, data = {random.choice([1, 10, 33])} GB")
        if sized:
            parts.append("deadline = 2 h")
            parts.append(f"guarantee = {random.choice(['upper', 'average', 'lower', 'waves', 'fractional_waves'])}")
        blocks.append(f"class c{number} {{ {', '.join(parts)} }}")
    slots = "task = 21" if stages else random.choice(["map = 24, reduce = 12", "map = 7, reduce = 5", "task = 32"])
    how = random.choice(["", ", scheduler = fifo", ", work_conserving = no", ", scheduler = capacity"])
    cluster = f"cluster {{ slots {{ {slots} }}{how} }}" if not sized else ""
    goal = "minimize slots" if sized else "estimate completion"
    return f'problem bounds "Drawn"\n{cluster}\n' + "\n".join(blocks) + f"\n{goal}\n"


def test_of_drawn_specs_every_plan_is_right() -> None:
    random, plans = Random(31), 0
    for _ in range(250):
        text = drawn(random)
        try:
            result = mrdsl.solve(mrdsl.loads(text))
        except mrdsl.MrdslError:  # more jobs than slots
            continue
        assert "broken-plan" not in {each.code for each in result.diagnostics}, (text, result.diagnostics)
        plans += result.plan is not None
    assert plans > 200


@pytest.mark.parametrize("spec", SPECS)
def test_every_number_is_checked(spec: str) -> None:
    result = mrdsl.solve(mrdsl.loads(SPECS[spec]))
    plan = result.plan
    for name, values in plan.completion.items():
        other = {**plan.completion, name: values * 0.99}
        assert list(verify(result.spec, replace(plan, completion=other))), name
    for name in ("jobs", "map_slots"):
        assert list(verify(result.spec, replace(plan, **{name: getattr(plan, name) * 0.9}))), name
    assert list(verify(result.spec, replace(plan, names=plan.names[::-1])))
