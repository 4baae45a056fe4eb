"""All commands that people wait for, beside peers: python benchmarks/waiting.py [ROW ...] [--runs N] [--write]

Each row is a whole process, or several that take turns. The table has CPU seconds (medians), peak memory, the ratio to
the row's peer, the goal, and what limits the row. `--write` puts it into `benchmarks/README.md`, below the versions and
the machine. Without rows: all of them, about 25 minutes on two free cores.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from capacity_data import PRICES, write
from measure import Case, Measured, compare, machine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MODELS = ROOT / "models"
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join(map(str, (ROOT, HERE, HERE / "capacity_peers"))),
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "",
}
BEGIN, END = "<!-- waiting: begin -->", "<!-- waiting: end -->"


@dataclass(frozen=True)
class Row:
    """Commands that answer the same question, the peer last; ``goal`` and ``limit`` are text for the table."""

    goal: str
    limit: str
    cases: Callable[[Path], Sequence[Case]]
    memory: bool = False


def mrdsl(name: str, *words: object, codes: tuple[int, ...] = (0,)) -> Case:
    return Case(name, [sys.executable, "-m", "mrdsl", *map(str, words)], environment=ENVIRONMENT, codes=codes)


def python(name: str, *words: object) -> Case:
    return Case(name, [sys.executable, *map(str, words)], environment=ENVIRONMENT)


def peer(name: str, script: str, folder: Path, reserved: int) -> Case:
    prices = (PRICES["on_demand"], PRICES["reserved"], reserved)
    return python(name, HERE / "capacity_peers" / script, folder / "plain.csv", *prices)


def starts(folder: Path) -> Sequence[Case]:
    quickstart = MODELS / "capacity" / "quickstart.mrspec"
    reserved = write(folder, 2)
    return (
        mrdsl("`check` quickstart", "check", quickstart),
        mrdsl("`solve` quickstart", "solve", quickstart),
        python("lark and click imported", "-c", "import lark, click"),
        peer("numpy and highspy", "arrays.py", folder, reserved),
    )


def thousand(folder: Path) -> Sequence[Case]:
    reserved = write(folder, 1000)
    return (
        mrdsl("`solve`", "solve", folder / "text.mrspec"),
        mrdsl("`solve --solver highs`", "solve", folder / "text.mrspec", "--solver", "highs"),
        peer("numpy and highspy", "arrays.py", folder, reserved),
    )


def million(folder: Path) -> Sequence[Case]:
    reserved = write(folder, 1_000_000)
    return mrdsl("`solve`", "solve", folder / "table.mrspec"), peer("numpy", "greedy.py", folder, reserved)


def pages(folder: Path) -> Sequence[Case]:
    text = (MODELS / "capacity" / "table2_20.mrspec").read_text(encoding="utf-8")
    many = re.sub(r"\[1\.\.(\d+)\]", lambda found: f"[1..{1000 * int(found[1])}]", text)
    path = folder / "many.mrspec"
    path.write_text(many, encoding="utf-8")
    page = ("report", path, "-o", folder / "page.html", "--force")
    return (
        mrdsl("`why`", "why", path),
        mrdsl("`report`", *page),
        mrdsl("`report --analysis-time 0`", *page, "--analysis-time", 0),
        mrdsl("`solve --json`", "solve", path, "--json"),
    )


def promises(folder: Path) -> Sequence[Case]:
    random = np.random.RandomState(1)
    blocks = [
        f"class c{i} {{ map {{ tasks = {random.randint(100, 400)}, avg = 30 s, max = 60 s }}, reduce {{ tasks = "
        f"{random.randint(20, 80)}, avg = 30 s, max = 60 s }}, shuffle {{ first_max = 8 s, avg = 8 s, max = 12 s }}, "
        f"slots {{ map = 2, reduce = 1 }}, jobs = 1, deadline = 20 min, penalty = 5 USD, guarantee = p95 }}"
        for i in range(10)
    ]
    path = folder / "promises.mrspec"
    head = ['problem capacity "promises"', "seed = 1", "vm m5 { on_demand { price = 0.192 USD/h } }"]
    path.write_text("\n".join([*head, *blocks, "minimize cost"]) + "\n", encoding="utf-8")
    return (mrdsl("`solve`", "solve", path),)


ENGINE = """
import sys
from math import inf
from mrdsl.simulation.engine.draws import Spread, TaskTimes
from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users, run_once
from mrdsl.simulation.engine.world import JobKind, Machines, Stage
jobs, tasks = int(sys.argv[1]), int(sys.argv[2])
kind = JobKind("small", (Stage("only", tasks),))
times = (TaskTimes(Spread(2.0, 9.0, 16.0)),)
world = Scenario((JobClass(kind, times, Users(30), jobs),), (Machines(25, 4, 0, 1.0),), ((QueueRule(),),), 0.0)
print(run_once(world, 1, 0).tasks)
"""
ON_SIMPY = """
import random, simpy
env, draw = simpy.Environment(), random.Random(1)
slots, left = simpy.Resource(env, 100), [200_000]
def user():
    while left[0]:
        left[0] -= 1
        with slots.request() as slot:
            yield slot
            yield env.timeout(draw.uniform(2.0, 16.0))
