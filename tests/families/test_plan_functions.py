"""The function of each family that builds a plan from decisions: solved plans are built again, mistakes are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.families import family, family_names
from mrdsl.families.hybrid.methods.controller import Tasks
from mrdsl.families.hybrid.own_plans import plan_with as hybrid_plan
from mrdsl.families.makespan.plan import Pool
from mrdsl.families.timetable.plan import Rental

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "reference" / "plugins.md").read_text()
Case = tuple[Any, ...]


def plan_with(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = import_module(f"mrdsl.families.{name}.own_plans").plan_with
    return function


def reference(name: str) -> mrdsl.Spec:
    folder = ROOT / "models" / name
    small = folder / "small.mrspec"
    return mrdsl.load(small if small.exists() else folder / "reference.mrspec")


def outsourced(spec: mrdsl.Spec, plan: Any) -> Case:
    """Decide as the plan of ``always-outsource``: every task that arrives is outsourced."""
    from mrdsl.families.hybrid.workload import arrivals_of

    came = arrivals_of(spec.facts, spec.seed or 0).T
    none = dict.fromkeys(plan.queues, 0)
    return none, dict(zip(plan.queues, came, strict=True)), none


def started(spec: mrdsl.Spec, plan: Any) -> Case:
    tasks = plan.tasks
    columns = (tasks.run, tasks.stage, tasks.machine, tasks.start, tasks.count)
    phases = ["map", "reduce"]
    stages = {each.name: [stage.name for stage in each.stages] or phases for each in spec.facts.classes}
    rows = []
    for run, stage, machine, start, count in zip(*(each.tolist() for each in columns), strict=True):
        job = plan.runs[run]
        rows.append((job.job, job.run, stages[job.job][stage], machine, start, count))
    return plan.rentals, rows


DECIDED: Mapping[str, Callable[[mrdsl.Spec, Any], Case]] = {
    "bounds": lambda _, plan: (
        {name: pair for name, *pair in zip(plan.names, plan.map_slots, plan.reduce_slots, strict=True)},
    ),
    "capacity": lambda _, plan: (dict(zip(plan.names, plan.admitted, strict=True)),),
    "deadline": lambda _, plan: (dict(zip(plan.names, plan.slack, strict=True)),),
    "energy": lambda _, plan: (
        {job: [(vm.type, vm.map_tasks, vm.reduce_tasks) for vm in plan.vms if vm.job == job] for job in plan.jobs},
    ),
    "hybrid": outsourced,
    "joint": lambda _, plan: (
        dict(
            zip(
                [*plan.class_names, *plan.service_names],
                np.hstack([plan.classes.vms, plan.services.vms]).T,
                strict=True,
            )
        ),
        dict(
            zip(
                [*plan.class_names, *plan.service_names],
                np.hstack([plan.classes.admitted, plan.services.rate]).T,
                strict=True,
            )
        ),
    ),
    "makespan": lambda _, plan: (plan.pools,),
    "schedule": lambda *_: (),
    "timetable": started,
}
"""The arguments that a solved plan decides."""

SOLVERS = {"hybrid": "always-outsource", "makespan": "johnson"}


def test_every_family_is_listed_with_its_function() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `plan_with\(", GUIDE, re.MULTILINE)
    assert set(rows) == set(family_names()) == set(DECIDED)


@pytest.mark.parametrize("name", sorted(DECIDED))
def test_the_decisions_of_a_solved_plan_give_a_plan_of_the_same_objective(name: str) -> None:
    spec = reference(name)
    solved = mrdsl.solve(spec, SOLVERS.get(name, "auto"))
    plan = plan_with(name)(spec, *DECIDED[name](spec, solved.plan))
    found = family(name)
    assert found is not None
    assert found.verify is not None
    assert type(plan) is type(solved.plan)
    assert not has_errors(tuple(found.verify(spec, plan, False)))
    if solved.value is None:
        assert plan.document() == solved.plan.document()
    else:
        assert found.measure is not None
        assert found.measure(spec, plan) == pytest.approx(solved.value)


NIGHT = """problem timetable "several types"
rent = elastic
billing { period = 1 min, minimum = 1 min }
vm m5 { on_demand { price = 0.2 USD/h }, reserved { price = 0.1 USD/h, available = 1 }, boot = 2 min }
vm r5 { on_demand { price = 0.3 USD/h }, spot { price = 0.05 USD/h, interruptions = 1e-9/h }, boot = 1 min }
class a { map { tasks = 12, avg = 20 s, max = 30 s }, shuffle { first_max = 0 s, avg = 0 s, max = 0 s }
  reduce { tasks = 3, avg = 10 s, max = 20 s }, slots { map = 4, reduce = 4 }
  runs { from = 22:00, every = 10 min, times = 5 }, deadline = 8 min, penalty = 0.001 USD }
class b { stage s { tasks = 8, avg = 50 s, max = 80 s }, slots { task = 4 }
  runs { at = [22:05, 23:10] }, deadline = 20 min, startup = 10 s }
