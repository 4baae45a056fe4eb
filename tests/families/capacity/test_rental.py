"""The rental program of containers, with rows for cores and memory, against the best plans of a solver."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity.lanes import solved_mix
from mrdsl.families.capacity.methods import direct
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.methods.rental import Rented, rented, spread
from mrdsl.families.capacity.methods.vector_program import Placed
from mrdsl.families.capacity.methods.weighing import weighed
from mrdsl.families.capacity.verify import verify


def program_of(spec: mrdsl.Spec) -> Rented:
    """Return the rental program of a spec, with its relaxation."""
    mix = solved_mix(spec)
    return rented(spec, Task(mix, mix.low, mix.expected, mix.market.available, same_type=True), None)


def drawn(seed: int, available: int | None = None) -> mrdsl.Spec:
    """Draw a spec whose containers have other ratios of cores to memory than its types, within a quota.

    The quota is one of cores, or a number of VMs ``available`` of each type.
    """
    random = Random(seed)
    parts = ["problem capacity", f"whole = {random.choice(['no', 'slots'])}"]
    limit = "" if available is None else f", available = {available}"
    for number, cores in enumerate(random.sample([2, 4, 8, 16], 3)):
        price = round(0.05 * cores * random.uniform(0.8, 1.2), 3)
        spot = (
            f", spot {{ price = {round(0.4 * price, 3)} USD/h, interruptions = 0/h }}" if random.random() < 0.5 else ""
        )
        parts.append(
            f"vm m{number} {{ cores = {cores}, memory = {cores * random.choice([2, 4, 8])} GiB, "
            f"on_demand {{ price = {price} USD/h }}{spot}{limit} }}"
        )
    cores = random.choice([24, 60, 200])
    parts += [f"quota q {{ cores = {cores}, families = [m] }}"] if available is None else []
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
    both = program_of(spec)
    assert both.bound == pytest.approx(both.relaxation.value, rel=1e-3)
    assert both.bound >= relaxed(weighed(both.task)[1], 1e-9).bound * (1.0 - 1e-4)
    best = mrdsl.solve(spec, "highs", limits=mrdsl.Limits(gap=0.0))
    near = mrdsl.solve(spec, "direct")
    assert best.value is not None
    assert near.value is not None
    assert both.bound <= best.value * (1.0 + 1e-6)
    assert (near.bound or 0.0) <= best.value * (1.0 + 1e-6)
    assert best.value <= near.value * (1.0 + 1e-6)
    assert not has_errors(tuple(verify(spec, near.plan_of(mrdsl.CapacityPlan), relax=False)))


@pytest.mark.parametrize("available", [4, None])
@pytest.mark.parametrize("seed", range(6))
def test_the_plan_of_many_classes_and_types_is_between_its_bound_and_the_best(
    seed: int, available: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = drawn(seed, available)
    best = mrdsl.solve(spec, "highs", limits=mrdsl.Limits(gap=0.0))
    monkeypatch.setattr(direct, "MANY_PAIRS", 0)
    monkeypatch.setattr(direct, "MOST_CLASSES", 0)
    near = mrdsl.solve(spec, "direct")
    assert best.value is not None
    assert near.value is not None
    assert (near.bound or 0.0) <= best.value * (1.0 + 1e-6)
    assert best.value <= near.value * (1.0 + 1e-6)
    assert not has_errors(tuple(verify(spec, near.plan_of(mrdsl.CapacityPlan), relax=False)))


def limited(seed: int) -> mrdsl.Spec:
    """Draw a spec whose classes may be on spot in part, on one to three types, some of them within quotas."""
    random = Random(seed)
    parts = ["problem capacity", f"whole = {random.choice(['no', 'slots'])}"]
    for number, cores in enumerate(random.sample([2, 4, 8, 16], random.randint(1, 3))):
        price = round(0.05 * cores * random.uniform(0.5, 1.5), 3)
        available = f", available = {random.randint(3, 15)}" if random.random() < 0.3 else ""
        parts.append(
            f"vm m{number} {{ cores = {cores}, memory = {cores * random.choice([2, 4, 8])} GiB{available}, "
            f"on_demand {{ price = {price} USD/h }}, spot {{ price = {round(0.3 * price, 3)} USD/h, "
            f"interruptions = {random.choice([0, 0.05])}/h }} }}"
        )
    for number in range(random.randint(1, 3)):
        reduces = random.random() < 0.6
        phases = "shuffle { first_max = 3 s, avg = 8 s, max = 10 s }, reduce { tasks = 5, avg = 20 s, max = 25 s }, "
        low = random.choice([0, 1, 2])
        parts.append(
            f"class c{number} {{ map {{ tasks = {random.choice([1, 10, 40])}, avg = 40 s, max = 50 s }}, "
            f"{phases if reduces else ''}container {{ map {{ cores = 1, memory = {random.choice([1, 3, 8])} GiB }}"
            f"{', reduce { cores = 2, memory = 4 GiB }' if reduces else ''} }}, spot = {random.randint(1, 9)}0%, "
            f"jobs = {low}..{max(low, 1) + random.randint(0, 5)}, deadline = {random.choice([4, 8])} min, "
            f"penalty = {random.choice([0.2, 1, 5])} USD, guarantee = average }}"
        )
    return mrdsl.loads("\n".join([*parts, "minimize cost\n"]))


@pytest.mark.parametrize("seed", range(12))
def test_the_prices_of_parts_on_spot_bound_the_cheapest_plan(seed: int) -> None:
    spec = limited(seed)
    both = program_of(spec)
    best = mrdsl.solve(spec, "highs", limits=mrdsl.Limits(gap=0.0))
    near = mrdsl.solve(spec, "direct")
    if best.value is None:
        assert near.value is None
        return
    assert both.bound <= best.value * (1.0 + 1e-6)
    assert (near.bound or 0.0) <= best.value * (1.0 + 1e-6)
    assert near.value is not None
    assert best.value <= near.value * (1.0 + 1e-6)
    assert not has_errors(tuple(verify(spec, near.plan_of(mrdsl.CapacityPlan), relax=False)))


def test_firm_vms_of_a_class_cost_more_than_its_vms_on_spot() -> None:
    text = """problem capacity
