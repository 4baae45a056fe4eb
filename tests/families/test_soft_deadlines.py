"""Deadlines of joint and of `minimize slots` that the average keeps: one warning, with the price of a bound."""

from __future__ import annotations

import re

import pytest

import mrdsl
from mrdsl.contracts.plan_warnings import UNPRICED, priced
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.resources import resource

JOINT = (resource("models") / "joint" / "reference.mrspec").read_text(encoding="utf-8")
JOINT = JOINT.replace("cluster {", "cluster {\n  reuse = paper", 1)
DAY = JOINT + "demand { periods = 5, day = bimodal, floor = 50% }\nseed = 3\n"
QUICK = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
SLOTS = (resource("models") / "bounds" / "slots.mrspec").read_text(encoding="utf-8")


def soft(text: str, solver: str, **options: object) -> tuple[list[Diagnostic], mrdsl.Result]:
    result = mrdsl.solve(mrdsl.loads(text), solver, **options)  # type: ignore[arg-type]
    return [each for each in result.diagnostics if each.code == "soft-deadline"], result


def said(hint: str) -> list[float]:
    match = re.search(r"would (?:cost|take) ([\d.]+) \w+ instead of ([\d.]+)", hint)
    assert match is not None, hint
    return [float(each) for each in match.groups()]


def guaranteed(text: str, estimate: str) -> str:
    return text.replace("  deadline ", f"  guarantee = {estimate}\n  deadline ")


@pytest.mark.parametrize(("text", "relax"), [(JOINT, False), (JOINT, True), (DAY, False)])
def test_the_price_in_joint_is_that_of_the_spec_with_a_bound(text: str, relax: bool) -> None:
    """HiGHS plans the spec in which the guarantee is written; equation (2) of paper 000 gives the time."""
    (warned,), result = soft(text, "greedy", relax=relax)
    firm = mrdsl.solve(mrdsl.loads(guaranteed(text, "upper")), "highs", relax=relax)
    assert said(warned.hint) == pytest.approx([firm.objective.value, result.objective.value], abs=0.006)
    times = []
    for period in result.plan.document()["periods"]:
        got = period["classes"]["recommendations"]
        maps, reduces = got["map_slots"] / got["at_once"], got["reduce_slots"] / got["at_once"]
        times.append((370 * 30 - 84) / maps + (64 * 59 - 168) / reduces + 11 + 2 * (40 + 42 + 44))
    assert f"{max(times):g} s" in warned.message


@pytest.mark.parametrize("estimate", ["average", "upper", "lower"])
@pytest.mark.parametrize(("text", "solver"), [(JOINT, "greedy"), (SLOTS, "formulas")])
def test_who_says_which_estimate_is_meant_is_not_warned(text: str, solver: str, estimate: str) -> None:
    text = text.replace("  guarantee = upper  #", "  #")
    assert soft(text, solver)[0]
    assert soft(guaranteed(text, estimate), solver)[0] == []


def test_a_cluster_that_is_too_small_for_a_bound() -> None:
    text = JOINT.replace("size    = 210", "size    = 185")
    firm = mrdsl.solve(mrdsl.loads(guaranteed(text, "upper")), "highs")
    assert firm.plan is None
    (warned,), _ = soft(text, "greedy")
    assert "more than this cluster keeps" in warned.hint


def test_a_comparison_in_joint_leaves_the_price_out() -> None:
    (warned,), _ = soft(JOINT + "subject to { vms <= 209 }\n", "highs")
    assert "USD" not in warned.hint


OWN = {
    "capacity, to be large": (QUICK, "let many = 2 * admitted(clicks)\nmaximize many\n"),
    "capacity, to be small": (QUICK, "let dear = cost + 0.01 USD/vms * vms\nminimize dear\n"),
    "joint": (JOINT, "let green = cost + vms * 0.3 USD/vm\nminimize green\n"),
}


@pytest.mark.parametrize("name", OWN)
def test_a_goal_of_ones_own_leaves_the_price_out(name: str) -> None:
    """What keeps the bound at the family's least cost is no plan of that goal."""
    text, goal = OWN[name]
    (warned,), result = soft(re.sub(r"(?m)^minimize .*", "", text) + goal, "highs")
    assert result.quantity in ("many", "dear", "green")
    assert warned.hint.startswith(f"`guarantee = upper` {UNPRICED};")


def test_the_slots_of_a_bound() -> None:
    """SCIP sizes the spec in which the guarantee is written; class twitter of it has one, grep none."""
    (warned,), result = soft(SLOTS, "formulas")
    assert "class grep " in warned.message
    assert "more" not in warned.message
    text = SLOTS.replace("  deadline = 10 min", "  deadline = 10 min\n  guarantee = upper")
    firm = mrdsl.solve(mrdsl.loads(text), "scip", formulation="slots")
    assert said(warned.hint) == pytest.approx([firm.objective.value, result.objective.value], abs=0.006)


def test_a_bound_that_no_slots_keep() -> None:
    """With a slot for each of its 168 tasks grep takes 74 s on average, 114 s by the upper estimate."""
    (warned,), _ = soft(SLOTS.replace("deadline = 10 min", "deadline = 80 s"), "formulas")
    assert "cannot be met by any cluster" in warned.hint


@pytest.mark.parametrize(
    ("value", "now", "said"),
    [
        (39.13, 31.84, "would cost 39.13 USD instead of 31.84"),
        (0.6, 0.6, "costs no more than these 0.60 USD"),
        (0.5, 0.6, "costs no more than these 0.60 USD"),
        (0.6042, 0.6, "would cost 0.6042 USD instead of 0.6"),
        (0.0, 0.0, "costs no more than these 0.00 USD"),
    ],
)
def test_two_prices_are_told_as_two_only_where_they_differ(value: float, now: float, said: str) -> None:
    assert priced(value, now, "USD") == said
