"""The calendar's rules and what it learns; weights worked out; the study of regimes."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest

import mrdsl
from mrdsl import api
from mrdsl.families.hybrid.explain import report
from mrdsl.families.hybrid.facts import Control, HybridFacts, Queue, Vm, control_of, guarantee, shortfall
from mrdsl.families.hybrid.methods.calendar import RULES, Calendar, Rule, cheapest
from mrdsl.families.hybrid.methods.controller import Tasks
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.spec.spec import Goal, Spec
from studies.hybrid_clouds import drawn_specs
from studies.hybrid_regimes import METHODS, ratio, regimes

DEAR = Queue(name="dear", vm="node", size=1, delay=6, arrivals=10.0, arrivals_max=10, outsourcing=4.0)
CHEAP = Queue(name="cheap", vm="node", size=2, delay=12, arrivals=5.0, arrivals_max=5, outsourcing=3.0)


def cloud(control: Control, *queues: Queue, vms: int = 10, horizon: int = 200) -> Spec:
    facts = HybridFacts(
        horizon=horizon, vms=(Vm(name="node", available=vms, preemption_cost=0.1),), queues=queues, control=control
    )
    return Spec(problem="hybrid", facts=facts, goal=Goal("minimize", "cost"), seed=1)


def plan_of(spec: Spec, method: str) -> HybridPlan:
    plan = mrdsl.solve(spec, method).plan
    assert isinstance(plan, HybridPlan)
    return plan


def test_rejections_are_planned_where_there_is_more_work_than_vms() -> None:
    """Twice the work that the VMs do, half of it may be rejected: with half of both queues turned away nothing is paid
    for, whereas rejecting what does not fit leaves 2.5 cheap tasks a slot to send out, 7.5 USD."""
    spec = cloud(Control(acceptance=0.5), DEAR, CHEAP)
    assert plan_of(spec, "calendar").cost.average < 1.0
    tasks = [Tasks(DEAR), Tasks(CHEAP)]
    plain = Calendar(tasks, 10, 0.5)
    for _ in range(200):
        plain.serve([10, 5], Rule())
    assert plain.paid / 200 == pytest.approx(7.5, rel=0.1)


@pytest.mark.parametrize("acceptance", [0.5, 0.8, 1.0])
def test_the_acceptance_is_kept_from_the_first_task_on(acceptance: float) -> None:
    for horizon in (1, 7, 60):
        plan = plan_of(cloud(Control(acceptance=acceptance), DEAR, CHEAP, horizon=horizon), "calendar")
        for run in plan.queues.values():
            assert run.admitted + run.outsourced >= acceptance * run.submitted


def test_the_means_are_learned_from_what_arrives(tmp_path: Path) -> None:
    """The same recorded arrivals give the same plan, whatever the spec says of their distribution."""
    (tmp_path / "seen.csv").write_text("dear,cheap\n" + "\n".join(f"{i % 7},{(3 * i) % 5}" for i in range(80)))
    text = """problem hybrid "recorded"
