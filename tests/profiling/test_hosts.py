"""Hosts of logs over time: VM-hours by hand, most at once, hosts between runs, and pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl import api
from mrdsl.profiling.cluster import requests_of
from mrdsl.profiling.profiles import Profiles
from mrdsl.profiling.report import report
from tests.shared_data import shared

from .logs_of_runs import Executor, events, job, write

HOUR = 3600
App = tuple[list[Executor], tuple[float, float | None]]


def profiled(folder: Path, *apps: App, master: str = "yarn") -> Profiles:
    """Applications with one task over their whole time, that of a second if it is cut."""
    for place, (lives, span) in enumerate(apps):
        end = span[0] + 1 if span[1] is None else span[1]
        found = events([job(0, [(span[0], end)])], lives, span, f"a{place}", settings={"spark.master": master})
        write(folder / f"log{place}", found)
    return api.profile([folder], price="1 USD/h")


def hosts(found: Profiles) -> list[tuple[Any, ...]]:
    return [tuple(row) for table in report(found) if table.title.startswith("Hosts") for row in table.rows]


KEPT = "VMs in several runs, counted from the first to the last"
PASSING = "VMs in one run only, not counted before and after it"

CASES: dict[str, tuple[list[App], int, float, int]] = {
    "new hosts each night": (
        [([("1", f"h{n}", 1, 86400 * n, None)], (86400 * n, 86400 * n + HOUR)) for n in range(3)], 1, 3 * HOUR, 0
    ),
    "one host over two nights was there between": (
        [([("1", "h", 1, 86400 * n, None)], (86400 * n, 86400 * n + HOUR)) for n in range(2)], 1, 25 * HOUR, 1
    ),
    "a spot VM is replaced": ([([("1", "a", 4, 0, 1800), ("2", "b", 4, 1800, None)], (0, HOUR))], 1, HOUR, 0),
    "replaced ones overlap": ([([("1", "a", 4, 0, 1800), ("2", "b", 4, 1200, None)], (0, HOUR))], 2, 4200, 0),
    "no removal: to the end": ([([("1", "a", 4, 0, None), ("2", "b", 4, 600, None)], (0, HOUR))], 2, 6600, 0),
    "cut: to the last task": ([([("1", "a", 4, 0, None)], (0, None))], 1, 1, 0),
    "two executors on one host": ([([("1", "a", 2, 0, 900), ("2", "a", 2, 300, 1200)], (0, HOUR))], 1, 1200, 0),
    "removed and added again": ([([("1", "a", 2, 0, 900), ("2", "a", 2, 1800, 2700)], (0, HOUR))], 1, 2700, 0),
    "the same id again": ([([("1", "a", 2, 0, 900), ("1", "a", 2, 1800, 2700)], (0, HOUR))], 1, 2700, 0),
    "two applications at once": (
        [([("1", "a", 2, 0, None)], (0, HOUR)), ([("1", "a", 2, 1800, None)], (1800, 2 * HOUR))], 1, 2 * HOUR, 1
    ),
    "localhost is another machine in each run": (
        [([("1", "localhost", 1, 86400 * n, None)], (86400 * n, 86400 * n + HOUR)) for n in range(2)], 1, 2 * HOUR, 0
    ),
    "no time at all": ([([("1", "a", 1, 0, 0), ("2", "b", 1, 0, None)], (0, 60))], 1, 60, 0),
    "added after the last task": ([([("1", "a", 2, 0, None), ("2", "b", 2, HOUR, None)], (0, HOUR))], 1, HOUR, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_time_of_hosts_is_from_their_first_sign_to_their_last(name: str, tmp_path: Path) -> None:
    apps, most, seconds, kept = CASES[name]
    found = profiled(tmp_path, *apps)
    machines = found.cluster.machines
    assert (found.cluster.vms, sum(machines.times) / 1000, len(machines.kept)) == (most, seconds, kept)
    assert sum(row[2] for row in hosts(found)) == pytest.approx(seconds / HOUR)
    (table,) = [each for each in report(found) if each.title.startswith("The cluster")]
    assert dict(row[:2] for row in table.rows)["cost over the logs [USD]"] == pytest.approx(seconds / HOUR)
    node = found.to_spec("capacity").facts.observed
    assert (node.vms, sum(node.held)) == (most, pytest.approx(seconds))


def test_clusters_of_one_job_each_cost_what_they_ran() -> None:
    """Two nights of one VM for 1 h: 2 VM-hours on both sides, and no VM between."""
    found = api.profile([shared("cases/transient_clusters")], price="1 USD/h")
    assert hosts(found) == [(PASSING, 2, 2.0, "h0, h1")]
    assert found.cluster.used == 1.0
    for family in ("capacity", "timetable"):
        result = mrdsl.solve(found.to_spec(family))
        assert result.today is not None
        today = result.today.today
        assert (today.vms, today.time, today.cost) == (1, 2 * HOUR, pytest.approx(2.0))
        # A timetable boots the VM of each run, for a guess of 2 min.
        boots = 0 if family == "capacity" else 240
        assert (result.today.plan.vms, result.today.plan.time) == (1, pytest.approx(2 * HOUR + boots))


def test_the_report_says_which_hosts_were_there_between_runs(tmp_path: Path) -> None:
    lives: list[Executor] = [("1", "stays", 1, 0, None), ("2", "goes", 1, 0, None)]
    later: list[Executor] = [("1", "stays", 1, 7200, None), ("2", "comes", 1, 7200, None)]
    found = profiled(tmp_path, (lives, (0, HOUR)), (later, (7200, 3 * HOUR)))
    assert hosts(found) == [(KEPT, 1, 3.0, "stays"), (PASSING, 2, 2.0, "comes, goes")]
    text = found.to_mrspec()
    assert f"# {KEPT}: 1." in text
    assert f"# {PASSING}: 2." in text


def test_hosts_of_mapreduce_are_there_during_their_jobs(tmp_path: Path) -> None:
    """Two jobs of 1 h a day apart, on hosts of their own: no more than one VM at once, and 2 VM-hours."""
    jobs = []
    for n in range(2):
        begin = 86_400_000 * n
        task = {
            "container.host": f"/r/h{n}",
            "container.type": "map",
            "container.start.ms": begin,
            "container.end.ms": begin + 3_600_000,
        }
        jobs.append({"job.id": f"j{n}", "job.start.ms": begin, "job.end.ms": begin + 3_600_000, "job.tasks": [task]})
    (tmp_path / "sls.json").write_text("\n".join(map(json.dumps, jobs)))
    found = api.profile([tmp_path])
    assert (found.cluster.vms, found.cluster.machines.hours, found.cluster.map.use) == (1, 2.0, 1.0)
    assert found.cluster.used == 1.0


def test_pods_are_not_vms(tmp_path: Path) -> None:
    found = api.profile([shared("cases/kubernetes_pods.log")], price="1 USD/h")
    cluster = found.cluster
    assert (cluster.vms, cluster.most_pods, cluster.pods.hours, cluster.pod_slots) == (0, 4, pytest.approx(2 / 3), 2)
    shown = "\n".join(str(table) for table in report(found) if table.title.startswith(("The cluster", "Hosts")))
    assert "pods" in shown
    assert "'VMs" not in shown
    for family in ("capacity", "timetable"):
        text = found.to_mrspec(family)
        assert "observed" not in text
        assert "on one VM in the logs" not in text
        assert "pods" in text
        assert mrdsl.solve(mrdsl.loads(text)).plan is not None


def test_addresses_of_pods_come_again(tmp_path: Path) -> None:
    """Two nights with one address: 2 pod-hours, not 25."""
    apps: list[App] = [([("1", "10.0.0.1", 1, 86400 * n, None)], (86400 * n, 86400 * n + HOUR)) for n in range(2)]
    found = profiled(tmp_path, *apps, master="k8s://https://1.2.3.4")
    assert (found.cluster.most_pods, found.cluster.pods.hours, found.cluster.vms) == (1, 2.0, 0)


def test_real_logs_have_as_much_time_as_their_executors() -> None:
    """Independent sums over the events: the first addition of a host to its last removal or the end."""
    folder = shared("data/spark/sparklint")
    for path in sorted(each for each in folder.rglob("*") if each.is_file())[:6]:
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        on: dict[str, str] = {}
        end = 0
        try:
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if '"Event"' in line]
        except ValueError:
            continue
        for each in lines:
            if each["Event"].endswith("ExecutorAdded"):
                host = each["Executor Info"]["Host"]
                on[each["Executor ID"]] = host
                first[host] = min(first.get(host, each["Timestamp"]), each["Timestamp"])
        ids = dict(on)
        for each in lines:
            if each["Event"].endswith("ExecutorRemoved") and each["Executor ID"] in on:
                host = on[each["Executor ID"]]
                last[host] = max(last.get(host, 0), each["Timestamp"])
                ids.pop(each["Executor ID"], None)
            end = max(end, each["Timestamp"] if each["Event"].endswith("ApplicationEnd") else 0)
        if not end or not first:
            continue
        for host in ids.values():
            last[host] = end
        expected = sum(last[host] - first[host] for host in first)
        assert sum(api.profile([path]).cluster.machines.times) == expected, path


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=3),
)
@settings(max_examples=100, deadline=None)
def test_requests_are_those_of_each_stretch(runs: list[tuple[int, int]], kept: list[tuple[int, int]]) -> None:
    spans = [(begin, begin + time) for begin, time in runs]
    others = [(begin, begin + time) for begin, time in kept]
    begins = {begin for begin, _ in spans}
    expected: list[list[int]] = []
    for second in range(100):
        # A stretch ends at a moment that no interval has inside.
        inside = any(begin < second < end for begin, end in (*spans, *others))
        if not inside or not expected:
            expected.append([])
        if second in begins:
            expected[-1].append(second)
    assert requests_of(others, spans) == tuple(each[-1] - each[0] for each in expected if each)
