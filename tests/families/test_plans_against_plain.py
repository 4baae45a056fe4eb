"""Plans of the shared specs, run by the engine and by a plain simulator: the same means.

The plain one draws its own times and shares nothing with the engine. Skipped where the specs are not at hand.
"""

from __future__ import annotations

import re
from math import ceil

import mrdsl
from mrdsl.simulation.observed import Observed
from tests.shared_data import shared
from tests.simulation.plain_users import Plain, means, spread, summed

FUNNEL = [
    (200, (), 0, spread(9.0, 21.0)),
    (12, (), 0, spread(4.0, 6.0)),
    (64, (0, 1), 0, spread(14.0, 33.0)),
    (16, (2,), 0, spread(7.0, 9.0)),
]
SORT = [
    (1024, (), 0, spread(5.0, 16.0)),
    (64, (0,), 1, summed(spread(10.0, 13.0), spread(30.0, 50.0), spread(53.0, 75.0))),
]
RUNS = 5


def agree(seen: Observed, stages, slots, users: int, jobs: int, within: float, runs: int = RUNS) -> None:
    mean, half = means(lambda run: Plain(stages, slots, users, jobs * users, seed=run), runs)
    assert seen.mean is not None
    assert seen.half_width is not None
    assert abs(seen.mean - mean) <= seen.half_width + half
    assert seen.half_width + half < within * mean


def class_text(file: str) -> str:
    found = re.search(r"class .*?\n}", shared(f"specs/{file}").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found.group(0)


def test_capacity_with_stages() -> None:
    """Each job has its own slots, or all of them share those of the class."""
    text = shared("specs/stages.mrspec").read_text(encoding="utf-8")
    for sharing in ("own", "class"):
        spec = mrdsl.loads(text.replace("class funnel {", f"class funnel {{\n  sharing = {sharing}"))
        plan = mrdsl.simulate(spec, runs=RUNS, jobs=8, seed=5).plan
        users, slots = int(plan.of_class(0).admitted), plan.of_class(0).whole_slots.task
        alone = sharing == "own"
        agree(plan.observed["funnel"], FUNNEL, (slots // users if alone else slots,), 1 if alone else users, 8, 0.09)


def test_capacity_with_map_and_reduce() -> None:
    plan = mrdsl.simulate(mrdsl.load(shared("specs/slack.mrspec")), runs=RUNS, jobs=2, seed=5).plan
    users, slots = int(plan.of_class(0).admitted), plan.of_class(0).whole_slots
    agree(plan.observed["sort"], SORT, (slots.map, slots.reduce), users, 2, 0.1, runs=3)


def test_joint_with_stages() -> None:
    service = "service s { rate = 1/s, service_rate = 15/s, response = 1 s, penalty = 1 USD }"
    text = (
        f"problem joint\ncluster {{ size = 200 vms, vm_cost = 1 cent/h, reuse = paper }}\n"
        f"{class_text('stages.mrspec')}\n{service}\n"
    )
    # 28 jobs an hour with a deadline of 8 min: four at once.
    text = text.replace("3..4", "28, sharing = class") + "minimize cost\n"
    plan = mrdsl.simulate(mrdsl.loads(text), runs=RUNS, jobs=8, seed=5).plan
    users = int(plan.classes.at_once[0, 0])
    assert users == 4
    agree(plan.observed["funnel"], FUNNEL, (ceil(plan.classes.map_slots[0, 0]),), users, 8, 0.08)


def test_bounds_with_stages_and_with_map_and_reduce() -> None:
    stages = "\n".join(re.findall(r"stage .*}", class_text("stages.mrspec")))
    text = f"problem bounds\ncluster {{ slots {{ task = 96 }} }}\nclass a {{ {stages}\njobs = 4, think = 0 s }}\n"
    text = text.replace("think", "sharing = class, think")
    plan = mrdsl.simulate(mrdsl.loads(text + "estimate completion\n"), runs=RUNS, jobs=8, seed=5).plan
    agree(plan.observed["a"], FUNNEL, (96,), 4, 8, 0.08)
    phases = "\n".join(re.findall(r"(?:map|shuffle|reduce) +{[^}]*}", class_text("slack.mrspec"))[:3])
    slots = "slots { map = 100, reduce = 50 }"
    text = f"problem bounds\ncluster {{ {slots} }}\nclass a {{ {phases}\njobs = 4, think = 0 s }}\n"
    plan = mrdsl.simulate(mrdsl.loads(text + "estimate completion\n"), runs=RUNS, jobs=3, seed=5).plan
    agree(plan.observed["a"], SORT, (100, 50), 4, 3, 0.2, runs=3)
