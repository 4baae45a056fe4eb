"""The costs of whole VMs and whole slots beside each other: each as an enumeration has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.core.result import Table
from mrdsl.families.joint.checks import find_impossible
from mrdsl.families.joint.explain import RELAXED, why
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.spec import Spec

from .brute import brute_force
from .specs import wild_spec

REFERENCE = (resource("models") / "joint" / "reference.mrspec").read_text(encoding="utf-8")


def meant(spec: Spec, wholeness: str) -> Spec:
    return replace(spec, facts=replace(spec.facts, whole=wholeness))


def costs_of(spec: Spec, relax: bool = False) -> tuple[dict[str, float], list[str]]:
    """Costs by what is whole, and which rows say that they are this plan's."""
    found = why(spec, mrdsl.solve(spec, relax=relax))
    tables = [each for each in found if isinstance(each, Table) and each.title.startswith("Whole slots")]
    rows = [row for table in tables for row in table.rows]
    named = {str(row[0]).removesuffix(" (this plan)"): row[-1] for row in rows}
    return named, [name for name, row in zip(named, rows, strict=True) if "this plan" in str(row[0])]


def test_the_costs_stand_beside_each_other_as_enumerated() -> None:
    dearer = seen = 0
    for seed in range(30):
        spec = wild_spec(seed)
        whole = meant(spec, "slots")
        best = None if list(find_impossible(whole)) else brute_force(whole, 14)
        if best is None:
            continue
        costs, own = costs_of(whole)
        assert own == ["slots"], seed
        assert list(costs) == [RELAXED, "no", "slots"], seed
        assert costs["slots"] == pytest.approx(best, rel=1e-6, abs=1e-9), seed
        assert costs["no"] == pytest.approx(brute_force(meant(spec, "no"), 14), rel=1e-6, abs=1e-9), seed
        relaxed = solve(meant(spec, "no"), "highs", relax=True).value
        assert costs[RELAXED] == pytest.approx(relaxed, rel=1e-6, abs=1e-9), seed
        dearer += costs[RELAXED] < costs["no"] < costs["slots"]
        seen += 1
    assert seen > 10
    assert dearer


@pytest.mark.parametrize(
    ("whole", "relax", "own"), [("slots", False, "slots"), ("no", False, "no"), ("no", True, RELAXED)]
)
@pytest.mark.parametrize("promise", ["", "subject to { vms <= 205 }"])
def test_each_plan_finds_the_same_costs(whole: str, relax: bool, own: str, promise: str) -> None:
    spec = meant(mrdsl.loads(f"{REFERENCE}\n{promise}"), whole)
    costs, named = costs_of(spec, relax)
    assert named == [own]
    for what, relaxed in ((RELAXED, True), ("no", False), ("slots", False)):
        alone = mrdsl.solve(meant(spec, "no" if relaxed else what), "highs", relax=relaxed)
        assert costs[what] == pytest.approx(alone.value, rel=2e-4)


def test_fractions_of_jobs_have_no_costs_to_compare() -> None:
    spec = mrdsl.loads(REFERENCE.replace("cluster {", "cluster { concurrency = fractional"))
    assert costs_of(spec) == ({}, [])
