"""YARN's files: Hadoop's own samples are read, and what is written has the plan's slots when it is read back."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import pytest

from mrdsl.exchange.schedulers import FairQueue, fair_scheduler
from mrdsl.exchange.targets.deployment import file_words
from tests.exchange.scheduler_files import read_capacity_scheduler, read_fair_scheduler, settings_of
from tests.exchange.targets.plans import MACHINES, STAGES, exported, planned
from tests.shared_data import shared_files

SIZES = {"map": (2048, 1), "reduce": (6144, 1)}


@pytest.mark.parametrize("path", shared_files("data/sls/*/*fair-scheduler.xml"), ids=lambda path: path.name)
def test_hadoops_own_samples(path: Path) -> None:
    queues = read_fair_scheduler(path.read_text(encoding="utf-8"))
    assert [(q.name, q.weight, q.memory, q.vcores) for q in queues] == [
        ("sls_queue_1", 0.25, 1024, 1),
        ("sls_queue_2", 0.25, 1024, 1),
        ("sls_queue_3", 0.5, 1024, 1),
    ]
    assert read_fair_scheduler(fair_scheduler(queues)) == queues


def test_the_plans_slots_are_read_back_from_the_jobs_and_the_queues() -> None:
    """The queue's promise is the containers of all slots; a job may run as many tasks as the job that has most."""
    _, plan = planned(MACHINES)
    files = exported(MACHINES, "yarn").files
    whole = plan.document()["classes"]["clicks"]["whole_slots"]
    jobs, shares = int(plan.admitted[0]), plan.document()["classes"]["clicks"]["on"]
    (layer,) = read_fair_scheduler(files["fair-scheduler.xml"])
    (queue,) = layer.children
    assert queue.jobs == jobs
    assert queue.memory == sum(whole[kind] * memory for kind, (memory, _) in SIZES.items())
    assert queue.vcores == sum(whole[kind] * cores for kind, (_, cores) in SIZES.items())
    job = settings_of(files["mapred-clicks.xml"])
    assert job["mapreduce.job.queuename"] == "root.mapreduce.clicks"
    assert job["mapreduce.job.reduces"] == "16"
    for kind, (memory, cores) in SIZES.items():
        limit = int(job[f"mapreduce.job.running.{kind}.limit"])
        assert limit == max(ceil(share["whole_slots"][kind] / share["jobs"]) for share in shares)
        assert (job[f"mapreduce.{kind}.memory.mb"], job[f"mapreduce.{kind}.cpu.vcores"]) == (str(memory), str(cores))


