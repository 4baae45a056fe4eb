"""``--relax`` and ``subject to`` of both forms: what the quantities mean, against enumeration."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest

import mrdsl
from mrdsl import Limits
from mrdsl.contracts.subject_to import pushed_up
from mrdsl.core.resources import resource
from mrdsl.families.energy.facts import Job, MapTasks, ReduceTasks
from mrdsl.spec import Spec
from mrdsl.spec.expression import Constant, PlanQuantity
from mrdsl.spec.spec import Constraint

from .specs import enumerate_best, on, reference, spec_of, vm

FORMS = ("counted", "per_task")


def asking(spec: Spec, name: str, comparison: str, value: float) -> Spec:
    """The spec with one comparison under ``subject to``."""
    return replace(spec, constraints=(Constraint(PlanQuantity(name), comparison, Constant(value), text=name),))


def drawn(random: Random) -> Spec:
    """A spec of few tasks and VMs, at the edge now and then: one task, one VM, no reduce, no transfers, equal types."""
    kinds = random.choice((1, 2, 2))
    vms = tuple(
        vm(f"v{k}", random.randint(1, 2), random.randint(2, 20) / 100, random.choice((1, 1, 2))) for k in range(kinds)
    )
    times = [[random.choice((7.0, 10.5, 20.0, 33.3)) for _ in range(2)] for _ in vms]
    if kinds == 2 and random.random() < 0.3:
        times[1] = times[0]
    job = Job(
        name="j",
        map=MapTasks(tasks=random.randint(1, 4), block=random.choice((0.0, 1e9, 4e9))),
        reduce=ReduceTasks(tasks=random.randint(0, 3)),
        intermediate=random.choice((0.0, 0.5, 1.5)),
        deadline=random.choice((None, 90.0, 140.0)),
        budget=random.choice((None, 0.004, 0.008)),
        on=tuple(
            on(v.name, t[0], random.randint(10, 99), t[1], random.randint(10, 99))
            for v, t in zip(vms, times, strict=True)
        ),
    )
    return spec_of(vms, job, goal=random.choice(("energy", "energy", "cost", "uptime")))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_relaxed_plans_are_whole_and_below_every_plan(form: str, solver: str) -> None:
    random = Random(13)
    for _ in range(12):
        spec = drawn(random)
        best = enumerate_best(spec)
        found = mrdsl.solve(spec, solver, formulation=form, relax=True)
        if best == inf:
            assert found.termination in ("optimal", "infeasible")
            continue
        assert [d.message for d in found.diagnostics] == []
        assert found.solution == "optimal"
        assert found.objective.value <= best * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("form", FORMS)
def test_a_machine_that_is_asked_for_runs_a_task(form: str) -> None:
    """Two machines are best by themselves; of all plans with three or more, the best has this energy."""
    spec = asking(reference(deadline=900.0, budget=None), "machines", ">=", 3.0)
    found = mrdsl.solve(spec, "highs", formulation=form, limits=Limits(gap=0.0))
    assert found.diagnostics == ()
    assert found.objective.value == pytest.approx(enumerate_best(spec), rel=1e-9) == pytest.approx(11787.64, abs=5e-3)


COMPARISONS = (
    ("machines", ">="),
    ("machines", "=="),
    ("machines", "<="),
    ("uptime", ">="),
    ("uptime", "<="),
    ("cost", ">="),
    ("cost", "<="),
    ("energy", ">="),
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "comparison"), COMPARISONS)
def test_compared_quantities_are_those_of_the_tasks(form: str, name: str, comparison: str) -> None:
    random = Random(f"{name} {comparison}")
    values = {"machines": (2.0, 3.0), "uptime": (60.0, 100.5), "cost": (0.003, 0.006), "energy": (150.0, 260.0)}
    for _ in range(6):
        spec = asking(drawn(random), name, comparison, random.choice(values[name]))
        best = enumerate_best(spec)
        found = mrdsl.solve(spec, "highs", formulation=form, limits=Limits(gap=0.0))
        relaxed = mrdsl.solve(spec, "highs", formulation=form, relax=True)
        assert "broken-plan" not in [d.code for d in (*found.diagnostics, *relaxed.diagnostics)]
        if best == inf:
            assert found.termination == "infeasible"
            continue
        assert found.objective.value == pytest.approx(best, rel=1e-6, abs=1e-9)
        assert relaxed.objective.value <= best * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cost <= 1 cent", set()),
        ("cost >= 1 cent", {"cost"}),
        ("machines == 3", {"machines"}),
        ("1 cent <= cost", {"cost"}),
        ("cost - 2 * cost <= 1 cent", {"cost"}),
        ("-uptime <= -60 s", {"uptime"}),
        ("uptime / 2 >= 60 s", {"uptime"}),
        ("uptime / -2 >= -60 s", set()),
        ("max(uptime, 60 s) >= 70 s", {"uptime"}),
    ],
)
def test_what_a_comparison_asks_for_more_of(text: str, names: set[str]) -> None:
    model = (resource("models") / "energy" / "reference.mrspec").read_text(encoding="utf-8")
    assert pushed_up(mrdsl.loads(f"{model}\nsubject to {{ {text} }}\n")) == names
