"""How long the energy family takes: proofs on the large workloads, heuristics beside them, and a thousand slots.

    python benchmarks/energy_speed.py [seconds] [repeats] [workload ...]   # per-task limit (60), repeats (3)

First table: HiGHS on the counted form to a gap of 1e-6 (median wall time), the per-task form with a limit, and the
ratio; DSPS, MVPS and mrdsl-energy, and how far above the optimum. Second: 10,000 map tasks on 1,048 slots, mrdsl-energy
against its own LP bound.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from mrdsl import Limits, solve
from mrdsl.spec.spec import Spec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of `studies`
from studies.energy_workloads import WORKLOADS, workload

STOCK = {
    "n1-standard-1": 60,
    "n1-standard-2": 24,
    "n1-standard-4": 24,
    "n1-highmem-2": 24,
    "n1-highcpu-2": 24,
    "n1-highcpu-4": 24,
    "n1-highcpu-8": 24,
    "n1-highcpu-16": 26,
    "g1-small": 44,
}


def timed(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median wall seconds of some runs, and what the last gave."""
    seconds, result = [], None
    for _ in range(repeats):
        started = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - started)
    return median(seconds), result


def large(limit: float, repeats: int, names: list[str]) -> None:
    """The first table, of some workloads or of all."""
    methods = ("dsps", "mvps", "mrdsl-energy")
    print("| workload | counted [s] | gap | per task [s] | ratio |" + "".join(f" {m} [s] | above |" for m in methods))
    print("|---|---|---|---|---|" + "---|---|" * len(methods))
    for name in names or list(WORKLOADS):
        title, spec = WORKLOADS[name], workload(name, "large")
        seconds, best = timed(lambda s=spec: solve(s, "highs", limits=Limits(gap=1e-6)), repeats)  # type: ignore[misc]
        printed, per_task = timed(
            lambda s=spec: solve(s, "highs", formulation="per_task", limits=Limits(time=limit, gap=1e-6)),
            1,  # type: ignore[misc]
        )
        done = "" if per_task.solution == "optimal" else "> "
        reached = "" if done == "" else " (none)" if per_task.plan is None else f" ({per_task.objective.gap:.1%})"
        cells = [
            f"{seconds:.2f}",
            f"{best.objective.gap:.0e}",
            f"{done}{printed:.1f}{reached}",
            f"{done}{printed / seconds:.0f}",
        ]
        for method in methods:
            took, found = timed(lambda s=spec, m=method: solve(s, m), repeats)  # type: ignore[misc]
            above = "–" if found.plan is None else f"{found.objective.value / best.objective.value - 1:.2%}"
            cells += [f"{took:.2f}", above]
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


def thousand_slots(maps: int, reduces: int, deadline: float, budget: float) -> Spec:
    """Inverted index on twelve times the large stock, 1,048 slots of either kind."""
    spec = workload("invind", "large")
    facts = spec.facts
    job = facts.jobs[0]
    job = replace(
        job,
        map=replace(job.map, tasks=maps),
        reduce=replace(job.reduce, tasks=reduces),
        deadline=deadline,
        budget=budget,
    )
    vms = tuple(replace(vm, available=STOCK[vm.name]) for vm in facts.vms)
    return replace(spec, facts=replace(facts, vms=vms, jobs=(job,)))


def many(repeats: int) -> None:
    """The second table."""
    print("\n| map tasks | reduce tasks | deadline [s] | budget [USD] | mrdsl-energy [s] | above its LP bound |")
    print("|---|---|---|---|---|---|")
    for maps, reduces, deadline, budget in (
        (10_000, 0, 7500, 100.0),
        (10_000, 0, 7500, 45.0),
        (10_000, 0, 9000, 40.0),
        (10_000, 1_600, 9000, 70.0),
    ):
        spec = thousand_slots(maps, reduces, deadline, budget)
        seconds, found = timed(lambda s=spec: solve(s, "mrdsl-energy"), repeats)  # type: ignore[misc]
        above = "no plan" if found.plan is None else f"{found.objective.value / found.objective.bound - 1:.2%}"
        print(f"| {maps} | {reduces} | {deadline} | {budget:g} | {seconds:.1f} | {above} |", flush=True)


if __name__ == "__main__":
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    large(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, runs, sys.argv[3:])
    if not sys.argv[3:]:
        many(runs)
