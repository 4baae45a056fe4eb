"""Spark: settings that it declares, and the plan's tasks at once counted back from the files."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.exchange.markup import read_spark_settings
from mrdsl.exchange.targets.deployment import FIRM, Deployment, Group, MachineType, Share, Tasks, Workload
from mrdsl.exchange.targets.spark import RULES, executors_of, mib, mistakes
from mrdsl.exchange.targets.yarn import per_job
from mrdsl.exchange.text import FormatError
from tests.exchange.targets.plans import MACHINES, STAGES, exported, planned
from tests.shared_data import shared

ALIKE = MACHINES.replace("reduce { cores = 1, memory = 6 GiB }", "reduce { cores = 1, memory = 2 GiB }")


def settings_of(text: str) -> dict[str, dict[str, str]]:
    return {name: read_spark_settings(file) for name, file in exported(text, "spark").files.items()}


@pytest.mark.parametrize("text", [STAGES, ALIKE])
def test_spark_declares_every_setting(text: str) -> None:
    known = set(shared("data/spark/settings-3.5.6.txt").read_text(encoding="utf-8").split())
    for found in settings_of(text).values():
        assert set(found) <= known


def test_the_plans_tasks_at_once_are_counted_back() -> None:
    """Of every class: applications times executors times the tasks of one, between the least and the most."""
    _, plan = planned(STAGES)
    files = settings_of(STAGES)
    assert list(files) == [f"spark-defaults-{name}.conf" for name in plan.names]
    for found, shown in zip(files.values(), plan.document()["classes"].values(), strict=True):
        tasks = int(found["spark.executor.cores"]) // int(found["spark.task.cpus"])
        least, most = (int(found[f"spark.dynamicAllocation.{end}Executors"]) * tasks for end in ("min", "max"))
        whole, jobs = shown["whole_slots"]["task"], shown["admitted"]
        assert most - least <= tasks
        assert least == whole // jobs // tasks * tasks
        assert jobs * least <= whole <= jobs * most
        assert (whole % jobs == 0) == (least == most)


def test_an_executor_is_containers_of_the_spec_heap_and_overhead_together() -> None:
    for found, (cores, memory) in zip(settings_of(STAGES).values(), ((1, 4096), (2, 8192)), strict=True):
        tasks = int(found["spark.executor.cores"]) // cores
        heap, overhead = (mib(found[f"spark.executor.memory{part}"]) for part in ("", "Overhead"))
        assert int(found["spark.task.cpus"]) == cores
        assert heap + overhead == tasks * memory  # type: ignore[operator]
        assert overhead >= max(384, 0.1 * heap - 1)  # type: ignore[operator]
        assert 4 % int(found["spark.executor.cores"]) == 0


def test_partitions_are_those_of_the_widest_stage() -> None:
    assert [found["spark.sql.shuffle.partitions"] for found in settings_of(STAGES).values()] == ["48", "20"]


def partitions_with(scan: str, join: str) -> str | None:
    text = STAGES[: STAGES.index("class nightly")] + "minimize cost\n"
    text = text.replace("max = 14 s", f"max = 14 s{scan}").replace("after = [scan]", f"after = [scan]{join}")
    conf = exported(text, "spark").files["spark-defaults.conf"]
    return read_spark_settings(conf).get("spark.sql.shuffle.partitions")


@pytest.mark.parametrize(
    ("scan", "join", "expected"),
    [
        ("", "", "48"),
        ("", ", shuffle = 10 GiB", "48"),
        ("", ", shuffle = 1 B", "48"),
        (", shuffle = 1 MiB", ", shuffle = 0 B", "120"),
        (", shuffle = 1 MiB", ", shuffle = 2 MiB", "120"),
        (", shuffle = 1 MiB", "", "120"),
        (", shuffle = 0 B", ", shuffle = 0 B", None),
    ],
)
def test_partitions_are_the_planned_tasks_of_stages_that_shuffle(scan: str, join: str, expected: str | None) -> None:
    """How many bytes they fetch does not matter: another number would contradict the plan."""
    assert partitions_with(scan, join) == expected


@pytest.mark.parametrize("shuffle", ["", ", shuffle = 0 B"])
def test_a_scan_after_a_stage_is_not_a_shuffle(shuffle: str) -> None:
    late = f"stage late {{ tasks = 400, avg = 1 s, max = 1 s, after = [join]{shuffle} }}\n  stage join"
    text = STAGES[: STAGES.index("class nightly")] + "minimize cost\n"
    text = text.replace("stage join", late, 1).replace("after = [scan]", "after = [scan], shuffle = 1 GiB")
    found = read_spark_settings(exported(text, "spark").files["spark-defaults.conf"])
    assert (found["spark.sql.shuffle.partitions"], found["spark.default.parallelism"]) == ("48", "48")


def test_map_and_reduce_tasks_of_one_size_share_executors() -> None:
    _, plan = planned(ALIKE)
    (found,) = settings_of(ALIKE).values()
    whole = plan.document()["classes"]["clicks"]["whole_slots"]
    tasks = int(found["spark.executor.cores"]) * int(found["spark.dynamicAllocation.maxExecutors"])
    assert tasks == -(-max(whole.values()) // int(plan.admitted[0]))
    assert found["spark.sql.shuffle.partitions"] == "16"


def test_executors_of_both_phases_that_the_machines_do_not_hold_are_refused() -> None:
    wide = MACHINES.replace("memory = 6 GiB", "memory = 16 GiB")
    with pytest.raises(mrdsl.MrdslError, match="Spark runs both in the same executors") as refused:
        exported(wide, "spark")
    assert "`stage` blocks" in refused.value.diagnostics[0].hint


def test_what_is_not_known_is_asked_for() -> None:
    unknown = STAGES.replace("cores = 4, memory = 16 GiB, ", "")
    unknown = unknown.replace("container { task { cores = 1, memory = 4 GiB } }", "slots { task = 4 }")
    unknown = unknown.replace("container { task { cores = 2, memory = 8 GiB } }", "slots { task = 2 }")
    with pytest.raises(mrdsl.MrdslError, match="the cores and memory of a task of class") as asked:
        exported(unknown, "spark")
    assert "container { task { cores = 1, memory = 2 GiB } }" in asked.value.diagnostics[0].hint


def test_a_container_too_small_for_a_heap_is_refused() -> None:
    with pytest.raises(mrdsl.MrdslError, match="heap has 450 MiB at least"):
        exported(STAGES.replace("cores = 2, memory = 8 GiB", "cores = 4, memory = 833 MiB"), "spark")
    exported(STAGES.replace("cores = 2, memory = 8 GiB", "cores = 4, memory = 834 MiB"), "spark")


GOOD = {
    "spark.executor.cores": "4",
    "spark.executor.memory": "4g",
    "spark.executor.memoryOverhead": "410m",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "2",
}
REFUSED = {
    "memory": ("spark.executor.memory", "449m", "450m at least"),
    "overhead": ("spark.executor.memoryOverhead", "a tenth", "not a size"),
    "cores": ("spark.task.cpus", "3", "no whole number of tasks of 3"),
    "allocation": ("spark.dynamicAllocation.minExecutors", "3", "executors are not"),
    "counts": ("spark.sql.shuffle.partitions", "0", "not a whole number from 1 on"),
}


def test_every_rule_has_settings_that_it_refuses() -> None:
    assert {rule.__name__ for rule in RULES} == set(REFUSED)


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses(rule: str) -> None:
    name, value, reason = REFUSED[rule]
    assert not mistakes(GOOD)
    (refusing,) = [each for each in RULES if each.__name__ == rule]
    (told,) = refusing({**GOOD, name: value})
    assert reason in told


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("spark.executor.memory", "lots", "450m at least"),
        ("spark.executor.cores", "0", "from 1 on"),
        ("spark.executor.cores", "two", "from 1 on"),
        ("spark.dynamicAllocation.shuffleTracking.enabled", "false", "neither a shuffle service"),
        ("spark.dynamicAllocation.initialExecutors", "5", "executors are not"),
    ],
)
def test_settings_that_spark_refuses(name: str, value: str, reason: str) -> None:
    assert any(reason in told for told in mistakes({**GOOD, name: value}))


def test_settings_are_read_as_java_reads_them() -> None:
    text = "# a comment\n! another\n\nspark.executor.cores=4\nspark.app.name : a b \nspark.executor.memory   4g\n"
    assert read_spark_settings(text) == {
        "spark.executor.cores": "4",
        "spark.app.name": "a b",
        "spark.executor.memory": "4g",
    }


@pytest.mark.parametrize("text", ["# nothing\n", "executor.cores 4\n", "spark.executor.cores 4\n<a>\n"])
def test_what_are_no_settings(text: str) -> None:
    with pytest.raises(FormatError):
        read_spark_settings(text)


def test_jobs_on_several_types_have_each_what_theirs_need() -> None:
    """By hand: 2 jobs share 12 slots on one type, 1 has 9 on another; so from 6 to 9, and 21 in all, by threes."""
    kinds = (MachineType("a", 8.0, 32.0 * 2**30), MachineType("b", 16.0, 64.0 * 2**30))
    shares = tuple(
        Share(vm, FIRM, jobs, (Tasks("task", 50, slots, per_vm, 1.0, 2.0**31),))
        for vm, jobs, slots, per_vm in (("a", 2, 12, 6), ("b", 1, 9, 9))
    )
    groups = (Group("a", FIRM, 2), Group("b", FIRM, 1))
    load = Workload("queries", 1.0, shares)
    found = executors_of(Deployment(kinds, groups, (load,)), load)
    assert (found.tasks, found.least, found.most, found.every) == (3, 2, 3, 7)
    assert per_job(load, "task") == (6, 9)


def test_whole_slots_of_each_job_are_its_executors() -> None:
    """Where each job has whole slots, the fewest and the most executors are one number."""
    whole = STAGES.replace("minimize", "whole = slots\nminimize")
    _, plan = planned(whole)
    for found, shown in zip(settings_of(whole).values(), plan.document()["classes"].values(), strict=True):
        tasks = int(found["spark.executor.cores"]) // int(found["spark.task.cpus"])
        least, most = (int(found[f"spark.dynamicAllocation.{end}Executors"]) * tasks for end in ("min", "max"))
        assert least == most
        assert shown["admitted"] * most == shown["whole_slots"]["task"]
