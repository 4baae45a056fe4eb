"""Google Dataproc: the cluster as `gcloud dataproc clusters import NAME --source FILE` takes it.

Machines on spot are secondary workers, which have the primary workers' type and hold no data.
"""

from __future__ import annotations

import re
from typing import Any

from mrdsl.exchange.targets.dataproc_rules import LABEL_LENGTH, NAME_LENGTH, mistakes
from mrdsl.exchange.targets.deployment import FIRM, SPOT, Deployment, Exported, Origin, TargetError, Wishes
from mrdsl.exchange.targets.masters import master_of
from mrdsl.exchange.targets.yarn import ClusterSettings, cluster_settings
from mrdsl.exchange.yaml_text import yaml_text

FILE = "dataproc.yaml"
IMAGE = "2.2-debian12"


def dataproc(deployment: Deployment, wishes: Wishes) -> Exported:
    """The file for a deployment. Raises TargetError where Dataproc would refuse it, or has no such cluster."""
    vms = dict.fromkeys(group.vm for group in deployment.groups)
    if len(vms) > 1:
        raise TargetError(
            f"its workers are of one type, and the plan has {', '.join(vms)}",
            "`emr` takes several types; or write `subject to { vms(..) = 0 }` for all types but one",
        )
    master, count, note = master_of(deployment, wishes)
    told = cluster_settings(deployment)
    notes = (*deployment.notes, *([note] if note else []), *told.notes)
    held = {lane: sum(g.count for g in deployment.groups if g.lane == lane) for lane in (FIRM, SPOT)}
    (vm,) = vms
    document = _document(deployment.origin, told, (master, count), vm, held)
    wrong = mistakes(document)
    if wrong:
        raise TargetError("; ".join(reason for reason, _ in wrong), wrong[0][1])
    comments = (*deployment.origin.lines(), *(f"not in it: {each}" for each in notes))
    return Exported({FILE: yaml_text(document, comments)}, notes)


def _document(
    origin: Origin, told: ClusterSettings, master: tuple[str, int], vm: str, held: dict[str, int]
) -> dict[str, Any]:
    properties = {f"capacity-scheduler:{key}": value for key, value in told.queues.items()}
    properties |= {f"yarn:{key}": value for key, value in told.everywhere.items()}
    config: dict[str, Any] = {
        "masterConfig": {"numInstances": master[1], "machineTypeUri": master[0]},
        "workerConfig": {"numInstances": held[FIRM], "machineTypeUri": vm},
        "softwareConfig": {"imageVersion": IMAGE, **({"properties": properties} if properties else {})},
    }
    if held[SPOT]:
        config["secondaryWorkerConfig"] = {
            "numInstances": held[SPOT],
            "machineTypeUri": vm,
            "preemptibility": "SPOT",
        }
    title = origin.title or origin.spec or "mrdsl"
    return {"clusterName": cluster_name(title), "labels": labels(origin), "config": config}


def cluster_name(title: str) -> str:
    """A name that Dataproc takes: small letters, digits and -, a letter first."""
    word = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return (word if word[:1].isalpha() else f"mrdsl-{word}")[:NAME_LENGTH].strip("-")


def labels(origin: Origin) -> dict[str, str]:
    """Where it comes from, in small letters, digits, - and _."""
    said = {"mrdsl-plan": origin.plan, "mrdsl-version": origin.version, "mrdsl-spec": origin.spec}
    plain = {key: re.sub(r"[^a-z0-9_-]", "-", value.lower())[:LABEL_LENGTH] for key, value in said.items()}
    return {key: value for key, value in plain.items() if value}
