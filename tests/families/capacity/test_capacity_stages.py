"""Classes of stages in capacity: the spec as written, every solver and formulation, one stage beside a map phase."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil
from pathlib import Path

import numpy as np
import pytest

from mrdsl.core.result import Limits, SolutionStatus, Termination, plain
from mrdsl.families.capacity.facts import JobClass
from mrdsl.families.capacity.verify import verify
from mrdsl.language.loading import load_file, load_text
from mrdsl.language.printing import print_spec
from mrdsl.planning.solve_spec import solve
from mrdsl.spec import Spec
from mrdsl.spec.blocks import MapPhase, Slots, Stage
from mrdsl.spec.schema import Range
from tests.families.capacity.capacity_specs import capacity
from tests.formulas.random_stages import least_slots, numbers, random_stages

FUNNEL = """problem capacity "Funnel report", estimates = paper
vm "m5.xlarge" { on_demand { price = 0.192 USD/h } }
class funnel {
  stage scan   { tasks = 200, avg = 9 s, max = 21 s }
  stage lookup { tasks = 12, avg = 4 s, max = 6 s }
  stage join   { tasks = 64, avg = 14 s, max = 33 s, after = [scan, lookup] }
  stage write  { tasks = 16, avg = 7 s, max = 9 s, after = [join] }
  slots { task = 4 }
  jobs     = 3..4
  deadline = 8 min
  penalty  = 15 USD
}
minimize cost
"""


def funnel(*changes: tuple[str, str]) -> Spec:
    text = FUNNEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return load_text(text).spec


def drawn(seed: int, least: int = 0) -> Spec:
    """Two classes of stages, of few jobs, with deadlines that some slots keep."""
    rng = np.random.default_rng(seed)
    classes = []
    for name in ("a", "b"):
        stages = random_stages(rng, 6)
        work, _, path, width = numbers(stages)
        guarantee = str(rng.choice(["lower", "average", "upper"]))
        low = int(rng.integers(least, 3))
        classes.append(
            JobClass(
                name=name,
                stages=stages,
                slots=Slots(task=int(rng.integers(1, 6))),
                jobs=Range(low, low + int(rng.integers(0, 3))),
                deadline=(work / width + 2.0 * path) * float(rng.uniform(1.05, 4.0)),
                penalty=float(rng.uniform(0.01, 0.6)),
                guarantee=guarantee,
            )
        )
    if all(c.jobs.high == 0 for c in classes):
        classes[0] = replace(classes[0], jobs=Range(0.0, 1.0))
    classes = [c for c in classes if c.jobs.high]
    return capacity(tuple(classes), on_demand=0.2, reserved=0.1, available=int(rng.integers(0, 8)))


def best(spec: Spec) -> float:
    """The least cost over all admissions."""
    each = [least_slots(n.stages, n.guarantee, n.deadline) / n.slots.task for n in spec.facts.classes]
    available = spec.facts.vms[0].reserved.available
    costs = []
    for jobs in product(*(range(int(n.jobs.low), int(n.jobs.high) + 1) for n in spec.facts.classes)):
        vms = ceil(sum(gamma * h for gamma, h in zip(each, jobs, strict=True)) - 1e-9)
        rejected = sum((n.jobs.high - h) * n.penalty for n, h in zip(spec.facts.classes, jobs, strict=True))
        costs.append(0.1 * min(vms, available) + 0.2 * max(vms - available, 0) + rejected)
    return min(costs)


def test_the_shipped_spec_is_the_funnel() -> None:
    shipped = load_file(Path(__file__).parents[3] / "models" / "capacity" / "stages.mrspec")
    assert shipped.diagnostics == ()
    assert shipped.spec.facts == replace(funnel().facts, estimates=None)


def test_the_funnel_by_hand() -> None:
    """W = 200*9 + 12*4 + 64*14 + 16*7 = 2856, P = 21 + 33 + 9 = 63; average: A = W - P, C = P; 7 slots for 6.7."""
    plan = solve(funnel()).plan
    found = plan.of_class(0)
    assert plan.on_demand == 4 * 7 / 4
    assert found.task_slots == found.whole_slots.task == 4 * 7
    assert found.completion.lower == pytest.approx(2856 / 7)
    assert found.completion.average == pytest.approx(2793 / 7 + 63)
    assert found.completion.upper == pytest.approx((2856 - 126) / 7 + 126)
    assert plan.document()["classes"]["funnel"] == plain(found)


def test_the_funnel_in_fractions_by_hand() -> None:
    """The same numbers; k = 2793 / 417."""
    plan = solve(funnel(("minimize", "whole = no\nminimize"))).plan
    found = plan.of_class(0)
    assert plan.on_demand == ceil(4 * 2793 / 417 / 4) == 7
    assert found.task_slots == pytest.approx(4 * 2793 / 417, rel=1e-12)
    assert found.whole_slots.task == 27
    k = 2793 / 417
    assert found.completion.lower == pytest.approx(2856 / k)
    assert found.completion.average == pytest.approx(480)
    assert found.completion.upper == pytest.approx((2856 - 126) / k + 126)
    assert plan.document()["classes"]["funnel"] == plain(found)


@pytest.mark.parametrize("solver", ["highs", "glpk", "scip", "direct"])
def test_solvers_find_the_best_admission(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    for seed in range(6 if solver in ("scip", "glpk") else 25):
        spec = drawn(seed)
        limits = Limits(gap=1e-9)
        result = solve(spec, solver=solver, limits=limits)
        assert result.objective.value == pytest.approx(best(spec), rel=1e-7), (solver, seed)
        assert [d for d in verify(spec, result.plan, False) if d.severity == "error"] == []


@pytest.mark.parametrize("formulation", ["P0", "P1", "P0-cone"])
@pytest.mark.parametrize("seed", [0, 3])
def test_the_nonlinear_forms_have_the_relaxed_optimum_of_p2(formulation: str, seed: int) -> None:
    """SCIP gets the width as a constraint and no closed form."""
    pytest.importorskip("pyscipopt")
    spec = drawn(seed, least=1)
    result = solve(spec, solver="scip", formulation=formulation, relax=True, limits=Limits(gap=1e-6, time=30))
    assert result.solution is SolutionStatus.OPTIMAL
    assert result.objective.value == pytest.approx(solve(spec, relax=True).objective.value, rel=1e-4)


def test_one_stage_is_a_map_only_class_to_the_last_digit() -> None:
    rng = np.random.default_rng(5)
    for guarantee in ("lower", "average", "upper"):
        tasks, avg = int(rng.integers(3, 90)), float(rng.uniform(1, 30))
        longest, deadline = avg * 1.7, avg * 12
        shared = {"jobs": Range(2, 9), "deadline": deadline, "penalty": 0.4, "guarantee": guarantee}
        stage = JobClass(
            name="c", stages=(Stage(name="s", tasks=tasks, avg=avg, max=longest),), slots=Slots(task=3), **shared
        )
        phase = JobClass(
            name="c", map=MapPhase(tasks=tasks, avg=avg, max=longest), slots=Slots(map=3, reduce=1), **shared
        )
        for relax in (False, True):
            ours, theirs = (solve(capacity([node]), relax=relax) for node in (stage, phase))
            assert ours.objective == theirs.objective
            one, other = ours.plan.of_class(0), theirs.plan.of_class(0)
            assert (one.task_slots, one.vms, one.completion) == (other.map_slots, other.vms, other.completion)
            assert one.upper_is_bound == other.upper_is_bound
            fewest = one.whole_slots.task // one.admitted
            assert one.upper_is_bound is bool(fewest >= one.task_slots / one.admitted * (1.0 - 1e-9))


def test_the_critical_path_is_a_condition_of_its_own() -> None:
    """By the lower estimate 2856 s of work fit into 20 s on 200 slots; tasks of 9, 14 and 7 s in a row do not."""
    late = solve(funnel(("8 min", "29 s, guarantee = lower")))
    assert late.termination is Termination.INFEASIBLE
    assert "30 s" in next(d.message for d in late.diagnostics if d.code == "impossible-deadline")
    assert solve(funnel(("8 min", "30 s, guarantee = lower"))).solution is SolutionStatus.OPTIMAL


def test_no_job_has_more_slots_than_tasks_that_can_run_at_once() -> None:
    """scan and lookup side by side: 212."""
    earliest = (2856 - 126) / 212 + 126
    ample = solve(funnel(("8 min", f"{earliest + 0.001} s, guarantee = upper")))
    assert ample.plan.of_class(0).task_slots == pytest.approx(4 * 212, rel=1e-4)
    assert solve(funnel(("8 min", f"{earliest - 0.001} s, guarantee = upper"))).termination is Termination.INFEASIBLE


def test_a_tighter_completion_is_a_tighter_deadline() -> None:
    text = FUNNEL + "subject to { completion(funnel) <= 6 min }\n"
    assert solve(load_text(text).spec).objective.value == solve(funnel(("8 min", "6 min"))).objective.value


def test_upper_is_called_a_bound_where_its_premises_are_kept() -> None:
    assert not solve(funnel()).plan.of_class(0).upper_is_bound
    assert solve(funnel(("3..4", "1..1"))).plan.of_class(0).upper_is_bound
    told = [d.code for d in load_text(FUNNEL.replace("jobs     = 3..4", "jobs = 3..4, guarantee = upper")).diagnostics]
    assert told == ["no-upper-bound"]
    alone = FUNNEL.replace("jobs     = 3..4", "jobs = 1..1, guarantee = upper")
    assert load_text(alone).diagnostics == ()


def test_stages_are_printed_and_read_again() -> None:
    for seed in range(5):
        spec = drawn(seed)
        again = load_text(print_spec(replace(spec, goal=funnel().goal))).spec
        assert again.facts == spec.facts


STAGE_TABLE = """name,tasks,avg [s],max [s],after
scan,200,9,21,
lookup,12,4,6,
join,64,14,33,scan lookup
write,16,7,9,join
"""


@pytest.mark.parametrize(
    ("header", "items"),
    [
        ("class funnel", "jobs = 3..4, deadline = 8 min, penalty = 15 USD"),
        ("class funnel[1..1]", "jobs = 3..4, deadline = 8 min, penalty = 15 USD"),
        ('classes from "classes.csv"', ""),
    ],
)
def test_stages_stand_in_a_table_of_one_class_or_of_all(header: str, items: str, tmp_path: Path) -> None:
    (tmp_path / "stages.csv").write_text(STAGE_TABLE)
    (tmp_path / "classes.csv").write_text("name,jobs.low,jobs.high,deadline [min],penalty [USD]\nfunnel,3,4,8,15\n")
    spec = tmp_path / "night.mrspec"
    body = f'{header} {{ stages from "stages.csv"\n  slots {{ task = 4 }}\n  {items} }}'
    spec.write_text(
        f"problem capacity, estimates = paper\nvm m {{ on_demand {{ price = 0.192 USD/h }} }}\n{body}\nminimize cost\n"
    )
    loaded = load_file(spec)
    assert loaded.diagnostics == ()
    assert solve(loaded.spec).plan.of_class(0) == solve(funnel()).plan.of_class(0)


def test_generated_classes_share_their_stages_and_may_extend_them() -> None:
    text = FUNNEL.replace("class funnel {", "seed = 3\nclass funnel[1..40] {").replace(
        "penalty  = 15 USD", "penalty = uniform(1 USD, 20 USD)"
    )
    generated = solve(load_text(text).spec)
    assert len(generated.plan.names) == 40
    assert generated.plan.of_class(7).task_slots == 4 * 7
    extended = text.replace("{ tasks = 12, avg = 4 s, max = 6 s }", "extends scan { tasks = 12 }")
    assert [s.avg for s in load_text(extended).spec.facts.classes[3].stages] == [9.0, 9.0, 14.0, 7.0]
