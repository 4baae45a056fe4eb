"""The work of packing depends on the contents of VMs, not on their number: jobs by the hundred thousand."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mrdsl
from mrdsl.core.result import SolutionStatus
from mrdsl.families.capacity.verify import verify
from tests.shared_data import shared


@pytest.mark.parametrize(("jobs", "cost"), [(100, 1426.46), (1000, 13652.96)])
def test_ordinary_containers_are_proven(jobs: int, cost: float) -> None:
    script = str(shared("cases/ordinary_containers.py"))
    text = subprocess.run([sys.executable, script, str(jobs)], check=True, capture_output=True, text=True).stdout
    result = mrdsl.solve(mrdsl.loads(f"{text}\nestimates = paper\n"))
    assert result.solution is SolutionStatus.OPTIMAL
    assert result.value == pytest.approx(cost, abs=0.01)
    assert result.bound == pytest.approx(cost, abs=0.01)


CLASSES = """problem capacity, estimates = paper
vm m {{ cores = 4, memory = 12 GiB, on_demand {{ price = 1 USD/h }} }}
class a {{
  coefficients {{ A = 60 s, B = 0 s, C = 0 s }}, container {{ map {{ cores = 1, memory = 5 GiB }} }}
  jobs = {jobs}, deadline = 30 s, penalty = 20 USD
}}
class b {{
  coefficients {{ A = 90 s, B = 0 s, C = 0 s }}, container {{ map {{ cores = 1, memory = 3 GiB }} }}
  jobs = {jobs}, deadline = 30 s, penalty = 20 USD
}}
{groups}
minimize cost
"""


@pytest.mark.parametrize("jobs", [1, 7, 300_000])
@pytest.mark.parametrize("groups", ["", "never_together night { classes = [a, b] }"])
def test_a_few_patterns_hold_the_slots_of_any_number_of_jobs(jobs: int, groups: str) -> None:
    """J jobs take 2 J slots of a and 3 J of b. A VM has room for two of a, for one of a and two of b, or for four of b.

    Of a group, J VMs hold the slots of a, and those of b in the same places, three where two of a were. Without one, x
    VMs with a, b, b and y with a, a hold all if 2 x = 3 J and x + 2 y = 2 J: 7 J / 4, rounded up.
    """
    spec = mrdsl.loads(CLASSES.format(jobs=jobs, groups=groups))
    result = mrdsl.solve(spec)
    assert result.plan is not None
    assert not [each for each in verify(spec, result.plan, False) if each.severity == "error"]
    assert len(result.plan.packing.count) <= 8
    assert result.value == (jobs if groups else -(-7 * jobs // 4))
