"""Small nights in all ways of renting, against an enumeration of their timetables that shares no code."""

from __future__ import annotations

import pytest

import mrdsl
from tests.families.timetable.drawn_nights import WAYS, SmallNight, drawn, least


def agrees(night: SmallNight, rent: str) -> None:
    result = mrdsl.solve(mrdsl.loads(night.text(rent)))
    assert result.value is not None
    assert result.bound is not None
    assert result.solution == "optimal"
    assert result.value == pytest.approx(least(night, rent))
    assert result.bound <= least(night, rent) * (1 + 1e-9)
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


@pytest.mark.parametrize("rent", WAYS)
@pytest.mark.parametrize("seed", range(60))
def test_no_enumerated_timetable_costs_less_or_more_than_the_optimum(seed: int, rent: str) -> None:
    agrees(drawn(seed), rent)


@pytest.mark.parametrize("rent", WAYS)
@pytest.mark.parametrize("seed", range(200, 230))
def test_runs_are_left_out_if_their_penalty_is_lower(seed: int, rent: str) -> None:
    agrees(drawn(seed, penalties=True), rent)
