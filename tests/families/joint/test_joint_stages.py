"""Classes of stages in joint: enumeration, the solvers and the greedy agree; one stage is a map-only class."""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.core.result import Limits, Termination
from mrdsl.exchange.targets.deployment import Wishes
from mrdsl.families.joint.facts import Cluster, JobClass, JointFacts, Service
from mrdsl.language.loading import load_text
from mrdsl.planning.exporting import export
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.blocks import MapPhase, Slots, Stage
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Spec
from tests.families.joint.brute import brute_force
from tests.families.joint.specs import broken
from tests.formulas.random_stages import numbers, random_stages


def drawn(seed: int) -> Spec:
    rng = np.random.default_rng(seed)
    classes = []
    for name in "ab":
        stages = random_stages(rng, 5)
        work, _, path, width = numbers(stages)
        low = int(rng.integers(0, 3))
        classes.append(
            JobClass(
                name=name,
                stages=stages,
                slots=Slots(task=int(rng.integers(2, 9))),
                jobs=Range(low, low + int(rng.integers(1, 8))),
                deadline=float(min((work / width + 2.0 * path) * rng.uniform(1.5, 4.0), 3000.0)),
                penalty=float(rng.uniform(0.001, 0.05)),
                guarantee=str(rng.choice(["lower", "average", "upper"])),
            )
        )
    service = Service(name="s", rate=Range(10.0, 40.0), service_rate=15.0, delay=0.1, response=0.6, penalty=1e-7)
    cluster = Cluster(size=int(rng.integers(6, 14)), vm_cost=0.01 / 3600.0, reuse="paper")
    return Spec(
        problem="joint",
        facts=JointFacts(estimates="paper", cluster=cluster, classes=tuple(classes), services=(service,)),
    )


@pytest.mark.parametrize("solver", ["highs", "glpk", "scip", "greedy"])
def test_all_find_the_best_whole_plan(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    solved = 0
    for seed in range(4 if solver in ("scip", "glpk") else 12):
        spec = drawn(seed)
        best = brute_force(spec, spec.facts.cluster.size)
        result = solve(spec, solver=solver, limits=Limits(gap=1e-9))
        if best is None:
            assert result.termination is Termination.INFEASIBLE, (solver, seed)
            continue
        solved += 1
        assert broken(spec, result.plan) == []
        if solver == "greedy" and result.objective.gap > 1e-6:  # where it has no proof its bound must hold
            assert result.objective.bound <= best * (1 + 1e-9) <= result.objective.value * (1 + 2e-9)
        else:
            assert result.objective.value == pytest.approx(best, rel=1e-7), (solver, seed)
    assert solved


def test_one_stage_is_a_map_only_class_to_the_last_digit() -> None:
    shared = {"jobs": Range(2, 9), "deadline": 300.0, "penalty": 0.4, "guarantee": "upper"}
    stage = JobClass(name="c", stages=(Stage(name="s", tasks=70, avg=9.3, max=20.1),), slots=Slots(task=3), **shared)
    phase = JobClass(name="c", map=MapPhase(tasks=70, avg=9.3, max=20.1), slots=Slots(map=3, reduce=1), **shared)
    cluster = Cluster(size=40, vm_cost=0.01 / 3600.0, reuse="paper")
    ours, theirs = (
        solve(Spec(problem="joint", facts=JointFacts(estimates="paper", cluster=cluster, classes=(node,))))
        for node in (stage, phase)
    )
    assert ours.objective == theirs.objective
    one, other = (result.plan.document()["periods"][0]["classes"]["c"] for result in (ours, theirs))
    assert one["task_slots"] == other["map_slots"]
    assert one["vms"] == other["vms"]
    assert one["upper_is_bound"] is True
    assert "map_slots" not in one


def test_queues_say_task_slots() -> None:
    spec = drawn(1)
    files = export(spec, solve(spec).plan, "yarn", Wishes()).files
    assert "task slots at once" in "".join(files.values())


def test_a_path_beyond_the_deadline_is_impossible() -> None:
    text = """problem joint, estimates = paper
cluster { size = 60 vms, vm_cost = 1 cent/h, reuse = paper }
class funnel {
  stage scan  { tasks = 200, avg = 9 s, max = 21 s }
  stage write { tasks = 10, avg = 11 s, max = 12 s, after = [scan] }
  slots { task = 4 }, jobs = 3..4, deadline = 19 s, penalty = 15 cent, guarantee = lower
}
minimize cost
"""
    assert [d.code for d in load_text(text).diagnostics if d.impossible] == ["impossible-deadline"]
    assert [d for d in load_text(text.replace("19 s", "20 s")).diagnostics if d.impossible] == []
