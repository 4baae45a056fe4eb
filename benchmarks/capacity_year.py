"""Commitments for a year of hours: 20 VM types with contracts, three classes, and a day, a week and a season of jobs.

``python benchmarks/capacity_year.py FOLDER [HOURS]`` writes the spec and its table, and solves it in a process of its
own. It prints the CPU seconds of the process and its workers, and the result.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
from pathlib import Path
from random import Random


def write(folder: Path, hours: int) -> Path:
    """Write ``year.mrspec`` and ``year.csv``; return the spec."""
    random = Random(3)
    types, speeds = [], []
    for number in range(20):
        price = round(0.05 * 1.25**number * random.uniform(0.9, 1.1), 4)
        reserved = round(price * random.uniform(0.55, 0.7), 4)
        types.append(
            f"vm t{number} {{ on_demand {{ price = {price} USD/h }}, "
            f"reserved {{ price = {reserved} USD/h, available = 300 }} }}"
        )
        speeds.append(1.22**number)
    classes = []
    for number, (a, b, jobs) in enumerate([(5400, 1250, 20), (3400, 2250, 12), (9000, 0, 16)]):
        on = "\n".join(
            f"  on t{n} {{ speed = {round(s * random.uniform(0.8, 1.2), 3)} }}" for n, s in enumerate(speeds)
        )
        classes.append(
            f"class c{number} {{\n  coefficients {{ A = {a} s, B = {b} s, C = 20 s }}\n"
            f"  slots {{ map = 2, reduce = 2 }}\n{on}\n  jobs = {jobs}, deadline = 20 min, penalty = 50 USD\n}}"
        )
    demand = f'demand {{ periods = {hours}, from = "year.csv" }}'
    parts = ['problem capacity "Year"', *types, demand, *classes, "minimize cost\n"]
    (folder / "year.mrspec").write_text("\n".join(parts), encoding="utf-8")
    rows = ["c0,c1,c2"]
    for hour in range(hours):
        day, weekday = hour % 24, hour // 24 % 7 < 5
        noon, night = (low + (1 - low) * math.exp(-(away**2)) for low, away in _shape(day))
        season = (1 + 0.25 * math.sin(2 * math.pi * hour / 8760)) * (1.0 if weekday else 0.6)
        means = 60 * noon, 40 * night, 25 * (noon + night)
        rows.append(",".join(str(round(mean * season * random.uniform(0.85, 1.15))) for mean in means))
    (folder / "year.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder / "year.mrspec"


def _shape(hour: int) -> tuple[tuple[float, float], tuple[float, float]]:
    return (0.35, (hour - 14) / 5), (0.2, (hour - 2) % 24 / 4)


if __name__ == "__main__":
    spec = write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8760)
    done = subprocess.run(["mrdsl", "solve", str(spec)], capture_output=True, text=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("\n".join(done.stdout.splitlines()[-6:]))
    print(f"{used.ru_utime + used.ru_stime:.1f} CPU s, {used.ru_maxrss / 1024:.0f} MB")
