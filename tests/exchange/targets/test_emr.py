"""Amazon EMR: the service's own model takes the file, a client makes the cluster, and each rule refuses a file."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.exchange.targets.deployment import FIRM, Deployment, Group, MachineType, Wishes
from mrdsl.exchange.targets.emr import emr
from mrdsl.exchange.targets.emr_rules import FLEET_RULES, RULES, mistakes
from mrdsl.planning.exporting import export
from tests.command_lines import command_lines, run_here
from tests.exchange.targets.plans import MACHINES, STAGES, changed, exported, planned
from tests.shared_data import shared

ROOT = Path(__file__).resolve().parents[3]


def written(text: str, wishes: Wishes | None = None) -> dict[str, Any]:
    files = exported(text, "emr", wishes).files
    assert list(files) == ["emr.json"]
    document = json.loads(files["emr.json"])
    assert isinstance(document, dict)
    return document


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return written(MACHINES)


def test_botocores_own_model_takes_it(document: dict[str, Any]) -> None:
    session = pytest.importorskip("botocore.session").get_session()
    from botocore.validate import ParamValidator

    shape = session.get_service_model("emr").operation_model("RunJobFlow").input_shape
    assert not ParamValidator().validate(document, shape).has_errors()
    wrong = {**document, "Instances": {"InstanceGroups": [{"InstanceRole": "MASTER", "InstanceCount": "three"}]}}
    assert ParamValidator().validate(wrong, shape).has_errors()


def test_a_client_makes_the_cluster_and_reads_the_plan_back(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    moto = pytest.importorskip("moto")
    boto3 = pytest.importorskip("boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    plan = mrdsl.solve(mrdsl.loads(MACHINES)).plan
    with moto.mock_aws():
        client = boto3.client("emr", region_name="us-east-1")
        cluster = client.run_job_flow(**document)["JobFlowId"]
        groups = client.list_instance_groups(ClusterId=cluster)["InstanceGroups"]
        tags = client.describe_cluster(ClusterId=cluster)["Cluster"]["Tags"]
    assert sum(group["InstanceGroupType"] == "MASTER" for group in groups) == 1
    rented = plan.document()["vms"]
    for name, bought in rented.items():
        for market, count in (("ON_DEMAND", bought["on_demand"] + bought["reserved"]), ("SPOT", bought["spot"])):
            seen = [g for g in groups if (g["InstanceType"], g["Market"]) == (name, market)]
            workers = [g for g in seen if g["InstanceGroupType"] != "MASTER"]
            assert sum(g["RequestedInstanceCount"] for g in workers) == count, (name, market)
    assert any(bought["spot"] for bought in rented.values())
    assert {"Key": "mrdsl:version", "Value": mrdsl.__version__} in tags
    assert any(tag["Key"] == "mrdsl:plan" for tag in tags)


def test_spot_machines_have_no_bid_and_the_tags_say_what_the_plan_pays(document: dict[str, Any]) -> None:
    assert "BidPrice" not in json.dumps(document)
    assert any("0.073 USD/h" in tag["Value"] for tag in document["Tags"])


def test_core_nodes_are_on_demand_and_the_cluster_ends_and_scales(document: dict[str, Any]) -> None:
    groups = {(g["InstanceRole"], g["Market"]): g["InstanceCount"] for g in document["Instances"]["InstanceGroups"]}
    assert ("CORE", "ON_DEMAND") in groups
    assert ("CORE", "SPOT") not in groups
    assert document["AutoTerminationPolicy"] == {"IdleTimeout": 3600}
    limits = document["ManagedScalingPolicy"]["ComputeLimits"]
    assert groups["CORE", "ON_DEMAND"] >= 10
    firm = sum(n for (role, market), n in groups.items() if role != "MASTER" and market == "ON_DEMAND")
    assert limits == {
        "UnitType": "Instances",
        "MinimumCapacityUnits": 3,  # replicas of HDFS on ten core nodes or more
        "MaximumCapacityUnits": workers(document),
        "MaximumOnDemandCapacityUnits": firm,
        "MaximumCoreCapacityUnits": groups["CORE", "ON_DEMAND"],
    }


def test_jobs_without_a_queue_have_the_default_one(document: dict[str, Any]) -> None:
    queues = settings_of(document, "capacity-scheduler")
    at = "yarn.scheduler.capacity.root"
    assert queues[f"{at}.queues"] == "mapreduce,default"
    assert float(queues[f"{at}.mapreduce.capacity"]) + float(queues[f"{at}.default.capacity"]) == 100


def test_drivers_of_all_jobs_run_at_once() -> None:
    """20 drivers of 2 GiB and 1 core: 40 GiB of what YARN has on the nodes is more than the usual tenth."""
    text = STAGES[: STAGES.index("class nightly")] + "minimize cost\n"
    text = text.replace("jobs = 3", "driver { cores = 1, memory = 2 GiB }\n  jobs = 20..20")
    document = written(text)
    share = float(settings_of(document, "capacity-scheduler")["yarn.scheduler.capacity.maximum-am-resource-percent"])
    nodes = workers(document)
    assert share * 0.99 * nodes * 12288 >= 20 * 2048
    assert share * 0.99 * nodes * 4 >= 20
    assert share > 0.1


def test_logs_go_where_the_user_says() -> None:
    assert "LogUri" not in written(MACHINES)
    assert written(MACHINES, Wishes(log_uri="s3://bucket/logs/"))["LogUri"] == "s3://bucket/logs/"


@pytest.mark.parametrize(
    ("vm", "volumes"),
    [("m5.xlarge", (2, 32)), ("r5.2xlarge", (4, 32)), ("m6g.12xlarge", (4, 192)), ("c5d.xlarge", None)],
)
def test_disks_are_emrs_default(vm: str, volumes: tuple[int, int] | None) -> None:
    """awsdocs/amazon-emr-management-guide, emr-plan-storage.md."""
    groups = written(MACHINES, Wishes(names={"m5.xlarge": vm}))["Instances"]["InstanceGroups"]
    for group in (each for each in groups if each["InstanceType"] == vm and each["InstanceRole"] != "MASTER"):
        if volumes is None:
            assert "EbsConfiguration" not in group
            continue
        (found,) = group["EbsConfiguration"]["EbsBlockDeviceConfigs"]
        assert (found["VolumesPerInstance"], found["VolumeSpecification"]["SizeInGB"]) == volumes


def masters(document: dict[str, Any]) -> list[tuple[str, int]]:
    groups = document["Instances"]["InstanceGroups"]
    return [(g["InstanceType"], g["InstanceCount"]) for g in groups if g["InstanceRole"] == "MASTER"]


def workers(document: dict[str, Any]) -> int:
    return sum(g["InstanceCount"] for g in document["Instances"]["InstanceGroups"] if g["InstanceRole"] != "MASTER")


def test_the_master_is_the_specs_the_users_or_the_advised_one(document: dict[str, Any]) -> None:
    assert masters(document) == [("m5.xlarge", 1)]
    assert any("in addition to the plan" in tag["Value"] for tag in document["Tags"])
    assert masters(written(MACHINES.replace("jobs = 2..3", "jobs = 200..200"))) == [("m5.2xlarge", 1)]
    assert masters(written(MACHINES, Wishes(master="m5.2xlarge"))) == [("m5.2xlarge", 1)]
    own = MACHINES.replace("fee = 0.063 USD/h", "fee = 0.063 USD/h, masters = 3")
    assert masters(written(own)) == [("r5.xlarge", 3)]
    assert workers(written(own)) == workers(document)
    with pytest.raises(mrdsl.MrdslError, match="not 2"):
        written(own.replace("masters = 3", "masters = 2"))
    with pytest.raises(mrdsl.MrdslError, match=r"of type r5\.xlarge, and `--master` asks for m5\.xlarge"):
        written(own, Wishes(master="m5.xlarge"))


def test_types_are_called_as_they_are_rented() -> None:
    named = MACHINES.replace('"m5.xlarge"', "small")
    with pytest.raises(mrdsl.MrdslError, match="`small` is no instance type") as refused:
        written(named)
    assert "`--vm small=m5.xlarge`" in refused.value.diagnostics[0].hint
    assert masters(written(named, Wishes(master="small", names={"small": "m5.xlarge"}))) == [("m5.xlarge", 1)]
    with pytest.raises(mrdsl.MrdslError, match="no such VM type"):
        written(named, Wishes(names={"medium": "m5.xlarge"}))


def test_a_plan_of_fractions_is_refused() -> None:
    spec = mrdsl.loads(MACHINES)
    plan = mrdsl.solve(spec, relax=True).plan
    assert plan is not None
    with pytest.raises(mrdsl.MrdslError, match="fractions"):
        export(spec, plan, "emr", Wishes())


TASK = {"InstanceRole": "TASK", "InstanceType": "m5.xlarge", "InstanceCount": 1, "Market": "ON_DEMAND"}
REFUSED = {
    "one_layout": ("Instances.InstanceFleets", [{"InstanceFleetType": "MASTER"}], "one of them"),
    "one_master": ("Instances.InstanceGroups.0.InstanceCount", 2, "1 master or 3, not 2"),
    "one_core": ("Instances.InstanceGroups.1.InstanceRole", "TASK", "one core group, not 0"),
    "counts": ("Instances.InstanceGroups.1.InstanceCount", -1, "has -1 VMs"),
    "types": ("Instances.InstanceGroups.1.InstanceType", "banana", "`banana` is no instance type"),
    "bids": ("Instances.InstanceGroups.0.BidPrice", "0.1", "on demand and has a bid"),
    "several_masters": ("Instances.InstanceGroups.0.InstanceCount", 3, "protected from termination"),
    "volumes": (
        "Instances.InstanceGroups.1.EbsConfiguration.EbsBlockDeviceConfigs.0.VolumeSpecification.SizeInGB",
        1025,
        "volumes of 1025 GiB",
    ),
    "idle": ("AutoTerminationPolicy", {"IdleTimeout": 604_801}, "not after 604,801 s"),
    "words": ("ReleaseLabel", "emr-latest", "no release"),
}


def test_every_rule_has_a_file_that_it_refuses() -> None:
    assert {rule.__name__ for rule in RULES if rule not in FLEET_RULES} == set(REFUSED)


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses(rule: str, document: dict[str, Any]) -> None:
    path, value, reason = REFUSED[rule]
    assert not mistakes(document)
    (refusing,) = [each for each in RULES if each.__name__ == rule]
    told = [what for what, _ in refusing(changed(document, path, value, "."))]
    assert len(told) == 1
    assert reason in told[0]


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("Instances.InstanceGroups", [TASK | {"InstanceRole": "CORE"}] * 3, "one master group, not 0"),
        ("Instances.InstanceGroups", [TASK] * 49, "at most 48 task groups"),
        ("Instances.InstanceGroups.1.InstanceType", "m5.large", "no instance type"),
        ("Instances.InstanceGroups.1.InstanceType", "m5.metal", "no instance type"),
        ("Instances.InstanceGroups.1.InstanceType", "banana.xlarge", "no instance type"),
        ("Instances.InstanceGroups.1.InstanceType", "n2-standard-4", "no instance type"),
        ("Instances.InstanceGroups.0.Market", "SPOT", "the cluster ends with it"),
        ("Tags.0.Value", "a" * 257, "beyond 256"),
        ("Tags.0.Key", "aws:spec", "begins with aws:"),
        ("Tags", [{"Key": f"k{i}", "Value": ""} for i in range(51)], "51 tags"),
    ],
)
def test_what_shapes_let_pass_is_refused(path: str, value: Any, reason: str, document: dict[str, Any]) -> None:
    assert any(reason in what for what, _ in mistakes(changed(document, path, value, ".")))


def test_the_rule_of_types_knows_those_that_emr_takes() -> None:
    """All 634 types that EMR takes pass; of its own table, no metal, nano or micro one does."""
    with shared("data/cloud/ec2_us-east-1.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    one = Deployment((MachineType("m5.xlarge", price=1.0),), (Group("m5.xlarge", FIRM, 1),), ())
    document = json.loads(emr(one, Wishes()).files["emr.json"])
    taken = {
        row["instance_type"]: not mistakes(
            changed(document, "Instances/InstanceGroups/1/InstanceType", row["instance_type"])
        )
        for row in rows
    }
    assert len(rows) == 1345
    assert [row["instance_type"] for row in rows if row["emr"] == "yes" and not taken[row["instance_type"]]] == []
    assert sum(row["emr"] == "yes" for row in rows) == 634
    refused = {name for name, fine in taken.items() if not fine}
    assert {row["instance_type"] for row in rows if ".metal" in row["instance_type"]} <= refused
    assert {"t3.micro", "t3.nano", "m5.large", "t2.small"} <= refused


def settings_of(document: dict[str, Any], classification: str) -> dict[str, str]:
    (found,) = [one["Properties"] for one in document["Configurations"] if one["Classification"] == classification]
    assert isinstance(found, dict)
    return found


def test_its_machines_run_as_many_tasks_as_the_plan_says() -> None:
    """Of one type: 4 maps of 1 core and 2 GiB, or 2 reduces of 6 GiB; the VMs hold the cores and memory of the plan."""
    one_type = MACHINES[: MACHINES.index('vm "r5')] + MACHINES[MACHINES.index("class") :]
    document = written(one_type)
    site = settings_of(document, "yarn-site")
    memory, cores = (int(site[f"yarn.nodemanager.resource.{what}"]) for what in ("memory-mb", "cpu-vcores"))
    hosted = {"map": min(memory // 2048, cores), "reduce": min(memory // 6144, cores)}
    assert hosted == {"map": 4, "reduce": 2}
    whole = planned(one_type)[1].document()["classes"]["clicks"]["whole_slots"]
    assert whole["map"] + whole["reduce"] <= 4 * workers(document)
    assert 2 * whole["map"] + 6 * whole["reduce"] <= 16 * workers(document)
    queues = settings_of(document, "capacity-scheduler")
    assert queues["yarn.scheduler.capacity.root.mapreduce.queues"] == "clicks"


def test_machines_of_several_types_have_emrs_own_figures() -> None:
    """One setting for all would give some type what it does not have; EMR sets each type's own."""
    begin, end = MACHINES.index("class clicks"), MACHINES.index("minimize")
    second = MACHINES[begin:end].replace("class clicks", "class other")
    split = MACHINES[:begin] + "".join(
        text.replace("jobs = 2..3", f'types = ["{vm}"]\n  jobs = 3')
        for text, vm in ((MACHINES[begin:end], "m5.xlarge"), (second, "r5.xlarge"))
    )
    document = written(split + "minimize cost\n")
    assert "yarn-site" not in [each["Classification"] for each in document["Configurations"]]


