"""Memory that platforms leave to containers, as they publish it: data for planning, exports and verification.

EMR: awsdocs/amazon-emr-release-guide, emr-hadoop-task-config.md (June 2023), 223 types. Two rules give 201 of the 207
types of known memory to the MiB or are among the exceptions below. Families that are newer follow the second rule.
Dataproc: docs.cloud.google.com/data-fusion/docs/concepts/cluster-sizing, where a worker of 15 GB has 12 GB for YARN.
Kubernetes: kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources; the figures are those of GKE,
cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes.
"""

from __future__ import annotations

DATAPROC, EMR, KUBERNETES = "dataproc", "emr", "kubernetes"
PLATFORMS = DATAPROC, EMR, KUBERNETES
DATAPROC_SHARE = 0.8
"""The part of a machine's memory that YARN has on Dataproc."""
EMR_SMALL = 32_768
"""Memory up to which a quarter is the system's [MiB]; of larger types 8,192 MiB are."""
EMR_WHOLE = frozenset({"c3", "c4", "c5", "c5d", "c5n", "d2", "g4dn", "i2", "i3", "i3en", "m4", "m5", "m5a", "m5d"})
EMR_WHOLE |= {"r3", "r4", "r5", "r5a", "r5d", "z1d"}
"""Families whose rule counts all their memory; of the others 12 of 256 parts are left out first."""
EMR_PARTS = 244, 256
EMR_EXCEPTIONS = {
    "c1.medium": 1024,
    "c1.xlarge": 5120,
    "c3.xlarge": 5632,
    "c4.large": 1792,
    "c4.xlarge": 5632,
    "c5a.xlarge": 5632,
    "c5a.12xlarge": 90112,
    "c5ad.xlarge": 5632,
    "c6g.xlarge": 5632,
    "c6gd.xlarge": 5632,
    "c6gn.xlarge": 5632,
    "m1.medium": 2048,
    "m1.large": 5120,
    "m1.xlarge": 12288,
    "m2.xlarge": 14336,
    "m2.4xlarge": 61440,
    "m3.2xlarge": 23040,
    "m5zn.xlarge": 11520,
    "m6g.12xlarge": 181248,
    "m6gd.12xlarge": 181248,
}
"""Types that follow no rule [MiB]; m2.2xlarge and m5zn.2xlarge are slips of the page, and follow theirs."""
KUBERNETES_MEMORY = ((4096, 0.25), (4096, 0.20), (8192, 0.10), (114_688, 0.06), (float("inf"), 0.02))
"""Of so many MiB, one after another, the part that is reserved."""
KUBERNETES_EVICTION = 100
"""MiB below which pods are evicted."""
KUBERNETES_CORES = ((1.0, 0.06), (1.0, 0.01), (2.0, 0.005), (float("inf"), 0.0025))
"""Of so many cores, one after another, the part that is reserved."""
