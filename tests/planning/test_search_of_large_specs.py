"""`auto` ends the search for a large spec that already has a plan, unless the user set a limit or named the solver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import mrdsl
from mrdsl.core.result import Limits
from mrdsl.families.capacity import formulations
from mrdsl.families.capacity.methods import direct
from mrdsl.planning.claims import unproven
from mrdsl.solving import checked_answer, programs

PAIRS = 6
"""Two classes on two types, one of them also on spot VMs: three lanes."""
NODES = 77
SLOTS = "slots { map = 2, reduce = 2 }"
CONTAINERS = "container { map { cores = 1, memory = 3 GiB }, reduce { cores = 2, memory = 2 GiB } }"


def spec(held: str, demand: str = "jobs = 1..3") -> Any:
    shared = f"""map {{ tasks = 20, avg = 30 s, max = 42 s }}, reduce {{ tasks = 4, avg = 20 s, max = 30 s }},
      shuffle {{ first_max = 5 s, avg = 5 s, max = 8 s }}, {held}, {demand}, deadline = 3 min"""
    return mrdsl.loads(f"""problem capacity "two types"
    vm a {{ cores = 4, memory = 8 GiB, on_demand {{ price = 1 USD/h }} }}
    vm b {{
      cores = 8, memory = 16 GiB
      on_demand {{ price = 1.9 USD/h }}, spot {{ price = 0.5 USD/h, interruptions = 0.01/h }}
    }}
    class c {{ {shared}, penalty = 9 USD }}
    class d {{ {shared}, penalty = 2 USD, spot = 100% }}
    minimize cost""")


AWAY = 0.98
"""The bound of ``direct`` is so far from its plan that ``auto`` asks a solver of large specs too."""


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The node limits of all searches; `direct` has a plan without a proof."""
    found: list[int | None] = []
    known = direct.direct

    def open_gap(*given: Any) -> Any:
        result = known(*given)
        return None if result is None else replace(unproven(result), bound=AWAY * (result.bound or 0.0))

    def noting(asked: Any) -> Any:
        def solve(*given: Any, **named: Any) -> Any:
            found.extend(each.nodes for each in given if isinstance(each, Limits))
            return asked(*given, **named)

        return solve

    monkeypatch.setattr(direct, "direct", open_gap)
    monkeypatch.setattr(programs, "solve_arrays", noting(programs.solve_arrays))
    monkeypatch.setattr(checked_answer, "solve_model", noting(checked_answer.solve_model))
    monkeypatch.setattr(formulations, "NODES", NODES)
    return found


@pytest.mark.parametrize("held", [SLOTS, CONTAINERS])
@pytest.mark.parametrize(("large", "nodes"), [(PAIRS, NODES), (PAIRS + 1, None)])
def test_only_large_specs_end_their_search(
    held: str, large: int, nodes: int | None, searched: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", large)
    found = mrdsl.solve(spec(held))
    assert found.solver["name"] == "highs"
    assert set(searched) == {nodes}
    assert found.termination == "optimal", "a proof within that many nodes stays"


def test_a_plan_within_one_percent_of_its_bound_is_enough_for_a_large_spec(
    searched: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.planning.test_search_of_large_specs.AWAY", 0.995)
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", PAIRS)
    found = mrdsl.solve(spec(SLOTS))
    assert (found.solver["name"], found.termination) == ("direct", "completed")
    assert not searched


@pytest.mark.parametrize(
    ("solver", "limits", "nodes"),
    [
        ("highs", Limits(), None),
        ("auto", Limits(gap=1e-4), None),
        ("auto", Limits(time=100.0), None),
        ("auto", Limits(nodes=12345), 12345),
    ],
)
def test_a_named_solver_and_limits_of_the_user_decide(
    solver: str, limits: Limits, nodes: int | None, searched: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", 1)
    mrdsl.solve(spec(SLOTS), solver, limits=limits)
    assert set(searched) == {nodes}


def test_without_a_known_plan_the_search_goes_on(searched: list[int | None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulations, "LARGE_OF_A_CATALOGUE", 1)
    monkeypatch.setattr(direct, "direct", lambda *_: None)
    monkeypatch.setattr(direct, "with_comparisons", lambda *_: None)
    assert mrdsl.solve(spec(CONTAINERS)).termination == "optimal"
    assert set(searched) == {None}


def test_a_search_without_a_bound_keeps_that_of_the_known_plan(
    searched: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound of `direct` holds for every plan of the spec, so also for the one that HiGHS found."""
    known = mrdsl.solve(spec(SLOTS), "direct")
    kept = formulations.pack
    monkeypatch.setattr(formulations, "pack", lambda *given: replace(unproven(kept(*given)), bound=None))
    found = mrdsl.solve(spec(SLOTS))
    assert searched
    assert found.objective.bound == pytest.approx(min(AWAY * known.objective.bound, found.objective.value))
