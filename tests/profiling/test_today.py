"""The cluster of the logs next to a plan: numbers by hand, and no effect on the plan."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl import api
from mrdsl.cli import cli
from mrdsl.core.result import Result as Solved
from mrdsl.profiling.cluster import Running
from tests.shared_data import shared

from .test_timetables import JOBS, copies

SPEC = """problem capacity "By hand"
observed {{ vms = 4, time = 10 h, used = 25%, slots = [16, 8], busy = [4, 2]{price} }}
vm m {{ on_demand {{ price = 0.30 USD/h }}, fee = 0.10 USD/h }}
class etl {{
  stage scan {{ tasks = 12, avg = 10 s, max = 10 s }}
  slots {{ task = 4 }}
  jobs = 2
  took = [20 s, 40 s, 60 s, 90 s]
  deadline = {deadline}
  penalty = 5 USD
}}
period = 2 h
minimize cost
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), standalone_mode=False)


def test_a_capacity_plan_is_compared_over_the_observed_time() -> None:
    """Four VMs of 0.40 USD/h, and the plan's, over 10 h; of four runs two took longer than 50 s."""
    result = mrdsl.solve(mrdsl.loads(SPEC.format(price="", deadline="50 s")))
    assert result.today is not None
    today, plan = result.today.today, result.today.plan
    assert (today.vms, today.time, today.cost) == (4, 40 * 3600, pytest.approx(16.0))
    assert (today.used, today.late) == (0.25, 0.5)
    assert today.slots is not None
    assert (list(today.slots.x), list(today.slots.y)) == ([0, 18_000, 36_000], [16, 8, 8])
    document = result.plan.document()
    (each,) = document["classes"].values()
    assert (plan.vms, plan.late) == (sum(document["vms"]["m"].values()), 0.0)
    # Two jobs of 12 tasks of 10 s on the slots of the class, after the last request, which is 90 s before the end.
    own = math.ceil(24 / each["task_slots"]) * 10
    assert plan.time == pytest.approx(plan.vms * (36_000 - 90 + own))
    assert plan.cost == pytest.approx(plan.time / 3600 * 0.40)
    assert plan.used == pytest.approx(2 * 120 / (each["task_slots"] * own))


def test_the_price_and_the_deadline_count() -> None:
    result = mrdsl.solve(mrdsl.loads(SPEC.format(price=", price = 1 USD/h", deadline="100 s")))
    assert result.today is not None
    assert (result.today.today.cost, result.today.today.late) == (pytest.approx(40.0), 0.0)


def test_no_plan_depends_on_it() -> None:
    text = SPEC.format(price="", deadline="50 s")
    without = re.sub(r"^observed .*$|^  took = .*$", "", text, flags=re.MULTILINE)
    some, other = mrdsl.solve(mrdsl.loads(text)), mrdsl.solve(mrdsl.loads(without))
    assert some.plan.document() == other.plan.document()
    assert (some.value, other.today) == (other.value, None)


def test_copies_of_a_log_are_compared(tmp_path: Path) -> None:
    """Twenty runs two minutes apart on one host of eight slots."""
    (tmp_path / "logs").mkdir()
    spec = api.profile([copies(tmp_path / "logs", 20, 120)], price="0.30 USD/h").to_spec()
    node = spec.facts.observed
    tasks = [task for _, _, stages in JOBS for _, _, group in stages for task in group]
    assert node.vms == 1
    assert node.time == pytest.approx(19 * 120 + 12.5)
    work = 20 * sum(end - begin for begin, end in tasks) / 1000
    assert node.used == pytest.approx(work / (8 * node.time), abs=0.001)
    assert sum(node.busy) / len(node.busy) == pytest.approx(work / node.time, rel=1e-3)
    (each,) = spec.facts.classes
    assert each.took == (12.5,) * 20
    result = mrdsl.solve(spec)
    assert result.today is not None
    assert node.held == pytest.approx((node.time,), abs=1)
    assert result.today.today.cost == pytest.approx(math.ceil(node.held[0]) * 0.30 / 3600)
    assert result.today.plan.cost == pytest.approx(result.value)
    assert result.today.plan.used == pytest.approx(result.plan.utilization)
    assert result.today.plan.busy is not None
    assert result.today.plan.busy.x[0] == 0.0


