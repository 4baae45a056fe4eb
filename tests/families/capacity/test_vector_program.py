"""The integer program of containers on few lanes: its bound and plans beside a second program, on drawn specs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity.methods import direct
from mrdsl.families.capacity.methods.vector_program import Placed
from mrdsl.families.capacity.verify import verify
from tests.families.capacity.oracle.comparing import below, faults, known, told
from tests.families.capacity.oracle.drawing import draw
from tests.families.capacity.oracle.structure import Drawn, text_of


def tight(seed: int) -> Drawn:
    """Draw containers on few VMs of each type."""
    random, drawn = np.random.RandomState(seed), draw(seed)
    vms = tuple(replace(vm, available=vm.masters + int(random.randint(2, 14))) for vm in drawn.vms)
    classes = tuple(
        replace(node, guarantee=None if node.work.coefficients else "upper", spot=None) for node in drawn.classes
    )
    return replace(drawn, whole="slots", rows=(), vms=vms, classes=classes)


def divided(seed: int) -> Drawn:
    """Draw the same, with a part of each class on spot."""
    share = np.random.RandomState(seed).choice([0.2, 0.5, 0.8])
    drawn = tight(seed)
    return replace(drawn, classes=tuple(replace(node, spot=float(share)) for node in drawn.classes))


SEEDS = (1009, 1108, 1147, 1255, 1298, 1406, 1414, 1556, 1616, 1658)
FEW = (1001, 1013, 1015, 1029, 1066, 1067, 1079, 1083, 1087, 1092)
DIVIDED = (1001, 1005, 1013, 1058, 1064, 1084, 1098, 1165)


CASES = [("by_contents", seed) for seed in FEW] + [("by_program", each) for each in (*SEEDS, *np.negative(DIVIDED))]


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_program_bounds_the_optimum_and_its_plans_do_not_beat_it(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of whole classes, and of classes with a part on spot (seeds below 0)."""
    bounds = []
    solved = getattr(direct, name)

    def noted(*given: object) -> Iterator[tuple[Placed | None, float]]:
        for placed, bound in solved(*given):
            bounds.append(bound)
            yield placed, bound

    monkeypatch.setattr(direct, "by_contents", lambda *given: iter(()))
    monkeypatch.setattr(direct, name, noted)
    monkeypatch.setattr(direct, "_is_close", lambda *given: False)
    drawn = tight(seed) if seed > 0 else divided(-seed)
    right, ours = known(drawn), told(drawn, "direct")
    assert list(faults(right, ours)) == [], text_of(drawn)
    assert bounds
    assert not any(below(right.upper, bound) for bound in bounds), text_of(drawn)


def test_columns_keep_the_part_on_spot_of_jobs_without_more_slots() -> None:
    """A job of class b has one slot of each kind at most, so its firm jobs make no room for more on spot."""
    spec = mrdsl.loads(
        "problem capacity, estimates = paper\n"
        "vm m0 { cores = 4, memory = 8 GiB, on_demand { price = 0.281 USD/h }, available = 12,\n"
        "  spot { price = 0.056 USD/h, interruptions = 0.05/h } }\n"
        "vm m1 { cores = 2, memory = 16 GiB, on_demand { price = 0.136 USD/h }, available = 11,\n"
        "  spot { price = 0.027 USD/h, interruptions = 0/h } }\n"
        "vm m2 { cores = 8, memory = 64 GiB, on_demand { price = 0.213 USD/h }, available = 6,\n"
        "  spot { price = 0.085 USD/h, interruptions = 0.05/h } }\n"
        "class a { map { tasks = 40, avg = 40 s, max = 50 s }, shuffle { first_max = 3 s, avg = 8 s, max = 10 s },\n"
        "  reduce { tasks = 1, avg = 20 s, max = 25 s }, spot = 10%, jobs = 0..4, deadline = 5 min, penalty = 1 USD,\n"
        "  container { map { cores = 1, memory = 1 GiB }, reduce { cores = 1, memory = 1 GiB } },\n"
        "  guarantee = average }\n"
        "class b { map { tasks = 1, avg = 40 s, max = 50 s }, shuffle { first_max = 3 s, avg = 8 s, max = 10 s },\n"
        "  reduce { tasks = 1, avg = 20 s, max = 25 s }, spot = 70%, jobs = 2..7, deadline = 4 min, penalty = 1 USD,\n"
        "  container { map { cores = 1, memory = 1 GiB }, reduce { cores = 1, memory = 4 GiB } },\n"
        "  guarantee = average }\n"
        "minimize cost\n"
    )
    found, best = mrdsl.solve(spec, "direct"), mrdsl.solve(spec, "highs")
    assert found.plan is not None
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))
    assert best.value is not None
    assert found.objective.bound <= best.value * (1.0 + 1e-9)


def test_slots_that_do_not_pack_raise_the_bound() -> None:
    """Reduce slots of 5 GiB on VMs of 8 GiB: one on each, though those of a job take the memory of fewer VMs."""
    spec = mrdsl.loads(
        "problem capacity, estimates = paper\n"
        "vm small { on_demand { price = 1 USD/h }, available = 12, cores = 4, memory = 8 GiB }\n"
        "vm other { on_demand { price = 3 USD/h }, available = 2, cores = 8, memory = 16 GiB }\n"
        "class a { map { tasks = 4, avg = 10 s, max = 10 s }, shuffle { first_max = 1 s, avg = 1 s, max = 1 s },\n"
        "  reduce { tasks = 5, avg = 10 s, max = 10 s },\n"
        "  container { map { cores = 1, memory = 1 GiB }, reduce { cores = 1, memory = 5 GiB } },\n"
        "  jobs = 1..1, deadline = 40 s, penalty = 90 USD, guarantee = average }\n"
        "minimize cost\n"
    )
    found = mrdsl.solve(spec, "direct")
    exact = mrdsl.solve(spec, "highs")
    assert found.plan is not None
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))
    assert exact.termination == "optimal"
    assert found.objective.value == pytest.approx(exact.objective.value)
    assert found.objective.bound <= exact.objective.value * (1.0 + 1e-9)
