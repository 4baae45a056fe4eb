"""The end of a search for promised plans: neighbours are run until runs decide, and paid slots are used."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import Outcome
from mrdsl.families.capacity.constraints import Promise
from mrdsl.families.capacity.methods.calibration import Cell, Placement, Trials
from mrdsl.families.capacity.methods.search import Search, Wanted
from mrdsl.families.capacity.methods.settling import Settling
from mrdsl.families.capacity.simulate import held_of
from mrdsl.simulation.verdicts import judge_share
from mrdsl.spec.blocks import Simulation

TEXT = """problem capacity "Promised"
seed = {seed}
vm m5 {{ on_demand {{ price = 0.192 USD/h }} }}
class clicks {{
  map {{ tasks = {maps}, avg = 30 s, max = 42 s }}
  shuffle {{ first_max = 11 s, avg = {shuffle} s, max = 25 s }}
  reduce {{ tasks = {reduces}, avg = 22 s, max = 44 s }}
  slots {{ map = 2, reduce = 1 }}
  jobs = {jobs}, deadline = {deadline} min, penalty = 12 USD, guarantee = {guarantee}
}}
minimize cost
{rest}
"""


@cache
def solved(seed: int, jobs: str) -> Any:
    small: dict[str, Any] = {"maps": 16, "shuffle": 20, "reduces": 6, "deadline": 4}
    return mrdsl.solve(mrdsl.loads(TEXT.format(seed=seed, jobs=jobs, guarantee="p95", rest="", **small)))


@cache
def solved_of_six(guarantee: str, rest: str = "") -> Any:
    wide: dict[str, Any] = {"maps": 40, "shuffle": 12, "reduces": 8, "deadline": 8}
    return mrdsl.solve(mrdsl.loads(TEXT.format(seed=3, jobs="4..6", guarantee=guarantee, rest=rest, **wide)))


@pytest.mark.nightly
def test_the_plan_does_not_depend_on_the_seed_and_no_smaller_cluster_keeps_its_promise() -> None:
    found = {seed: solved(seed, "2..2") for seed in (1, 7)}
    assert {result.plan.on_demand for result in found.values()} == {6.0}
    # Runs that no search has seen: all splits of one VM less miss the promise beyond doubt, and the plan does not.
    result = found[1]
    trials = Trials(held_of(result.spec, result.plan), Simulation(), 90210)
    verdicts = {
        (maps, reduces): judge_share(trials.times((Cell(2, maps, reduces),), 0, 40), 240.0, 0.95).outcome
        for reduces in range(1, 5)
        for maps in (2 * (5 - reduces),)
    }
    assert set(verdicts.values()) == {Outcome.BROKEN}
    (cell,) = [(int(result.plan.map_slots[0]), int(result.plan.reduce_slots[0]))]
    assert judge_share(trials.times((Cell(2, *cell),), 0, 600), 240.0, 0.95).outcome is Outcome.KEPT


def test_paid_slots_are_used() -> None:
    plan = solved(3, "1..1").plan
    assert plan.on_demand == plan.map_slots[0] / 2.0 + plan.reduce_slots[0]


def test_a_search_without_room_for_the_upper_estimate_finds_a_plan_that_runs_show() -> None:
    limit = "subject to { vms <= 16 }"
    assert solved_of_six("upper", limit).plan is None
    result = solved_of_six("p95", limit)
    assert result.plan.on_demand <= 16
    assert result.value <= solved_of_six("average", "subject to { vms <= 18 }").value
    seen = mrdsl.simulate(result, runs=60, seed=777).plan.observed["clicks"]
    assert str(seen.verdict.outcome) == "kept"


def test_the_plan_of_an_estimate_is_shown_if_the_search_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from mrdsl.families.capacity.methods import calibrated

    monkeypatch.setattr(calibrated, "_look_at_safe", lambda search: None)
    real = calibrated._looked

    def misses_first(search: Any, plan: Any, placement: Any, look: int) -> Any:
        evidence, seen = real(search, plan, placement, look)
        return evidence, {0: [(1e9,)] * 9999} if plan.packing else seen

    monkeypatch.setattr(calibrated, "_looked", misses_first)
    result = solved_of_six("p95")
    cheapest = min(solved_of_six(word).value for word in ("average", "upper"))
    assert result.value <= cheapest * (1.0 + 1e-9)
    assert result.plan.calibration.promises[0].low >= 0.95


@dataclass
class Coins:
    """Runs of jobs that are on time with a known probability, which a placement's VMs decide."""

    shares: dict[int, float]
    made: int = 0
    seen: dict[Any, Any] = field(default_factory=dict)

    def times(self, placement: Placement, index: int, runs: int) -> Any:
        random = np.random.RandomState(placement[index].map)
        self.made += runs
        share = self.shares[placement[index].map]
        return [(60.0 + 100.0 * (random.random_sample(40) > share)).tolist() for _ in range(runs)]


class Rented:
    def __init__(self, vms: float) -> None:
        self.rented = vms


def settling(shares: dict[int, float], budget: int = 100_000) -> Settling:
    want = Wanted(0, "a", (Promise(0, "a", 0.9, 90.0, False, None),), (0.92,), 90.0, (1, 1), (99, 0), False, 1, 40, 1)
    search = Search(None, 1, 0.95, 5, (want,), trials=Coins(shares), runs=20, most_runs=400)  # type: ignore[arg-type]
    return Settling(search, lambda placement: Rented(float(placement[0].map)), budget)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("share", "outcome"),
    [(0.80, Outcome.BROKEN), (0.88, Outcome.BROKEN), (0.9001, Outcome.UNDECIDED), (0.92, Outcome.KEPT)],
)
def test_a_neighbour_is_run_until_runs_decide(share: float, outcome: Outcome) -> None:
    trying = settling({7: share})
    assert trying.decide((Cell(1, 7, 0),)) is outcome
    assert (trying.undecided is not None) == (outcome is Outcome.UNDECIDED)


def test_the_runs_go_where_they_decide() -> None:
    clear, close = settling({7: 0.5}), settling({7: 0.9001})
    for each in (clear, close):
        each.decide((Cell(1, 7, 0),))
    assert clear.search.trials.made < 20 < 400 <= close.search.trials.made  # type: ignore[union-attr]


@pytest.mark.parametrize("start", [3, 5, 12, 40])
@pytest.mark.parametrize("least", [4, 9])
def test_the_fewest_vms_are_found_from_above_and_below(start: int, least: int) -> None:
    shares = {vms: 0.97 if vms >= least else 0.6 for vms in range(100)}
    ((_, vms, _),) = [(cell.jobs, cell.map, cell.reduce) for cell in settling(shares).settled((Cell(1, start, 0),))]
    assert vms == least


def test_a_budget_ends_the_search_with_what_it_has() -> None:
    shares = dict.fromkeys(range(100), 0.97)
    (cell,) = settling(shares, budget=30).settled((Cell(1, 40, 0),))
    assert 1 < cell.map <= 40
