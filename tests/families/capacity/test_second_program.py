"""Drawn specs of capacity: mrdsl beside a second program, and that program beside trying everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.families.capacity.oracle.comparing import below, faults, known, monotone, told
from tests.families.capacity.oracle.drawing import draw
from tests.families.capacity.oracle.jobs import Losses
from tests.families.capacity.oracle.program import contents, optimum
from tests.families.capacity.oracle.structure import Drawn, text_of
from tests.families.capacity.oracle.trying import cheapest, draw_tiny

SEEDS = (
    *range(1, 8),
    10,
    *range(12, 25),
    26,
    27,
    28,
    *range(30, 35),
    41,
    44,
    46,
    63,
    76,
    104,
    119,
    135,
    142,
    170,
    245,
    264,
    435,
)


@pytest.mark.parametrize("seed", range(10, 26))
def test_the_second_program_finds_what_trying_everything_finds(seed: int) -> None:
    drawn = draw_tiny(seed)
    value, bound = optimum(drawn, Losses())
    tried = cheapest(drawn)
    assert not below(tried, bound), text_of(drawn)
    assert not below(value, tried), text_of(drawn)


def test_contents_are_those_to_which_nothing_can_be_added() -> None:
    """Maps of 1 core and 2 GiB with reduces of 1 core and 6 GiB on 4 cores and 16 GiB: 4, 3 with 1, 2 with 2."""
    assert contents(((1 / 4, 2 / 16), (1 / 4, 6 / 16))) == [(2, 2), (3, 1), (4, 0)]


@pytest.mark.parametrize("seed", SEEDS)
def test_optima_are_those_of_the_second_program(seed: int) -> None:
    drawn = draw(seed)
    assert list(faults(known(drawn), told(drawn))) == [], text_of(drawn)


def with_containers(seed: int) -> Drawn:
    """Draw other containers, deadlines and jobs for seed 435: three classes that share VMs of 4 cores and 8 GiB."""
    rng = np.random.default_rng(seed)
    classes = []
    for node in draw(435).classes:
        kinds = {kind: (float(rng.choice([1, 1.5, 2])), float(rng.integers(2, 7))) for kind in ("map", "reduce")}
        jobs = int(rng.integers(1, 4))
        deadline = round(node.deadline * rng.uniform(1.0, 1.3), 1)
        classes.append(replace(node, container=kinds, jobs=(jobs, jobs), deadline=deadline))
    return replace(draw(435), classes=tuple(classes))


@pytest.mark.parametrize("whole", ["slots", "machines"])
@pytest.mark.parametrize("seed", [0, 1, 10, 17, 32, 57, 69, 74, 92, 95, 98])
def test_pairs_that_take_more_of_both_resources_may_fit_vms_better(seed: int, whole: str) -> None:
    drawn = replace(with_containers(seed), whole=whole)
    assert list(faults(known(drawn), told(drawn))) == [], text_of(drawn)


@pytest.mark.parametrize("seed", [1, 41, 76, 119, 245])
def test_all_solvers_agree_with_the_second_program(seed: int) -> None:
    drawn = draw(seed)
    right = known(drawn)
    for solver in ("highs", "scip", "cbc", "glpk", "direct"):
        assert list(faults(right, told(drawn, solver))) == [], f"{solver}\n{text_of(drawn)}"


def test_containers_fit_own_machines_within_a_quota() -> None:
    """Cores and memory of containers add up to fewer VMs than hold them, and the plan of the sums has no room."""
    drawn = replace(draw(52031), whole="machines")
    ours = told(drawn, "highs")
    assert list(faults(known(drawn), ours)) == [], text_of(drawn)
    assert ours.value == pytest.approx(364.704, abs=1e-3)


@pytest.mark.parametrize("seed", [30006, 60003, 60008, 60173, 60225])
def test_direct_keeps_parts_on_spot_and_quotas_on_own_machines(seed: int) -> None:
    """Classes on machines of their own: firm VMs beside those on spot, and both within the quota of one type."""
    drawn = replace(draw(seed), whole="machines", rows=())
    assert list(faults(known(drawn), told(drawn, "direct"))) == [], text_of(drawn)


@pytest.mark.parametrize("seed", [1, 2, 3, 41, 46, 63, 76, 104, 119, 245])
def test_freer_slots_cost_no_more(seed: int) -> None:
    drawn = draw(seed)
    assert list(monotone(replace(drawn, rows=()))) == [], text_of(drawn)
