"""Each plan names the classes on spot and their share; a class without `spot` may be on spot as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mrdsl
from mrdsl.families.timetable.verify import verify
from tests.shared_data import shared

CAPACITY = """problem capacity "Spot"
vm a { on_demand { price = 1 USD/h }, spot { price = 0.1 USD/h, interruptions = 0/h } }
class x { map { tasks = 4, avg = 10 s, max = 10 s }, slots { map = 2 }
  jobs = 2, deadline = 20 s, penalty = 9 USD LIMIT }
class y { map { tasks = 4, avg = 10 s, max = 10 s }, slots { map = 2 }
  jobs = 2, deadline = 20 s, penalty = 9 USD, spot = 0% }
minimize cost
"""
TIMETABLE = """problem timetable "Night"
rent = elastic
vm m { on_demand { price = 6 USD/h }, spot { price = 1 USD/h, interruptions = 0/h } }
class a { stage one { tasks = 2, avg = 10 min, max = 10 min }, slots { task = 2 }
  runs { at = [20:00, 22:00] }, deadline = 1 h LIMIT }
class b { stage one { tasks = 2, avg = 10 min, max = 10 min }, slots { task = 2 }
  runs { at = [21:00] }, deadline = 1 h, spot = 0% }
minimize cost
"""


def on_spot(text: str, limit: str) -> tuple[dict[str, float], list[Any], float]:
    result = mrdsl.solve(mrdsl.loads(text.replace(" LIMIT", limit)))
    shown = [list(table.rows) for table in result.tables() if table.title == "Classes on spot"]
    assert result.value is not None
    found: dict[str, float] = json.loads(result.to_json())["plan"].get("on_spot", {})
    return found, shown[0] if shown else [], result.value


@pytest.mark.parametrize(
    ("limit", "share"), [("", 1.0), (", spot = 100%", 1.0), (", spot = 50%", 0.5), (", spot = 0%", 0.0)]
)
def test_capacity(limit: str, share: float) -> None:
    found, shown, _ = on_spot(CAPACITY, limit)
    assert found == ({"x": pytest.approx(share)} if share else {})
    assert shown == ([("x", pytest.approx(100.0 * share))] if share else [])


@pytest.mark.parametrize(("limit", "share"), [("", 1.0), (", spot = 100%", 1.0), (", spot = 0%", 0.0)])
def test_timetable(limit: str, share: float) -> None:
    """Three runs of 10 minutes: 1 USD each on demand, and 1/6 USD on spot, of which `b` has none."""
    found, shown, value = on_spot(TIMETABLE, limit)
    assert found == ({"a": share} if share else {})
    assert shown == ([("a", 100.0)] if share else [])
    assert value == pytest.approx(1.0 + (2.0 / 6.0 if share else 2.0))


@pytest.mark.parametrize("share", ["50%", "99%", "1%"])
def test_a_run_is_on_spot_or_not(share: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match="a run is on spot VMs or is not"):
        mrdsl.solve(mrdsl.loads(TIMETABLE.replace(" LIMIT", f", spot = {share}")))


def test_verification_knows_the_limit() -> None:
    """A plan on spot, held to a spec whose class may not be: the facts and the text both say so."""
    free = mrdsl.solve(mrdsl.loads(TIMETABLE.replace(" LIMIT", "")))
    tight = mrdsl.loads(TIMETABLE.replace(" LIMIT", ", spot = 0%"))
    assert free.plan is not None
    messages = [each.message for each in verify(tight, free.plan)]  # type: ignore[arg-type]
    assert any("on spot VMs, above 0" in each for each in messages)


def test_the_shared_case() -> None:
    result = mrdsl.solve(mrdsl.load(shared("cases/default_spot.mrspec")))
    assert result.plan is not None
    assert result.plan.on_spot() == {"x": 1.0}
    assert "Classes on spot" in [table.title for table in result.tables()]
