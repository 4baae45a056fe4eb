"""One period with a million classes: the greedy against numpy's own sort of the keys.

For fractional and whole VMs with fractional jobs at once, and for whole jobs at once, where it reports its gap.

    nice python benchmarks/joint_million.py [--units 1000000] [--runs 7]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mrdsl.families.joint import allocation
from mrdsl.families.joint.methods.greedy import Filled, Search, fill_whole
from mrdsl.families.joint.workload import Execution, Queues, Workload, ceiling
from mrdsl.formulas.estimates import SlotLimits


def instance(units: int) -> Workload:
    """Needs of 0.5 to 20 VMs per class and worths around the VM's cost; room for 40 % of what could be added."""
    draw = np.random.default_rng(1)
    low = draw.uniform(0.5, 20, (1, units))
    high = low * draw.uniform(1, 1.5, (1, units))
    one = np.ones(units)
    none = np.ones(0)
    size = int(ceiling(low).sum() + 0.4 * (high - low).sum())
    return Workload(
        class_names=range(units),  # type: ignore[arg-type]
        service_names=(),
        low=low,
        high=high,
        vms_per_demand=one,
        penalty=draw.uniform(0.0, 1.0, units),
        vm_cost=0.02,
        size=size,
        share=None,
        execution=Execution(
            one,
            0 * one,
            0 * one,
            0.0,
            one,
            one,
            one,
            one,
            SlotLimits(one, one, 0 * one, 0 * one),
            np.zeros(units, dtype=np.int64),
            {},
        ),
        queues=Queues(none, none, none),
    )


def whole_jobs(units: int) -> Workload:
    """The same classes with jobs of 1 to 10 VMs, whole ones at once, and room for 40 % of what could be added."""
    work = instance(units)
    each = np.random.default_rng(2).uniform(1, 10, units)
    run = replace(work.execution, A=each, limits=SlotLimits(0 * each, np.full(units, np.inf), 0 * each, 0 * each))
    work = replace(
        work,
        execution=run,
        vms_per_demand=each,
        low=work.low / each,
        high=work.high / each,
        whole=True,
        penalty=work.penalty * each,
    )
    least, most = (work.whole_vms(demand).sum() for demand in (work.low, work.high))
    return replace(work, size=int(least + 0.4 * (most - least)))


def allocate_whole(work: Workload) -> Filled:
    """Whole jobs at once, as the pipeline does with its own limits."""
    left = work.size - allocation.least_vms(work, False).sum()
    return fill_whole(work, slice(0, len(work.worth)), 0, float(left), Search(4096, 128, 0.0))


def allocate(work: Workload, relax: bool) -> np.ndarray:
    """Algorithm 1: the least VMs of all, then the rest."""
    base = allocation.least_vms(work, relax)
    left = work.size - base.sum(axis=1)
    return base + allocation.further_vms(work, slice(0, base.shape[1]), base, left, relax)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--units", type=int, default=1_000_000)
    arguments.add_argument("--runs", type=int, default=7)
    chosen = arguments.parse_args()
    work = instance(chosen.units)
    of_jobs = whole_jobs(chosen.units)
    keys = work.worth
    assert of_jobs.worth.shape == keys.shape
    assert work.need_low.shape == work.need_high.shape  # computed here, not when measured
    cases: dict[str, Callable[[], Any]] = {
        "numpy sort of the keys": lambda: np.sort(keys),
        "greedy, fractional VMs": lambda: allocate(work, True),
        "greedy, whole VMs": lambda: allocate(work, False),
        "greedy, whole jobs at once": lambda: allocate_whole(of_jobs),
    }
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(chosen.runs + 1):
        for name, action in cases.items():
            started = time.perf_counter()
            action()
            seconds[name].append(time.perf_counter() - started)
    peer = statistics.median(seconds["numpy sort of the keys"][1:])
    for name, found in seconds.items():
        median = statistics.median(found[1:])
        print(f"{name:28} {median * 1000:8.1f} ms   {median / peer:5.2f}")
    check(work)
    found = allocate_whole(of_jobs)
    rejected = (of_jobs.high - of_jobs.served_by(found.vms[None], False))[0]
    cost = of_jobs.vm_cost * found.vms.sum() + of_jobs.penalty @ rejected
    print(f"whole jobs at once: {found.vms.sum():.0f} of {of_jobs.size} VMs, gap {found.gap / cost:.1e}")


def check(work: Workload) -> None:
    """The allocation uses all VMs, and no VM given up is worth more than one taken: optimal by exchange."""
    vms = allocate(work, False)
    assert vms.sum() == work.size
    assert (vms >= ceiling(work.need_low)).all()
    assert (vms <= ceiling(work.need_high)).all()
    given = np.minimum(1.0, work.need_high - (vms - 1.0))
    taken = vms > ceiling(work.need_low)
    wanted = np.minimum(1.0, work.need_high - vms)
    least_kept = (given * work.worth)[taken].min()
    best_left = np.where(vms < ceiling(work.need_high), wanted * work.worth, 0.0).max()
    print(f"least worth of a VM that was given: {least_kept:.6f}; most that one more would avoid: {best_left:.6f}")
    assert best_left <= least_kept + 1e-12


if __name__ == "__main__":
    main()
