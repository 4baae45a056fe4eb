"""A full evaluation of ten classes to p95 within a point, and whole searches, by how many tasks a job has.

    python benchmarks/capacity_promises.py              # an evaluation at 100 and at 400 tasks a job
    python benchmarks/capacity_promises.py search       # the whole search of one class of 100 tasks

CPU seconds of a process of its own. An evaluation makes the runs that a search's full evaluation makes: 1,825
independent jobs of every class, taken as three times as many that hang together. Then more runs of each class whose
share is not known to within a point, as many as those seen call for.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

CLASSES, USERS = 10, 10
POINT = 0.01


def spec_of(classes, tasks, word="upper"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of `studies`
    from studies.capacity_promised import a_class, spec_of, with_deadline

    node = with_deadline(a_class(tasks - tasks // 5, tasks // 5, 30.0, 1.5, USERS, "uniform", word), 1.0)
    spec = spec_of(node, 1)
    nodes = tuple(replace(node, name=f"c{i}") for i in range(classes))
    return replace(spec, facts=replace(spec.facts, classes=nodes))


def evaluation(tasks):
    """The evaluation that confirms a plan: of the upper estimate with six slots in ten, as searches leave them."""
    import mrdsl
    from mrdsl.families.capacity.methods.calibration import Cell, Trials
    from mrdsl.families.capacity.methods.search import Search, runs_of, wanted_of
    from mrdsl.families.capacity.simulate import held_of
    from mrdsl.spec.blocks import Simulation

    plan = mrdsl.solve(spec_of(CLASSES, tasks)).plan
    spec = spec_of(CLASSES, tasks, "p95")
    search = Search(spec, 1, 0.95, 3)
    wanted = wanted_of(spec, search.instance)
    runs = runs_of(wanted, 0.95)
    started = time.process_time()
    trials = Trials(held_of(spec, plan), Simulation(), 1)
    cells = tuple(Cell(cell.jobs, cell.map * 6 // 10, cell.reduce * 6 // 10) for cell in search.placement(plan))
    told(tasks, started, trials, [half_width(trials, cells, want.index, runs) for want in wanted], f"{runs} runs each")
    halves, most = [], runs
    for want in wanted:
        count = runs
        while (half := half_width(trials, cells, want.index, count)) > POINT:
            count = int(count * min(4.0, (half / POINT) ** 2)) + 1
        halves.append(half)
        most = max(most, count)
    told(tasks, started, trials, halves, f"{runs} to {most} runs each")


def half_width(trials, cells, index, runs):
    """Half of the 95 % interval of the share of a class's jobs within the time that 95 % take."""
    from mrdsl.simulation.verdicts import on_time_share

    times = trials.times(cells, index, runs)
    middle = sorted(t for run in times for t in run)
    kept = on_time_share(times, middle[int(0.95 * len(middle))])
    return (kept.high - kept.low) / 2


def told(tasks, started, trials, halves, how):
    seconds = time.process_time() - started
    done = sum(run.tasks for run in trials.seen.values())
    halves = sorted(100.0 * half for half in halves)
    print(
        f"{CLASSES} classes of {tasks} tasks: {how}, {done / 1e6:.1f} million tasks, {seconds:.1f} s of CPU, "
        f"95 % within +-{halves[0]:.2f} to {halves[-1]:.2f} points, +-{halves[len(halves) // 2]:.2f} in the middle",
        flush=True,
    )


def search(tasks):
    """The whole search of one class."""
    import mrdsl

    spec = spec_of(1, tasks, "p95")
    started = time.process_time()
    result = mrdsl.solve(spec)
    seconds = time.process_time() - started
    found = result.plan.calibration
    print(
        f"1 class of {tasks} tasks: {found.formula_vms:g} VMs by the upper estimate, {result.plan.on_demand:g} found; "
        f"{found.runs} runs, {found.looks} full evaluations, {seconds:.1f} s of CPU"
    )


def main(what):
    if what[:1] == ["one"]:
        {"evaluation": evaluation, "search": search}[what[1]](int(what[2]))
        return
    for kind, tasks in [("search", 100)] if what[:1] == ["search"] else [("evaluation", 100), ("evaluation", 400)]:
        subprocess.run([sys.executable, __file__, "one", kind, str(tasks)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
