"""Ctrl-C while ``direct`` improves its plan: the best one so far is the result, packed and verified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mrdsl
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.families.capacity.methods import direct
from mrdsl.solving.processes import kept

SPEC = """problem capacity
vm a { cores = 8, memory = 32 GiB, on_demand { price = 0.30 USD/h } }
vm b { cores = 4, memory = 32 GiB, on_demand { price = 0.21 USD/h } }
class c[1..4] {
  coefficients { A = 9000 s, B = 1250 s, C = 95 s }
  container { cores = 1, memory = 6 GiB }
  jobs = 3..8, deadline = 20 min, penalty = 1.1 USD
}
class d { coefficients { A = 7000 s, B = 950 s, C = 35 s }, container { cores = 2, memory = 3 GiB }
  jobs = 2, deadline = 9 min, penalty = 9 USD }
minimize cost
"""


@pytest.mark.parametrize("solver", ["auto", "direct", "highs"])
def test_the_best_plan_so_far_is_kept(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = direct._rented

    def interrupted(*given: Any) -> Iterator[Any]:
        yield next(iter(real(*given)))
        raise KeyboardInterrupt

    spec = mrdsl.loads(SPEC)
    whole = mrdsl.solve(spec, "direct")
    monkeypatch.setattr(direct, "_rented", interrupted)
    with kept():
        result = mrdsl.solve(spec, solver)
    assert result.plan is not None
    assert (result.termination, result.solution) == (Termination.INTERRUPTED, SolutionStatus.FEASIBLE)
    assert result.value is not None
    assert whole.value is not None
    assert result.value >= whole.bound * (1.0 - 1e-9)
    with pytest.raises(KeyboardInterrupt):
        mrdsl.solve(spec, solver)


def test_a_plan_is_packed_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = direct.with_packing, []

    def interrupted(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*given)

    spec = mrdsl.loads(SPEC)
    whole = mrdsl.solve(spec, "direct")
    monkeypatch.setattr(direct, "with_packing", interrupted)
    with kept():
        result = mrdsl.solve(spec, "direct")
    assert result.termination is Termination.INTERRUPTED
    assert result.value == whole.value
    assert result.plan is not None
    assert result.plan.document()["packing"] == whole.plan.document()["packing"]
