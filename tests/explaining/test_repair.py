"""The cheapest combination of changes: against exact optima, closed forms and grids, and by solving what is printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from math import ceil
from random import Random
from typing import Any

import pytest

import mrdsl
from mrdsl.explaining.promises import Oracle, OutOfTimeError, irreducible, lines_of, moved
from mrdsl.explaining.repair import TOLERANCE, Search
from mrdsl.explaining.why import as_diagnostic, as_tables, explain
from mrdsl.families import family
from mrdsl.spec.spec import Spec
from tests.explaining.test_infeasibility import GAMMA_A, GAMMA_B, spec_with

ROUNDED = 0.005
"""Three digits add less than this to a change."""


def delays(*seconds: float) -> Spec:
    """A spec with a promise for each number."""
    dags = "".join(
        f"dag d{i} {{ allowable_delay = {s} s, task a {{ duration = 1 s }} }}\n" for i, s in enumerate(seconds)
    )
    return mrdsl.loads(f'problem deadline "made up"\n{dags}maximize slack\n')


@dataclass
class MadeUp(Oracle):
    """A spec has a plan where its delays are at least those of some corner; no solver is asked."""

    corners: tuple[tuple[float, ...], ...] = ()

    def has_plan(self, spec: Spec) -> bool:
        if self.asked >= self.most:
            raise OutOfTimeError
        self.asked += 1
        at = [dag.allowable_delay for dag in spec.facts.dags]
        return any(all(a >= c * (1 - 1e-12) for a, c in zip(at, corner, strict=True)) for corner in self.corners)


def search_of(spec: Spec, oracle: Oracle) -> Search:
    found = Search(spec, lines_of(spec, family(spec.problem)), oracle)  # type: ignore[arg-type]
    if found.start():
        found.run()
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_cheapest_corner_is_found(seed: int) -> None:
    draw = Random(seed)
    dimensions = draw.randint(1, 4)
    corners = tuple(
        tuple(draw.choice((10.0, 10 * draw.uniform(1.0, 4.0))) for _ in range(dimensions))
        for _ in range(draw.randint(1, 6))
    )
    spec = delays(*[10.0] * dimensions)
    found = search_of(spec, MadeUp(corners=corners, most=20_000))
    exact = min(sum(c / 10.0 - 1.0 for c in corner) for corner in corners)
    if exact == 0.0:
        assert found.least == 0.0
        return
    repair = found.repair()
    assert repair is not None
    assert repair.proven
    slack = dimensions * ROUNDED + 0.02 * exact
    assert exact - 1e-9 <= repair.size <= exact * (1 + TOLERANCE / (1 - TOLERANCE)) + slack
    assert found.least <= exact + 1e-9
    for i, line in enumerate(found.lines):
        alone = min(corner[i] for corner in corners)
        assert found.alone.get(line, 10.0) == pytest.approx(alone, rel=0.02)


@pytest.mark.parametrize("questions", [1, 5, 20, 60])
def test_it_ends_where_the_questions_are_used_up(questions: int) -> None:
    spec = delays(10, 10, 10, 10)
    draw = Random(questions)
    corners = tuple(tuple(10 * draw.uniform(1, 4) for _ in range(4)) for _ in range(40))
    oracle = MadeUp(corners=corners, most=questions)
    search = Search(spec, lines_of(spec, family("deadline")), oracle)  # type: ignore[arg-type]
    with pytest.raises(OutOfTimeError):
        _started_and_run(search)
    assert oracle.asked == questions
    repair = search.repair()
    exact = min(sum(c / 10.0 - 1.0 for c in corner) for corner in corners)
    assert search.least <= exact
    if repair is not None:
        assert repair.size >= exact
        changed = moved(spec, {change.line: change.value for change in repair.changes})
        assert MadeUp(corners=corners).has_plan(changed)


def _started_and_run(search: Search) -> None:
    search.start()
    search.run()


@pytest.mark.parametrize("seed", range(20))
def test_irreducible_parts_are_enough_and_no_less_is(seed: int) -> None:
    draw = Random(seed)
    items = tuple(range(draw.randint(1, 9)))
    wanted = [frozenset(draw.sample(items, draw.randint(1, len(items)))) for _ in range(3)]

    def enough(kept: tuple[int, ...]) -> bool:
        return any(each <= set(kept) for each in wanted)

    found = irreducible(items, enough)
    assert enough(found)
    assert not any(enough(tuple(x for x in found if x != left_out)) for left_out in found)


def cheapest_by_closed_form(most: int) -> float:
    """Of the two classes and a number of VMs, by Theorem 4.1 on a grid of 1 % and every whole number."""
    best = float("inf")
    grid = [i / 100 for i in range(101)]
    for one, two, jobs_a, jobs_b in product(grid, grid, range(4, 0, -1), range(2, 0, -1)):
        changed = one + two + (4 - jobs_a) / 4 + (2 - jobs_b) / 2
        if changed < best:
            vms = jobs_a * GAMMA_A / (600 * (1 + one) - 95) + jobs_b * GAMMA_B / (1200 * (1 + two) - 60)
            best = min(best, changed + max(ceil(vms - 1e-9) - most, 0) / most)
    return best


@pytest.mark.parametrize("most", [33])
def test_combinations_against_the_closed_form(most: int) -> None:
    found = explain(spec_with(f"vms <= {most}"), "highs", questions=200)
    assert found.repair is not None
    assert found.repair.size <= cheapest_by_closed_form(most) * (1 + 2 * TOLERANCE) + 2 * ROUNDED
    assert found.repair.least <= cheapest_by_closed_form(most) + 1e-9
    assert found.prices[0] is not None
    assert found.prices[0].plan is not None


ENERGY = """problem energy "impossible twice"
vm fast {{ slots {{ map = 2, reduce = 2 }}, on_demand {{ price = {fast} USD/h }}, available = {many} }}
vm slow {{ slots {{ map = 1, reduce = 1 }}, on_demand {{ price = 0.02 USD/h }}, available = {slow} }}
network {{ speed = 1 GB/s, io_power = 20 W }}
job sort {{
  map {{ tasks = {maps}, block = 256 MB }}
  reduce {{ tasks = 2 }}
  deadline = {deadline}
  budget = {budget}
  on fast {{ map {{ time = {time} s, energy = 500 J }}, reduce {{ time = 20 s, energy = 300 J }} }}
  on slow {{ map {{ time = 70 s, energy = 400 J }}, reduce {{ time = 50 s, energy = 250 J }} }}
}}
minimize energy
"""


def drawn(seed: int) -> dict[str, Any]:
    """An energy spec whose deadline and whose budget no plan keeps, whatever becomes of the other."""
    draw = Random(seed)
    return {
        "fast": round(draw.uniform(0.08, 0.2), 3),
        "many": f"{draw.randint(1, 2)} vms",
        "slow": "2 vms",
        "maps": draw.randint(4, 8),
        "time": draw.randint(25, 40),
        "deadline": f"{draw.randint(20, 50)} s",
        "budget": f"{draw.uniform(0.02, 0.1):.3f} cent",
    }


HINTED = re.compile(r"(deadline|budget|available)(?: = | of (sort|fast|slow) to )([\d.e-]+ (?:s|min|USD|cent|vms))")


def written(name: str, block: str) -> str:
    """The place in the text that a hint speaks of."""
    return {"fast": "many", "slow": "slow"}.get(block, name)


def test_the_hints_of_solve_together_leave_a_plan() -> None:
    """Every hint as it is printed, put into the text again, the easier where two speak of one promise."""
    values = drawn(0)
    spec = mrdsl.loads(ENERGY.format(**values))
    result = mrdsl.solve(spec)
    assert {d.code for d in result.diagnostics} == {"impossible-deadline", "impossible-budget"}
    hints = [d.hint for d in result.diagnostics] + [as_diagnostic(spec, explain(spec, questions=50)).hint]
    assert "together" in hints[-1]
    hinted = [(written(name, block), amount) for hint in hints for name, block, amount in HINTED.findall(hint)]
    assert len(hinted) >= 4
    for place, amount in hinted:
        if number(place, amount) > number(place, values[place]):
            values[place] = amount
    assert mrdsl.solve(mrdsl.loads(ENERGY.format(**values))).plan is not None


def number(place: str, amount: str) -> float:
    """An amount as the language reads it at that place."""
    facts = mrdsl.loads(ENERGY.format(**{**drawn(0), place: amount})).facts
    counts = {"many": facts.vms[0].available, "slow": facts.vms[1].available}
    return float(counts[place] if place in counts else getattr(facts.jobs[0], place))


def test_what_is_printed_is_what_was_verified() -> None:
    spec = mrdsl.loads(ENERGY.format(**drawn(3)))
    found = explain(spec, questions=60)
    assert found.repair is not None
    for change in found.repair.changes:
        name = change.line.label.split()[0]
        if name in ("deadline", "budget"):
            read = mrdsl.loads(ENERGY.format(**{**drawn(3), name: change.shown}))
            assert getattr(read.facts.jobs[0], name) == pytest.approx(change.value, rel=1e-12)


@pytest.mark.parametrize("seed", [3])
def test_energy_against_a_staircase_of_the_grid(seed: int) -> None:
    """Deadline and budget alone, on a grid of 10 %: nothing on it is cheaper by more than a step."""
    spec = mrdsl.loads(ENERGY.format(**drawn(seed)))
    lines = tuple(x for x in lines_of(spec, family("energy")) if x.label.endswith("sort"))  # type: ignore[arg-type]
    search = Search(spec, lines, Oracle("highs"))
    assert search.start()
    search.run()
    repair = search.repair()
    assert repair is not None
    step = 0.1 * repair.size
    oracle = Oracle("highs")

    def has_plan(i: int, j: int) -> bool:
        values = (line.value * (1 + step * by) for line, by in zip(lines, (i, j), strict=True))
        return oracle.has_plan(moved(spec, dict(zip(lines, values, strict=True))))

    best, late, dear = float("inf"), 0, 11
    while late <= 11 and dear >= 0:
        if has_plan(late, dear):
            best = min(best, step * (late + dear))
            dear -= 1
        else:
            late += 1
    assert repair.size <= best + step
    assert repair.least <= best + 1e-9


def test_every_dag_that_is_impossible_is_in_the_repair() -> None:
    """Each by itself: the critical path of d0 takes 6 s, that of d2 3 s."""
    spec = mrdsl.loads(
        'problem deadline "two of three"\n'
        "dag d0 { allowable_delay = 4 s, task a { duration = 2 s }, task b { duration = 4 s, after = [a] } }\n"
        "dag d1 { allowable_delay = 5 s, task a { duration = 2 s } }\n"
        "dag d2 { allowable_delay = 2 s, task a { duration = 3 s } }\n"
        "maximize min_slack\n"
    )
    found = explain(spec)
    assert found.repair is not None
    assert found.repair.proven
    changes = {change.line.label: change.value for change in found.repair.changes}
    assert changes == {
        "allowable_delay of d0": pytest.approx(6.0, abs=0.05),
        "allowable_delay of d2": pytest.approx(3.0, abs=0.05),
    }
    assert all(value >= least - 1e-8 for value, least in zip(changes.values(), (6.0, 3.0), strict=True))
    assert {change.line.label for change in found.alone} == set(changes)
    told = [part for part in as_tables(spec, found) if not isinstance(part, str)]
    assert any("all others dropped" in table.columns[2] for table in told if len(table.columns) > 2)


BOUNDS = """problem bounds "two deadlines too early"
class a {{ map {{ tasks = 20, avg = 30 s, max = 40 s }}, jobs = 2, deadline = {a} s }}
class b {{ map {{ tasks = 10, avg = 50 s, max = 90 s }}, jobs = 1, deadline = {b} s }}
minimize slots
"""


def test_bounds_names_every_deadline() -> None:
    """With a slot for every task the average estimate is the one wave's mean and half the longest task more."""
    spec = mrdsl.loads(BOUNDS.format(a=10, b=20))
    found = explain(spec)
    assert found.repair is not None
    assert found.repair.proven
    values = {change.line.label: change.value for change in found.repair.changes}
    assert set(values) == {"deadline of a", "deadline of b"}
    assert (
        mrdsl.solve(mrdsl.loads(BOUNDS.format(a=values["deadline of a"], b=values["deadline of b"]))).plan is not None
    )
    for name, least in values.items():
        other = {**values, name: least * 0.97}
        text = BOUNDS.format(a=other["deadline of a"], b=other["deadline of b"])
        assert mrdsl.solve(mrdsl.loads(text)).plan is None