def test_machines_hold_the_slots_that_the_plan_counts_on() -> None:
    """4 maps of one core, by the cores; 2 reduces of 6 GiB in 16 GiB, 4 in 32 GiB: what YARN would place on one."""
    files = exported(MACHINES, "yarn").files
    for vm, hosted in (("m5.xlarge", {"map": 4, "reduce": 2}), ("r5.xlarge", {"map": 4, "reduce": 4})):
        if f"yarn-site-{vm}.xml" not in files:
            continue
        site = settings_of(files[f"yarn-site-{vm}.xml"])
        unit = int(site["yarn.scheduler.minimum-allocation-mb"])
        for kind, (memory, cores) in SIZES.items():
            rounded = ceil(memory / unit) * unit
            fit = int(site["yarn.nodemanager.resource.memory-mb"]) // rounded
            assert min(fit, int(site["yarn.nodemanager.resource.cpu-vcores"]) // cores) == hosted[kind], (vm, kind)
    assert "yarn-site-m5.xlarge.xml" in files


def test_shares_are_those_of_the_machines() -> None:
    """Each queue's part of the cluster is that of the VMs that its slots take, so it holds them all."""
    _, plan = planned(STAGES)
    files = exported(STAGES, "yarn").files
    root = read_capacity_scheduler(files["capacity-scheduler.xml"])
    (layer,) = root.children
    for queue, name, vms in zip(layer.children, plan.names, plan.vms.tolist(), strict=True):
        assert queue.name == name
        assert float(queue.capacity) == pytest.approx(100 * vms / plan.vms.sum(), abs=1e-3)
        assert float(queue.capacity) / 100 * plan.on_demand >= vms - 1e-3
    assert set(files) == {"capacity-scheduler.xml", "fair-scheduler.xml", "yarn-site-m5.xlarge.xml"}


def test_a_divided_machine_leaves_the_system_a_core_and_a_gib() -> None:
    """5 cores and 17 GiB: 4 cores and 16 GiB for 4 maps, or for 2 reduces."""
    text = MACHINES.replace("container { map { cores = 1, memory = 2 GiB }, reduce { cores = 1, memory = 6 GiB } }", "")
    text = text.replace("jobs = 2..3", "slots { map = 4, reduce = 2 }\n  jobs = 2..3")
    files = exported(text.replace("cores = 4", "cores = 5").replace("16 GiB", "17 GiB"), "yarn").files
    job = settings_of(files["mapred-clicks.xml"])
    assert (job["mapreduce.map.memory.mb"], job["mapreduce.map.cpu.vcores"]) == ("4096", "1")
    assert (job["mapreduce.reduce.memory.mb"], job["mapreduce.reduce.cpu.vcores"]) == ("8192", "2")


def test_without_sizes_the_queues_have_shares_and_the_files_say_so() -> None:
    text = MACHINES.replace("container { map { cores = 1, memory = 2 GiB }, reduce { cores = 1, memory = 6 GiB } }", "")
    text = text.replace("jobs = 2..3", "slots { map = 4, reduce = 2 }\n  jobs = 2..3").replace("cores = 4", "")
    made = exported(
        text.replace(", memory = 32 GiB", "").replace("  memory = 16 GiB\n", "").replace("{ ,", "{"), "yarn"
    )
    assert set(made.files) == {"capacity-scheduler.xml", "fair-scheduler.xml", "mapred-clicks.xml"}
    assert any("cores and memory of a task" in note for note in made.notes)
    assert "not exported: cores and memory of a task" in made.files["fair-scheduler.xml"]
    (layer,) = read_fair_scheduler(made.files["fair-scheduler.xml"])
    assert layer.children[0].memory is None


@pytest.mark.parametrize(
    ("queues", "reason"),
    [
        ((FairQueue("a"), FairQueue("a")), "one name"),
        ((FairQueue("a.b"),), "a dot"),
        ((FairQueue("a", weight=-1.0),), "at least 0"),
        ((FairQueue("a", weight=float("nan")),), "at least 0"),
        ((FairQueue("a", memory=1),), "both memory and cores"),
        ((FairQueue("a", children=(FairQueue("b", jobs=-1),)),), "negative"),
    ],
)
def test_what_yarn_refuses_is_not_written(queues: tuple[FairQueue, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        fair_scheduler(queues)


def test_a_title_ends_no_comment() -> None:
    files = exported(MACHINES.replace('"Two kinds"', '"a --> <b> --- c"'), "yarn").files
    assert len(read_capacity_scheduler(files["capacity-scheduler.xml"]).children) == 1


def test_names_of_machines_lead_to_no_other_folder() -> None:
    made = exported(MACHINES.replace('"m5.xlarge"', '"../../m5"'), "yarn")
    assert all(Path(name).name == name for name in made.files)
    assert file_words(["a/b", "a b", "..", ".a", "m5.xlarge"]) == ["a_b", "a_b_2", "_", "_a", "m5.xlarge"]


def test_that_classes_share_no_machine_is_said_to_be_lost() -> None:
    alone = STAGES.replace("minimize", "whole = machines\nminimize")
    assert any("share no machine" in note for note in exported(alone, "yarn").notes)
    assert not any("share no machine" in note for note in exported(STAGES, "yarn").notes)
