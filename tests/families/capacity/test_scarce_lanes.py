"""Plans within quotas: of a few types against trying everything, of a region against their bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mrdsl
from mrdsl import Spec
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity.instance import mix_of
from mrdsl.families.capacity.methods import contents_program, lane_columns, relaxation
from mrdsl.families.capacity.methods.lane_prices import Task, cheapest, costs_by_way, dual_bound, wanted
from mrdsl.families.capacity.methods.relaxation import never_fits, relaxed
from mrdsl.families.capacity.verify import verify
from tests.families.capacity.type_specs import best_by_trying, random_types
from tests.shared_data import shared


def scarce(seed: int, most: int = 6) -> Spec:
    """Few types of each of which there are few, and classes that are not on spot in part."""
    random = np.random.RandomState(5_000 + seed)
    spec = random_types(900 + seed, classes=2, types=3, jobs=3)
    vms = tuple(replace(vm, available=int(random.randint(1, most)), masters=0, spot=None) for vm in spec.facts.vms)
    nodes = tuple(replace(each, spot=None) for each in spec.facts.classes)
    return replace(spec, facts=replace(spec.facts, vms=vms, classes=nodes))


@pytest.mark.parametrize("seed", range(24))
def test_tight_quotas_cost_what_trying_everything_finds(seed: int) -> None:
    spec = scarce(seed, 6 + 6 * (seed % 4))
    best, found = best_by_trying(spec), mrdsl.solve(spec, "direct")
    if best == np.inf:
        assert found.plan is None
        return
    assert found.plan is not None
    assert found.objective.value == pytest.approx(best, rel=5e-3)
    assert found.objective.bound <= best * (1.0 + 1e-9)
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))


def test_some_of_these_have_a_plan_and_some_none() -> None:
    costs = [best_by_trying(scarce(seed, 6 + 6 * (seed % 4))) for seed in range(24)]
    assert 6 < sum(np.isfinite(costs)) < 24


def task_of(spec: Spec) -> Task:
    mix = mix_of(spec)
    return Task(mix, mix.low, mix.expected, mix.market.available, False)


@pytest.mark.parametrize("seed", range(30))
def test_pairs_and_answers_come_to_the_same_relaxation(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of specs with spot, contracts, quotas, masters and fees: two master problems, and the bound of their prices."""
    task = task_of(random_types(1_200 + seed))
    tight = np.where(np.arange(len(task.available)) % 2 == seed % 2, 3.0 + seed, task.available)
    task = replace(task, available=np.maximum(tight, task.market.masters))
    if not task.mix.possible.any(axis=0).all():
        return
    found = {}
    for few in (0, 10**6):
        monkeypatch.setattr(relaxation, "FEW_LANES", few)
        found[few] = relaxed(task, 1e-9)
        assert never_fits(task) == (found[few].lacking > 1e-6)
    assert found[0].lacking == pytest.approx(found[10**6].lacking, rel=1e-6, abs=1e-7)
    if found[0].lacking <= 1e-7:
        assert found[0].value == pytest.approx(found[10**6].value, rel=1e-7)
        ways = cheapest(task, found[0].prices)
        bound = dual_bound(task, found[0].prices, found[0].quotas, ways, wanted(task, ways))
        assert bound == pytest.approx(found[0].bound, rel=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_way_with_a_part_on_spot_is_that_of_all_pairs_of_lanes(seed: int) -> None:
    """Drawn prices: the quotient is minimized by guesses, against every firm with every spot lane."""
    random = np.random.RandomState(seed)
    task = task_of(random_types(1_300 + seed, classes=5, types=5))
    mix, market = task.mix, task.market
    prices = random.uniform(0.0, 1.0, len(market.lanes))
    task = replace(task, same_type=bool(seed % 2))
    found = cheapest(task, prices)
    for index in range(len(mix)):
        share, gamma = float(mix.spot_share[index]), mix.gamma[:, index]
        costs = [
            prices[lane] * gamma[lane]
            for lane in range(len(gamma))
            if mix.possible[lane, index] and (share >= 1.0 or not market.spot[lane])
        ]
        for firm in np.flatnonzero(mix.possible[:, index] & ~market.spot):
            for spot in np.flatnonzero(mix.possible[:, index] & market.spot):
                apart = market.vm_of_lane[firm] != market.vm_of_lane[spot]
                if 0.0 < share < 1.0 and not (apart and mix.together[index] and task.same_type):
                    work = (1.0 - share) / gamma[firm] + share / gamma[spot]
                    costs.append(((1.0 - share) * prices[firm] + share * prices[spot]) / work)
        assert found.cost[index] == pytest.approx(min(costs, default=np.inf), rel=1e-9)


def catalogue(classes: int, braces: str, head: str = "", seed: int = 1) -> Spec:
    """Drawn classes on all types of a region."""
    random = np.random.RandomState(seed)
    nodes = []
    for number in range(classes):
        low = int(random.randint(1, 8))
        nodes.append(
            f"class c{number} {{\n"
            f"  map {{ tasks = {random.randint(50, 500)}, avg = {random.randint(10, 40)} s, max = 60 s }}\n"
            f"  shuffle {{ first_max = 11 s, avg = {random.randint(10, 40)} s, max = 50 s }}\n"
            f"  reduce {{ tasks = {random.randint(10, 80)}, avg = {random.randint(10, 40)} s, max = 60 s }}\n"
            f"  container {{ map {{ cores = 1, memory = {random.randint(1, 5)} GiB }},"
            f" reduce {{ cores = {random.randint(1, 3)}, memory = {2 * random.randint(1, 5)} GiB }} }}\n"
            f"  jobs = {low}..{low + int(random.randint(0, 4))}, deadline = {random.randint(10, 25)} min\n"
            f"  penalty = {random.randint(5, 25)} USD, guarantee = average\n}}\n"
        )
    vms = f'vms from ec2("ec2_us-east-1.csv") {{ {braces} }}'
    return mrdsl.loads(f"problem capacity\n{head}\n{vms}\n{''.join(nodes)}minimize cost\n", folder=shared("data/cloud"))


@pytest.mark.parametrize(("classes", "near"), [(5, 0.01), pytest.param(50, 0.04, marks=pytest.mark.nightly)])
def test_ten_of_each_type_of_a_region_have_a_plan_near_its_bound(classes: int, near: float) -> None:
    """Of containers whose cores and memory both have to fit, which the bound weighs as one."""
    spec = catalogue(classes, "require { cores <= 8 }, spot = no, available = 10")
    assert len(spec.facts.vms) == 468
    found = mrdsl.solve(spec)
    assert found.solver["name"] == "direct"
    assert found.plan is not None
    assert found.objective.bound is not None
    assert found.plan.rejected.sum() == 0.0
    assert found.objective.bound <= found.objective.value <= (1.0 + near) * found.objective.bound
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))