JOINT = """problem joint "too small, too early"
cluster {{ size = {size} vms, vm_cost = 0.05 USD/h }}
class sort {{
  coefficients {{ A = {A} s, B = 1250 s, C = 95 s }}
  slots {{ map = 4, reduce = 2 }}
  jobs = {low} .. 20
  deadline = {deadline} s
  penalty = 40 cent
}}
service shop {{
  rate = {rate}/s .. 200/s
  service_rate = 15/s
  delay = 0.25 s
  response = {response} s
  penalty = 0.002 cent
}}
minimize cost
"""


@pytest.mark.parametrize("seed", range(4))
def test_joint_repairs_are_verified(seed: int) -> None:
    """A deadline that no cluster keeps, or a response that none gives, and a cluster that is too small beside."""
    draw = Random(seed)
    spec = mrdsl.loads(
        JOINT.format(
            size=draw.randint(2, 6),
            A=draw.randint(3000, 9000),
            low=draw.randint(12, 18),
            deadline=draw.choice((80, 600)),
            rate=draw.randint(100, 190),
            response=draw.choice((0.3, 1.4)),
        )
    )
    assert mrdsl.solve(spec).plan is None
    found = explain(spec, questions=100)
    assert found.repair is not None
    changed = moved(spec, {change.line: change.value for change in found.repair.changes})
    result = mrdsl.solve(changed)
    assert result.plan is not None
    assert found.prices[0] is not None
    assert found.prices[0].objective.value == pytest.approx(result.objective.value, rel=1e-3)
    for change in found.alone:
        assert change.line.label in {c.line.label for c in found.repair.changes}
