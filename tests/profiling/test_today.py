"""The cluster of the logs next to a plan: numbers by hand, and no effect on the plan."""

from __future__ import annotations

import json
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
    assert plan.time == plan.vms * 36_000
    assert plan.cost == pytest.approx(plan.vms * 0.40 * 10)
    # Two jobs of 120 s of work each, on the slots of the class until they end.
    assert plan.used == pytest.approx(2 * 120 / (each["task_slots"] * each["completion"]["average"]))


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
    first, last = min(begin for begin, _ in tasks), max(end for _, end in tasks)
    assert node.vms == 1
    assert node.time == pytest.approx(19 * 120 + (last - first) / 1000)
    work = 20 * sum(end - begin for begin, end in tasks) / 1000
    assert node.used == pytest.approx(work / (8 * node.time), abs=0.001)
    assert sum(node.busy) / len(node.busy) == pytest.approx(work / node.time, rel=1e-3)
    (each,) = spec.facts.classes
    assert each.took == (12.5,) * 20
    result = mrdsl.solve(spec)
    assert result.today is not None
    assert result.today.today.cost == pytest.approx(node.time * 0.30 / 3600)
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
