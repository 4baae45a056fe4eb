"""Both forms of the energy model on all small workloads, with every MILP solver: do they agree, how long do they take?

    python benchmarks/energy_forms.py [seconds]      # limit per solve, default 120

Prints one row per workload: the optimum by the counted form, then seconds per form and solver, where the value is
proven and within 1e-6 of that; "> limit" with the incumbent's excess where the limit came first. Ends with 1 where a
proven value differs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mrdsl import Limits, solve

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of `studies`
from studies.energy_workloads import WORKLOADS, workload

SOLVERS = ("highs", "cbc", "scip")
FORMS = ("counted", "per_task")


def main(seconds: float) -> int:
    """All rows; 1 where two proven optima differ."""
    differ = 0
    print("| workload | optimum [J] |" + "".join(f" {form} {solver} |" for form in FORMS for solver in SOLVERS))
    print("|---|---|" + "---|" * (len(FORMS) * len(SOLVERS)))
    for name, title in WORKLOADS.items():
        spec = workload(name, "small")
        best = solve(spec, "highs", formulation="counted", limits=Limits(gap=1e-9)).objective.value
        assert best is not None
        cells = []
        for form in FORMS:
            for solver in SOLVERS:
                started = time.perf_counter()
                result = solve(spec, solver, formulation=form, limits=Limits(time=seconds, gap=1e-9))
                took = time.perf_counter() - started
                value = result.objective.value
                if result.solution == "optimal" and value is not None:
                    same = abs(value - best) <= 1e-6 * best
                    differ += not same
                    cells.append(f"{took:.1f} s" if same else f"DIFFERS: {value:g}")
                else:
                    cells.append(f"> {seconds:g} s" if value is None else f"> {seconds:g} s, at {value / best - 1:.1%}")
        print(f"| {title} | {best:.1f} |" + "".join(f" {cell} |" for cell in cells), flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 120.0))
