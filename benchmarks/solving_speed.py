"""Building, handing over, solving again, sweeping: python benchmarks/solving_speed.py [PART ...]

Parts: model, loop, rounds, sweep. Without any: all (about 5 minutes).
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from capacity_data import write
from measure import Case, compare, machine, show

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def model(folder: Path) -> None:
    """P2 with 10,000 classes: Pyomo model, and into HiGHS; against a plain Pyomo script's own. In one process."""
    import numpy as np
    import pyomo.environ as pyo
    from pyomo.contrib.appsi.solvers import Highs

    import mrdsl
    from mrdsl.families.capacity.instance import instance_of
    from mrdsl.planning.solve_spec import build_model
    from mrdsl.solving.arrays import linear_program
    from mrdsl.solving.backends.highs import model_of

    write(folder, 10_000)
    spec = mrdsl.load(folder / "table.mrspec")
    instance = instance_of(spec)
    gamma, penalty = instance.vms_per_job().tolist(), instance.penalty.tolist()
    low, high = instance.low.tolist(), instance.expected.tolist()

    def ours() -> int:
        import highspy

        program, _ = linear_program(build_model(spec)) or (None, None)
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.passModel(model_of(program))
        return int(solver.getNumCol())

    def plain() -> int:
        classes = range(len(gamma))
        hand = pyo.ConcreteModel()
        hand.h = pyo.Var(classes, domain=pyo.NonNegativeIntegers, bounds=lambda m, i: (low[i], high[i]))
        hand.d = pyo.Var(domain=pyo.NonNegativeIntegers)
        hand.r = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 40))
        hand.enough = pyo.Constraint(expr=sum(gamma[i] * hand.h[i] for i in classes) <= hand.r + hand.d)
        hand.cost = pyo.Objective(
            expr=0.192 * hand.d + 0.121 * hand.r + sum(penalty[i] * (high[i] - hand.h[i]) for i in classes)
        )
        solver = Highs()
        solver.set_instance(hand)
        return int(solver._solver_model.getNumCol())

    assert ours() == plain() == len(np.array(gamma)) + 2
    table(
        "Build P2 with 10,000 classes and hand it to HiGHS",
        {"plain Pyomo, appsi HiGHS": plain, "mrdsl": ours},
        "plain Pyomo, appsi HiGHS",
    )


def loop(folder: Path) -> None:
    """One parameter of 1,000 written classes: update and solve, against reading, compiling and solving anew."""
    import mrdsl

    write(folder, 1000)
    text = (folder / "text.mrspec").read_text(encoding="utf-8")
    head, newline, rest = text.partition("\n")
    path = folder / "peak.mrspec"
    path.write_text(f"{head}{newline}param peak = 1.0\n{rest}".replace("penalty = ", "penalty = peak * "), "utf-8")
    compiled = mrdsl.compile(mrdsl.load(path))
    compiled.update(peak=1.01).solve("highs")
    step = iter(range(1, 10_000))

    def anew() -> float | None:
        return mrdsl.solve(mrdsl.load(path, {"peak": 1 + next(step) / 1000}), "highs").objective.value

    def again() -> float | None:
        return compiled.update(peak=1 + next(step) / 1000).solve("highs").objective.value

    table(
        "Solve again after one param changed, 1,000 classes",
        {"load, compile, solve": anew, "update, solve": again},
        "load, compile, solve",
    )


def rounds(folder: Path) -> None:
    """1,000 rounds of update and solve on the reference spec: memory of this process and of the worker."""
    import mrdsl
    from mrdsl.solving import worker
    from mrdsl.solving.backends import highs

    text = (ROOT / "models" / "capacity" / "reference.mrspec").read_text(encoding="utf-8")
    compiled = mrdsl.compile(mrdsl.loads(text.replace("15 min", "15 min * peak") + "\nparam peak = 1.0\n"))
    print("\n## 1,000 rounds\n\n| rounds | this process MB | worker MB | seconds |\n|---|---|---|---|")
    started = time.perf_counter()
    for i in range(1, 1001):
        compiled.update(peak=1 + i / 10_000).solve("highs")
        if i in (100, 250, 490, 990):
            pid = worker._workers()[highs.solve].pid
            print(f"| {i} | {resident(os.getpid()):.1f} | {resident(pid):.1f} | {time.perf_counter() - started:.1f} |")


def resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def sweep(folder: Path) -> None:
    """1,000 solves of the reference capacity spec on one and on two cores, whole processes."""
    path = folder / "sweep.mrspec"
    text = (ROOT / "models" / "capacity" / "reference.mrspec").read_text(encoding="utf-8")
    path.write_text(text.replace("15 min", "15 min * peak") + "\nparam peak = 1.0\n", encoding="utf-8")

    def case(jobs: int) -> Case:
        command = [
            sys.executable,
            "-m",
            "mrdsl",
            "sweep",
            str(path),
            "--over",
            "peak=1:1.999:0.001",
            "--solver",
            "highs",
            "-o",
            str(folder / f"out{jobs}.csv"),
            "-j",
            str(jobs),
        ]
        return Case(f"{jobs} process{'es' * (jobs > 1)}", command, environment={"PYTHONPATH": str(ROOT)})

    print("\n## A sweep of 1,000 solves\n")
    print(show(compare([case(1), case(2)], runs=2), against="1 process"))


def table(title: str, cases: dict[str, Callable[[], Any]], against: str, runs: int = 7) -> None:
    """Medians of interleaved calls in this process; CPU seconds count the worker's too, as far as it has ended."""
    wall: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(runs + 1):
        for name, call in cases.items():
            started = time.perf_counter()
            call()
            if turn:
                wall[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(found) for name, found in wall.items()}
    print(f"\n## {title}\n\n| case | median s | min .. max s | ratio to {against} |\n|---|---|---|---|")
    for name, found in wall.items():
        print(
            f"| {name} | {medians[name]:.3f} | {min(found):.3f} .. {max(found):.3f} | "
            f"{medians[name] / medians[against]:.2f} |"
        )


PARTS = {"model": model, "loop": loop, "rounds": rounds, "sweep": sweep}

if __name__ == "__main__":
    print(machine())
    for part in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as scratch:
            PARTS[part](Path(scratch))