minimize cost
"""


def test_a_night_on_several_types_is_built_again() -> None:
    """Reserved and spot VMs, phases and stages, runs with a startup, and runs that are rejected."""
    spec = mrdsl.loads(NIGHT)
    solved = mrdsl.solve(spec).plan_of(mrdsl.TimetablePlan)
    plan = plan_with("timetable")(
        spec, [replace(each, billed=0.0) for each in solved.rentals], started(spec, solved)[1]
    )
    assert plan.document() == solved.document()
    assert not all(run.admitted for run in plan.runs)


WRONG: list[tuple[str, Case, str]] = [
    ("bounds", ({"twitter": (32, 16)},), "`sort` has no slots"),
    ("bounds", ({"twitter": (32, 16), "sort": (1, 2, 3)},), "`sort` must have 2 values, got 3"),
    ("bounds", ({"twitter": (32, 16), "sort": -1},), "`sort` must be finite and at least 0, got -1"),
    ("bounds", ({"twitter": (0, 16), "sort": 4},), "`twitter` needs more than 0 slots"),
    ("capacity", ({"none": 1},), "no class `none`"),
    ("deadline", ({"m1": 5},), "`m2` has no slack"),
    ("energy", ({"wordcount": [("m5", 1, 1)]},), "no vm `m5`"),
    ("energy", ({"wordcount": [("g1-small", -1, 1)]},), "between 0 and 17, got -1"),
    ("energy", ({"wordcount": [("g1-small", 1)]},), "must have 3 entries, got the tuple"),
    ("hybrid", ({}, {}, {}), "`short_small` has no admitted tasks"),
    ("joint", ({"checkouts": 1}, {}), "no class or service `checkouts`"),
    ("makespan", (["J1", "J2"],), "`J3` must be in the order once, got 0 times"),
    ("makespan", (["J6"],), "no job `J6`"),
    ("makespan", ([Pool(-1, 1, ("J1",))],), "at least 1 slot of each kind, got -1"),
    ("schedule", (None,), "`make` must be a function, got None"),
    ("makespan", (None,), "`order` must be a list"),
    ("joint", (None, {}), "`vms` must be a mapping"),
    ("schedule", (lambda _: 5,), "must have the method `ready`"),
    ("timetable", ((), [("clicks", 1, "scan", 0, 0.0, 1)]), "must be on a rental"),
    ("timetable", ((), [("clicks", 1, "scam", 0, 0.0, 1)]), "no stage of class `clicks` `scam`"),
    ("timetable", ([Rental("m5", 5, 2)], ()), "an end after its start"),
    ("timetable", ([Rental("m5", 0, 9)], [("clicks", 1, "scan", 0, 0.0, 1.5)]), "got 1.5 at 0 s"),
    ("timetable", ((), [("clicks", 201, "scan", 0, 0.0, 1)]), "does not have a run 201"),
]


@pytest.mark.parametrize(("name", "given", "message"), WRONG)
def test_wrong_decisions_are_named(name: str, given: Case, message: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match=re.escape(message)):
        plan_with(name)(reference(name), *given)


@pytest.mark.parametrize("name", sorted(DECIDED))
def test_specs_of_other_families_are_refused(name: str) -> None:
    other = "bounds" if name != "bounds" else "energy"
    with pytest.raises(mrdsl.MrdslError, match=f"must be of problem `{name}`, got `{other}`"):
        plan_with(name)(reference(other), {})
    with pytest.raises(mrdsl.MrdslError, match="`spec` must be a Spec"):
        plan_with(name)("night.mrspec", *[{}] * (3 if name == "hybrid" else 2 if name in ("joint", "timetable") else 1))


def test_slots_of_the_controller_give_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Admission, running, and leaving tasks of each slot are recorded, and decided again."""
    spec = reference("hybrid")
    seen: dict[str, list[list[int]]] = {queue.name: [] for queue in spec.facts.queues}
    left: dict[str, int] = {}
    ran: dict[str, int] = {}
    before = {name: getattr(Tasks, name) for name in ("run", "outsource", "admit")}

    def outsource(self: Tasks, slot: int, behind: int, count: int) -> int:
        left[self.queue.name] = count
        gone: int = before["outsource"](self, slot, behind, count)
        return gone

    def run(self: Tasks, slot: int, running: int) -> None:
        ran[self.queue.name] = running
        before["run"](self, slot, running)

    def admit(self: Tasks, slot: int, count: int) -> None:
        name = self.queue.name
        seen[name].append([count, self.outsourced, ran[name], left.pop(name, 0)])
        before["admit"](self, slot, count)

    with monkeypatch.context() as patched:
        for each in (outsource, run, admit):
            patched.setattr(Tasks, each.__name__, each)
        from mrdsl.contracts.pipeline import Draft
        from mrdsl.families.hybrid.methods.controller import control

        drafted: Any = control(Draft(spec, seed=spec.seed or 0)).plan
    columns = {name: np.array(rows).T for name, rows in seen.items()}
    decided = [{name: rows[at] for name, rows in columns.items()} for at in range(4)]
    decided[1] = {name: np.diff(row, prepend=0) for name, row in decided[1].items()}
    plan = hybrid_plan(spec, *decided)
    assert plan.cost == drafted.cost
    for name, queue in plan.queues.items():
        was = drafted.queues[name]
        assert (queue.admitted, queue.rejected, queue.finished, queue.worst_delay, queue.backlog_max) == (
            was.admitted,
            was.rejected,
            was.finished,
            was.worst_delay,
            was.backlog_max,
        )
