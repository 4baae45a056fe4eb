"""The relaxation of containers with rows for cores and memory, against the best plans of a solver."""

from __future__ import annotations

from random import Random

import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity.lanes import solved_mix
from mrdsl.families.capacity.methods.both_resources import relaxed_by_both
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.methods.weighing import weighed
from mrdsl.families.capacity.verify import verify


def drawn(seed: int) -> mrdsl.Spec:
    """Draw a spec whose containers have other ratios of cores to memory than its types, within a quota."""
    random = Random(seed)
    parts = ["problem capacity", f"whole = {random.choice(['no', 'slots'])}"]
    for number, cores in enumerate(random.sample([2, 4, 8, 16], 3)):
        price = round(0.05 * cores * random.uniform(0.8, 1.2), 3)
        spot = (
            f", spot {{ price = {round(0.4 * price, 3)} USD/h, interruptions = 0/h }}" if random.random() < 0.5 else ""
        )
        parts.append(
            f"vm m{number} {{ cores = {cores}, memory = {cores * random.choice([2, 4, 8])} GiB, "
            f"on_demand {{ price = {price} USD/h }}{spot} }}"
        )
    parts.append(f"quota q {{ cores = {random.choice([24, 60, 200])}, families = [m] }}")
    for number in range(random.randint(2, 4)):
        parts.append(
            f"class c{number} {{ map {{ tasks = {random.choice([10, 20, 40])}, avg = 40 s, max = 50 s }}, "
            f"container {{ map {{ cores = 1, memory = {random.choice([1, 3, 8])} GiB }} }}, spot = 100%, "
            f"jobs = 0..{random.randint(1, 6)}, deadline = 5 min, penalty = {random.choice([0.2, 1, 5])} USD, "
            "guarantee = average }"
        )
    return mrdsl.loads("\n".join([*parts, "minimize cost\n"]))


@pytest.mark.parametrize("seed", range(12))
def test_it_bounds_the_cheapest_plan_and_one_weighting_bounds_it(seed: int) -> None:
    spec = drawn(seed)
    mix = solved_mix(spec)
    task = Task(mix, mix.low, mix.expected, mix.market.available, same_type=True)
    both = relaxed_by_both(task, None)
    assert both is not None
    assert both.bound == pytest.approx(both.value, rel=1e-3)
    assert both.value >= relaxed(weighed(task)[1], 1e-9).bound * (1.0 - 1e-6)
    best = mrdsl.solve(spec, "highs", limits=mrdsl.Limits(gap=0.0))
    near = mrdsl.solve(spec, "direct")
    assert best.value is not None
    assert near.value is not None
    assert both.bound <= best.value * (1.0 + 1e-6)
    assert (near.bound or 0.0) <= best.value * (1.0 + 1e-6)
    assert best.value <= near.value * (1.0 + 1e-6)
    assert not has_errors(tuple(verify(spec, near.plan_of(mrdsl.CapacityPlan), relax=False)))


def test_classes_that_run_nowhere_are_turned_away() -> None:
    text = """problem capacity
vm a { cores = 4, memory = 8 GiB, on_demand { price = 1 USD/h } }
vm b { cores = 2, memory = 8 GiB, on_demand { price = 1 USD/h } }
quota q { cores = 8 }
class c { map { tasks = 10, avg = 40 s, max = 50 s }, container { map { cores = 1, memory = 3 GiB } }
          jobs = 0..2, deadline = 45 s, penalty = 3 USD }
minimize cost
"""
    assert mrdsl.solve(mrdsl.loads(text), "direct").value == pytest.approx(6.0)
