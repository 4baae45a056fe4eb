"""`portfolio` on wide clusters: random jobs of 10 to 600 maps and 1 to 300 reduces of 5 to 120 s.

    nice python benchmarks/makespan_wide.py 50 400 200   # jobs, map slots, reduce slots

CPU seconds of this process, and how far the makespan is above the proven lower bound.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

import mrdsl
from mrdsl.spec.spec import Spec


def wide(jobs: int, maps: int, reduces: int, seed: int, whole: bool) -> Spec:
    """A batch; task times in whole seconds, or in milliseconds."""
    random = np.random.RandomState(seed)

    def seconds() -> str:
        return str(random.randint(5, 120)) if whole else f"{random.uniform(5, 120):.3f}"

    rows = [
        f"job J{j} {{ map {{ tasks = {random.randint(10, 600)}, time = {seconds()} s }}, "
        f"reduce {{ tasks = {random.randint(1, 300)}, time = {seconds()} s }} }}"
        for j in range(jobs)
    ]
    cluster = f"cluster {{ slots {{ map = {maps}, reduce = {reduces} }} }}"
    return mrdsl.loads("\n".join(['problem makespan "A wide cluster"', cluster, *rows, "minimize makespan"]))


def main(jobs: int, maps: int, reduces: int) -> None:
    print("| seed | times in | makespan s | above the bound % | CPU s |\n|---|---|---|---|---|")
    for seed in (1, 2):
        for whole in (True, False):
            spec = wide(jobs, maps, reduces, seed, whole)
            begun = process_time()
            result = mrdsl.solve(spec, "portfolio")
            taken = process_time() - begun
            unit = "s" if whole else "ms"
            print(
                f"| {seed} | {unit} | {result.objective.value:.1f} | {100 * result.objective.gap:.3f} | {taken:.1f} |"
            )


if __name__ == "__main__":
    main(*(int(each) for each in sys.argv[1:4] or (50, 400, 200)))
