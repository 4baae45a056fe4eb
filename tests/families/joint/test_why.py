"""What ``mrdsl why`` says is checked by solving again: sizes that matter, the worth of one VM more."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.core.result import Table
from mrdsl.families.joint.explain import smallest_feasible, smallest_without_rejections, why
from mrdsl.families.joint.workload import workload
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.spec import Spec

from .specs import random_spec, reference


def sized(spec: Spec, size: int) -> Spec:
    return replace(spec, facts=replace(spec.facts, cluster=replace(spec.facts.cluster, size=size)))


@pytest.mark.parametrize("concurrency", ["whole", "fractional"])
@pytest.mark.parametrize("sharing", ["shared", "partitioned"])
@pytest.mark.parametrize("seed", range(12))
def test_sizes_that_matter(seed: int, sharing: str, concurrency: str) -> None:
    spec = random_spec(seed, sharing=sharing, concurrency=concurrency)
    work = workload(spec)
    least, most = smallest_feasible(work), smallest_without_rejections(work)
    assert solve(sized(spec, least)).plan is not None
    smaller = [solve(sized(spec, size)).plan for size in range(1, least)]
    assert smaller[-1:] in ([], [None])
    if sharing == "shared":
        best = solve(sized(spec, 1000)).objective.value
        assert solve(sized(spec, most)).objective.value == pytest.approx(best)
        if most > least:
            assert solve(sized(spec, most - 1)).objective.value > best + 1e-9  # type: ignore[operator]


@pytest.mark.parametrize("concurrency", ["whole", "fractional"])
@pytest.mark.parametrize("seed", range(12))
def test_one_vm_more(seed: int, concurrency: str) -> None:
    spec = random_spec(seed, concurrency=concurrency)
    result = solve(spec)
    if result.plan is None:
        assert len(why(spec, result)) == 1
        return
    table = why(spec, result)[1]
    assert isinstance(table, Table)
    bigger = solve(sized(spec, spec.facts.cluster.size + 1)).objective.value
    said = table.rows[0][-1]
    assert said == pytest.approx(result.objective.value - bigger, abs=1e-9)  # type: ignore[operator]
    if concurrency == "fractional":
        assert (table.rows[0][-2] == "–") == (said == 0.0)
    else:
        assert table.rows[0][-2] != "–" or said == 0.0


def test_vms_under_contract_have_the_price_of_the_contract() -> None:
    text = (
        "problem joint\nvm a { on_demand { price = 0.2 USD/h }, reserved { price = 0.1 USD/h, available = 9 }, "
        "fee = 0.05 USD/h }\ncluster { period = 1 h }\nclass c { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, "
        "slots { map = 4, reduce = 2 }, jobs = 1..2, deadline = 10 min, penalty = 20 USD }\nminimize cost\n"
    )
    for change, part in (("", 0.15 / 0.25), ("prepaid = yes, ", 0.05 / 0.25)):
        spec = mrdsl.loads(text.replace("reserved { ", "reserved { " + change))
        table = why(spec, solve(spec))[0]
        assert isinstance(table, Table)
        costs = {row[1]: row[3] for row in table.rows}
        assert costs["a under contract"] == pytest.approx(part * costs["a"])


def test_reference_reasons() -> None:
    """Theorem 3.4 iii on the reference spec: search is marginal, what avoids less is at its minimum, more in full."""
    spec = reference()
    result = solve(spec)
    _, more, reasons = why(spec, result)
    assert isinstance(more, Table)
    assert isinstance(reasons, Table)
    assert more.rows[0][4] == "search"
    assert {row[0]: (row[4], row[5], row[6]) for row in reasons.rows} == {
        "recommendations": (0, 0, 1),
        "checkout": (1, 0, 0),
        "search": (0, 1, 0),
    }