for _ in range(30):
    env.process(user())
env.run()
"""


def engine(folder: Path) -> Sequence[Case]:
    cases = [
        python("200,000 jobs of 1 task", "-c", ENGINE, 200_000, 1),
        python("100,000 jobs of 100 tasks", "-c", ENGINE, 100_000, 100),
    ]
    return [*cases, *([python("simpy, 200,000 jobs of 1 task", "-c", ON_SIMPY)] if find_spec("simpy") else [])]


def batches(folder: Path) -> Sequence[Case]:
    found = []
    for jobs, maps, reduces, most in ((50, 400, 200, 60), (50, 100, 50, 600), (500, 400, 200, 600)):
        random = np.random.RandomState(1)
        rows = [
            f"job J{j} {{ map {{ tasks = {random.randint(10, most + 1)}, time = {random.randint(5, 120)} s }}, "
            f"reduce {{ tasks = {random.randint(1, most // 2 + 1)}, time = {random.randint(5, 120)} s }} }}"
            for j in range(jobs)
        ]
        path = folder / f"batch-{jobs}-{maps}.mrspec"
        cluster = f"cluster {{ slots {{ map = {maps}, reduce = {reduces} }} }}"
        path.write_text("\n".join(['problem makespan "batch"', cluster, *rows, "minimize makespan"]) + "\n")
        found.append(mrdsl(f"{jobs} jobs on {maps} and {reduces} slots", "solve", path))
    return found


def energy(folder: Path) -> Sequence[Case]:
    random = np.random.RandomState(1)
    vms = [
        f"vm v{i} {{ slots {{ map = 8, reduce = 4 }}, on_demand {{ price = 0.1 USD/h }}, available = 1 }}"
        for i in range(200)
    ]
    on = [
        f"on v{i} {{ map {{ time = {random.randint(10, 40)} s, energy = {random.randint(200, 900)} J }}, "
        f"reduce {{ time = {random.randint(10, 40)} s, energy = {random.randint(200, 900)} J }} }}"
        for i in range(200)
    ]
    network = "network { speed = 1 Gbit/s, io_power = 20 W }"
    path = folder / "energy.mrspec"
    job = ["job big {", "map { tasks = 4000 }", "reduce { tasks = 1000 }", "deadline = 200 s", *on, "}"]
    path.write_text(
        "\n".join(['problem energy "large"', network, *vms, *job, "minimize energy"]) + "\n", encoding="utf-8"
    )
    return (
        mrdsl("`mrdsl-energy`", "solve", path, "--solver", "mrdsl-energy"),
        mrdsl("`highs`, gap 1e-4", "solve", path, "--solver", "highs", "--gap", 1e-4),
    )


def deadlines(folder: Path) -> Sequence[Case]:
    random = np.random.default_rng(1)
    path = folder / "dag.mrspec"
    tasks, layers = 100_000, 100
    width = tasks // layers
    lines = ['problem deadline "large"', "dag job {", "  allowable_delay = 4 h"]
    for i in range(tasks):
        before = (i // width - 1) * width
        after = (
            ""
            if before < 0
            else ", after = [" + ", ".join(sorted({f"t{before + int(j)}" for j in random.integers(0, width, 2)})) + "]"
        )
        lines.append(f"  task t{i} {{ duration = {random.uniform(1.0, 100.0):.3f} s{after} }}")
    path.write_text("\n".join([*lines, "}", "maximize slack"]) + "\n", encoding="utf-8")
    return mrdsl("`check`", "check", path), mrdsl("`solve --gap 1e-3`", "solve", path, "--gap", 1e-3)


def sweeps(folder: Path) -> Sequence[Case]:
    path = folder / "sweep.mrspec"
    text = (MODELS / "capacity" / "reference.mrspec").read_text(encoding="utf-8")
    path.write_text(text.replace("15 min", "15 min * peak") + "\nparam peak = 1.0\n", encoding="utf-8")
    over = ("--over", "peak=1:1.79:0.01", "--solver", "highs")
    return [
        mrdsl(
            f"{jobs} process{'es' * (jobs > 1)}",
            "sweep",
            path,
            *over,
            "-o",
            folder / f"{jobs}.csv",
            "-j",
            jobs,
            "--force",
        )
        for jobs in (2, 1)
    ]


ROWS = {
    "quickstart": Row("0.40 s; `check` 0.20 s", "imports of numpy, Lark and highspy", starts),
    "1,000 classes": Row("`direct` first", "start of the process", thousand),
    "a million classes": Row("2.5 s, 500 MB", "some 70 columns of 8 MB in memory", million, memory=True),
    "20,000 classes": Row("`why` 2 s, `report` 3 s", "three seconds of Vega and its bundle in a page", pages),
    "p95 of 10 classes": Row("60 s", "simulated tasks", promises),
    "engine": Row("5 µs a job; 10 M tasks in 20 s, 200 MB", "events of the Python loop", engine, memory=True),
    "makespan": Row(
        "50 jobs 3 s, 500 jobs 20 s", "evaluations of orders; the first batch ends 1.7 % above its bound", batches
    ),
    "energy": Row("heuristic 2 s; exact 1.05 of HiGHS", "HiGHS, which takes 14.1 s for the MPS file", energy),
    "deadline": Row(
        "15 s",
        "reading, then the multigrid solves of Newton steps: 6 s for a chain, 32 s for a mesh or 4 random edges",
        deadlines,
    ),
    "sweep of 80 runs": Row("1.8 times by the clock", "start of workers; 790 runs are 1.9 times faster", sweeps),
}


def table(rows: dict[str, list[Measured]]) -> str:
    """The Markdown table: a line for each command."""
    lines = [
        "| row | command | CPU s | clock s | ratio to the last | peak MB | goal | limit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, measured in rows.items():
        for index, each in enumerate(measured):
            first = (name, ROWS[name].goal, ROWS[name].limit) if index == 0 else ("", "", "")
            peak = "" if each.memory is None else f"{each.memory:.0f}"
            taken = f"{each.cpu:.2f} | {each.median:.2f} | {each.cpu / measured[-1].cpu:.2f} | {peak}"
            lines.append(f"| {first[0]} | {each.name} | {taken} | {first[1]} | {first[2]} |")
    return "\n".join(lines)


def versions() -> str:
    """The versions of what was measured."""
    found = []
    for name in ("mrdsl", "highspy", "numpy", "pyomo", "lark", "simpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], help="all without any")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write the table into benchmarks/README.md")
    given = parser.parse_args()
    about = f"{versions()}; {machine()}; medians of {given.runs} runs that take turns."
    measured = {}
    for name in given.rows or ROWS:
        with tempfile.TemporaryDirectory() as folder:
            row = ROWS[name]
            measured[name] = compare(row.cases(Path(folder)), given.runs, row.memory)
        print(table({name: measured[name]}), flush=True)
    if given.write:
        page = HERE / "README.md"
        text = page.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        after = rest.partition(END)[2]
        page.write_text(f"{before}{BEGIN}\n{about}\n\n{table(measured)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