def test_every_command_shows_it(tmp_path: Path) -> None:
    spec, plan = tmp_path / "a.mrspec", tmp_path / "plan.json"
    spec.write_text(SPEC.format(price="", deadline="50 s"))
    done = run("solve", str(spec), "-o", str(plan))
    assert done.exception is None, done.output
    title = "Today and the plan"
    assert title in done.output
    assert title in run("solve", str(plan)).output
    saved = Solved.from_json(plan.read_text(), str(plan))
    assert saved.today == mrdsl.solve(mrdsl.load(spec)).today
    assert json.loads(plan.read_text())["today"]["today"]["cost"] == pytest.approx(16.0)
    page = tmp_path / "page.md"
    assert run("report", str(spec), "-o", str(page), "--analysis-time", "0").exception is None
    text = page.read_text()
    assert all(part in text for part in (title, "Cost today and with the plan", "Slots today and with the plan"))
    exported = run("export", str(plan), "spark", "--cores", "4", "--memory", "8 GiB", "-o", str(tmp_path / "out"))
    assert title in exported.output, exported.output


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=15), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_means_over_time_are_those_of_every_moment(spans: list[tuple[int, int]], parts: int) -> None:
    running = Running.of(*np.array(spans, np.int64).reshape(-1, 2).T)
    edges = np.arange(parts + 1) * 63 // parts
    counts = [sum(begin <= moment < end for begin, end in spans) for moment in range(64)]
    expected = [np.mean(counts[begin:end]) for begin, end in pairwise(edges)]
    assert running.mean(edges) == pytest.approx(expected)


ONE_RUN = """problem capacity "One run"
vm m {{ on_demand {{ price = 0.20 USD/h }} }}
observed {{ vms = 2, time = {time} s{more} }}
class etl {{
  {work}
  jobs = {jobs}
  startup = {startup} s
  took = [{took}]
  deadline = {deadline} s
  penalty = 10 USD
}}
minimize cost
"""
STAGE = "stage s0 {{ tasks = {0}, avg = 10 s, max = 10 s }}\n  slots {{ task = 4 }}"
MAPS = "map { tasks = 8, avg = 10 s, max = 10 s }\n  slots { map = 4, reduce = 4 }"


@pytest.mark.parametrize(
    ("work", "jobs", "startup", "time", "took", "deadline", "more", "today", "plan"),
    [
        (STAGE.format(80), 1, 0, 100, "100 s", 250, "", 200, 200),
        (STAGE.format(80), 1, 0, 500, "500 s", 250, "", 1000, 200),
        (STAGE.format(80), 1, 50, 150, "150 s", 300, "", 300, 250),
        (STAGE.format(81), 1, 0, 110, "110 s", 250, "", 220, 210),
        (STAGE.format(1), 1, 0, 10, "10 s", 20, "", 20, 10),
        (STAGE.format(40), 2, 0, 100, "100 s, 100 s", 250, "", 200, 200),
        (MAPS, 1, 0, 20, "20 s", 28, "", 40, 20),
        (STAGE.format(80), 1, 0, 1000, "100 s, 100 s", 250, ", requests = [0 s, 0 s]", 2000, 400),
        (STAGE.format(80), 1, 0, 1000, "100 s, 100 s", 250, "", 2000, 1100),
        (STAGE.format(80), 1, 0, 1000, "100 s", 250, ", held = [100 s, 30 s], requests = [50 s]", 130, 250),
    ],
)
def test_both_sides_are_charged_from_the_first_request_to_the_last_end(
    work: str,
    jobs: int,
    startup: int,
    time: int,
    took: str,
    deadline: int,
    more: str,
    today: float,
    plan: float,
) -> None:
    """One VM of four slots in the plan: waves of 10 s, after the startup."""
    text = ONE_RUN.format(
        work=work.replace("{{", "{").replace("}}", "}"),
        jobs=jobs,
        startup=startup,
        time=time,
        took=took,
        deadline=deadline,
        more=more,
    )
    result = mrdsl.solve(mrdsl.loads(text))
    assert result.today is not None
    found = result.today
    assert found.plan.vms == 1
    assert (found.today.time, found.plan.time) == (today, pytest.approx(plan))
    for each in (found.today, found.plan):
        assert each.cost == pytest.approx(each.time / 3600 * 0.20)


def test_the_plan_of_one_run_takes_its_own_time() -> None:
    result = mrdsl.solve(mrdsl.load(shared("cases/today_of_one_run.mrspec")))
    assert result.today is not None
    assert [each.time / 3600 for each in (result.today.today, result.today.plan)] == pytest.approx([1 / 18, 1 / 18])


def test_timetables_count_startup_billing_and_workers_only() -> None:
    """Two runs of 50 s of startup and 100 s on two VMs, billed by 200 s; masters are on neither side."""
    text = """problem timetable "t"
rent = per_job
vm m { on_demand { price = 1 USD/h }, masters = 1 }
billing { period = 200 s, minimum = 0 s }
observed { vms = 3, time = 1150 s, held = [150 s, 150 s, 201 s, 400 s] }
class a {
  stage s { tasks = 8, avg = 100 s, max = 100 s }
  slots { task = 4 }
  startup = 50 s
  runs { at = [0 s, 1000 s] }
  deadline = 160 s
}
minimize cost
"""
    result = mrdsl.solve(mrdsl.loads(text))
    assert result.today is not None
    today, plan = result.today.today, result.today.plan
    assert (today.vms, today.time, today.cost) == (3, 901, pytest.approx((200 + 200 + 400 + 400) / 3600))
    assert (plan.vms, plan.time, plan.cost) == (2, 600, pytest.approx(4 * 200 / 3600))