vm a { cores = 4, memory = 8 GiB, on_demand { price = 1 USD/h }, spot { price = 0.1 USD/h, interruptions = 0/h } }
class c { map { tasks = 8, avg = 60 s, max = 60 s }, container { map { cores = 1, memory = 2 GiB } }
          jobs = 8..8, deadline = 2 min, penalty = 3 USD, guarantee = average, spot = 50% }
class d { map { tasks = 8, avg = 60 s, max = 60 s }, container { map { cores = 1, memory = 8 GiB } }
          jobs = 0..1, deadline = 2 min, penalty = 0.001 USD, guarantee = average }
minimize cost
"""
    spec = mrdsl.loads(text)
    mix = solved_mix(spec)
    both = program_of(spec)
    gamma = float(mix.gamma[0, 0])
    assert both.bound == pytest.approx(0.001 + 8.0 * gamma * (0.5 * 1.0 + 0.5 * 0.1), rel=1e-3)


def test_cheap_vms_of_another_type_are_not_masters() -> None:
    text = """problem capacity
vm a { cores = 4, memory = 8 GiB, masters = 1, available = 3, on_demand { price = 2 USD/h } }
vm b { cores = 4, memory = 8 GiB, available = 3, on_demand { price = 1 USD/h } }
vm c { cores = 4, memory = 8 GiB, available = 3, on_demand { price = 1.5 USD/h } }
class c { map { tasks = 8, avg = 60 s, max = 60 s }, container { map { cores = 1, memory = 2 GiB } }
          jobs = 3..3, deadline = 2 min, penalty = 30 USD, guarantee = average, spot = 0% }
class d { map { tasks = 8, avg = 60 s, max = 60 s }, container { map { cores = 1, memory = 8 GiB } }
          jobs = 0..1, deadline = 2 min, penalty = 0.01 USD, guarantee = average, spot = 0% }
minimize cost
"""
    both = program_of(mrdsl.loads(text))
    found = spread(both)
    vms = 3.0 * float(both.task.mix.gamma[1, 0])
    assert found is not None
    assert 3.0 < vms < 6.0
    assert both.relaxation.value + both.fixed == pytest.approx(2.0 + 3.0 * 1.0 + (vms - 3.0) * 1.5 + 0.01)
    assert found.jobs.sum(axis=1) == pytest.approx([0.0, 9.0 / vms, 3.0 - 9.0 / vms])


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


def test_a_plan_that_quotas_have_no_room_to_pack_is_never_the_cheapest() -> None:
    spec = mrdsl.loads(
        "problem capacity\nvm m { cores = 4, memory = 4 GiB, available = 1, on_demand { price = 1 USD/h } }\n"
        "vm n { cores = 4, memory = 4 GiB, available = 1, on_demand { price = 2 USD/h } }\n"
        "class a { map { tasks = 4, avg = 10 s, max = 10 s }, container { map { cores = 3, memory = 1 GiB } }, "
        "jobs = 2..2, deadline = 10 min, penalty = 9 USD, guarantee = lower }\nminimize cost\n"
    )
    draft = direct.prepare(Draft(spec, False))
    task: Task = draft.state
    on_m = np.array([[2.0], [0.0]])
    each = np.array([[1.0], [1.0]])
    assert np.isinf(direct._packed(draft, Placed(task, on_m, task.market.buy(np.array([1.0, 0.0])))))
    assert direct._packed(draft, Placed(task, each, task.market.buy(np.array([1.0, 1.0])))) == 3.0