@pytest.mark.parametrize("classes", [5, 50])
def test_four_of_each_type_that_emr_takes_suffice_for_machines_of_each_class(classes: int) -> None:
    """Within one in a hundred of the bound, which lay 27 % below the plan of 5 classes."""
    head = "require { emr = yes }, spot { interruptions = 0.0007/h }, available = 4"
    spec = catalogue(classes, head, "whole = machines")
    found = mrdsl.solve(spec)
    assert found.plan is not None
    assert found.objective.bound is not None
    assert found.objective.bound <= found.objective.value <= 1.01 * found.objective.bound
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))


def same_slots(classes: int, seed: int) -> Spec:
    """Drawn classes of the same slots on all types of a region, ten of each: whole jobs rarely fill whole VMs."""
    random = np.random.RandomState(seed)
    nodes = [
        f"class c{number} {{ guarantee = average, "
        f"map {{ tasks = {random.randint(50, 500)}, avg = {random.randint(10, 40)} s, max = 60 s }}, "
        f"shuffle {{ first_max = 11 s, avg = {random.randint(10, 40)} s, max = 50 s }}, "
        f"reduce {{ tasks = {random.randint(10, 80)}, avg = {random.randint(10, 40)} s, max = 60 s }}, "
        f"slots {{ map = 8, reduce = 4 }}, jobs = {random.randint(1, 8)}..10, "
        f"deadline = {random.randint(10, 25)} min, penalty = {random.randint(1, 9)} USD }}\n"
        for number in range(classes)
    ]
    vms = 'vms from ec2("ec2_us-east-1.csv") { spot = no, available = 10 }'
    return mrdsl.loads(f"problem capacity\n{vms}\n{''.join(nodes)}minimize cost\n", folder=shared("data/cloud"))


@pytest.mark.parametrize(("classes", "seed"), [(5, 2), (50, 2)])
def test_slots_on_ten_of_each_type_of_a_region_are_near_the_bound(classes: int, seed: int) -> None:
    """The relaxation alone lies 4 to 13 % below the plan."""
    spec = same_slots(classes, seed)
    found = mrdsl.solve(spec, "direct")
    assert found.plan is not None
    assert found.objective.bound <= found.objective.value <= 1.01 * found.objective.bound
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))


