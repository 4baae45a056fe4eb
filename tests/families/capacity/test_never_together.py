"""Classes that never run together, against an enumeration of all combinations of classes that shares no code."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import mrdsl
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.plan_warnings import verify

Slots = list[tuple[int, int]]
"""How many slots of a size a VM hosts, and how many slots there are."""


@dataclass(frozen=True)
class DrawnClass:
    name: str
    work: tuple[int, int, int]
    deadline: int
    per_vm: tuple[int, int]
    jobs: tuple[int, int]
    penalty: float

    def text(self) -> str:
        a, b, c = self.work
        return (
            f"class {self.name} {{ coefficients {{ A = {a} s, B = {b} s, C = {c} s }}, deadline = {self.deadline} s\n"
            f"  slots {{ map = {self.per_vm[0]}, reduce = {self.per_vm[1]} }}\n"
            f"  jobs = {self.jobs[0]}..{self.jobs[1]}, penalty = {self.penalty} USD }}\n"
        )

    def slots(self) -> tuple[int, int]:
        """Return the slots of one job on the fewest VMs."""
        a, b, c = self.work
        pairs = itertools.product(range(1, 80), range(1, 80))
        kept = [(m, r) for m, r in pairs if a * r + b * m <= (self.deadline - c) * m * r]
        return min(kept, key=lambda pair: pair[0] * self.per_vm[1] + pair[1] * self.per_vm[0])


@dataclass(frozen=True)
class Drawn:
    classes: list[DrawnClass]
    groups: list[list[str]]
    reserved: int

    def text(self) -> str:
        groups = (f"never_together g{n} {{ classes = [{', '.join(g)}] }}\n" for n, g in enumerate(self.groups))
        reserved = f"reserved {{ price = 0.5 USD/h, available = {self.reserved} }}"
        return (
            f"problem capacity\nvm m {{ on_demand {{ price = 1 USD/h }}, {reserved} }}\n"
            f"{''.join(each.text() for each in self.classes)}{''.join(groups)}minimize cost\n"
        )

    def least(self) -> float:
        """Return the cost of the best plan whose VMs hold the slots of every combination of classes."""
        alone = [each.name for each in self.classes if not any(each.name in group for group in self.groups)]
        slots = {each.name: each.slots() for each in self.classes}
        best = math.inf
        for jobs in itertools.product(*(range(each.jobs[0], each.jobs[1] + 1) for each in self.classes)):
            there = dict(zip((each.name for each in self.classes), jobs, strict=True))
            vms = 0
            for running in itertools.product(*self.groups):
                wanted: Slots = []
                for each in self.classes:
                    if each.name in (*alone, *running):
                        wanted += zip(each.per_vm, (there[each.name] * n for n in slots[each.name]), strict=True)
                vms = max(vms, fewest_vms(wanted))
            penalties = sum(each.penalty * (each.jobs[1] - there[each.name]) for each in self.classes)
            best = min(best, penalties + vms - 0.5 * min(vms, self.reserved))
        return best


def fewest_vms(wanted: Slots) -> int:
    demand = {size: sum(n for per_vm, n in wanted if per_vm == size) for size, n in wanted if n}
    return fewest_for(tuple(sorted(demand.items()))) if demand else 0


@cache
def fewest_for(demand: tuple[tuple[int, int], ...]) -> int:
    """Return the fewest VMs for the slots of each size."""
    sizes = [size for size, _ in demand]
    fits = itertools.product(*(range(size + 1) for size in sizes))
    patterns = [each for each in fits if sum(Fraction(n, size) for n, size in zip(each, sizes, strict=True)) <= 1]
    cost = np.ones(len(patterns))
    rows = LinearConstraint(np.array(patterns).T, [slots for _, slots in demand], np.inf)
    return round(milp(cost, constraints=rows, integrality=cost, bounds=Bounds(0, np.inf)).fun)


def drawn(seed: int) -> Drawn:
    rng = random.Random(seed)
    count = rng.randint(2, 4)
    classes = [
        DrawnClass(
            f"c{n}",
            (rng.randint(1, 20) * 10, rng.randint(1, 20) * 10, rng.randint(0, 10)),
            rng.randint(30, 120),
            (rng.randint(1, 4), rng.randint(1, 3)),
            (low := rng.randint(0, 1), low + rng.randint(1, 2)),
            rng.choice([0.3, 1, 2, 5, 20]),
        )
        for n in range(count)
    ]
    names = [each.name for each in classes]
    rng.shuffle(names)
    size = rng.randint(2, count)
    groups = [names[:size]] if size + 2 > count else [names[:size], names[size:]]
    return Drawn(classes, groups, rng.choice([0, 0, 3]))


def solved(text: str) -> tuple[mrdsl.Spec, mrdsl.Result[CapacityPlan]]:
    spec = mrdsl.loads(text)
    return spec, mrdsl.solve(spec).of(CapacityPlan)


@pytest.mark.parametrize("seed", range(12))
def test_no_enumerated_plan_costs_less_or_more(seed: int) -> None:
    case = drawn(seed)
    _, result = solved(case.text())
    assert result.solution == "optimal"
    assert result.value == pytest.approx(case.least())
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


TWO = """
problem capacity
vm m {{ on_demand {{ price = 1 USD/h }}, spot {{ price = 0.4 USD/h, interruptions = 0.1/h }}
  cores = 8, memory = 16 GiB }}
