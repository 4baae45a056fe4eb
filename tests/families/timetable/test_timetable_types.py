"""Several VM types in one timetable: by hand, bad input, tampered plans, and what reads plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import mrdsl
from mrdsl.families.timetable.plan import Tasks, TimetablePlan
from mrdsl.families.timetable.report import report
from mrdsl.families.timetable.verify import verify
from mrdsl.families.timetable.why import why
from mrdsl.language.loading import load_text
from tests.shared_data import shared

TEXT = """problem timetable "types"
rent = constant
billing { period = 1 s, minimum = 0 s }
vm small { on_demand { price = 1 USD/min }, boot = 1 min }
vm large { on_demand { price = 3 USD/min } }
class night {
  stage s { tasks = 2, avg = 10 min, max = 10 min }
  slots { task = 2 }
  distribution = fixed
  runs = [0 min, 10 min, 20 min]
  deadline = 10 min
}
class peak {
  stage s { tasks = 8, avg = 4 min, max = 4 min }
  slots { task = 2 }
  on large { slots { task = 4 }, speed = 2 }
  on small { slots { task = 2 } }
  distribution = fixed
  types = [large, small]
  runs = [14 min]
  deadline = 4 min
}
minimize cost
"""


def solved(text: str) -> tuple[mrdsl.Spec, mrdsl.Result[TimetablePlan]]:
    spec = mrdsl.loads(text)
    return spec, mrdsl.solve(spec).of(TimetablePlan)


TYPED = TEXT.replace(
    "  slots { task = 2 }\n  distribution", "  slots { task = 2 }\n  types = [small]\n  distribution", 1
)


def test_each_class_runs_where_it_is_cheaper() -> None:
    """One small VM for 31 min, and one large one, which runs two waves of 4 tasks of 2 min each: 12 USD.

    On small VMs the run at the peak takes 4 of them, with the others for the whole night.
    """
    spec, result = solved(TYPED)
    plan = result.plan
    assert plan is not None
    assert result.value == pytest.approx(31 + 12)
    assert result.solution == "optimal"
    assert plan.document()["vms"] == {
        "small": {"on_demand": 1, "reserved": 0},
        "large": {"on_demand": 1, "reserved": 0},
    }
    assert list(verify(spec, plan)) == []


def test_plans_of_several_types_are_simulated_explained_reported_and_read_back() -> None:
    spec, result = solved(TYPED)
    simulated = mrdsl.simulate(result, runs=3).of(TimetablePlan).plan
    assert simulated is not None
    assert [seen and seen.mean for seen in simulated.of_runs] == [600.0, 600.0, 600.0, 240.0]
    assert simulated.bill is not None
    assert simulated.bill.mean == pytest.approx(43)
    words = [each for each in why(spec, result) if isinstance(each, str)]
    assert any("1 runs on large" in each for each in words)
    assert "1 VM of small and 1 VM of large" in report(spec, result).decision
    again = mrdsl.Result.from_json(result.to_json())
    assert again.plan is not None
    assert result.plan is not None
    assert again.plan.document() == result.plan.document()  # type: ignore[union-attr]


def test_masters_of_all_types_are_there_from_the_first_request_to_the_last_end() -> None:
    """Those of both types are there for 31 min, as the VM of `small` is."""
    text = TYPED.replace("boot = 1 min }", "boot = 1 min, masters = 1 }").replace(
        "3 USD/min }", "3 USD/min }, masters = 1"
    )
    spec, result = solved(text)
    plan = result.plan
    assert plan is not None
    assert result.value == pytest.approx(31 + 12 + 31 * (1 + 3))
    assert result.solution == "optimal"
    assert list(verify(spec, plan)) == []
    assert sorted((each.vm, each.end - each.begin) for each in plan.rentals if each.master) == [
        ("large", 1860.0),
        ("small", 1860.0),
    ]


MASTERS = """problem timetable "masters of a type without runs"
rent = RENT
vm worker { on_demand { price = 0.20 USD/h } }
vm driver { on_demand { price = 100 USD/h }, masters = 2, boot = 5 min, billing { period = 1 min, minimum = MINIMUM } }
class a {
  stage run { tasks = 8, avg = 10 min, max = 10 min }
  slots { task = 4 }
  distribution = fixed
  runs = [0 s, 1 h]
  deadline = 40 min
  types = [worker]
  PENALTY
}
minimize cost
"""


@pytest.mark.parametrize(
    ("rent", "minimum", "minutes"),
    [
        ("constant", "0 s", 70),
        ("elastic", "0 s", 40),  # from the latest start of the first run
        ("elastic", "2 h", 120),
        ("per_job", "0 s", 20),
        ("per_job", "30 min", 60),
        ("cheapest", "0 s", 20),
    ],
)
def test_masters_of_a_type_without_runs_are_paid_as_their_type_is(rent: str, minimum: str, minutes: int) -> None:
    text = MASTERS.replace("RENT", rent).replace("MINIMUM", minimum).replace("PENALTY", "")
    spec, result = solved(text)
    assert result.solution == "optimal"
    assert result.value == pytest.approx(minutes * 200 / 60, rel=3e-3)  # and below 0.3 % for the workers
    plan = result.plan
    assert plan is not None
    assert list(verify(spec, plan)) == []
    simulated = mrdsl.simulate(result, runs=2).of(TimetablePlan).plan
    assert simulated is not None
    assert simulated.bill is not None
    assert simulated.bill.mean == pytest.approx(result.value)
    fewer = replace(plan, rentals=tuple(replace(each, count=1) for each in plan.rentals))
    assert any("without 2 masters" in each.message for each in verify(spec, fewer))


def test_there_are_no_masters_without_vms() -> None:
    text = MASTERS.replace("RENT", "elastic").replace("MINIMUM", "0 s")
    for penalty, value in (("1 USD", 2.0), ("1000 USD", None)):
        _, result = solved(text.replace("PENALTY", f"penalty = {penalty}"))
        assert result.solution == "optimal"
        assert result.plan is not None
        assert bool(result.plan.rentals) == (value is None)
        assert value is None or result.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "change", "value"),
    [
        ("master_without_runs", ("", ""), 0.2 / 3 + 100 / 6),
        ("master_without_runs", ("0.20 USD/h }", "0.20 USD/h }, available = 1"), 0.2 / 3 + 100 / 3),
        ("loose_bound_16", ("", ""), 3.60),
        ("loose_bound_53", ("", ""), 0.60),
    ],
)
def test_masters_are_in_costs_and_bounds(name: str, change: tuple[str, str], value: float) -> None:
    _, result = solved(shared(f"cases/{name}.mrspec").read_text().replace(*change))
    assert result.value == pytest.approx(value)
    assert result.solution == "optimal"


@pytest.mark.parametrize(("types", "least"), [("[driver, worker]", 9), ("[driver]", 8)])
def test_a_quota_without_room_for_masters_leaves_no_plan(types: str, least: int) -> None:
    """Two masters have 8 cores."""
    text = MASTERS.replace("RENT", "elastic").replace("MINIMUM", "0 s").replace("PENALTY", "")
    text = text.replace("boot = 5 min", "cores = 4, boot = 5 min").replace("0.20 USD/h }", "0.20 USD/h }, cores = 1")
    for cores in (least - 1, least):
        quota = f"quota q {{ cores = {cores}, types = {types} }}\nclass a"
        _, result = solved(text.replace("class a", quota))
        assert result.termination == ("infeasible" if cores < least else "optimal")
        assert (result.plan is None) == (cores < least)


def on_one_machine(plan: TimetablePlan) -> TimetablePlan:
    assert plan.tasks is not None
    return replace(plan, tasks=replace(plan.tasks, machine=np.zeros_like(plan.tasks.machine)))


def on_two_types(plan: TimetablePlan) -> TimetablePlan:
    tasks = plan.tasks
    assert tasks is not None
    columns = [np.append(each, each[-1:]) for each in (tasks.run, tasks.stage, tasks.machine, tasks.start, tasks.count)]
    columns[2][-1] = 1 - columns[2][-1]
    return replace(plan, tasks=Tasks(*columns))


TAMPERED: dict[str, tuple[Callable[[TimetablePlan], TimetablePlan], str]] = {
    "all on one type": (on_one_machine, "rented"),
    "a run on two types": (on_two_types, "several VM types"),
    "rentals of the other type": (
        lambda plan: replace(
            plan,
            rentals=tuple(replace(each, vm={"small": "large", "large": "small"}[each.vm]) for each in plan.rentals),
        ),
        "may not use",
    ),
    "more slots": (
        lambda plan: replace(plan, types=tuple(replace(each, slots=2 * each.slots) for each in plan.types)),
        "slots of",
    ),
    "an unknown type": (
        lambda plan: replace(plan, rentals=tuple(replace(each, vm="huge") for each in plan.rentals)),
        "does not have",
    ),
}


@pytest.mark.parametrize("change", TAMPERED)
def test_a_tampered_plan_is_broken(change: str) -> None:
    spec, result = solved(TYPED)
    assert result.plan is not None
    tamper, words = TAMPERED[change]
    found = [each.message for each in verify(spec, tamper(result.plan))]
    assert found
    if words != "rented":
        assert any(words in each for each in found)


HOPELESS = """problem timetable "late on every type"
rent = elastic
billing { period = 1 s, minimum = 0 s }
vm slow { on_demand { price = 1 USD/min } }
vm fast { on_demand { price = 3 USD/min }, spot { price = 2 USD/min, interruptions = 0.05/h } }
class late {
  stage s { tasks = 1, avg = 2 min, max = 2 min }
  slots { task = 1 }
  runs = [0 min, 10 min]
  deadline = 1 min
  penalty = 5 USD
}
minimize cost
"""
REGULAR = """class regular {
  stage s { tasks = 1, avg = 2 min, max = 2 min }
  slots { task = 1 }
  runs = [5 min]
  deadline = 2 min
}
"""


@pytest.mark.parametrize("rent", ["constant", "elastic", "per_job", "cheapest"])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("more", "value"), [("", 10), (REGULAR, 12)])
def test_runs_that_are_late_on_every_type_are_left_out(rent: str, free: bool, more: str, value: float) -> None:
    text = HOPELESS.replace("elastic", rent).replace("minimize", more + "minimize")
    if free:
        text, value = text.replace("1 USD/min", "0 USD/min"), 10
    spec, result = solved(text)
    assert result.plan is not None
    assert result.value == pytest.approx(value)
    assert result.solution == "optimal"
    assert list(verify(spec, result.plan)) == []


def test_constant_clusters_keep_classes_of_one_type_together() -> None:
    """One reserved VM for 21 min costs 21 USD; the cheapest type for each run alone is not the same one."""
    text = """problem timetable "one"
