"""Google Dataproc: the cluster as `gcloud dataproc clusters import NAME --source FILE` takes it, and its rules.

Machines on spot are secondary workers, which have the primary workers' type and hold no data. Each rule names its page:

[workers]   cloud.google.com/dataproc/docs/concepts/compute/secondary-vms
[masters]   cloud.google.com/dataproc/docs/concepts/configuring-clusters/high-availability
[types]     cloud.google.com/compute/docs/machine-resource, .../instances/creating-instance-with-custom-machine-type
[labels]    cloud.google.com/dataproc/docs/guides/creating-managing-labels
[name]      cloud.google.com/dataproc/docs/guides/create-cluster
[property]  cloud.google.com/dataproc/docs/concepts/configuring-clusters/cluster-properties
[idle]      cloud.google.com/dataproc/docs/concepts/configuring-clusters/scheduled-deletion
[disk]      cloud.google.com/compute/docs/disks/persistent-disks
[sizing]    docs.cloud.google.com/data-fusion/docs/concepts/cluster-sizing
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mrdsl.exchange.markup import yaml_text
from mrdsl.exchange.targets.clusters import (
    IDLE,
    SparkOfClasses,
    beyond_node,
    nodes_of_one_type,
    share_of_masters,
    spark_of_classes,
    with_default_queue,
)
from mrdsl.exchange.targets.deployment import FIRM, SPOT, Deployment, Exported, Origin, TargetError, Wishes, master_of
from mrdsl.exchange.targets.yarn import ClusterSettings, cluster_settings
from mrdsl.spec.platforms import DATAPROC

Found = Iterator[tuple[str, str]]
"""Mistakes and the text to write instead."""
Document = Mapping[str, Any]
MASTERS = (1, 3)
LEAST_WORKERS = 2
NAME_LENGTH = 51
LABEL_LENGTH = 63
MOST_LABELS = 32
IDLE_LEAST, IDLE_MOST = 5 * 60, 14 * 24 * 3600
"""Seconds after which an idle cluster may be deleted [idle]."""
DISK_LEAST, DISK_MOST = 30, 65_536
"""GB of a boot disk: the image's size, and the most of a persistent disk [disk]."""
NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
TYPE = re.compile(
    r"[a-z][0-9]+[a-z]?-(standard|highmem|highcpu|megamem|ultramem|hypermem|highgpu|megagpu)-[0-9]+[a-z]?(-lssd)?"
    r"|([a-z][0-9]+[a-z]?-)?custom-(?P<cores>[0-9]+)-(?P<memory>[0-9]+)(-ext)?"
)
PREFIXES = frozenset(
    {
        *("capacity-scheduler", "core", "dataproc", "distcp", "hadoop-env", "hbase", "hdfs", "hive", "mapred"),
        *("mapred-env", "spark", "spark-env", "yarn", "yarn-env", "zeppelin", "zookeeper"),
    }
)


def mistakes(document: Document) -> list[tuple[str, str]]:
    """Everything of a cluster that Dataproc would refuse, with what to write instead."""
    return [found for rule in RULES for found in rule(document)]


def masters(document: Document) -> Found:
    """Return one master, or three for high availability [masters]."""
    count = document["config"]["masterConfig"]["numInstances"]
    if count not in MASTERS:
        yield f"a cluster has 1 master or 3, not {count}", "write `masters = 1` or `masters = 3`"


def workers(document: Document) -> Found:
    """Check that there are at least two primary workers, which hold the data, and a valid number of secondary ones
    [workers].
    """
    config = document["config"]
    primary = config.get("workerConfig", {}).get("numInstances", 0)
    secondary = config.get("secondaryWorkerConfig", {}).get("numInstances", 0)
    if primary < LEAST_WORKERS:
        enough = primary + secondary >= 2 * LEAST_WORKERS
        yield (
            f"a cluster has {LEAST_WORKERS} workers at least that are not on spot, and the plan {primary}",
            "write `subject to { share(spot) <= 50% }` or less"
            if enough
            else "plan with a smaller machine type, or write `subject to { vms(..) >= 2 }` for its type and no spot",
        )
    if secondary < 0:
        yield f"there are {secondary} secondary workers", ""


