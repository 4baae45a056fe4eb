"""Tables and profiles of rows that are made up, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from mrdsl.core.charts import BarChart, LineChart
from mrdsl.sweeping.study.declaration import Pivot, Profile
from mrdsl.sweeping.study.tables import INSTANCE, Row, contradictions, pivoted, profiled


def row(instance: int, method: str, value: float | None, **more: Any) -> Row:
    """A run that was completed, and is better the less it is."""
    return {
        INSTANCE: instance,
        "spec": f"s{instance % 2}",
        "method": method,
        "param.load": instance,
        "value": value,
        "sense": "minimize",
        "termination": "completed",
        "solution": "none" if value is None else "feasible",
        "relax": False,
        "unit": "USD",
        **more,
    }


ROWS = [
    row(1, "exact", 10.0, bound=10.0, cpu_seconds=4.0, part=4.0),
    row(1, "quick", 11.0, cpu_seconds=1.0, part=1.0),
    row(2, "exact", 20.0, bound=16.0, cpu_seconds=8.0, part=5.0),
    row(2, "quick", 18.0, cpu_seconds=2.0, part=9.0),
    row(3, "exact", 40.0, bound=40.0, cpu_seconds=2.0, part=10.0),
    row(3, "quick", None, cpu_seconds=1.0, termination="error"),
]
PIVOTS = {
    "means over specs": (Pivot("value"), [("s1", 25.0, 11.0), ("s0", 20.0, 18.0)]),
    "sums": (Pivot("value", statistic=("sum",)), [("s1", 50.0, 11.0), ("s0", 20.0, 18.0)]),
    "counts": (Pivot("value", statistic=("count",)), [("s1", 2, 1), ("s0", 1, 1)]),
    "over a param": (Pivot("value", "load"), [(1, 10.0, 11.0), (2, 20.0, 18.0), (3, 40.0, None)]),
    "above a method": (Pivot("value", "load", above="exact"), [(1, 0.0, 10.0), (2, 0.0, -10.0), (3, 0.0, None)]),
    "above the best": (Pivot("value", "load", above="best"), [(1, 0.0, 10.0), (2, 100 / 9, 0.0), (3, 0.0, None)]),
    "above the bound": (Pivot("value", "load", above="bound"), [(1, 0.0, 10.0), (2, 25.0, 12.5), (3, 0.0, None)]),
    "shares": (
        Pivot("part", "load", share_of="value"),
        [(1, 40.0, 100 / 11), (2, 25.0, 50.0), (3, 25.0, None)],
    ),
    "several statistics": (
        Pivot("value", "method", statistic=("mean", "max"), above="bound"),
        [("exact", 25 / 3, 25.0), ("quick", 11.25, 12.5)],
    ),
}


@pytest.mark.parametrize("name", PIVOTS)
def test_a_table(name: str) -> None:
    pivot, expected = PIVOTS[name]
    found, chart = pivoted(pivot, ROWS)
    assert [each[0] for each in found.rows] == [each[0] for each in expected]
    for got, wanted in zip(found.rows, expected, strict=True):
        assert list(got[1:]) == pytest.approx(list(wanted[1:]), nan_ok=True)
    assert isinstance(chart, LineChart if pivot.rows == "load" else BarChart)


def cells(pivot: Pivot, rows: list[Row]) -> dict[Any, Any]:
    """The one row of a table, by its columns."""
    table = pivoted(pivot, rows)[0]
    (only,) = table.rows
    return dict(zip(table.columns[1:], only[1:], strict=True))


def test_the_sense_is_of_the_goal_alone() -> None:
    rows = [
        row(1, "slow", 100.0, bound=125.0, seconds=4.0, sense="maximize"),
        row(1, "fast", 50.0, bound=400.0, seconds=2.0, sense="maximize"),
    ]
    assert cells(Pivot("seconds", above="best"), rows) == {"slow": 100.0, "fast": 0.0}
    assert cells(Pivot("value", above="best"), rows) == {"slow": 0.0, "fast": -50.0}
    assert cells(Pivot("value", above="bound"), rows) == pytest.approx({"slow": -20.0, "fast": -60.0})
    above_fast = {"slow": 100.0, "fast": 0.0}
    assert cells(Pivot("value", above="fast"), rows) == above_fast, "a method is what it is, whatever the sense"


@pytest.mark.parametrize(("sense", "sign"), [("minimize", 1), ("maximize", -1)])
def test_fractions_are_no_base_of_whole_plans(sense: str, sign: int) -> None:
    """Whole plans cost 10 at best where fractions cost 8, or earn 10 where fractions earn 12.5."""
    fractions = 8.0 if sign > 0 else 12.5
    rows = [
        row(1, "whole", 10.0, bound=10.0, sense=sense),
        row(1, "quick", 12.0 if sign > 0 else 8.0, sense=sense),
        row(1, "fractions", fractions, bound=fractions, relax=True, sense=sense),
    ]
    against_whole = {"whole": 0.0, "quick": pytest.approx(20.0 * sign), "fractions": 0.0}
    assert cells(Pivot("value", above="best"), rows) == against_whole
    assert cells(Pivot("value", above="bound"), rows) == against_whole, "nor are bounds of whole plans of fractions"
    above = cells(Pivot("value", above="fractions"), rows)
    assert above["whole"] == pytest.approx(100 * (10 / fractions - 1)), "a method that is named is the base of all"
    without = [each for each in rows if each["method"] != "whole"]
    proven = cells(Pivot("value", above="bound"), without)
    assert proven["quick"] == pytest.approx(100 * (without[0]["value"] / fractions - 1)), "no whole plan is better"


def test_runs_of_one_name_and_runs_without_a_param() -> None:
    rows = [{**each, "runs": "a" if each["method"] == "exact" else "b"} for each in ROWS]
    assert pivoted(Pivot("value", runs="b"), rows)[0].rows == [("s1", 11.0), ("s0", 18.0)]
    without = [{**each, "param.load": None} if each["method"] == "exact" else each for each in ROWS]
    assert pivoted(Pivot("value", "load"), without)[0].rows == [(1, 11.0), (2, 18.0), (3, None)]


def shares(profile: Profile, rows: list[Row]) -> dict[str, tuple[float, float, float]]:
    """By method: of 100 instances the best in, solved, and how many there are."""
    return {each[0]: (each[1], each[-2], each[-1]) for each in profiled(profile, rows)[0].rows}


def test_profiles() -> None:
    third = round(100 / 3, 2)
    assert shares(Profile("value"), ROWS) == {"exact": (66.67, 100.0, 3), "quick": (third, 66.67, 3)}
    assert shares(Profile("cpu_seconds"), ROWS) == {"exact": (third, 100.0, 3), "quick": (66.67, 66.67, 3)}
    near = shares(Profile("cpu_seconds", within=0.05), ROWS)
    assert near == {"exact": (66.67, 66.67, 3), "quick": (third, third, 3)}


def test_a_profile_of_what_is_maximized_and_of_what_has_no_ratio() -> None:
    most = [{**each, "sense": "maximize"} for each in ROWS]
    assert shares(Profile("value"), most) == {"exact": (66.67, 100.0, 3), "quick": (33.33, 66.67, 3)}
    below = [{**each, "value": -1.0} if each[INSTANCE] == 1 else each for each in ROWS]
    assert {method: each[-1] for method, each in shares(Profile("value"), below).items()} == {"exact": 2, "quick": 2}
    chart = profiled(Profile("value"), most)[1]
    assert chart.steps
    assert [each.name for each in chart.series] == ["exact", "quick"]


def test_goals_of_fractions_are_compared_with_each_other_alone() -> None:
    rows = [*ROWS, *(row(instance, "fractions", 1.0, relax=True, cpu_seconds=0.5) for instance in (1, 2, 3))]
    assert shares(Profile("value"), rows) == {**shares(Profile("value"), ROWS), "fractions": (100.0, 100.0, 3)}
    assert shares(Profile("cpu_seconds"), rows)["exact"][0] == 0.0, "times are of one kind"


def test_contradictions() -> None:
    assert contradictions(ROWS) == []
    wrong = [*ROWS, row(1, "hasty", 9.0, bound=8.0)]
    assert [(one["method"], other["method"]) for one, other in contradictions(wrong)] == [("hasty", "exact")]
    relaxed = [*ROWS, row(1, "hasty", 9.0, bound=9.0, relax=True)]
    assert contradictions(relaxed) == [], "fractions may be better than what is proven of whole numbers"
    bounding = [row(1, "a", 9.0), row(1, "b", 10.0, bound=10.0, relax=True)]
    assert len(contradictions(bounding)) == 1, "what is proven of fractions holds for whole numbers"
    most = [{**each, "sense": "maximize"} for each in bounding]
    assert contradictions(most) == []


def test_a_contradiction_is_more_than_tolerances_explain() -> None:
    """A cost of 0 beside a proven 1e-9 is what rounding leaves, unless all that costs something is that small."""
    rows = [row(1, "a", 0.0), row(1, "b", 1e-9, bound=1e-9)]
    assert contradictions(rows) == []
    assert contradictions([{**each, "size": 5.0} for each in rows]) == []
    assert len(contradictions([{**each, "size": 1e-6} for each in rows])) == 1


def test_a_profile_is_drawn_in_steps() -> None:
    pytest.importorskip("altair")
    from mrdsl.reporting.charts.drawing import draw_lines

    chart = profiled(Profile("cpu_seconds"), ROWS)[1]
    assert draw_lines(chart).to_dict()["layer"][0]["mark"]["interpolate"] == "step-after"
    drawn = {one.name: [*one.x, *one.y] for one in chart.series}
    third = 100 / 3
    assert drawn["quick"] == pytest.approx([0.0, 2.1, 2 * third, 2 * third])
    assert drawn["exact"] == pytest.approx([0.0, 2.0, 2.1, third, 100.0, 100.0])


def nothing(instance: int, method: str, **more: Any) -> Row:
    """A run that ended without a plan."""
    return row(instance, method, None, **more)


NOTHING_FOUND = [
    row(1, "mvps", 20.0, cpu_seconds=5.0, seconds=5.0),
    nothing(1, "em", cpu_seconds=0.1, seconds=0.1),
    row(2, "mvps", 20.0, cpu_seconds=5.0, seconds=5.0),
    row(2, "em", 19.0, cpu_seconds=1.0, seconds=1.0),
]


@pytest.mark.parametrize("measure", ["cpu_seconds", "seconds", "value"])
def test_who_found_no_plan_wins_no_profile(measure: str) -> None:
    assert shares(Profile(measure), NOTHING_FOUND) == {"mvps": (50.0, 100.0, 2), "em": (50.0, 50.0, 2)}
    assert shares(Profile(measure, within=0.1), NOTHING_FOUND) == {"mvps": (50.0, 100.0, 2), "em": (50.0, 50.0, 2)}


def test_an_instance_that_nobody_solves_is_left_out_of_profiles_of_time_too() -> None:
    rows = [*NOTHING_FOUND, nothing(3, "em", cpu_seconds=1.0), nothing(3, "mvps", cpu_seconds=2.0)]
    assert shares(Profile("cpu_seconds"), rows) == shares(Profile("cpu_seconds"), NOTHING_FOUND)


def test_a_proof_that_there_is_no_plan_solves_an_instance_unless_a_plan_refutes_it() -> None:
    proven = [nothing(1, name, cpu_seconds=s, termination="infeasible") for name, s in (("em", 1.0), ("mvps", 2.0))]
    assert shares(Profile("cpu_seconds"), proven) == {"em": (100.0, 100.0, 1), "mvps": (0.0, 100.0, 1)}
    refuted = [proven[0], row(1, "mvps", 20.0, cpu_seconds=2.0)]
    assert shares(Profile("cpu_seconds"), refuted) == {"em": (0.0, 0.0, 1), "mvps": (100.0, 100.0, 1)}
    fractions = [proven[0], row(1, "mvps", 20.0, cpu_seconds=2.0, relax=True)]
    assert shares(Profile("cpu_seconds"), fractions)["em"] == (100.0, 100.0, 1), "fractions may do where no plan does"
    of_fractions = [{**proven[0], "relax": True}, row(1, "mvps", 20.0, cpu_seconds=2.0)]
    assert shares(Profile("cpu_seconds"), of_fractions)["em"] == (0.0, 0.0, 1), "a whole plan is one of fractions"


def test_the_least_time_that_others_are_above_is_that_of_a_run_with_a_plan() -> None:
    table, _ = pivoted(Pivot("seconds", "load", above="best"), NOTHING_FOUND)
    assert table.rows[0] == (1, 0.0, -98.0)
