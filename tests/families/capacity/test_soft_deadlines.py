"""Deadlines that are kept on average because nobody said otherwise: one warning, with the price of a bound."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.contracts.plan_warnings import firm
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.resources import resource
from mrdsl.spec import Columns, parts_of

QUICK = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
TABLE = """name,map.tasks,map.avg [s],map.max [s],guarantee,jobs.low,jobs.high,deadline [min],penalty [USD]
a,50,20,30,,4,5,15,2
b,50,20,30,average,4,5,15,2
c,50,20,30,upper,4,5,15,2
"""


def soft(text: str, folder: Path = Path(), **options: object) -> tuple[list[Diagnostic], mrdsl.Result]:
    result = mrdsl.solve(mrdsl.loads(text, folder=folder), "direct", **options)  # type: ignore[arg-type]
    return [each for each in result.diagnostics if each.code == "soft-deadline"], result


def guaranteed(estimate: str) -> str:
    return QUICK.replace("  deadline =", f"  guarantee = {estimate}\n  deadline =")


@pytest.mark.parametrize(("relax", "more"), [(False, "whole = no\n"), (True, "whole = no\n"), (False, "")])
def test_the_price_of_a_bound_is_that_of_the_spec_with_one(relax: bool, more: str) -> None:
    """Another solver plans the spec in which the guarantee is written. 7 slots for 6.1 keep the upper one besides."""
    (warned,), result = soft(QUICK + more, relax=relax)
    firm = mrdsl.solve(mrdsl.loads(guaranteed("upper") + more), "highs", relax=relax)
    said = re.search(r"would cost ([\d.]+) USD instead of ([\d.]+)", warned.hint)
    assert said is not None
    assert [float(each) for each in said.groups()] == pytest.approx(
        [firm.objective.value, result.objective.value], abs=0.006
    )
    assert "class clicks" in warned.message
    assert ("and 1 more class" in warned.message) == bool(more)


@pytest.mark.parametrize("estimate", ["average", "upper", "lower"])
def test_who_says_which_estimate_is_meant_is_not_warned(estimate: str) -> None:
    assert soft(guaranteed(estimate))[0] == []


def test_a_deadline_that_the_upper_estimate_keeps_is_firm() -> None:
    """One job on a slot of each kind is done in time even if every task takes its longest: 21,000 s, 27,000 s."""
    one = re.sub(r"jobs( +)= [^\n]*", r"jobs\1= 1..1", QUICK)
    assert soft(re.sub(r"deadline( *)= \d+ min", r"deadline\1= 10 h", one))[0] == []


def test_only_the_classes_that_leave_it_open_are_meant(tmp_path: Path) -> None:
    (tmp_path / "classes.csv").write_text(TABLE, encoding="utf-8")
    text = """problem capacity "x"
whole = no
vm m5 { on_demand { price = 0.2 USD/h } }
classes from "classes.csv" { slots { map = 2, reduce = 1 } }
minimize cost
"""
    (warned,), _ = soft(text, tmp_path)
    assert "class a " in warned.message
    assert "more" not in warned.message


def test_a_deadline_beyond_any_bound_is_told_without_a_price() -> None:
    """With a slot for each of its ten tasks a job takes 37 s by the average estimate, 64 s by the upper one."""
    text = """problem capacity "x", estimates = paper
vm m5 { on_demand { price = 0.2 USD/h } }
class a {
  map { tasks = 10, avg = 10 s, max = 30 s }
  slots { map = 2, reduce = 1 }
  jobs = 1..1
  deadline = 50 s
  penalty = 2 USD
}
minimize cost
"""
    (warned,), _ = soft(text)
    assert "cannot be met by any cluster" in warned.hint


def test_a_comparison_that_takes_a_solver_leaves_the_price_out() -> None:
    result = mrdsl.solve(mrdsl.loads(QUICK + "subject to { vms >= 243 }\n"), "highs")
    (warned,) = [each for each in result.diagnostics if each.code == "soft-deadline"]
    assert "USD" not in warned.hint


def test_groups_of_classes_are_made_firm_as_written_ones_are() -> None:
    spec = mrdsl.load(resource("models") / "capacity" / "table2_20.mrspec")
    classes = spec.facts.classes
    late = np.arange(len(classes)) % 3 == 0
    written = replace(spec, facts=replace(spec.facts, classes=tuple(classes)))
    grouped = firm(spec, late).facts.classes
    assert all(isinstance(part, Columns) for part in (*parts_of(classes), *parts_of(grouped)))
    assert tuple(grouped) == firm(written, late).facts.classes
    assert [node.guarantee for node in grouped] == ["upper" if each else None for each in late]


def test_a_large_spec_is_priced_by_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from mrdsl.families.capacity.methods import least_cost

    monkeypatch.setattr(least_cost, "LARGE_OF_A_CATALOGUE", 0)
    (warned,), result = soft(QUICK)
    best = mrdsl.solve(mrdsl.loads(guaranteed("upper")), "highs").objective.value
    said = re.search(r"would cost at least ([\d.]+) USD instead of ([\d.]+)", warned.hint)
    assert said is not None
    least, now = map(float, said.groups())
    assert result.objective.value == pytest.approx(now, abs=0.006)
    assert now < least <= best + 0.006