def one_type(document: Document) -> Found:
    """Secondary workers are of the primary workers' type [workers]."""
    config = document["config"]
    kinds = {config[key].get("machineTypeUri") for key in ("workerConfig", "secondaryWorkerConfig") if key in config}
    if len(kinds - {None}) > 1:
        yield "secondary workers are of another type than the others", ""


def types(document: Document) -> Found:
    """Machine types are Compute Engine's; custom ones have memory in steps of 256 MB [types]."""
    config = document["config"]
    given = [config[key]["machineTypeUri"] for key in ("masterConfig", "workerConfig") if key in config]
    for name in dict.fromkeys(given):
        found = TYPE.fullmatch(name)
        if found is None or (found["memory"] and int(found["memory"]) % 256):
            yield f"`{name}` is no machine type of Google's", f"say which one it is: `--vm {name}=n2-standard-4`"


def preemptibility(document: Document) -> Found:
    """Primary workers and masters are never taken back [workers]."""
    for key in ("masterConfig", "workerConfig"):
        if document["config"].get(key, {}).get("preemptibility", "NON_PREEMPTIBLE") != "NON_PREEMPTIBLE":
            yield f"{key} is on spot, and only secondary workers may be", ""


def words(document: Document) -> Found:
    """Return the cluster's name, labels, and the files that properties go to [name], [labels], [property]."""
    name = document["clusterName"]
    if not NAME.fullmatch(name) or len(name) > NAME_LENGTH:
        yield f"the name `{name}` is not of small letters, digits and -, at most {NAME_LENGTH} of them", ""
    given = document.get("labels", {})
    if len(given) > MOST_LABELS:
        yield f"there are {len(given)} labels, and a cluster takes {MOST_LABELS}", ""
    for key, value in given.items():
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key) or not re.fullmatch(r"[a-z0-9_-]{0,63}", value):
            yield f"the label {key}={value} is not of small letters, digits, - and _, at most {LABEL_LENGTH}", ""
    for key in document["config"].get("softwareConfig", {}).get("properties", {}):
        if key.partition(":")[0] not in PREFIXES:
            yield f"the property {key} does not say of which file it is", ""


def idle(document: Document) -> Found:
    """An idle cluster is deleted after 5 minutes to 14 days [idle]."""
    text = document["config"].get("lifecycleConfig", {}).get("idleDeleteTtl", f"{IDLE_LEAST}s")
    found = re.fullmatch(r"([0-9]+)s", text)
    if found is None or not IDLE_LEAST <= int(found[1]) <= IDLE_MOST:
        yield f"an idle cluster is deleted after {IDLE_LEAST} s to {IDLE_MOST} s, not {text}", ""


def disks(document: Document) -> Found:
    """Check the sizes of boot disks [disk]."""
    for key, part in document["config"].items():
        size = part.get("diskConfig", {}).get("bootDiskSizeGb", DISK_LEAST) if key.endswith("Config") else DISK_LEAST
        if not DISK_LEAST <= size <= DISK_MOST:
            reason = f"{key} has a disk of {size} GB, and may have one of {DISK_LEAST} to {DISK_MOST} GB"
            yield reason, f"write a `disk` of {DISK_MOST} GiB or less"


RULES: tuple[Callable[[Document], Found], ...] = (masters, workers, one_type, types, preemptibility, words, idle, disks)


FILE = "dataproc.yaml"
IMAGE = "2.2-debian12"


