"""L5 over 24 hours and 40 cluster sizes: the greedy sweep against the same 960 LPs in Pyomo loops with HiGHS.

    nice python benchmarks/joint_sizes.py [--sizes 40] [--runs 5]

Both start from the same arrays and give the cost of every hour and size. Two loops: one that builds each LP as a fresh
model, and one that keeps a model per hour in a persistent solver and changes only its right-hand side.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.contrib.appsi.solvers.highs import Highs

from mrdsl.families.joint.workload import Workload, workload

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of `studies`
from studies.joint_cluster_sizes import compare
from studies.joint_instances import instance
from studies.joint_sizes import sweep


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = action()
    return time.perf_counter() - started, found


def hand_written(low: np.ndarray, high: np.ndarray, worth: np.ndarray, price: float, size: float) -> pyo.ConcreteModel:
    """(55)-(57) as anybody would write them, with the constant of the whole cost."""
    units = range(len(worth))
    model = pyo.ConcreteModel()
    model.size = pyo.Param(initialize=size, mutable=True)
    model.vms = pyo.Var(units, bounds=lambda m, u: (low[u], high[u]))
    model.fits = pyo.Constraint(expr=pyo.quicksum(model.vms.values()) <= model.size)
    constant = float(worth @ high)
    model.cost = pyo.Objective(expr=pyo.quicksum((price - worth[u]) * model.vms[u] for u in units) + constant)
    return model


def fresh_models(work: Workload, sizes: np.ndarray) -> np.ndarray:
    low, high, worth = work.need_low, work.need_high, work.worth
    costs = np.empty((len(sizes), work.periods))
    for t in range(work.periods):
        for s, size in enumerate(sizes.tolist()):
            model = hand_written(low[t], high[t], worth, work.vm_cost, size)
            costs[s, t] = Highs().solve(model).best_feasible_objective
    return costs


def persistent_models(work: Workload, sizes: np.ndarray) -> np.ndarray:
    costs = np.empty((len(sizes), work.periods))
    for t in range(work.periods):
        model = hand_written(work.need_low[t], work.need_high[t], work.worth, work.vm_cost, float(sizes[0]))
        solver = Highs()
        solver.update_config.check_for_new_or_removed_constraints = False
        solver.update_config.check_for_new_or_removed_vars = False
        for s, size in enumerate(sizes.tolist()):
            model.size.value = size
            costs[s, t] = solver.solve(model).best_feasible_objective
    return costs


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--family", default="L5")
    arguments.add_argument("--sizes", type=int, default=40)
    arguments.add_argument("--runs", type=int, default=5)
    chosen = arguments.parse_args()
    work = workload(instance(chosen.family, 1, "fractional"))
    sizes = np.sort(compare(work, steps=chosen.sizes).sizes)[1:]
    assert work.need_low.shape == work.need_high.shape == (24, len(work.worth))  # computed here, once for all

    runs = [timed(lambda: sweep(work, sizes, relax=True).total) for _ in range(chosen.runs)]
    greedy, costs = statistics.median(seconds for seconds, _ in runs), runs[0][1]
    print(
        f"{chosen.family}: {len(work.worth)} classes, {work.periods} hours, {len(sizes)} sizes: "
        f"{work.periods * len(sizes)} LPs"
    )
    print(f"greedy sweep                 {greedy:9.4f} s   (median of {chosen.runs})")
    whole = workload(instance(chosen.family, 1))
    whole_sizes = compare(whole, steps=chosen.sizes).sizes
    seconds = statistics.median(timed(lambda: sweep(whole, whole_sizes, relax=False))[0] for _ in range(chosen.runs))
    print(f"whole jobs at once, exactly  {seconds:9.4f} s   (median of {chosen.runs})")
    for name, loop in (("persistent Pyomo and HiGHS", persistent_models), ("fresh Pyomo and HiGHS", fresh_models)):
        seconds, others = timed(lambda loop=loop: loop(work, sizes))
        apart = float(np.max(np.abs(others - costs) / costs))
        print(f"{name:28} {seconds:9.4f} s   {seconds / greedy:7.0f} times the greedy; costs differ by {apart:.1e}")


if __name__ == "__main__":
    main()