rent = constant
billing { period = 1 s, minimum = 3 min }
vm slow { on_demand { price = 2 USD/min }, reserved { price = 1 USD/min, available = 1 } }
vm fast { on_demand { price = 3 USD/min }, available = 1 }
class a {
  stage s { tasks = 2, avg = 2 min, max = 2 min }
  slots { task = 1 }
  on fast { slots { task = 3 }, speed = 2 }
  runs = [3 min, 20 min]
  deadline = 5 min
  types = one
}
minimize cost
"""
    spec, result = solved(text)
    assert result.plan is not None
    assert result.value == pytest.approx(21)
    assert list(verify(spec, result.plan)) == []


def test_a_startup_as_long_as_the_deadline_leaves_the_run_out() -> None:
    text = HOPELESS.replace("deadline = 1 min", "startup = 1 min, deadline = 1 min")
    single = text.replace("vm fast", "# vm fast")
    for each in (text, single):
        _, result = solved(each)
        assert result.value == pytest.approx(10)


def test_runs_of_a_class_of_one_type_are_together() -> None:
    """One type for all three runs costs more than the cheapest one for each: the first has only time for `fast`."""
    text = """problem timetable "one"
rent = per_job
billing { period = 1 s, minimum = 0 s }
vm slow { on_demand { price = 1 USD/min } }
vm fast { on_demand { price = 3 USD/min } }
class a {
  stage s { tasks = 1, avg = 2 min, max = 2 min }
  slots { task = 1 }
  on fast { speed = 2 }
  runs = [0 min, 10 min]
  due = 11.5 min
}
minimize cost
"""
    _, result = solved(text)
    assert result.value == pytest.approx(2 + 3)
    spec, result = solved(text.replace("  due", "  types = one\n  due"))
    assert result.value == pytest.approx(3 + 3)
    assert result.solution == "optimal"
    mixed = mrdsl.solve(mrdsl.loads(text)).of(TimetablePlan).plan
    assert mixed is not None
    assert any("run on 2 types" in each.message for each in verify(spec, mixed))


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ("types = [large, small]", "types = [larg]", "unknown-name", "larg"),
        ("types = [large, small]", "types = []", "missing-item", "empty list"),
        ("on small {", "on smal {", "unknown-name", "smal"),
        ("on large { slots { task = 4 }, speed = 2 }", "on large { slots { map = 4 } }", "missing-item", "hosts no"),
        ("on large { slots { task = 4 }, speed = 2 }", "on large { }", "unused", "no effect"),
        ("types = [large, small]", "types = [small]", "unused", "not among its types"),
        (
            "on large { slots { task = 4 }, speed = 2 }",
            "on large { coefficients { A = 1 s, B = 0 s, C = 0 s } }",
            "unknown-item",
            "coefficients",
        ),
        ("deadline = 4 min", "deadline = 1 min", "impossible-deadline", "fastest VM type"),
    ],
)
def test_bad_types_are_told_with_their_place(old: str, new: str, code: str, words: str) -> None:
    assert old in TYPED
    found = list(load_text(TYPED.replace(old, new)).diagnostics)
    mine = [each for each in found if each.code == code]
    assert mine, [each.message for each in found]
    assert words in mine[0].message
    assert mine[0].span is not None
    assert mine[0].hint