ROOT_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")


def takes_it(text: str) -> None:
    """Both validators take a file."""
    session = pytest.importorskip("botocore.session").get_session()
    from botocore.validate import ParamValidator

    shape = session.get_service_model("emr").operation_model("RunJobFlow").input_shape
    document = json.loads(text)
    assert not ParamValidator().validate(document, shape).has_errors()
    assert not mistakes(document)


def test_three_commands_of_the_readme_lead_from_logs_to_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    lines = list(command_lines(ROOT_PAGE))
    (last,) = [number for number, line in enumerate(lines) if line.words[0] == "export"]
    three = lines[last - 2 : last + 1]
    assert [line.words[0] for line in three] == ["profile", "solve", "export"]
    for line in three:
        ran = run_here(line.words, tmp_path)
        assert ran.exit_code == 0, ran.output
    takes_it((tmp_path / three[-1].words[-1]).read_text(encoding="utf-8"))


def test_a_real_trace_becomes_a_cluster(tmp_path: Path) -> None:
    real = shared("data/hadoop/rumen/mr2011/folder-input-trace.json.gz")
    shutil.copy(real, tmp_path)
    for words in (
        f"profile {real.name} -o real.mrspec",
        "solve real.mrspec -o real.json",
        "export real.json emr --vm machine=m5.xlarge -o emr.json",
    ):
        ran = run_here(tuple(words.split()), tmp_path)
        assert ran.exit_code == 0, ran.output
    takes_it((tmp_path / "emr.json").read_text(encoding="utf-8"))
