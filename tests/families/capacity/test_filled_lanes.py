"""Whole jobs that fill the cheapest VMs within quotas: plans that keep what is asked, near the bound."""

from __future__ import annotations

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import solved_mix
from mrdsl.families.capacity.methods import direct
from mrdsl.families.capacity.methods.filled_lanes import filled
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import verify
from mrdsl.formulas.packing import pack
from mrdsl.spec import Spec


def drawn(seed: int, classes: int, types: int, alike: float = 0.5) -> Spec:
    """Types with quotas, spot, contracts and masters; classes whose slots differ, on some types as well."""
    random = np.random.RandomState(seed)
    vms = []
    for number in range(types):
        price = random.uniform(0.05, 2.0)
        text = f"vm t{number} {{ on_demand {{ price = {price:.4f} USD/h }}"
        if random.uniform() < 0.8:
            text += f", available = {random.choice([1, 3, 10, 40])}"
        if random.uniform() < 0.2:
            text += f", reserved {{ price = {0.6 * price:.4f} USD/h, available = {random.randint(1, 6)} }}"
        if random.uniform() < 0.2:
            text += f", spot {{ price = {0.4 * price:.4f} USD/h, interruptions = 0.001/h }}"
        vms.append(text + (", masters = 1 }" if random.uniform() < 0.05 else " }"))
    others = [f"t{number}" for number in range(types) if random.uniform() > alike]
    found = []
    for number in range(classes):
        slots, high = (random.randint(2, 17), random.randint(2, 9)), random.randint(1, 10)
        on = "".join(
            f"  on {name} {{ slots {{ map = {random.randint(2, 17)}, reduce = 3 }} }}\n" for name in others[:3]
        )
        found.append(
            f"class c{number} {{\n  coefficients {{ A = {random.randint(100, 6000)} s, B = {random.randint(0, 1500)} s,"
            f" C = {random.randint(0, 60)} s }}\n  slots {{ map = {slots[0]}, reduce = {slots[1]} }}\n{on}"
            f"  jobs = {random.randint(0, high + 1)}..{high}, deadline = {random.randint(4, 15)} min\n"
            f"  penalty = {random.choice([0.0, 0.5, 2.0, 9.0])} USD, spot = {random.choice(['0%', '100%'])}\n}}"
        )
    return mrdsl.loads("\n".join(["problem capacity", *vms, *found, "minimize cost"]))


def vms_by_lane(mix: Mix, jobs: np.ndarray) -> np.ndarray:
    """The VMs that the slots of each lane's jobs take, one by one."""
    found = np.zeros(len(jobs))
    for lane in np.flatnonzero(jobs.any(axis=1)).tolist():
        vm, some = mix.market.vm_of_lane[lane], np.flatnonzero(jobs[lane])
        maps, reduces = mix.map_slots[lane, some] * jobs[lane, some], mix.reduce_slots[lane, some] * jobs[lane, some]
        sizes = np.concatenate([mix.pairs.map_per_vm[vm, some], mix.pairs.reduce_per_vm[vm, some]])
        slots = np.concatenate([maps, reduces])
        there = slots > 0
        found[lane] = pack(
            np.rint(sizes[there]).astype(int).tolist(), np.rint(slots[there]).astype(int).tolist(), quick=True
        ).vms
    return found


def checked(seed: int, classes: int, types: int, alike: float = 0.5) -> float | None:
    """Check the plan of a drawn spec; return its distance to the bound of the relaxation, None without a plan."""
    mix = solved_mix(drawn(seed, classes, types, alike))
    task = Task(mix, mix.low, mix.expected, mix.market.available, same_type=True)
    least = relaxed(task, 1e-9)
    if least.lacking > 1e-6:
        return None
    plan = filled(task, least, None)
    if plan is None:
        return None
    jobs, vms = plan
    assert not jobs[~mix.possible].any()
    assert bool((mix.low <= jobs.sum(axis=0)).all())
    assert bool((jobs.sum(axis=0) <= mix.expected).all())
    assert bool((vms_by_lane(mix, jobs) <= vms).all())
    there = np.bincount(mix.market.vm_of_lane, vms + mix.market.masters_of_lane, minlength=len(mix.market.names))
    assert bool((there <= mix.market.available).all())
    cost = mix.cost(mix.market.buy(vms + mix.market.masters_of_lane), jobs)
    assert cost >= least.bound - 1e-6 * abs(cost)
    return float((cost - least.bound) / max(cost, 1e-9))


def test_drawn_plans_keep_quotas_and_their_slots_fit() -> None:
    plans = [checked(seed, 1 + seed % 7, 1 + seed % 5) for seed in range(30)]
    assert sum(plan is not None for plan in plans) >= 20


def test_many_classes_within_quotas_come_close_to_the_bound() -> None:
    away = checked(3, 60, 40, alike=1.0)
    assert away is not None
    assert away <= 0.01


@pytest.mark.parametrize("seed", [1, 2])
def test_the_plan_of_direct_keeps_all_that_is_asked(seed: int) -> None:
    spec = drawn(seed, 24, 8)
    found = mrdsl.solve(spec, "direct")
    assert isinstance(found.plan, CapacityPlan)
    assert not has_errors(tuple(verify(spec, found.plan, False)))


def containers(seed: int, classes: int, types: int) -> Spec:
    """Types of few shapes within quotas, and classes whose containers have other ratios of cores to memory."""
    random = np.random.RandomState(seed)
    parts = ["problem capacity"]
    for number in range(types):
        cores = random.choice([4, 8, 16, 32, 64])
        parts.append(
            f"vm t{number} {{ cores = {cores}, memory = {cores * random.choice([2, 4, 8])} GiB, available = 4, "
            f"on_demand {{ price = {0.05 * cores * random.uniform(0.7, 1.3):.4f} USD/h }} }}"
        )
    for number in range(classes):
        low = random.randint(0, 4)
        parts.append(
            f"class c{number} {{ map {{ tasks = {random.randint(20, 300)}, avg = {random.randint(10, 40)} s, max = 60 s"
            f" }}, container {{ map {{ cores = 1, memory = {random.randint(1, 7)} GiB }} }}, jobs = {low}..{low + 3}, "
            f"deadline = {random.randint(8, 20)} min, penalty = {random.randint(1, 9)} USD, guarantee = average }}"
        )
    return mrdsl.loads("\n".join([*parts, "minimize cost"]))


@pytest.mark.parametrize("seed", [1, 2])
def test_many_classes_of_containers_fill_both_resources_of_cheap_vms(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "MANY_PAIRS", 0)
    monkeypatch.setattr(direct, "MOST_CLASSES", 0)
    spec = containers(seed, 60, 60)
    found = mrdsl.solve(spec, "direct")
    assert isinstance(found.plan, CapacityPlan)
    assert found.value is not None
    assert found.bound is not None
    assert found.value - found.bound <= 0.04 * found.value
    assert not has_errors(tuple(verify(spec, found.plan, False)))
