"""Google Dataproc: the service's own messages take the file, each rule refuses one, and it has the plan's workers."""

from __future__ import annotations

from typing import Any

import pytest

import mrdsl
from mrdsl.exchange.targets.dataproc import RULES, TYPE, cluster_name, mistakes
from mrdsl.exchange.targets.deployment import Wishes
from tests.exchange.targets.plans import MACHINES, changed, exported, planned

yaml = pytest.importorskip("yaml")
ONE_TYPE = MACHINES[: MACHINES.index('vm "r5')] + MACHINES[MACHINES.index("class") :]
GOOGLE = Wishes(names={"m5.xlarge": "n2-standard-4"})


def written(text: str = ONE_TYPE, wishes: Wishes = GOOGLE) -> dict[str, Any]:
    (text,) = exported(text, "dataproc", wishes).files.values()
    document = yaml.safe_load(text)
    assert isinstance(document, dict)
    return document


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return written()


def test_the_services_own_messages_take_it(document: dict[str, Any]) -> None:
    types = pytest.importorskip("google.cloud.dataproc_v1.types")
    from google.protobuf import json_format

    message = types.Cluster.pb(types.Cluster())
    json_format.ParseDict(document, message)
    cluster = types.Cluster.wrap(message)
    _, plan = planned(ONE_TYPE)
    bought = plan.document()["vms"]["m5.xlarge"]
    assert cluster.config.master_config.num_instances == 1
    assert cluster.config.worker_config.num_instances == bought["on_demand"] + bought["reserved"]
    assert cluster.config.secondary_worker_config.num_instances == bought["spot"] > 0
    assert cluster.config.secondary_worker_config.preemptibility.name == "SPOT"
    assert cluster.config.worker_config.machine_type_uri == "n2-standard-4"
    with pytest.raises(json_format.ParseError):
        json_format.ParseDict({**document, "machines": 3}, types.Cluster.pb(types.Cluster()))


def test_its_machines_run_as_many_tasks_as_the_plan_counts_on(document: dict[str, Any]) -> None:
    """4 maps of 1 core and 2 GiB, 2 reduces of 6 GiB, in what YARN's node managers are told to offer."""
    told = document["config"]["softwareConfig"]["properties"]
    memory, cores = (int(told[f"yarn:yarn.nodemanager.resource.{what}"]) for what in ("memory-mb", "cpu-vcores"))
    assert (min(memory // 2048, cores), min(memory // 6144, cores)) == (4, 2)
    config = document["config"]
    workers = config["workerConfig"]["numInstances"] + config["secondaryWorkerConfig"]["numInstances"]
    _, plan = planned(ONE_TYPE)
    whole = plan.document()["classes"]["clicks"]["whole_slots"]
    assert whole["map"] + whole["reduce"] <= 4 * workers
    assert 2 * whole["map"] + 6 * whole["reduce"] <= 16 * workers


def test_a_plan_of_several_types_is_refused_and_told_which_target_takes_it() -> None:
    with pytest.raises(mrdsl.MrdslError, match="workers are of one type") as refused:
        exported(MACHINES.replace("jobs = 2..3", 'types = ["r5.xlarge"]\n  jobs = 2..3') + _second(), "dataproc")
    assert "`emr` takes several types" in refused.value.diagnostics[0].hint


def _second() -> str:
    begin, end = MACHINES.index("class clicks"), MACHINES.index("minimize")
    other = (
        MACHINES[begin:end]
        .replace("class clicks", "class other")
        .replace("jobs = 2..3", 'types = ["m5.xlarge"]\n  jobs = 3')
    )
    return "\n" + other


def test_types_are_googles() -> None:
    with pytest.raises(mrdsl.MrdslError, match=r"`m5\.xlarge` is no machine type of Google's"):
        written(wishes=Wishes())


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        ("n2-standard-4", True),
        ("e2-highmem-16", True),
        ("c3-standard-8-lssd", True),
        ("m1-ultramem-40", True),
        ("a2-highgpu-1g", True),
        ("custom-6-3072", True),
        ("n2-custom-8-16384-ext", True),
        ("banana", False),
        ("m5.xlarge", False),
        ("n2-standard", False),
        ("e2-micro", False),
    ],
)
def test_forms_of_machine_types(name: str, fine: bool) -> None:
    assert bool(TYPE.fullmatch(name)) == fine


REFUSED = {
    "masters": ("config/masterConfig/numInstances", 2, "1 master or 3, not 2"),
    "workers": ("config/workerConfig/numInstances", 1, "2 workers at least"),
    "one_type": ("config/secondaryWorkerConfig/machineTypeUri", "n2-standard-8", "another type"),
    "types": ("config/workerConfig/machineTypeUri", "n2-custom-4-1000", "no machine type"),
    "preemptibility": ("config/workerConfig/preemptibility", "SPOT", "only secondary workers"),
    "idle": ("config/lifecycleConfig/idleDeleteTtl", "299s", "after 300 s"),
    "words": ("clusterName", "Two_Kinds", "small letters"),
    "disks": ("config/workerConfig/diskConfig", {"bootDiskSizeGb": 29}, "a disk of 29 GB"),
}


def test_every_rule_has_a_file_that_it_refuses() -> None:
    assert {rule.__name__ for rule in RULES} == set(REFUSED)


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses(rule: str, document: dict[str, Any]) -> None:
    path, value, reason = REFUSED[rule]
    assert not mistakes(document)
    (refusing,) = [each for each in RULES if each.__name__ == rule]
    ((told, _),) = refusing(changed(document, path, value))
    assert reason in told


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("config/secondaryWorkerConfig/numInstances", -3, "-3 secondary workers"),
        ("labels/Spec", "a", "the label Spec=a"),
        ("labels", {f"k{i}": "" for i in range(33)}, "33 labels"),
        ("config/softwareConfig/properties", {"spark.executor.cores": "1"}, "of which file"),
        ("clusterName", "a" * 52, "at most 51"),
    ],
)
def test_what_messages_let_pass_is_refused(path: str, value: Any, reason: str, document: dict[str, Any]) -> None:
    assert any(reason in told for told, _ in mistakes(changed(document, path, value)))


def test_all_machines_on_spot_are_refused() -> None:
    """Without a share, and with spot far cheaper, the plan rents nothing else."""
    with pytest.raises(mrdsl.MrdslError, match="2 workers at least that are not on spot"):
        written(
            ONE_TYPE.replace("  spot = 50%\n", "").replace("0.121 USD/h, available = 3", "0.121 USD/h, available = 0")
        )


def test_names_that_dataproc_takes() -> None:
    assert cluster_name("Nightly analytics, 3 kinds") == "nightly-analytics-3-kinds"
    assert cluster_name("7 nights") == "mrdsl-7-nights"
    assert len(cluster_name("a b " * 40)) <= 51


@pytest.mark.parametrize(("disk", "size"), [("2500 GiB", 2500), ("99.5 GiB", 100), ("1 GiB", 30)])
def test_disks_of_the_spec_are_boot_disks(disk: str, size: int) -> None:
    config = written(ONE_TYPE.replace("fee = 0.048 USD/h", f"disk = {disk}"))["config"]
    for part in ("masterConfig", "workerConfig", "secondaryWorkerConfig"):  # all are of the one type
        assert config[part]["diskConfig"] == {"bootDiskSizeGb": size}


def test_a_disk_that_dataproc_does_not_have_is_refused() -> None:
    with pytest.raises(mrdsl.MrdslError, match="65536 GB"):
        written(ONE_TYPE.replace("fee = 0.048 USD/h", "disk = 65 TiB"))
