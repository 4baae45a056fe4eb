"""Cold starts: whole processes of `check`, `solve` and `why` on one small spec of each family, beside another tree.

    python benchmarks/start_speed.py                          # CPU seconds, medians of 9 runs that take turns
    python benchmarks/start_speed.py --before TREE            # beside the mrdsl in another checkout, on the same specs
    python benchmarks/start_speed.py --before TREE --counted  # instructions, by `valgrind --tool=cachegrind`

Instructions are the same from run to run to a thousandth, however busy the machine is; each run takes 20 times as long.
Bytecode and parser tables are warm: each case runs once before it is measured.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from measure import Case, compare, machine

HERE = Path(__file__).resolve().parent
SPECS = {
    "capacity": "capacity/reference",
    "bounds": "bounds/reference",
    "joint": "joint/reference",
    "energy": "energy/reference",
    "deadline": "deadline/reference",
    "makespan": "makespan/two-jobs",
    "schedule": "schedule/small",
    "hybrid": "hybrid/reference",
}
COMMANDS = ("check", "solve", "why")
START = "from mrdsl.cli import main; main()"


def case(tree: Path, models: Path, command: str, family: str) -> Case:
    """A command on a family's spec, by the mrdsl of a tree."""
    environment = {
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
    }
    words = [sys.executable, "-P", "-c", START, command, str(models / f"{SPECS[family]}.mrspec")]
    return Case(f"{command} {family} {tree}", words, environment=environment)


def instructions(measured: Case) -> float:
    """How many instructions a warm run takes, children included, in units of 1e9."""
    counting = (
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--trace-children=yes",
        "--cachegrind-out-file=/dev/null",
    )
    environment = {**os.environ, **measured.environment}
    for command in (measured.command, (*counting, *measured.command)):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return sum(int(found.replace(",", "")) for found in re.findall(r"I\s+refs:\s+([\d,]+)", done.stderr)) / 1e9


def main(before: Path | None, runs: int, counted: bool, families: Sequence[str]) -> None:
    """Prints a row per command and family."""
    trees = [HERE.parent] if before is None else [before.resolve(), HERE.parent]
    models = trees[0] / "models"
    unit = "1e9 instructions" if counted else "CPU s"
    heads = [unit] if before is None else [f"before, {unit}", f"now, {unit}", "ratio"]
    print(f"{machine()}\n\n| command | family | {' | '.join(heads)} |\n|---|---|{'---|' * len(heads)}")
    for command in COMMANDS:
        for family in families:
            cases = [case(tree, models, command, family) for tree in trees]
            found = list(map(instructions, cases)) if counted else [each.cpu for each in compare(cases, runs)]
            cells = [f"{value:.3f}" for value in found]
            if before is not None:
                cells.append(f"{found[1] / found[0]:.2f}")
            print(f"| {command} | {family} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", help=", ".join(SPECS))
    parser.add_argument("--before", type=Path, metavar="TREE")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--counted", action="store_true")
    chosen = parser.parse_args()
    main(chosen.before, chosen.runs, chosen.counted, chosen.families or list(SPECS))
