"""Jobs that end before their deadline make room for more rounds in a period: against every choice of slots by hand."""

from __future__ import annotations

from itertools import product
from math import ceil, floor, inf

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import SolutionStatus
from tests.shared_data import shared

PERIOD = 3600.0
Class = tuple[int, float, int, float, float, float, float]
"""Map tasks, their time [s], map slots of a VM, least and expected jobs, deadline [s], penalty."""


def spec_of(classes: list[Class], size: int, vm_cost: float, more: str = "") -> mrdsl.Spec:
    head = f"problem joint\ncluster {{ size = {size} vms, vm_cost = {vm_cost} USD/h, period = 1 h{more} }}\n"
    blocks = [
        f"class c{n} {{ map {{ tasks = {tasks}, avg = {avg} s, max = {avg} s }}, slots {{ map = {slots} }}\n"
        f"  jobs = {low} .. {high}, deadline = {deadline} s, penalty = {penalty} USD, guarantee = lower }}\n"
        for n, (tasks, avg, slots, low, high, deadline, penalty) in enumerate(classes)
    ]
    return mrdsl.loads(head + "".join(blocks) + "minimize cost\n")


def served(one: Class, vms: int) -> float:
    """The most jobs that so many VMs serve in a period, of all whole slots of a job."""
    tasks, avg, per_vm, _, high, deadline, _ = one
    best = 0.0
    for slots in range(1, tasks + 1):
        time = tasks * avg / slots
        if time <= deadline * (1 + 1e-9):
            turns = floor(PERIOD / time * (1 + 1e-9)) if time <= PERIOD else 1.0 / ceil(time / PERIOD * (1 - 1e-9))
            best = max(best, turns * floor(vms * per_vm / slots))
    return min(best, high)


def least_cost(classes: list[Class], size: int, vm_cost: float) -> float:
    best = inf
    for vms in product(range(size + 1), repeat=len(classes)):
        jobs = [served(one, count) for one, count in zip(classes, vms, strict=True)]
        if sum(vms) <= size and all(done >= one[3] for one, done in zip(classes, jobs, strict=True)):
            lost = sum(one[6] * (one[4] - done) for one, done in zip(classes, jobs, strict=True))
            best = min(best, vm_cost * sum(vms) + lost)
    return best


def drawn(seed: int) -> tuple[list[Class], int, float]:
    rng = np.random.default_rng(seed)
    classes: list[Class] = []
    for _ in range(int(rng.integers(1, 3))):
        tasks, avg = int(rng.integers(1, 13)), float(rng.integers(20, 900))
        high = float(rng.integers(1, 12))
        low = float(rng.integers(0, int(high) + 1)) if rng.random() < 0.5 else 0.0
        deadline = avg * float(rng.choice([1.0, 1.5, 3.0, 8.0, 20.0]))
        classes.append((tasks, avg, int(rng.integers(1, 4)), low, high, deadline, float(rng.integers(1, 5)) / 2))
    return classes, int(rng.integers(4, 13)), 0.5


@pytest.mark.parametrize("solver", ["auto", "highs"])
@pytest.mark.parametrize("tens", range(4))
def test_no_choice_of_slots_is_cheaper(tens: int, solver: str) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        classes, size, vm_cost = drawn(seed)
        best, result = least_cost(classes, size, vm_cost), mrdsl.solve(spec_of(classes, size, vm_cost), solver)
        if best == inf:
            assert result.plan is None, seed
            continue
        assert result.solution is SolutionStatus.OPTIMAL, (seed, result.diagnostics)
        assert result.value == pytest.approx(best, abs=1e-6), seed
        assert result.bound == pytest.approx(best, abs=1e-4), seed
        relaxed = mrdsl.solve(spec_of(classes, size, vm_cost), solver, relax=True)
        assert relaxed.value <= best + 1e-6, seed


@pytest.mark.parametrize("deadline", [600, 601, 900, 1200, 2400, 3600, 3601, 7200, 10**6])
def test_a_looser_deadline_costs_no_more(deadline: float) -> None:
    """One slot does a job in 600 s, and six in an hour: one VM takes all four."""
    spec = mrdsl.load(shared("cases/joint_looser_deadline.mrspec"), {"deadline": f"{deadline} s"})
    result = mrdsl.solve(spec)
    assert (result.value, result.solution) == (pytest.approx(0.5), SolutionStatus.OPTIMAL)


@pytest.mark.parametrize(("deadline", "cost"), [(600, 0.5), (1200, 1.0), (2400, 2.0), (3600, 2.0), (7200, 4.0)])
def test_the_rule_of_the_paper(deadline: float, cost: float) -> None:
    """Six, three, one, one and half a round: 1, 2, 4, 4 and 8 jobs at once, each on a slot of its own."""
    text = (
        shared("cases/joint_looser_deadline.mrspec").read_text().replace("period = 1 h", "period = 1 h, reuse = paper")
    )
    result = mrdsl.solve(mrdsl.loads(text, {"deadline": f"{deadline} s"}))
    assert result.value == pytest.approx(cost)


def test_formulations_of_the_paper_ask_for_its_rule() -> None:
    spec = mrdsl.load(shared("cases/joint_looser_deadline.mrspec"))
    with pytest.raises(mrdsl.MrdslError, match="reuse = paper"):
        mrdsl.solve(spec, formulation="P0")
