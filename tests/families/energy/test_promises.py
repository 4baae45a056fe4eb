"""Bad input: what is said of a spec without a plan, of names, of tasks that nobody runs; and what is valid."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl import MrdslError
from mrdsl.core.resources import resource
from mrdsl.families.energy.facts import Vm
from mrdsl.spec import Spec
from mrdsl.spec.expression import Constant, PlanQuantity
from mrdsl.spec.spec import Constraint

from .specs import enumerate_best, reference, spec_of, vm

TEXT = (resource("models") / "energy" / "reference.mrspec").read_text(encoding="utf-8")


def changed(*pairs: tuple[str, str]) -> str:
    text = TEXT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def errors(text: str) -> list[str]:
    with pytest.raises(MrdslError) as raised:
        mrdsl.loads(text)
    return [f"{d.span.line}:{d.span.column} {d.code}" for d in raised.value.diagnostics]


def test_a_deadline_below_the_fastest_uptime_is_told_that_uptime() -> None:
    spec = mrdsl.loads(changed(("240 s", "100 s")))
    result = mrdsl.solve(spec)
    fastest = enumerate_best(reference(goal="uptime", budget=None, deadline=None))
    (found,) = result.diagnostics
    assert (result.termination, result.plan, found.code) == ("infeasible", None, "impossible-deadline")
    assert found.message == (
        f"the fastest possible uptime of job wordcount is {fastest:.6g} s, even alone on the fastest "
        "machines; its deadline is 100 s"
    )
    assert (found.span.line, found.span.column) == (18, 3)
    assert found.hint.startswith("write deadline = 164 s or more")
    assert mrdsl.solve(mrdsl.loads(changed(("240 s", "164 s"), ("1.08 cent", "9 cent")))).plan is not None


def test_a_budget_below_the_cheapest_plan_is_told_its_cost() -> None:
    result = mrdsl.solve(mrdsl.loads(changed(("1.08 cent", "0.8 cent"))))
    cheapest = enumerate_best(reference(goal="cost", budget=None, deadline=None))
    (found,) = result.diagnostics
    assert (result.termination, found.code, found.span.line) == ("infeasible", "impossible-budget", 19)
    assert found.message == (
        f"the cheapest plan of job wordcount costs {100 * cheapest:.4g} cent; its budget is 0.8 cent"
    )
    assert found.hint == "write budget = 0.8243 cent or more"
    assert mrdsl.solve(mrdsl.loads(changed(("1.08 cent", "0.8243 cent"), ("240 s", "2400 s")))).plan is not None


def test_promises_that_exclude_each_other_are_told_as_such() -> None:
    result = mrdsl.solve(mrdsl.loads(changed(("240 s", "200 s"))))
    (found,) = result.diagnostics
    cheapest = enumerate_best(reference(goal="cost", budget=None, deadline=200.0))
    assert found.message == (
        f"within the deadline of job wordcount the cheapest plan costs {100 * cheapest:.4g} cent; "
        "its budget is 1.08 cent"
    )
    assert found.related[0].span.line == 18
    assert found.hint == "write budget = 1.229 cent or more, or deadline = 215 s or more: one of the two is enough"
    assert mrdsl.solve(mrdsl.loads(changed(("240 s", "215 s")))).plan is not None
    assert mrdsl.solve(mrdsl.loads(changed(("240 s", "200 s"), ("1.08 cent", "1.229 cent")))).plan is not None


def test_every_mistake_is_found_in_one_run() -> None:
    text = changed(
        ("energy = 720 J", "energy = -720 J"),
        ("available = 2", "available = -1"),
        ("1 Gbit/s", "0 Gbit/s"),
        ("20 W", "20 J"),
        ('on "g1-small"', 'on "g2-small"'),
    )
    assert errors(text) == ["4:100 out-of-range", "10:14 out-of-range", "11:14 wrong-unit", "20:52 out-of-range"]
    assert errors(changed(('on "g1-small"', 'on "g2-small"'))) == ["23:3 unknown-name"]


def test_tasks_that_no_machine_runs() -> None:
    text = "\n".join(
        line.split(", reduce { time")[0] + " }" if ", reduce { time" in line else line for line in TEXT.splitlines()
    )
    assert errors(text) == ["16:3 no-machine"]
    assert mrdsl.loads(text.replace("tasks = 2 ", "tasks = 0 ")).facts.jobs[0].reduce_tasks == 0
    gone = changed(("available = 2", "available = 0"), ("available = 1", "available = 0"))
    assert errors(gone) == ["15:3 no-machine", "16:3 no-machine"]


def test_an_unused_type_is_a_warning() -> None:
    spec = reference()
    spec = replace(spec, facts=replace(spec.facts, vms=(*spec.facts.vms, vm("n1-idle", 4, 0.2, 3))))
    (found,) = mrdsl.check(spec)
    assert (found.code, found.severity) == ("unused", "warning")
    result = mrdsl.solve(spec)
    assert result.plan is not None
    assert "n1-idle" not in {use.type for use in result.plan.vms}


@pytest.mark.parametrize("method", ["highs", "mrdsl-energy", "mvps"])
def test_no_reduce_tasks_and_no_blocks_are_valid(method: str) -> None:
    text = changed(("reduce { tasks = 2 }", "reduce { tasks = 0 }"), ("256 MB", "0 B"), ("240 s", "500 s"))
    result = mrdsl.solve(mrdsl.loads(text), method)
    plan = result.plan
    assert plan is not None
    assert (plan.phases.placement, plan.phases.shuffle, plan.phases.reduce) == (0.0, 0.0, 0.0)
    assert (plan.energy.placement, plan.energy.shuffle) == (0.0, 0.0)
    assert plan.energy.total == pytest.approx(17 * 545)


def test_two_jobs_that_want_more_machines_than_there_are() -> None:
    job = reference().facts.jobs[0]
    spec = replace(reference(), facts=replace(reference().facts, jobs=(job, replace(job, name="again"))))
    result = mrdsl.solve(spec)
    assert result.termination == "infeasible"
    assert [d.code for d in result.diagnostics] == ["no-plan"]


def test_subject_to_holds_in_the_plan() -> None:
    limit = Constraint(PlanQuantity("machines"), "<=", Constant(1.0), "machines <= 1")
    spec: Spec = replace(reference(deadline=600.0), constraints=(limit,))
    result = mrdsl.solve(spec)
    assert result.plan is not None
    assert len(result.plan.vms) == 1
    free = mrdsl.solve(replace(spec, constraints=()))
    assert free.objective.value <= result.objective.value


def test_no_machines_at_all() -> None:
    found = [d.code for d in mrdsl.check(spec_of((), *reference().facts.jobs))]
    assert found[0] == "missing-block"
    assert isinstance(vm("a", 1, 0.1, 1), Vm)
