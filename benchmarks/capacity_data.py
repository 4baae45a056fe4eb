"""One random instance of paper 000, Table 2: as spec with table, as spec in text, as plain CSV for the peers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

PRICES = {"on_demand": 0.192, "reserved": 0.121}
COLUMNS = (
    "map.tasks",
    "map.avg [s]",
    "map.max [s]",
    "shuffle.first_avg [s]",
    "shuffle.first_max [s]",
    "shuffle.avg [s]",
    "shuffle.max [s]",
    "reduce.tasks",
    "reduce.avg [s]",
    "reduce.max [s]",
    "slots.map",
    "slots.reduce",
    "jobs.low",
    "jobs.high",
    "deadline [s]",
    "penalty [USD]",
)
PLAIN = (
    "nm",
    "mavg",
    "mmax",
    "s1avg",
    "s1max",
    "savg",
    "smax",
    "nr",
    "ravg",
    "rmax",
    "cm",
    "cr",
    "low",
    "high",
    "deadline",
    "penalty",
)


def draw(count: int, seed: int = 42) -> np.ndarray:
    """One row per class, columns as in :data:`PLAIN`; averages are half to all of the longest times."""
    random = np.random.RandomState(seed)
    longest = random.uniform([16, 10, 30, 15], [120, 30, 150, 75], (count, 4))
    average = np.round(longest * random.uniform(0.5, 1.0, (count, 1)), 3)
    longest = np.round(longest, 3)
    high = random.randint(10, 31, count)
    return np.column_stack(
        [
            random.randint(70, 701, count),
            average[:, 0],
            longest[:, 0],
            average[:, 1],
            longest[:, 1],
            average[:, 2],
            longest[:, 2],
            random.randint(32, 65, count),
            average[:, 3],
            longest[:, 3],
            random.randint(1, 5, count),
            random.randint(1, 5, count),
            np.ceil(0.9 * high - 1e-9),
            high,
            np.round(random.uniform(600, 1200, count), 2),
            np.round(random.uniform(2.5, 25, count), 2),
        ]
    )


def write(folder: Path, count: int) -> int:
    """Writes table.mrspec + classes.csv, text.mrspec, plain.csv and plain.dat; returns how many VMs are reserved."""
    rows = draw(count)
    available = 100 * count
    cells = [[f"{value:g}" if column else f"{int(value)}" for column, value in enumerate(row)] for row in rows]
    for name, header in (("classes.csv", COLUMNS), ("plain.csv", PLAIN)):
        lines = [",".join(("name", *header)), *(f"c{i + 1}," + ",".join(row) for i, row in enumerate(cells))]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    head = (
        'problem capacity "benchmark"\nwhole = no, estimates = paper\n'
        f"vm m5 {{\n  on_demand {{ price = {PRICES['on_demand']} USD/h }}\n"
        f"  reserved {{ price = {PRICES['reserved']} USD/h, available = {available} }}\n}}\n"
    )
    (folder / "table.mrspec").write_text(head + 'classes from "classes.csv"\nminimize cost\n', encoding="ascii")
    (folder / "text.mrspec").write_text(
        head + "\n".join(map(_written, range(1, count + 1), cells)) + "\nminimize cost\n", encoding="ascii"
    )
    data = [
        "data;",
        f"param delta := {PRICES['on_demand']};",
        f"param rho := {PRICES['reserved']};",
        f"param rbar := {available};",
        "param : U : " + " ".join(PLAIN) + " :=",
    ]
    data += [f"c{i + 1} " + " ".join(row) for i, row in enumerate(cells)]
    (folder / "plain.dat").write_text("\n".join([*data, ";", "end;"]) + "\n", encoding="ascii")
    return available


def _written(number: int, row: list[str]) -> str:
    nm, mavg, mmax, s1avg, s1max, savg, smax, nr, ravg, rmax, cm, cr, low, high, deadline, penalty = row
    return (
        f"class c{number} {{\n  map {{ tasks = {nm}, avg = {mavg} s, max = {mmax} s }}\n"
        f"  shuffle {{ first_avg = {s1avg} s, first_max = {s1max} s, avg = {savg} s, max = {smax} s }}\n"
        f"  reduce {{ tasks = {nr}, avg = {ravg} s, max = {rmax} s }}\n  slots {{ map = {cm}, reduce = {cr} }}\n"
        f"  jobs = {low}..{high}\n  deadline = {deadline} s\n  penalty = {penalty} USD\n}}"
    )