def tight(seed: int) -> Spec:
    """Types with spot, contracts, masters and fees, few of each, and classes with parts on spot or on one type."""
    random = np.random.RandomState(7_000 + seed)
    spec = random_types(2_000 + seed, classes=2, types=3, jobs=3)
    vms = tuple(replace(vm, available=vm.masters + int(random.randint(1, 8))) for vm in spec.facts.vms)
    return replace(spec, facts=replace(spec.facts, vms=vms))


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_of_columns_is_below_every_plan_at_any_prices(seed: int) -> None:
    """Against trying everything; and no less than the relaxation to which the program comes."""
    spec = tight(seed)
    task, best = task_of(spec), best_by_trying(spec)
    if not task.mix.possible.any(axis=0).all():
        return
    random = np.random.RandomState(seed)
    below = relaxed(task, 1e-9)
    for most_vms in (lane_columns.MOST_VMS, 2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lane_columns, "MOST_VMS", most_vms)
            lanes = lane_columns.Lanes(task)
            for _ in range(5):
                cost = cheapest(task, below.prices).cost
                prices = random.uniform(0.0, 2.0, (3, len(cost))) * cost
                prices[1:] *= np.isin(np.arange(len(cost)), lanes.limited) * np.array([[1.0], [0.0]])
                bound = lane_columns.LaneProgram(lanes, prices)._priced(prices)[0]
                assert bound <= best * (1.0 + 1e-9) + 1e-9
            program = lane_columns.program_of_lanes(lane_columns.Lanes(task), costs_by_way(task, below.prices), None)
            if program is not None:
                assert program.bound <= best * (1.0 + 1e-9) + 1e-9
                with_a_vm = program.with_a_vm()
                assert program.bound <= with_a_vm.max()


def test_the_program_of_contents_finds_and_proves_the_optimum_of_few_classes() -> None:
    """Against trying everything: contents below the cost of a known plan, or so few that only a part is proven."""
    proven = planned = tried = 0
    for seed in range(70):
        spec = scarce(seed, 12)
        best, task = best_by_trying(spec), replace(task_of(spec), same_type=True)
        if not np.isfinite(best) or task.mix.together.any():
            continue
        for dearer, most in ((1.0, 2_500), (1.3, 2_500), (np.inf, 2_500), (1.3, 3)):
            prices = costs_by_way(task, relaxed(task, 1e-9).prices)
            program = lane_columns.program_of_lanes(lane_columns.Lanes(task), prices, None)
            assert program is not None
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(contents_program, "MOST_CONTENTS", most)
                plans = list(contents_program.by_contents(task, program, dearer * best, 1e-9, None))
            tried += bool(plans) and np.isfinite(plans[0][1])
            for placed, bound in plans:
                assert bound <= best * (1.0 + 1e-6) + 1e-9
                proven += bound >= best * (1.0 - 1e-6)
                if placed is not None:
                    cost = task.mix.cost(placed.bought, placed.jobs)
                    assert cost >= best * (1.0 - 1e-6) - 1e-9
                    assert (placed.jobs.sum(axis=0) >= task.low).all()
                    planned += cost <= best * (1.0 + 1e-6)
    assert tried > 30
    assert proven > 0.9 * tried
    assert planned > 0.8 * tried


def test_the_bound_of_columns_is_often_the_optimum_where_the_relaxation_is_not() -> None:
    gaps = []
    for seed in range(40):
        spec = scarce(seed, 12)
        best, task = best_by_trying(spec), task_of(spec)
        below = relaxed(task, 1e-9)
        program = lane_columns.program_of_lanes(lane_columns.Lanes(task), costs_by_way(task, below.prices), None)
        if np.isfinite(best) and best > 0.0 and program is not None:
            gaps.append((1.0 - below.bound / best, 1.0 - program.bound / best))
    assert len(gaps) > 10
    assert np.mean([new for _, new in gaps]) < 0.5 * np.mean([old for old, _ in gaps])


def test_too_few_jobs_are_no_plan() -> None:
    """Whole jobs of more VMs than a type has, though parts of them fit many types: no plan that lacks jobs."""
    rows = "".join(f"vm t{n} {{ on_demand {{ price = 0.{n + 1} USD/h }}, available = 2 }}\n" for n in range(6))
    text = (
        f"problem capacity\n{rows}class a {{ map {{ tasks = 30, avg = 60 s, max = 60 s }}, "
        "slots { map = 2, reduce = 1 }, jobs = 3..3, deadline = 400 s, penalty = 90 USD, guarantee = average }\n"
        "minimize cost\n"
    )
    found = mrdsl.solve(mrdsl.loads(text), "direct")
    assert found.plan is None
    assert found.termination != "error"