horizon = 80 slots
recorded = "seen.csv"
vm node {{ available = 5 }}
queue dear  {{ vm = node, size = 1 slots, delay = 5 slots, arrivals = {first}, arrivals_max = 9, outsourcing = 4 USD }}
queue cheap {{ vm = node, size = 3 slots, delay = 9 slots, arrivals = {second}, arrivals_max = 9, outsourcing = 3 USD }}
minimize cost
"""
    plans = []
    for first, second in ((3, 2), (0.1, 8)):
        file = tmp_path / "spec.mrspec"
        file.write_text(text.format(first=first, second=second))
        plans.append(plan_of(mrdsl.load(file), "calendar"))
    assert plans[0] == plans[1]


def test_the_rule_is_the_cheapest_of_the_past() -> None:
    """Each rule replayed by hand on the same arrivals."""
    arrivals = [[(7 * t) % 13, t % 4] for t in range(60)]
    tasks = [Tasks(DEAR), Tasks(CHEAP)]

    def cost(rule: Rule) -> float:
        tried = [Tasks(DEAR), Tasks(CHEAP)]
        calendar = Calendar(tried, 6, 0.9)
        for row in arrivals:
            calendar.serve(row, rule)
        assert min(calendar.bookings.free) >= 0
        return sum((each.outsourced + each.left_later) * each.queue.outsourcing for each in tried)

    chosen = cheapest(tasks, 6, arrivals, 0.9)
    assert cost(chosen) == min(map(cost, RULES))
    assert [each.submitted for each in tasks] == [0, 0]


@pytest.mark.parametrize(
    ("queues", "acceptance"), [((DEAR, CHEAP), 0.9), ((CHEAP, DEAR), 0.9), ((CHEAP, DEAR), 1.0), ((DEAR,), 0.8)]
)
def test_the_rule_is_the_same_whatever_is_tried_first_and_left_out(
    queues: tuple[Queue, ...], acceptance: float
) -> None:
    """Weighed without shortcuts: every rule with a ledger of its own, on all VMs and, of several, on fewer."""
    arrivals = [[(7 * t) % 13, t % 4][: len(queues)] for t in range(40)]

    def cost(rule: Rule, vms: int) -> float:
        calendar = Calendar([Tasks(queue) for queue in queues], vms, acceptance)
        for row in arrivals:
            calendar.serve(row, rule)
        return sum((each.outsourced + each.left_later) * each.queue.outsourcing for each in calendar.tasks)

    for vms in (4, 12, 40):
        least = min(cost(rule, vms) for rule in RULES)
        even = [rule for rule in RULES if cost(rule, vms) == least]
        expected = even[0] if len(even) == 1 else min(even, key=lambda rule: cost(rule, int(0.75 * vms)))
        for in_force in RULES:
            assert cheapest([Tasks(queue) for queue in queues], vms, arrivals, acceptance, in_force) == expected


def test_weights_are_worked_out() -> None:
    """V: the largest (alpha + l) S_max / H; D_max: the largest epsilon, rounded up; a given limit holds V down."""
    spec = mrdsl.load("models/hybrid/reference.mrspec")
    facts = replace(spec.facts, control=Control(acceptance=0.95))
    found = control_of(facts)
    assert pytest.approx(1.95 * 44 / 3) == found.V
    assert found.outsource_limit == max(ceil(guarantee(queue, found).epsilon) for queue in facts.queues)
    assert all(shortfall(queue, found) is None for queue in facts.queues)
    held = control_of(replace(facts, control=Control(acceptance=0.95, outsource_limit=40)))
    assert pytest.approx(12.5, abs=0.05) == held.V
    assert max(guarantee(queue, held).epsilon for queue in facts.queues) == pytest.approx(40)
    assert control_of(replace(facts, control=Control(V=2.0, outsource_limit=7))) == Control(V=2.0, outsource_limit=7)


def test_the_controller_is_cheaper_with_its_own_weights() -> None:
    """78.90 USD per slot at V = 2 over 2,000 slots; here 400."""
    spec = mrdsl.load("models/hybrid/reference.mrspec")
    facts = replace(spec.facts, horizon=400)
    given = replace(facts, control=Control(V=2.0, outsource_limit=40))
    tuned = replace(facts, control=Control())
    costs = [plan_of(replace(spec, facts=each), "controller").cost.average for each in (given, tuned)]
    assert costs[1] < 0.6 * costs[0]


def test_auto_is_a_word_of_the_language() -> None:
    text = Path("models/hybrid/reference.mrspec").read_text().replace("V                 = 2 ", "V = auto ")
    spec = mrdsl.loads(text)
    assert spec.facts.control.V is None
    assert "= auto" in api.fmt(text)
    with pytest.raises(mrdsl.MrdslError):
        mrdsl.loads(text.replace("acceptance        = 95%", "acceptance = auto"))


def test_a_task_that_leaves_may_be_counted_until_it_has_run_outside() -> None:
    spec = cloud(Control(), CHEAP)
    result = mrdsl.solve(spec, "always-outsource")
    assert isinstance(result.plan, HybridPlan)
    run = result.plan.queues["cheap"]
    assert run.worst_delay == 0
    assert run.worst_delay_with_run_outside == 2
    assert any("counts as served when it leaves" in said for said in report(spec, result).assumptions)


def test_the_floor_of_the_acceptance_is_printed() -> None:
    plan = plan_of(cloud(Control(V=1.0, acceptance=0.9), DEAR, CHEAP), "controller")
    run = plan.queues["dear"]
    assert run.debt_bound == pytest.approx(4.0 + 0.9 * 10)
    assert run.acceptance_floor == pytest.approx(0.9 - 13.0 / 2000)
    assert plan_of(cloud(Control(), DEAR), "threshold").queues["dear"].acceptance_floor is None
    table = plan.tables()[0]
    assert "acceptance floor" in table.columns
    assert "with run outside" in table.columns


def test_the_study_of_regimes(tmp_path: Path) -> None:
    """A small sample: the calendar is as cheap as the best other policy in the median, and never 2 % dearer."""
    tables = list(regimes(tmp_path, sample=24, horizon=150))
    assert dict(tables[0].rows)["acceptance"] == "0.5, 0.8, 0.95, 1.0"
    _, count, median, worst, over, *means = tables[1].rows[0]
    assert count == 24
    assert median <= 1.0
    assert over == 0
    assert worst < 1.02
    assert len(means) == len(METHODS)
    assert len((tmp_path / "regimes.csv").read_text().splitlines()) == 25


def test_regimes_between_the_ends_of_the_axes(tmp_path: Path) -> None:
    """Drawn from the seed alone; the load is what is brought in the mean, delays are those that the controller can
    promise."""
    specs = list(drawn_specs(12, tmp_path, 100, seed=5))
    assert specs == list(drawn_specs(12, tmp_path, 100, seed=5))
    assert [regime for regime, _ in specs] != [regime for regime, _ in drawn_specs(12, tmp_path, 100, seed=6)]
    for regime, spec in specs:
        facts = spec.facts
        assert len(facts.queues) == regime.queues
        usual = sum(queue.arrivals.parameters[0] * queue.size for queue in facts.queues)
        assert usual * (1 if regime.arrivals != "bursty" else 1 / 0.4) == pytest.approx(20 * regime.load)
        for queue in facts.queues:
            assert queue.size + 2 <= queue.delay <= max(20 * queue.size, queue.size + 2)
            assert 0.3 <= queue.outsourcing / queue.size <= 10
    tables = list(regimes(tmp_path, horizon=60, seed=5, drawn=6))
    assert tables[1].rows[0][1] == 6
    assert [table.title.rsplit(maxsplit=1)[-1] for table in tables[2:]] == ["queues", "arrivals"]


def test_a_ratio_of_nothing_to_nothing_is_one() -> None:
    assert ratio([0.0, 0.0, 0.0, 50.0]) == 1.0
    assert ratio([2.0, 1.0, 3.0, 100.0]) == pytest.approx(2.1 / 1.1)
    assert ratio([0.0, 0.0, 0.0, 0.0]) == 1.0


def test_the_page_has_the_costs_of_the_controller() -> None:
    """The two costs that the page prints for the specs as they are."""
    page = Path("docs/validation/hybrid.md").read_text(encoding="utf-8")
    costs = [
        plan_of(mrdsl.load(f"models/hybrid/{name}.mrspec"), "controller").cost.average
        for name in ("reference", "bursts")
    ]
    assert f"(as in the specs) | {costs[0]:.2f} | {costs[1]:.2f} |" in page
