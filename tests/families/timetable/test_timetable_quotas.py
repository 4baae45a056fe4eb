"""Quotas of cores in timetables: by hand, tampered plans, and quotas that are too small."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.verify import verify
from mrdsl.language.loading import load_text

TEXT = """problem timetable "quotas"
rent = elastic
billing { period = 1 s, minimum = 0 s }
vm "m5.large" { on_demand { price = 1 USD/min }, cores = 2 }
vm "m5.xlarge" { on_demand { price = 1.5 USD/min }, cores = 4 }
vm "c5.large" { on_demand { price = 5 USD/min }, spot { price = 2 USD/min, interruptions = 0/h }, cores = 2 }
QUOTA
class a {
  stage s { tasks = 2, avg = 5 min, max = 5 min }
  slots { task = 1 }
  runs = [1 min]
  deadline = DUE
}
minimize cost
"""


def solved(quota: str, due: str = "5 min", rent: str = "elastic") -> tuple[mrdsl.Spec, TimetablePlan, float]:
    spec = mrdsl.loads(TEXT.replace("QUOTA", quota).replace("DUE", due).replace("elastic", rent))
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.solution == "optimal"
    assert result.plan is not None
    assert result.value is not None
    assert list(verify(spec, result.plan)) == []
    return spec, result.plan, result.value


@pytest.mark.parametrize("rent", ["constant", "elastic", "per_job"])
@pytest.mark.parametrize(
    ("quota", "due", "cost"),
    [
        ("", "5 min", 10.0),
        ("quota q { cores = 4, families = [m] }", "5 min", 10.0),
        ("quota q { cores = 3, families = [m] }", "5 min", 50.0),
        ('quota q { cores = 0, types = ["m5.large"] }', "5 min", 15.0),
        ("quota q { cores = 2 }", "10 min", 10.0),
        ("quota q { cores = 3, families = [m] }", "10 min", 10.0),
        ("quota q { cores = 0, families = [m] }", "10 min", 20.0),
        ("quota q { cores = 0, families = [m] }\nquota p { cores = 3, spot = yes }", "10 min", 50.0),
        ("quota q { cores = 0, families = [m] }\nquota p { cores = 3, spot = yes }", "15 min", 20.0),
        ('quota q { cores = 3 }\nquota p { cores = 0, types = ["m5.*"] }', "15 min", 50.0),
    ],
)
def test_the_cheapest_machines_within_quotas(quota: str, due: str, cost: float, rent: str) -> None:
    """Two tasks of 5 min take two VMs for 5 min, or one for 10 min; on spot, a second attempt keeps two VMs free."""
    _, _, value = solved(quota, due, rent)
    assert value == pytest.approx(cost)


def test_plans_beyond_a_quota_are_broken() -> None:
    _, plan, _ = solved("")
    for quota, is_broken in [
        ("quota q { cores = 4 }", False),
        ("quota q { cores = 3.9 }", True),
        ("quota q { cores = 3.9, families = [c] }", False),
        ("quota q { cores = 3.9, families = [m] }", True),
        ('quota q { cores = 3.9, types = ["*.large"] }', True),
        ("quota q { cores = 3.9, spot = yes }", False),
    ]:
        spec = mrdsl.loads(TEXT.replace("QUOTA", quota).replace("DUE", "5 min"))
        assert any("quota q" in each.message for each in verify(spec, plan)) == is_broken
    _, on_spot, _ = solved("quota q { cores = 0, families = [m] }", "10 min")
    for quota, is_broken in [("cores = 4", False), ("cores = 3", True), ("cores = 3, spot = yes", True)]:
        spec = mrdsl.loads(TEXT.replace("QUOTA", f"quota q {{ {quota} }}").replace("DUE", "10 min"))
        assert any("quota q" in each.message for each in verify(spec, on_spot)) == is_broken


def test_masters_count() -> None:
    """Masters of both types of 2 cores cost 1 and 5 USD/min for 5 min, beside workers for 10 or 15 USD."""
    text = TEXT.replace("cores = 2 }", "cores = 2, masters = 1 }").replace("DUE", "5 min")
    for cores, cost in [(6, 40.0), (5, 45.0)]:
        result = mrdsl.solve(mrdsl.loads(text.replace("QUOTA", f'quota q {{ cores = {cores}, types = ["m5.large"] }}')))
        assert result.value == pytest.approx(cost)
        used = result.of(TimetablePlan).plan
        assert used is not None
        assert {each.vm for each in used.rentals if not each.master} == {"m5.xlarge" if cores == 5 else "m5.large"}


def test_a_quota_that_is_too_small_is_named() -> None:
    text = TEXT.replace("DUE", "5 min").replace('vm "m5.xlarge"', "#").replace('vm "c5.large"', "#")
    result = mrdsl.solve(mrdsl.loads(text.replace("QUOTA", "quota Standard { cores = 2 }")))
    assert result.termination == "infeasible"
    assert any("quota Standard has cores for 1" in each.message for each in result.diagnostics)


@pytest.mark.parametrize(
    ("quota", "code"),
    [
        ("quota q { cores = 8, types = [m6] }", "unknown-name"),
        ("quota q { cores = 8, families = [q] }", "unknown-name"),
        ("quota q { cores = 8, types = [] }", "missing-item"),
        ("quota q { cores = -1 }", "out-of-range"),
        ("quota q { families = [m] }", "missing-item"),
    ],
)
def test_wrong_quotas_have_an_error_at_their_line(quota: str, code: str) -> None:
    found = list(load_text(TEXT.replace("QUOTA", quota).replace("DUE", "5 min")).diagnostics)
    assert [(each.code, each.span and each.span.line) for each in found if each.severity == "error"] == [(code, 7)]


def test_a_vm_without_cores_that_a_quota_counts_is_an_error() -> None:
    text = TEXT.replace("QUOTA", "quota q { cores = 8 }").replace("DUE", "5 min").replace(", cores = 4", "")
    (found,) = (each for each in load_text(text).diagnostics if each.severity == "error")
    assert "m5.xlarge" in found.message
