"""Mean times of verification agree with those of plans: the same jobs, scheduled by code of its own."""

from __future__ import annotations

import random

import pytest

import mrdsl
from mrdsl.checking.scheduled import mean_of as checked
from mrdsl.simulation.simulated_means import mean_of as planned
from mrdsl.simulation.stated import stated_jobs


def _node(seed: int) -> object:
    draw = random.Random(seed)
    lines = []
    for place in range(draw.randint(1, 5)):
        avg = draw.choice((0.001, 1.0, 7.5, 20.0))
        parts = [
            f"tasks = {draw.choice((1, 2, 5, 13, 40))}",
            f"avg = {avg} s",
            f"max = {avg * draw.choice((1, 2, 3))} s",
        ]
        if draw.random() < 0.4:
            parts.append(f"delay = {draw.choice((1, 30))} s")
        after = [f"s{other}" for other in range(place) if draw.random() < 0.5]
        parts += [f"after = [{', '.join(after)}]"] if after else []
        parts += ["distribution = lognormal"] if draw.random() < 0.3 else []
        lines.append(f"  stage s{place} {{ {', '.join(parts)} }}")
    text = (
        'problem capacity "drawn"\nvm m { on_demand { price = 1 USD/h } }\nclass c {\n'
        + "\n".join(lines)
        + "\n  startup = 3 s, slots { task = 4 }, jobs = 1, deadline = 10 h, penalty = 1 USD\n}\nminimize cost\n"
    )
    return mrdsl.loads(text).facts.classes[0]


@pytest.mark.parametrize("seed", range(25))
def test_drawn_jobs_take_the_same_mean_time(seed: int) -> None:
    node, slots = _node(seed), (1, 2, 3, 8, 21, 100)
    assert checked(stated_jobs)(node, 0, 1.25, slots) == pytest.approx(planned(node, 0, 1.25, slots))


MAP_REDUCE = """problem capacity "phases"
vm m { on_demand { price = 1 USD/h } }
class c {
  map { tasks = 9, avg = 10 s, max = 30 s }, shuffle { first_max = 8 s, avg = 4 s, max = 9 s }
  reduce { tasks = 5, avg = 3 s, max = 6 s }, slots { map = 2, reduce = 1 }
  jobs = 1, deadline = 1 h, penalty = 1 USD
}
minimize cost
"""


@pytest.mark.parametrize("kind", [0, 1])
def test_both_phases_take_the_same_mean_time(kind: int) -> None:
    node, slots = mrdsl.loads(MAP_REDUCE).facts.classes[0], (1, 2, 4, 5, 9, 12)
    assert checked(stated_jobs)(node, kind, 1.0, slots) == pytest.approx(planned(node, kind, 1.0, slots))


def test_a_mean_by_hand() -> None:
    text = MAP_REDUCE.replace("avg = 10 s, max = 30 s", "avg = 10 s, max = 10 s")
    node = mrdsl.loads(text).facts.classes[0]
    assert checked(stated_jobs)(node, 0, 1.0, (1, 4, 9)) == pytest.approx([90.0, 30.0, 10.0])