class a {{
  stage s {{ tasks = 64, avg = 30 s, max = 40 s }}
  container {{ task {{ cores = 1, memory = 4 GiB }} }}
  jobs = 2..3, deadline = 10 min, penalty = 20 USD, spot = 50%
}}
class b {{
  stage s {{ tasks = 64, avg = 30 s, max = 40 s }}
  container {{ task {{ cores = 3, memory = 1 GiB }} }}
  jobs = 1..2, deadline = 10 min, penalty = 20 USD, spot = 0%
}}
{groups}
minimize cost
"""
GROUP = "never_together night { classes = [a, b] }"


def test_containers_and_spot_cost_between_one_class_and_the_sum() -> None:
    """Of a group each class alone needs its VMs, and the VMs for the sum are enough."""
    spec, result = solved(TWO.format(groups=GROUP))
    _, every = solved(TWO.format(groups=""))
    assert result.value is not None
    assert every.value is not None
    assert result.value < every.value
    for name in "ab":
        other = next(each for each in spec.facts.classes if each.name != name)
        text = TWO.format(groups="").replace("jobs = 2..3", "jobs = 0..3").replace("jobs = 1..2", "jobs = 0..2")
        alone = text.replace("minimize cost", f"minimize cost\nsubject to {{ admitted({other.name}) = 0 }}")
        _, single = solved(alone)
        assert single.value is not None
        assert result.value >= single.value - 20 * other.jobs.high - 1e-6
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


def test_verification_counts_one_class_of_a_group_on_each_vm() -> None:
    """The plan of a group is broken for the same spec without it, on its VMs and in its packing."""
    spec, result = solved(drawn(3).text())
    plan = result.plan
    assert plan is not None
    assert not [each for each in verify(spec, plan, False) if each.code == "broken-plan"]
    without = replace(spec, facts=replace(spec.facts, never_together=()))
    told = [each.message for each in verify(without, plan, False) if each.code == "broken-plan"]
    assert any("lie on one" in each for each in told)
    assert any("are rented" in each for each in told)


def test_relaxations_count_the_largest_class() -> None:
    """Two classes of one profile: the relaxed cost of the group is that of one."""
    one = "class a { coefficients { A = 90 s, B = 90 s, C = 0 s }, slots { map = 2, reduce = 1 }, jobs = 4\n"
    one += "  deadline = 60 s, penalty = 90 USD }\n"
    head, tail = "problem capacity\nvm m { on_demand { price = 1 USD/h } }\n", "minimize cost\n"
    both = one + "class b extends a { }\n"
    costs = [
        mrdsl.solve(mrdsl.loads(head + classes + tail), relax=True).value
        for classes in (one, both, both + "never_together g { classes = [a, b] }\n")
    ]
    assert costs[1] == pytest.approx(2 * costs[0])
    assert costs[2] == pytest.approx(costs[0])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("never_together g { classes = [c0, c9] }", "unknown-name"),
        ("never_together g { classes = [c0] }", "missing-item"),
        ("never_together g { classes = [c0, c0] }", "duplicate"),
        ("never_together g { classes = [c0, c1] }\nnever_together h { classes = [c1, c0] }", "duplicate"),
        ("never_together g { classes = [c0, c1] }\nwhole = machines", "never-together"),
        ("never_together g { classes = [c0, c1] }\nsimulation { work_conserving = yes }", "never-together"),
    ],
)
def test_wrong_groups_are_errors(line: str, code: str) -> None:
    text = replace(drawn(0), groups=[]).text()
    with pytest.raises(mrdsl.MrdslError) as caught:
        mrdsl.solve(mrdsl.loads(text + line + "\n"))
    assert code in {each.code for each in caught.value.diagnostics}


@pytest.mark.parametrize("method", [{"solver": "direct"}, {"formulation": "P1"}, {"formulation": "P0"}])
def test_methods_that_add_up_classes_refuse_groups(method: dict[str, str]) -> None:
    with pytest.raises(mrdsl.MrdslError, match="never"):
        mrdsl.solve(mrdsl.loads(drawn(0).text()), **method)  # type: ignore[arg-type]
