"""Ctrl-C and time limits while ``direct`` plans many periods: those that are left are planned without a solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.core.watching import LateError, sharing
from mrdsl.families.capacity.methods import grouped_periods
from mrdsl.families.capacity.periods.plan import PeriodsPlan
from mrdsl.families.capacity.periods.program import blocks_of
from mrdsl.solving.processes import kept

SPEC = """problem capacity
vm a { on_demand { price = 0.30 USD/h }, reserved { price = 0.18 USD/h, available = 40 } }
vm b { on_demand { price = 0.21 USD/h }, spot { price = 0.09 USD/h, interruptions = 0.01/h } }
demand { periods = 9, from = "day.csv" }
class c { coefficients { A = 9000 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 3..8, deadline = 20 min, penalty = 2 USD, spot = 50% }
class d { coefficients { A = 7000 s, B = 950 s, C = 35 s }, slots { map = 2, reduce = 2 }
  jobs = 2, deadline = 9 min, penalty = 9 USD }
minimize cost
"""


def spec_in(folder: Path, more: str = "") -> mrdsl.Spec:
    (folder / "day.csv").write_text("factor\n" + "\n".join(str(0.1 * n) for n in range(1, 10)) + "\n", encoding="utf-8")
    (folder / "spec.mrspec").write_text(SPEC + more, encoding="utf-8")
    return mrdsl.load(folder / "spec.mrspec")


@pytest.mark.parametrize("where", ["_bounded", "_solved", "finished"])
@pytest.mark.parametrize("calls", [1, 2])
def test_the_best_plan_so_far_is_kept(where: str, calls: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = spec_in(tmp_path)
    whole = mrdsl.solve(spec, "direct")
    real, count = getattr(grouped_periods, where), []

    def interrupted(*given: Any) -> Any:
        count.append(1)
        if len(count) == calls:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(grouped_periods, where, interrupted)
    monkeypatch.setattr(grouped_periods, "BATCH", 4)
    with kept():
        result = mrdsl.solve(spec, "direct")
    if where == "finished" and calls == 2:
        assert result.termination is whole.termination
        return
    assert (result.termination, result.solution) == (Termination.INTERRUPTED, SolutionStatus.FEASIBLE)
    assert result.plan_of(PeriodsPlan).plan_of.tolist() == whole.plan_of(PeriodsPlan).plan_of.tolist()
    assert result.value is not None
    assert whole.bound is not None
    assert result.value >= whole.bound * (1.0 - 1e-9)
    count.clear()
    with pytest.raises(KeyboardInterrupt):
        mrdsl.solve(spec, "direct")


def test_the_time_limit_leaves_a_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = spec_in(tmp_path)
    monkeypatch.setattr(grouped_periods.Draft, "is_late", lambda draft: True)
    result = mrdsl.solve(spec, "direct", limits=mrdsl.Limits(time=100))
    assert result.termination is Termination.TIME_LIMIT
    assert result.plan is not None


def test_limits_that_a_quick_plan_breaks_leave_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a solver all jobs are on the cheaper type b."""

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    spec = spec_in(tmp_path, "subject to { vms(a) >= 5 }\n")
    assert mrdsl.solve(spec, "direct").plan is not None
    monkeypatch.setattr(grouped_periods, "_solved", interrupted)
    with kept():
        result = mrdsl.solve(spec, "direct")
    assert result.termination is Termination.INTERRUPTED
    assert result.plan is None


def test_building_the_programs_of_periods_ends_with_the_shared_time(tmp_path: Path) -> None:
    """With containers, each period has a program of its own."""
    (tmp_path / "spec.mrspec").write_text(
        SPEC.replace("vm a {", "vm a { cores = 4, memory = 16 GiB,")
        .replace("vm b {", "vm b { cores = 4, memory = 8 GiB,")
        .replace("slots { map = 4, reduce = 2 }", "container { cores = 1, memory = 2 GiB }")
    )
    (tmp_path / "day.csv").write_text("factor\n" + "1\n2\n3\n" * 3)
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    with sharing(0.0), pytest.raises(LateError):
        blocks_of(spec, False)