def dataproc(deployment: Deployment, wishes: Wishes) -> Exported:
    """Return the file for a deployment. Raises TargetError if Dataproc would reject it, or has no such cluster."""
    vms = dict.fromkeys(group.vm for group in deployment.groups)
    if len(vms) > 1:
        raise TargetError(
            f"its workers are of one type, and the plan has {', '.join(vms)}",
            "`emr` takes several types; or write `subject to { vms(..) = 0 }` for all types but one",
        )
    (vm,) = vms
    master, count, note = master_of(deployment, wishes, _usual_master(vm))
    told, classes = cluster_settings(deployment), spark_of_classes(deployment)
    notes = (*deployment.notes, *([note] if note else []), *told.notes, *classes.notes)
    document = _document(deployment, (master, count), vm, _properties(deployment, told, classes))
    wrong = mistakes(document)
    if wrong:
        raise TargetError("; ".join(reason for reason, _ in wrong), wrong[0][1])
    comments = (*deployment.origin.lines(), *(f"not exported: {each}" for each in notes))
    return Exported({FILE: yaml_text(document, comments)}, notes, beyond_node(deployment, DATAPROC), classes.settings)


def _usual_master(vm: str) -> str:
    """Return a master of 4 vCPU of the family of the workers: all families have one, and Google advises 2 or more."""
    family, _, rest = vm.partition("-")
    return f"{family}-standard-4" if rest and "custom" not in vm else "n2-standard-4"


def _properties(deployment: Deployment, told: ClusterSettings, classes: SparkOfClasses) -> dict[str, str]:
    """Return the properties of a cluster by file: queues, what YARN has of a node, and Spark's settings.

    Dataproc runs drivers on the master by default; those of the plan have containers, as it packs them.
    """
    queues = with_default_queue(told.queues, share_of_masters(deployment, DATAPROC))
    site = {**told.everywhere, **(nodes_of_one_type(deployment, DATAPROC) if told.everywhere else {})}
    cluster = any(load.driver is not None for load in deployment.workloads)
    spark = {**classes.shared, **({"spark.submit.deployMode": "cluster"} if cluster else {})}
    files = (("capacity-scheduler", queues), ("yarn", site), ("spark", spark))
    return {f"{file}:{key}": value for file, properties in files for key, value in properties.items()}


def _document(
    deployment: Deployment, master: tuple[str, int], vm: str, properties: Mapping[str, str]
) -> dict[str, Any]:
    origin = deployment.origin
    held = {lane: sum(g.count for g in deployment.groups if g.lane == lane) for lane in (FIRM, SPOT)}
    config: dict[str, Any] = {
        "masterConfig": {"numInstances": master[1], "machineTypeUri": master[0], **_disk(deployment, master[0])},
        "workerConfig": {"numInstances": held[FIRM], "machineTypeUri": vm, **_disk(deployment, vm)},
        "softwareConfig": {"imageVersion": IMAGE, **({"properties": dict(properties)} if properties else {})},
        "lifecycleConfig": {"idleDeleteTtl": f"{IDLE if deployment.idle is None else deployment.idle}s"},
    }
    if held[SPOT]:
        config["secondaryWorkerConfig"] = {
            "numInstances": held[SPOT],
            "machineTypeUri": vm,
            "preemptibility": "SPOT",
            **_disk(deployment, vm),
        }
    title = origin.title or origin.spec or "mrdsl"
    return {"clusterName": cluster_name(title), "labels": labels(origin), "config": config}


def _disk(deployment: Deployment, vm: str) -> dict[str, Any]:
    """Return the boot disk of a type, on which HDFS and shuffles are too; Dataproc's own if the spec has none."""
    size = deployment.disk_of(vm)
    return {} if size is None else {"diskConfig": {"bootDiskSizeGb": max(DISK_LEAST, int(size))}}


def cluster_name(title: str) -> str:
    """Return a name that Dataproc takes: small letters, digits and -, a letter first."""
    word = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return (word if word[:1].isalpha() else f"mrdsl-{word}")[:NAME_LENGTH].strip("-")


def labels(origin: Origin) -> dict[str, str]:
    """Return the origin as labels: lower-case letters, digits, - and _."""
    said = {"mrdsl-plan": origin.plan, "mrdsl-version": origin.version, "mrdsl-spec": origin.spec}
    plain = {key: re.sub(r"[^a-z0-9_-]", "-", value.lower())[:LABEL_LENGTH] for key, value in said.items()}
    return {key: value for key, value in plain.items() if value}
