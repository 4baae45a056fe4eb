"""Several VM types: python benchmarks/capacity_types.py [CLASSES ...] against highspy with the same arrays.

Classes of Table 2 (see capacity_data.py) with containers, on ten types whose cores, memory and prices differ, some
reserved. ``direct`` is run to its own end, HiGHS to a gap, through mrdsl and from a plain script.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from capacity_data import COLUMNS, draw
from capacity_speed import PEERS, PYTHON, mrdsl
from measure import Case, compare, machine, show

GAP = {100: "1e-3", 1_000: "5e-3", 10_000: "1e-2"}
TYPES = 10
PEER_SECONDS = "120"
"""What HiGHS has in the plain script, by the clock; the script says where it stopped there."""


def write(folder: Path, count: int) -> None:
    """types.mrspec with classes.csv, and types.csv for the peer: a VM type a row."""
    rows, random = draw(count), np.random.RandomState(7)
    cores = random.choice([4, 8, 16, 32], TYPES)
    memory = cores * random.choice([2, 4, 8], TYPES)
    price = np.round(0.03 * cores + 0.006 * memory * random.uniform(0.8, 1.2, TYPES), 4)
    reserved = random.randint(0, 20 * count // TYPES, TYPES)
    taken = np.column_stack([np.ones(count), random.choice([1, 2, 3, 4, 6, 8], (count, 2)), np.ones(count)])
    heads = [*COLUMNS[:10], *COLUMNS[12:], *(f"container.{x}" for x in CONTAINER)]
    cells = np.column_stack([rows[:, :10], rows[:, 12:], taken])
    lines = [
        ",".join(["name", *heads]),
        *(f"c{i + 1}," + ",".join(f"{v:g}" for v in row) for i, row in enumerate(cells)),
    ]
    (folder / "classes.csv").write_text("\n".join(lines) + "\n", encoding="ascii")
    vms = [
        f"vm t{i} {{ cores = {c}, memory = {m} GiB, on_demand {{ price = {p} USD/h }}, "
        f"reserved {{ price = {0.6 * p:.6f} USD/h, available = {r} }} }}"
        for i, (c, m, p, r) in enumerate(zip(cores, memory, price, reserved, strict=True))
    ]
    text = [
        'problem capacity "benchmark"',
        "whole = no, estimates = paper",
        *vms,
        'classes from "classes.csv"',
        "minimize cost",
    ]
    (folder / "types.mrspec").write_text("\n".join(text) + "\n", encoding="ascii")
    np.savetxt(folder / "types.csv", np.column_stack([cores, memory, price, np.round(0.6 * price, 6), reserved]))


CONTAINER = ("map.cores", "map.memory [GiB]", "reduce.memory [GiB]", "reduce.cores")


def part(count: int) -> None:
    """One size: seconds, CPU seconds and costs of every way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, count)
        spec, gap = str(folder / "types.mrspec"), GAP.get(count, "1e-2")
        peer = [PYTHON, str(PEERS / "types_arrays.py"), str(folder), gap, PEER_SECONDS]
        cases = [
            Case("highspy + numpy", peer),
            mrdsl("mrdsl, HiGHS", "solve", spec, "--solver", "highs", "--gap", gap),
            mrdsl("mrdsl, direct", "solve", spec, "--solver", "direct"),
        ]
        found = compare(cases, runs=3)
    print(f"\n**{count:,} classes, {TYPES} types, HiGHS to {gap}**\n\n{show(found, 'highspy + numpy')}\n")
    for each in found:
        print(each.name, "; ".join(re.findall(r"cost:? [^\n]*", each.output)))


if __name__ == "__main__":
    print(machine())
    for size in map(int, sys.argv[1:] or ["100", "1000", "10000"]):
        part(size)
