"""Figures of docs/validation/joint.md that no study prints: sizes between its steps, and jobs alone on their VMs.

    nice python benchmarks/joint_figures.py

A job is alone on all VMs of its class, the map and reduce slots split best, as fractions. It misses its deadline for
sure where even the lower estimate does: ``C + (sqrt(A / m) + sqrt(B / r))^2 / VMs`` with m and r slots of a kind on a
VM, the least of ``A / x + B / y + C`` over ``x / m + y / r = VMs`` (Theorem 4.1 of Malekimajd et al. for one job).
Counted are the classes and periods with any VMs.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.families.joint.workload import workload
from mrdsl.formulas import mapreduce
from mrdsl.formulas.profiles import profile_of
from mrdsl.spec.columns import column
from mrdsl.spec.spec import Spec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of `studies`
from studies.joint_cluster_sizes import at_size
from studies.joint_instances import instance

READINGS = ("fractional", "whole")


def savings(concurrency: str, share: float, numbers: range) -> list[float]:
    """By how much the shared cluster of ``share`` of V_max is cheaper than the partitioned one, S4 [%]."""
    runs = [at_size(workload(instance("S4", number, concurrency)), share) for number in numbers]
    return [100.0 * float(run.savings[0]) for run in runs]


def same_budget(concurrency: str, partitioned: float) -> float:
    """The share of V_max from which a shared cluster costs no more than a partitioned one of ``partitioned``, S4."""
    work = workload(instance("S4", 5, concurrency))
    budget = float(at_size(work, partitioned).partitioned.total.sum())
    shares = np.linspace(1.0, 0.5, 501)
    return float(shares[at_size(work, shares).shared.total.sum(axis=1) <= budget].min())


def with_concurrency(name: str, concurrency: str) -> Spec:
    spec = mrdsl.load(resource("models") / "joint" / f"{name}.mrspec")
    return replace(spec, facts=replace(spec.facts, cluster=replace(spec.facts.cluster, concurrency=concurrency)))


def late_alone(spec: Spec) -> tuple[int, int, str]:
    """Classes and periods on whose VMs a lone job is late, of how many; and what the plan says of whole slots."""
    result = mrdsl.solve(spec)
    classes = spec.facts.classes
    low = mapreduce.lower(profile_of(classes))
    per_vm = column(classes, "slots.map"), column(classes, "slots.reduce")
    least = (np.sqrt(low.map_work / per_vm[0]) + np.sqrt(low.reduce_work / per_vm[1])) ** 2
    vms = result.plan.classes.vms
    alone = low.constant + np.divide(least, vms, out=np.zeros_like(vms), where=vms > 0.0)
    late = (vms > 0.0) & (alone > column(classes, "deadline") * (1.0 + FEASIBILITY))
    told = [d.message for d in result.diagnostics if d.code == "slots-beyond-vms"]
    return int(late.sum()), late.size, "; ".join(told)


def main() -> None:
    for concurrency in READINGS:
        at_85 = savings(concurrency, 0.85, range(1, 31))
        print(
            f"{concurrency}: S4 at 85 % of V_max, instance 5: {at_85[4]:.1f} %, mean of 30: {np.nanmean(at_85):.1f} %"
        )
        print(f"{concurrency}: a shared cluster of {same_budget(concurrency, 0.93):.1%} costs a partitioned one's 93 %")
        for name in ("S1", "L5"):
            late, cells, told = late_alone(with_concurrency(name, concurrency))
            print(f"{concurrency}: {name}: a lone job is late in {late} of {cells} classes and periods; {told}")


if __name__ == "__main__":
    main()
