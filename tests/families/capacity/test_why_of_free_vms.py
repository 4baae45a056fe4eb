"""What is said of plans whose VMs cost nothing more, or that run no job."""

from __future__ import annotations

from pathlib import Path

import mrdsl
from tests.command_lines import run_here

TEXT = """problem capacity
vm m5 {{ {vm} }}
class a {{ map {{ tasks = 37, avg = 30 s, max = 42 s }}, shuffle {{ first_max = 11 s, avg = 37 s, max = 40 s }}
  reduce {{ tasks = 6, avg = 22 s, max = 44 s }}, slots {{ map = 2, reduce = 1 }}
  jobs = {jobs}, deadline = 15 min, penalty = {penalty} USD }}
minimize cost
"""


def told(tmp_path: Path, command: str, vm: str, jobs: str, penalty: int) -> str:
    (tmp_path / "x.mrspec").write_text(TEXT.format(vm=vm, jobs=jobs, penalty=penalty))
    return str(run_here(command.split(), tmp_path).output)


def test_vms_that_are_paid_anyway_are_used_by_jobs_alone(tmp_path: Path) -> None:
    paid = "reserved { price = 0.5 USD/h, available = 100, prepaid = yes }"
    vm = f'on_demand {{ price = 1 USD/h }}, {paid}, reserved "x" {{ price = 0.2 USD/h, available = 1 }}'
    plan = mrdsl.solve(mrdsl.loads(TEXT.format(vm=vm, jobs="3..4", penalty=4))).plan
    used = round(sum(plan.vms.tolist()))
    shown = told(tmp_path, "why x.mrspec", vm, "3..4", 4)
    assert f"{used} of 100 VMs of m5 reserved are used, {100 - used} are not" in shown
    assert used < 100


def test_reserved_vms_of_one_contract_that_cost_nothing_are_used_by_jobs_alone(tmp_path: Path) -> None:
    vm = "on_demand { price = 1 USD/h }, reserved { price = 0 USD/h, available = 100 }"
    plan = mrdsl.solve(mrdsl.loads(TEXT.format(vm=vm, jobs="3..4", penalty=4))).plan
    shown = told(tmp_path, "why x.mrspec", vm, "3..4", 4)
    assert f"{round(sum(plan.vms.tolist()))} of 100 reserved VMs are used: reservations do not bind" in shown


def test_a_penalty_that_is_just_the_cost_is_said_to_be(tmp_path: Path) -> None:
    shown = told(tmp_path, "why x.mrspec", "on_demand { price = 0 USD/h }", "3..4", 0)
    assert "its penalty is just the cost of its VMs" in shown
    assert "reserved ones" not in shown


def test_a_plan_of_masters_alone_runs_no_job(tmp_path: Path) -> None:
    vm = "masters = 3, cores = 4, memory = 16 GB, on_demand { price = 1 USD/h }"
    shown = told(tmp_path, "export x.mrspec emr", vm, "0..1", 0)
    assert "the plan runs no job: all its VMs are masters" in shown
    assert "rents no VM" not in shown
