"""Machines of classes that share none, by sizes of pieces: against an integer program of its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import lil_array

import mrdsl
from mrdsl.families.capacity.instance import Mix
from mrdsl.families.capacity.lanes import solved_mix
from mrdsl.families.capacity.methods.class_columns import tightened
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.methods.machine_sizes import by_sizes, kinds_of, patterns_of
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.methods.weighing import of_contents
from mrdsl.families.capacity.packed_plans import beyond_quotas
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec import Spec


def drawn(seed: int) -> Spec:
    """Up to six types, most of them alike for the classes: quotas, contracts, masters, two sizes of VMs."""
    random = np.random.RandomState(seed)
    big = random.uniform() < 0.3
    vms, others = [], []
    for number in range(random.randint(1, 7)):
        price = random.uniform(0.05, 0.5)
        text = f"vm t{number} {{ on_demand {{ price = {price:.4f} USD/h }}"
        if random.uniform() < (0.9 if number else 0.3):
            text += f", available = {random.choice([1, 2, 4, 7, 10, 16, 40])}"
            text += ", masters = 1" if random.uniform() < 0.1 else ""
        elif random.uniform() < 0.5:
            many = random.randint(1, 30)
            text += f", reserved {{ price = {0.6 * price:.4f} USD/h, available = {many} }}"
        vms.append(text + " }")
        if big and random.uniform() < 0.5:
            others.append(f"t{number}")
    classes = []
    for number in range(random.randint(1, 6)):
        high = random.randint(1, 6)
        on = "".join(f"  on {name} {{ slots {{ map = 6, reduce = 3 }} }}\n" for name in others)
        classes.append(
            f"class c{number} {{\n  coefficients {{ A = {random.randint(100, 4000)} s, B = {random.randint(0, 900)} s,"
            f" C = {random.randint(0, 60)} s }}\n  slots {{ map = {random.randint(1, 5)}, reduce = 2 }}\n{on}"
            f"  jobs = {random.randint(0, high + 1)}..{high}, deadline = {random.randint(3, 12)} min\n"
            f"  penalty = {random.choice([0.0, 0.1, 1.0, 5.0])} USD\n}}"
        )
    return mrdsl.loads("\n".join(["problem capacity", "whole = machines", *vms, *classes, "minimize cost"]))


def least(mix: Mix, low: np.ndarray, high: np.ndarray) -> float:
    """The least cost: jobs and machines of each pair, and machines of each offer, are whole numbers."""
    market, (lanes, classes) = mix.market, mix.gamma.shape
    pairs, offers = lanes * classes, len(market.offers)
    rows = lil_array((pairs + lanes + len(market.names) + classes, 2 * pairs + offers))
    lower, upper = np.full(rows.shape[0], -np.inf), np.zeros(rows.shape[0])
    limit = np.zeros(2 * pairs + offers)
    for lane in range(lanes):
        for index in range(classes):
            at = lane * classes + index
            if mix.possible[lane, index]:
                limit[at], limit[pairs + at] = high[index], np.inf
                rows[at, at] = mix.gamma[lane, index] * (1 - 1e-12)
                rows[at, pairs + at] = -1.0
                rows[pairs + lanes + len(market.names) + index, at] = 1.0
            rows[pairs + lane, pairs + at] = 1.0
        upper[pairs + lane] = -market.masters_of_lane[lane]
    for number, offer in enumerate(market.offers):
        limit[2 * pairs + number] = offer.available
        rows[pairs + offer.lane, 2 * pairs + number] = -1.0
        rows[pairs + lanes + market.vm_of_lane[offer.lane], 2 * pairs + number] = 1.0
    upper[pairs + lanes : pairs + lanes + len(market.names)] = market.available
    lower[-classes:], upper[-classes:] = low, high
    costs = np.concatenate([np.tile(-mix.worth, lanes), np.zeros(pairs), market.prices])
    found = milp(
        costs,
        integrality=np.ones(len(costs)),
        bounds=(0.0, limit),
        constraints=LinearConstraint(rows.tocsr(), lower, upper),
        options={"mip_rel_gap": 0.0},
    )
    return float("inf") if found.x is None else float(found.fun + mix.penalty @ mix.expected)


def compared(seed: int) -> tuple[bool, float]:
    """Check the bound and the plan of a drawn spec; return True if there is a plan, and its distance to the least."""
    spec = drawn(seed)
    mix = solved_mix(spec)
    task = Task(mix, mix.low, mix.expected, mix.market.available, same_type=True)
    if kinds_of(task) is None:
        return False, 0.0
    known = least(mix, mix.low, mix.expected)
    jobs, bound = by_sizes(task, relaxed(tightened(task), 1e-9).prices, None)
    assert bound <= known + 1e-6 * max(1.0, abs(known)), seed
    if jobs is None:
        return False, 0.0
    assert known < np.inf
    vms = np.ceil(np.where(mix.possible, mix.gamma, 0.0) * jobs * (1 - 1e-12)).sum(axis=1) + mix.market.masters_of_lane
    total = jobs.sum(axis=0)
    assert not jobs[~mix.possible].any()
    assert bool((mix.low <= total).all())
    assert bool((total <= mix.expected).all())
    assert bool((np.bincount(mix.market.vm_of_lane, vms) <= mix.market.available).all())
    cost = mix.cost(mix.market.buy(vms), jobs)
    assert cost >= known - 1e-6 * max(1.0, abs(known)), seed
    return True, cost - known


@pytest.mark.parametrize("seeds", [range(12), range(12, 24)])
def test_bounds_and_plans_against_an_integer_program(seeds: range) -> None:
    plans = [compared(seed) for seed in seeds]
    assert sum(there for there, _ in plans) >= len(plans) // 2


def test_patterns_are_all_partitions() -> None:
    """There are p(1) + ... + p(n) of them; each once, none beyond the room."""
    assert [len(patterns_of(room)) for room in (1, 2, 3, 4, 5, 10, 16)] == [1, 3, 6, 11, 18, 138, 914]
    assert int((patterns_of(7) @ np.arange(1, 8)).max()) == 7


def test_vms_of_containers_are_the_least_of_all_contents() -> None:
    """Maps and reduces of cores and memory, against a linear program over all contents of a VM."""
    random, cells = np.random.RandomState(5), 40
    parts, slots, expected = np.zeros((2, 2, cells, 1)), random.randint(1, 40, (2, cells, 1)).astype(float), []
    for cell in range(cells):
        cores, memory = random.choice([4, 8, 16, 32]), random.choice([8, 16, 64, 128])
        one = random.randint(1, min(cores, 8) + 1), random.randint(1, min(memory, 8) + 1)
        other = random.randint(1, min(cores, 4) + 1), random.randint(1, min(memory, 16) + 1)
        parts[:, :, cell, 0] = [[one[0] / cores, one[1] / memory], [other[0] / cores, other[1] / memory]]
        contents = [
            (count, min((cores - count * one[0]) // other[0], (memory - count * one[1]) // other[1]))
            for count in range(min(cores // one[0], memory // one[1]) + 1)
        ]
        expected.append(linprog(np.ones(len(contents)), A_ub=-np.array(contents).T, b_ub=-slots[:, cell, 0]).fun)
    assert of_contents(parts, slots[0], slots[1])[:, 0] == pytest.approx(expected)


def test_packing_of_one_class_leaves_room_for_the_next() -> None:
    """Two classes fill the VMs of a type: no more VMs are counted for the first than it takes."""
    node = "container { map { cores = 1, memory = 3 GiB }, reduce { cores = 1, memory = 5 GiB } }"
    classes = [
        f"class {name} {{ coefficients {{ A = 700 s, B = 300 s, C = 10 s }} {node} jobs = 4..4, deadline = 5 min,"
        " penalty = 9 USD }"
        for name in ("a", "b")
    ]
    vm = "vm t {{ cores = 4, memory = 16 GiB, on_demand {{ price = {} USD/h }}, available = {} }}"
    for count in range(2, 40):
        spec = mrdsl.loads(
            "\n".join(["problem capacity", "whole = machines", vm.format(1, count), *classes, "minimize cost"])
        )
        found = mrdsl.solve(spec, "direct").plan
        if found is not None:
            break
    assert isinstance(found, CapacityPlan)
    assert beyond_quotas(spec, found)[0].sum() == 0
    assert found.rented == count
