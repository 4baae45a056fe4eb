"""Why there is no plan, against closed forms and against every subset of the promises."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import ceil, sqrt

import pytest

import mrdsl
from mrdsl.explaining.promises import Oracle, given_up, lines_of, moved
from mrdsl.explaining.why import Explanation, as_diagnostic, as_tables, explain
from mrdsl.families import family
from mrdsl.spec.spec import Spec

SPEC = """problem capacity "two classes"
vm m5 {{ on_demand {{ price = 1 USD/h }}, reserved {{ price = 0.5 USD/h, available = 5 }} }}
class a {{
  coefficients {{ A = 5400 s, B = 1250 s, C = 95 s }}
  slots {{ map = 4, reduce = 2 }}
  jobs = 4 .. 6
  deadline = 10 min
  penalty = 20 USD
}}
class b {{
  coefficients {{ A = 3000 s, B = 900 s, C = 60 s }}
  slots {{ map = 2, reduce = 1 }}
  jobs = 2 .. 9
  deadline = 20 min
  penalty = 0.02 USD
}}
minimize cost
subject to {{ {promise} }}
whole = {whole}
"""
GAMMA_A = (sqrt(5400 / 4) + sqrt(1250 / 2)) ** 2
GAMMA_B = (sqrt(3000 / 2) + sqrt(900 / 1)) ** 2
"""Theorem 4.1: admitted jobs times this, over the deadline less C, is the VMs that a class takes."""


def spec_with(promise: str, whole: str = "no") -> Spec:
    return mrdsl.loads(SPEC.format(promise=promise, whole=whole))


@cache
def explained(promise: str, whole: str = "no", solver: str = "highs", questions: int = 90) -> Explanation:
    return explain(spec_with(promise, whole), solver, questions=questions)


def least_vms(deadline_a: float = 600.0, deadline_b: float = 1200.0) -> float:
    return 4 * GAMMA_A / (deadline_a - 95) + 2 * GAMMA_B / (deadline_b - 60)


def test_changes_are_the_closed_forms() -> None:
    found = explained("vms <= 30")
    changes = {r.line.label: r.value for r in found.relaxations}
    assert changes["`vms <= 30`"] == ceil(least_vms())
    exact = 95 + 4 * GAMMA_A / (30 - 2 * GAMMA_B / 1140)
    assert exact <= changes["deadline of a"] <= exact + 0.07 * (exact - 600)
    spare = (30 - 2 * GAMMA_B / 1140) / (GAMMA_A / 505)
    assert changes["jobs of a"] == int(spare)
    assert "available of m5" not in {line.label for line in found.conflict}, "it does not stand in the way"


def test_changes_in_whole_slots_are_those_of_whole_slots() -> None:
    """The pairs of whole slots that keep both deadlines on the fewest VMs, of all there are."""
    found = explained("vms <= 30", "slots")
    jobs = ((4, 5400, 1250, 505, 4, 2), (2, 3000, 900, 1140, 2, 1))
    pairs = [(m, r) for m in range(1, 100) for r in range(1, 100)]
    least = [(n, min(m / c + r / d for m, r in pairs if a / m + b / r <= left)) for n, a, b, left, c, d in jobs]
    assert {r.line.label: r.value for r in found.relaxations}["`vms <= 30`"] == ceil(sum(n * vms for n, vms in least))
    assert ceil(sum(n * vms for n, vms in least)) > ceil(least_vms())


def subsets_without_plan(spec: Spec) -> list[frozenset[str]]:
    """Every set of promises that has no plan when all others are given up, by trying all subsets."""
    lines = lines_of(spec, family("capacity"))  # type: ignore[arg-type]
    oracle = Oracle("highs")
    return [
        frozenset(line.label for line in kept)
        for size in range(len(lines) + 1)
        for kept in combinations(lines, size)
        if not oracle.has_plan(given_up(spec, [line for line in lines if line not in kept]))
    ]


@pytest.mark.parametrize("promise", ["cost <= 20 USD"])
def test_the_conflict_is_irreducible(promise: str) -> None:
    spec, found = spec_with(promise), explained(promise)
    conflict = frozenset(line.label for line in found.conflict)
    without = subsets_without_plan(spec)
    assert conflict in without
    assert not any(other < conflict for other in without)


@pytest.mark.parametrize("promise", ["vms <= 30", "cost <= 20 USD", "vms <= 44, admitted(b) >= 5"])
def test_every_change_is_enough_and_little_less_is_not(promise: str) -> None:
    spec, found = spec_with(promise), explained(promise)
    assert found.relaxations
    for change in found.relaxations:
        assert mrdsl.solve(moved(spec, {change.line: change.value}), "highs").plan is not None
        line = change.line
        less = change.value - line.direction * (1 if line.whole else 0.25 * abs(change.value - line.value))
        assert mrdsl.solve(moved(spec, {line: less}), "highs").plan is None, line.label
    for line in found.not_alone:
        assert mrdsl.solve(given_up(spec, [line]), "highs").plan is None


def test_the_message_names_lines_and_changes() -> None:
    spec = spec_with("vms <= 30")
    found = as_diagnostic(spec, explained("vms <= 30"))
    assert found.impossible
    assert found.message.startswith("these constraints conflict: deadline of a, ")
    assert f"`vms <= 30` to {ceil(least_vms())} vms" in found.hint
    assert {r.span.line for r in found.related if r.span} >= {7, 18}


def test_two_conflicts_at_once() -> None:
    """Either alone has no plan: no single change helps, and both are named with what would do together."""
    spec = spec_with("vms <= 3, admitted(a) >= 7")
    found = explain(spec, "highs", questions=90)
    assert found.conflict
    assert not found.relaxations
    assert len(found.conflicts) == 2
    assert found.not_alone == found.in_conflict
    assert found.repair is not None
    changes = {change.line: change.value for change in found.repair.changes}
    assert mrdsl.solve(moved(spec, changes), "highs").plan is not None
    assert "no single change" in as_diagnostic(spec, found).hint
    assert any("another conflict" in part for part in as_tables(spec, found) if isinstance(part, str))


def test_no_time_is_no_answer() -> None:
    found = explain(spec_with("vms <= 30"), "highs", seconds=0.0)
    assert (found.conflict, found.relaxations) == ((), ())
    assert as_diagnostic(spec_with("vms <= 30"), found).message == "no plan meets all constraints of this spec"


def test_other_solvers_explain_alike() -> None:
    own = explained("vms <= 30", questions=40)
    for solver in ("glpk", "scip"):
        other = explained("vms <= 30", solver=solver, questions=40)
        assert own.conflict == other.conflict, solver
        assert [r.value for r in own.relaxations] == pytest.approx([r.value for r in other.relaxations], rel=0.02)


@pytest.mark.parametrize(
    ("mine", "bound", "unit"),
    [
        ("let c = 2 * cost", "c <= {} USD", "USD"),
        ("let c = 2 * cost", "c <= {} cent", "cent"),
        ("let c = cost / 1 h", "c <= {} USD/h", "USD/h"),
        ("let c = cost / 1 h", "{} USD/h >= c", "USD/h"),
    ],
)
def test_values_have_the_unit_that_was_written(mine: str, bound: str, unit: str) -> None:
    """What is told, written as it is told, has a plan; the value is the least cost in that unit, by a solve."""
    text = SPEC.format(promise=bound.format(1), whole="no").replace("minimize cost", f"{mine}\nminimize cost")
    found = explain(mrdsl.loads(text), "highs", questions=90)
    shown = next(each.shown for each in found.relaxations if each.line.constraint is not None)
    number, written = shown.split()
    assert written == unit
    least = mrdsl.solve(mrdsl.loads(text.replace(bound.format(1), "cost >= 0 USD")), "highs").objective.value
    scale = {"USD": 2.0, "cent": 200.0, "USD/h": 1.0}[unit]
    assert least is not None
    assert least * scale <= float(number) * (1 + 1e-9) <= least * scale * 1.02
    assert mrdsl.solve(mrdsl.loads(text.replace(bound.format(1), bound.format(number))), "highs").plan is not None


def test_an_equality_is_moved_both_ways() -> None:
    """Whole VMs cost 0.5 USD, 1 USD beyond the fifth: what is nearest to 60.3 USD, below and above."""
    spec = mrdsl.loads(SPEC.format(promise="cost(m5) == 60.3 USD", whole="slots"))
    found = explain(spec, "highs", questions=90)
    assert [change.value for change in found.relaxations] == [60.0, 60.5]
    told = " ".join(part for part in as_tables(spec, found) if isinstance(part, str))
    assert "No values" not in told
    assert "Another conflict" not in told
    assert "`cost(m5) == 60.3 USD` to 60 USD" in as_diagnostic(spec, found).hint
    assert "time ran out" not in told


def test_an_equality_that_no_value_mends_is_said_to_have_none_known() -> None:
    """Beside it 7 of 6 jobs are asked for: of two conflicts no value of one alone is enough."""
    spec = mrdsl.loads(SPEC.format(promise="cost(m5) == 60.3 USD, admitted(a) >= 7", whole="slots"))
    found = explain(spec, "highs", questions=90)
    told = " ".join(part for part in as_tables(spec, found) if isinstance(part, str))
    assert "No values" not in told
    assert "No other value of `cost(m5) == 60.3 USD` is known" in told


def test_available_vms_are_part_of_the_smallest_change() -> None:
    """With 4 VMs, 1020 s and 8 USD all jobs run: 410 %, 33 % and 60 % more, the smallest sum."""
    spec = mrdsl.loads("""problem capacity "few VMs"
vm t { on_demand { price = 2 USD/h }, reserved { price = 2 USD/h, available = 0 }, available = 3 }
class c {
  map { tasks = 100, avg = 20 s, max = 30 s }
  slots { map = 4 }
  jobs = 4..8, deadline = 200 s, penalty = 10 USD
}
minimize cost
subject to { cost <= 5 USD }
""")
    found = explain(spec, questions=300)
    assert found.repair is not None
    assert found.repair.size < 5.2
    assert "available of t" in {change.line.label for change in found.repair.changes}
    assert mrdsl.solve(moved(spec, {change.line: change.value for change in found.repair.changes})).plan is not None
