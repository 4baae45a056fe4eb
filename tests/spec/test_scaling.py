"""Numbers of a spec that are multiplied: ``--scale tasks.time=1.3``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.families import SHIPPED, reference_text
from mrdsl.language.loading import load_file
from mrdsl.spec.changing import label_of, numbers_at, with_values
from mrdsl.spec.columns import Columns, parts_of
from mrdsl.spec.scaling import TASK_TIMES, blocks_with_task_times, names_in, scaled

MODELS = Path(__file__).resolve().parents[2] / "models"
SPEC = """problem capacity "q"
vm "m5.large" { on_demand { price = 0.2 USD/h }, spot { price = 0.1 USD/h, interruptions = 0.001/h } }
class a {
  map { tasks = 40, avg = 10 s, max = 12 s }
  shuffle { first_max = 2 s, avg = 3 s, max = 4 s }
  reduce { tasks = 5, avg = 20 s, max = 30 s }
  slots { map = 2, reduce = 1 }
  startup = 5 s
  jobs = 3 .. 5, deadline = 5 min, penalty = 1 USD
}
class b {
  stage s { tasks = 9, avg = 10 s, max = 20 s, delay = 2 s }
  slots { task = 2 }
  jobs = 2, deadline = 5 min, penalty = 1 USD
}
minimize cost
"""


def load(**factors: float) -> Any:
    scale = {name.replace("__", "."): factor for name, factor in factors.items()}
    return mrdsl.loads(SPEC, scale=scale).facts


def test_task_times_are_those_of_phases_and_stages() -> None:
    """Neither the startup of a job nor the delay of a stage is a time of tasks."""
    changed = SPEC
    for old, new in (
        ("avg = 10 s, max = 12 s", "avg = 15 s, max = 18 s"),
        ("first_max = 2 s, avg = 3 s, max = 4 s", "first_max = 3 s, avg = 4.5 s, max = 6 s"),
        ("avg = 20 s, max = 30 s", "avg = 30 s, max = 45 s"),
        ("avg = 10 s, max = 20 s", "avg = 15 s, max = 30 s"),
    ):
        changed = changed.replace(old, new)
    assert load(tasks__time=1.5) == mrdsl.loads(changed).facts


def test_names_select_numbers_by_their_last_words() -> None:
    assert [each.deadline for each in load(deadline=2.0).classes] == [600.0, 600.0]
    assert [each.deadline for each in load(b__deadline=2.0).classes] == [300.0, 600.0]
    facts = load(a__tasks__time=2.0)
    assert (facts.classes[0].map.avg, facts.classes[1].stages[0].avg) == (20.0, 10.0)
    vm = load(price=2.0, spot__price=2.0).vms[0]
    assert (vm.on_demand.price * 3600, vm.spot.price * 3600) == pytest.approx((0.4, 0.4))
    assert load(m5__large__price=2.0).vms == load(price=2.0).vms


def test_whole_numbers_are_rounded_up() -> None:
    facts = load(tasks=1.01, jobs=1.5)
    assert facts.classes[0].map.tasks == 41
    assert [(each.jobs.low, each.jobs.high) for each in facts.classes] == [(5, 8), (3, 3)]
    assert load(tasks=1.1).classes[0].map.tasks == 44, "40 * 1.1 is 44.000000000000004"


@pytest.mark.parametrize("family", SHIPPED)
def test_every_family_has_numbers_to_multiply(family: str) -> None:
    facts = load_file(MODELS / family / "reference.mrspec").spec.facts  # type: ignore[union-attr]
    assert reference_text(family) is not None
    for name in names_in(facts):
        changed, unknown = scaled(facts, {name: 1.5})
        assert not unknown
        assert scaled(facts, {name: 1.0}) == (facts, ())
        assert type(changed) is type(facts)
    assert (TASK_TIMES in names_in(facts)) == (family != "hybrid")
    assert scaled(facts, {"nothing": 2.0}) == (facts, ("nothing",))
    assert all(scaled(facts, {f"{name}.{TASK_TIMES}": 2.0})[1] == () for name in blocks_with_task_times(facts))


def test_rows_of_tables_are_multiplied_too(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("name,map.tasks,map.avg [s],map.max [s],jobs\nx,4,10,20,1\ny,4,30,40,1\n")
    text = 'problem bounds\nclasses from "c.csv"\ncluster { slots { map = 4, reduce = 2 } }\n'
    facts: Any = mrdsl.loads(text, folder=tmp_path, scale={"y.tasks.time": 2.0}).facts
    assert [each.map.avg for each in facts.classes] == [10.0, 60.0]


GENERATED = """
problem capacity
vm m5 { on_demand { price = 0.2 USD/h } }
class one {
  map { tasks = 3, avg = 1 s, max = 2 s }, jobs = 1, penalty = 1 USD, deadline = 1 h, slots { map = 2, reduce = 1 }
}
class c[1..3] {
  map    { tasks = uniform_int(5, 9), avg = uniform(1 s, 2 s), max = 3 s }
  slots  { map = 2, reduce = 1 }
  jobs     = 2..3
  deadline = uniform(1 h, 2 h)
  penalty  = 2 USD
}
class d[1..2] {
  map { tasks = 3, avg = 1 s, max = 2 s }, jobs = 1.5..2, penalty = 1 USD, deadline = 1 h, slots { map = 2, reduce = 1 }
}
minimize cost
"""


@pytest.mark.parametrize("name", ["tasks.time", "c2.tasks.time", "c2.deadline", "tasks", "jobs", "period", "one.jobs"])
@pytest.mark.parametrize("factor", [1.3, 2.0, 0.1])
def test_generated_blocks_stay_columns_with_the_same_numbers(name: str, factor: float) -> None:
    facts = mrdsl.loads(GENERATED, seed=3).facts
    written = replace(facts, classes=tuple(facts.classes))
    changed, unknown = scaled(facts, {name: factor})
    assert (changed, unknown) == scaled(written, {name: factor})
    assert [type(part) for part in parts_of(changed.classes)] == [tuple, Columns, Columns]


def test_single_numbers_of_generated_blocks_change_as_those_of_written_ones() -> None:
    facts = mrdsl.loads(GENERATED, seed=3).facts
    written = replace(facts, classes=tuple(facts.classes))
    for path in ("classes.deadline", "classes.jobs.low", "classes.jobs.high", "classes.map.avg"):
        numbers = dict(numbers_at(facts, path))
        assert numbers == dict(numbers_at(written, path))
        assert len(numbers) == 6
        for number, value in numbers.items():
            assert label_of(facts, number) == label_of(written, number)
            changed = with_values(facts, {number: value + 1.0})
            assert changed == with_values(written, {number: value + 1.0})
            assert [type(part) for part in parts_of(changed.classes)] == [tuple, Columns, Columns]


@pytest.mark.parametrize("given", ["x=1.3", "deadline=0", "deadline=-1", "deadline=inf", "deadline=a", "deadline"])
def test_mistakes(given: str, tmp_path: Path) -> None:
    (tmp_path / "s.mrspec").write_text(SPEC)
    ran = CliRunner().invoke(cli, ["solve", str(tmp_path / "s.mrspec"), "--scale", given], standalone_mode=False)
    assert ran.return_value == 2 or isinstance(ran.exception, mrdsl.MrdslError)


def test_a_saved_plan_keeps_the_factors(tmp_path: Path) -> None:
    spec = mrdsl.loads(SPEC, scale={"tasks.time": 1.5})
    result = mrdsl.solve(spec, "direct")
    again = mrdsl.Result.from_json(result.to_json())
    assert again.spec == spec
    assert mrdsl.check(again.spec) == mrdsl.check(spec)
    (tmp_path / "p.json").write_text(result.to_json())
    with pytest.raises(mrdsl.MrdslError, match="saved plan"):
        mrdsl.load(tmp_path / "p.json", scale={"tasks.time": 2.0})


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("jobs", "a"),
        ("a.jobs", "a"),
        ("price", "m5.large spot"),
        ("fee", "m5.large fee"),
        ("deadline", ""),
        ("b.jobs", ""),
    ],
)
def test_factors_of_numbers_in_a_demand_are_reported(name: str, column: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,m5.large spot,m5.large fee [%],factor\n1,0.1,10,1\n", encoding="utf-8")
    text = SPEC.replace("minimize", 'demand { periods = 1, from = "d.csv" }\nminimize')
    (tmp_path / "s.mrspec").write_text(text, encoding="utf-8")
    told = load_file(tmp_path / "s.mrspec", {f"scale {name}": 2}).diagnostics
    assert [(each.code, f"column `{column}`" in each.message) for each in told] == [("unused", True)] * bool(column)


def test_limits_of_items_hold_for_products() -> None:
    hybrid = MODELS / "hybrid" / "reference.mrspec"
    with pytest.raises(mrdsl.MrdslError, match="acceptance"):
        mrdsl.load(hybrid, scale={"acceptance": 2.0})
    with pytest.raises(mrdsl.MrdslError):
        mrdsl.loads(SPEC, scale={"tasks.time": 1e307})


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_factors_have_a_range(factor: float) -> None:
    """The ends of the range multiply; a little beyond them is one error, however many numbers there are."""
    assert mrdsl.load(MODELS / "capacity" / "quickstart.mrspec", scale={"price": factor})
    with pytest.raises(mrdsl.MrdslError, match="invalid factor") as told:
        mrdsl.loads(SPEC, scale={"tasks.time": factor * (1.1 if factor > 1 else 0.9)})
    assert len(told.value.diagnostics) == 1


def test_a_param_is_set_and_not_multiplied() -> None:
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.loads(SPEC + "\nparam due = 1 h\n", scale={"due": 2.0})
    assert "`-D due=VALUE`" in told.value.diagnostics[0].hint
