"""Mistakes in times and files, each with an error at its place; nothing is dropped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.families.timetable.facts import Runs
from mrdsl.language.loading import load_text

SPEC = """problem timetable "n"
vm m { on_demand { price = 1 USD/h }, boot = 1 min }
class a { stage s { tasks = 4, avg = 60 s, max = 60 s }, slots { task = 2 }, RUNS }
minimize cost
"""
OF_CLASSES = SPEC.replace("class a", 'arrivals from jobs("jobs.csv")\nclass a').replace("RUNS", "deadline = 1 h")
OF_JOBS = """problem timetable "n"
vm m { on_demand { price = 1 USD/h } }
arrivals from table("jobs.csv") { slots { map = 2, reduce = 2 }, deadline = 1 h }
minimize cost
"""
COLUMNS = "name,submit [s],map.tasks,map.avg [s]\n"


def only_error(diagnostics: tuple[Diagnostic, ...]) -> Diagnostic:
    (found,) = (each for each in diagnostics if each.severity == "error")
    assert found.hint
    return found


@pytest.mark.parametrize(
    ("runs", "code"),
    [
        ("runs { from = 22:00, every = 0 s, times = 3 }, deadline = 1 h", "out-of-range"),
        ("runs { from = 22:00, every = -1 s, times = 3 }, deadline = 1 h", "out-of-range"),
        ("runs { from = 22:00, every = 1 s, times = 200001 }, deadline = 1 h", "out-of-range"),
        ("runs { from = 22:00, at = [23:00] }, deadline = 1 h", "duplicate"),
        ("runs = [22:00, 5 s], deadline = 1 h", "mixed-times"),
        ("runs = [10 s], due = 5 s", "out-of-range"),
        ("runs = [-5 s], deadline = 1 h", "out-of-range"),
        ("runs = [5 s, 3 s], deadline = 1 h", "out-of-range"),
        ("runs = [2027-02-29T22:00], deadline = 1 h", "wrong-value"),
        ("runs = [2026-11-23T22:00], due = 2026-11-23T21:00", "out-of-range"),
        ("runs = [24:00], deadline = 1 h", "wrong-value"),
    ],
)
def test_a_wrong_time_has_one_error_in_its_line(runs: str, code: str) -> None:
    found = only_error(load_text(SPEC.replace("RUNS", runs)).diagnostics)
    assert found.code == code
    assert found.span is not None
    assert found.span.line == 3


def test_mistakes_of_times_types_and_slots_are_told_together() -> None:
    more = "class b { stage s { tasks = 1, avg = 0.1 ms, max = 1 s }, slots { task = 3 }, "
    more += "runs = [7 s, 6 s], deadline = 1 s }\n"
    text = SPEC.replace("RUNS", "runs = [10 s], due = 5 s").replace("minimize", f"{more}minimize")
    for change, count in (("deadline = 1 s", 3), ("deadline = 1 s, types = [n]", 3)):
        wrong = text.replace("deadline = 1 s", change)
        found = [each for each in load_text(wrong).diagnostics if each.severity == "error"]
        assert len({(each.code, each.message) for each in found}) == count
        assert all(each.span and each.hint for each in found)


@pytest.mark.parametrize("block", ["driver { cores = 1 }", "transfer { output = 1 GiB }"])
def test_words_of_capacity_that_a_timetable_lacks_have_a_hint(block: str) -> None:
    (found,) = load_text(SPEC.replace("RUNS", f"runs = [5 s], deadline = 1 h, {block}")).diagnostics
    assert found.code == "unknown-block"
    assert "remove it" in (found.hint or "")


def test_a_run_may_cross_midnight_and_a_leap_day() -> None:
    text = SPEC.replace("RUNS", "runs = [2028-02-28T23:59:59, 2028-02-29T23:59:59], due = 00:10")
    plan = mrdsl.solve(mrdsl.loads(text)).plan
    assert [run["deadline"] - run["release"] for run in plan.document()["runs"]] == [601.0, 601.0]  # type: ignore[union-attr]


def test_a_run_longer_than_its_window_is_named_with_its_earliest_end() -> None:
    text = SPEC.replace("RUNS", "runs = [22:00, 22:30], deadline = 30 s")
    found = [each for each in mrdsl.solve(mrdsl.loads(text)).diagnostics if each.code == "impossible-deadline"]
    assert len(found) == 1
    assert "run 1 of class a" in found[0].message
    assert "22:01" in found[0].message


@pytest.mark.parametrize(("rent", "cost"), [("constant", 8 / 60), ("elastic", 5 / 60), ("per_job", 6 / 60)])
def test_a_run_longer_than_its_window_is_left_out_at_its_penalty(rent: str, cost: float) -> None:
    """Class b, two waves of a minute and a boot, is on a VM of its own; on one that both its runs share; on two."""
    runs = "runs = [0 s], deadline = 30 s, penalty = 5 USD"
    text = SPEC.replace("RUNS", runs).replace("vm m", f"rent = {rent}\nvm m")
    other = SPEC.split("class a")[1].split("}, RUNS")[0]
    text = text.replace("minimize", f"class b{other}}}, runs = [0 s, 5 min], deadline = 5 min }}\nminimize")
    result = mrdsl.solve(mrdsl.loads(text))
    assert [each.code for each in result.diagnostics] == ["never-admitted"]
    assert result.value == pytest.approx(5.0 + cost)


@pytest.mark.parametrize(
    ("text", "rows", "line"),
    [
        (OF_CLASSES, "class,submit [s]\na,5\na,5,7\n", 3),
        (OF_CLASSES, "class,submit [s],submit [s]\na,5,6\n", 1),
        (OF_CLASSES, "class,submit [s]\na,nan\n", 2),
        (OF_CLASSES, "class,submit [s]\na,9\na,5\n", 3),
        (OF_CLASSES, "class,submit [s],deadline [s]\na,5,0\n", 2),
        (OF_JOBS, COLUMNS + "x,0,4,10\ny,1,4.5,10\n", 3),
    ],
)
def test_a_wrong_row_has_one_error_in_its_line(text: str, rows: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(rows)
    (tmp_path / "n.mrspec").write_text(text)
    with pytest.raises(MrdslError) as refused:
        mrdsl.load(tmp_path / "n.mrspec")
    found = only_error(tuple(refused.value.diagnostics))
    assert found.span is not None
    assert (Path(found.span.file).name, found.span.line) == ("jobs.csv", line)


@pytest.mark.parametrize(
    ("text", "rows", "code"),
    [
        (OF_CLASSES, "class,submit [s]\na,1e300\n", "out-of-range"),
        (OF_JOBS, COLUMNS + "x,0,4,10\nx,1,4,10\n", "duplicate"),
        (OF_JOBS, COLUMNS + "x,0,1e12,10\n", "out-of-range"),
        (OF_JOBS, COLUMNS + "x,0,4,0.0001\n", "out-of-range"),
    ],
)
def test_rows_that_do_not_fit_have_an_error_at_the_file(text: str, rows: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(rows)
    (tmp_path / "n.mrspec").write_text(text)
    with pytest.raises(MrdslError) as refused:
        mrdsl.load(tmp_path / "n.mrspec")
    found = only_error(tuple(refused.value.diagnostics))
    assert found.code == code
    assert found.span is not None
    assert found.span.line == 3


@pytest.mark.parametrize(
    "runs",
    [
        {"from_": 0.0, "every": 0.0, "times": 3},
        {"from_": float("nan")},
        {"from_": "soon"},
        {"at": (float("inf"),)},
        {"at": ("22:00", 5.0)},
        {"at": (None,)},
        {"at": (5.0, 1.0)},
        {"at": (0.0, 1.0), "deadlines": (5.0,)},
        {"at": (0.0,), "deadlines": (-5.0,)},
        {"from_": 0.0, "every": 1.0, "times": 10**9},
        {},
    ],
)
def test_wrong_runs_from_python_are_errors(runs: dict[str, Any]) -> None:
    spec = mrdsl.loads(SPEC.replace("RUNS", "runs = [0 s], deadline = 1 h"))
    node = replace(spec.facts.classes[0], runs=Runs(**runs))
    with pytest.raises(MrdslError):
        mrdsl.solve(replace(spec, facts=replace(spec.facts, classes=(node,))))


def test_a_list_of_times_from_python_is_a_tuple() -> None:
    spec = mrdsl.loads(SPEC.replace("RUNS", "runs = [0 s], deadline = 1 h"))
    node = replace(spec.facts.classes[0], runs=Runs(at=[0.0, 60.0]))  # type: ignore[arg-type]
    assert mrdsl.solve(replace(spec, facts=replace(spec.facts, classes=(node,)))).value is not None


def test_containers_that_do_not_fit_equally_often_have_a_hint_that_resolves_the_error() -> None:
    text = """problem timetable "n"
vm m { on_demand { price = 1 USD/h }, cores = 4 }
class a { map { tasks = 4, avg = 9 s, max = 9 s }, reduce { tasks = 4, avg = 9 s, max = 9 s }
  shuffle { first_max = 0 s, avg = 0 s, max = 0 s }
  CONTAINER
  runs = [0 s], deadline = 1 h }
minimize cost
"""
    container = "container { map { cores = 1 }, reduce { cores = 2 } }"
    error = only_error(load_text(text.replace("CONTAINER", container)).diagnostics)
    assert "hosts 4 map tasks of class a and 2 reduce tasks of class a" in error.message
    hint = error.hint or ""
    assert hint == "write slots { map = 4, reduce = 2 } in place of `container` in class a"
    assert not load_text(text.replace("CONTAINER", "slots { map = 4, reduce = 2 }")).diagnostics


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("map { tasks = 6, avg = 1 min, max = 50 s }", "max-below-avg"),
        ("map { tasks = 6, avg = 1 min, max = 2 min }", ""),
        ("stage s { tasks = 2, avg = 1 min, max = 50 s }, slots { task = 2 }", "max-below-avg"),
        ("stage s { tasks = 2, avg = 1 min, max = 1 min }, slots { task = 2 }", ""),
        ("coefficients { A = 1 s, B = 0 s, C = 0 s }", "unknown-item"),
        ("slots { map = 2 }, speed = 2", ""),
    ],
)
def test_profiles_of_one_type_are_checked(row: str, code: str) -> None:
    text = (
        'problem timetable "n"\nvm m { on_demand { price = 1 USD/h } }\nvm c { on_demand { price = 2 USD/h } }\n'
        "class a { map { tasks = 6, avg = 2 min, max = 3 min }, slots { map = 2 }, runs = [0 s], deadline = 1 h\n"
        f"on c {{ {row} }} }}\nminimize cost\n"
    )
    codes = [each.code for each in load_text(text).diagnostics if each.severity == "error"]
    assert codes == ([code] if code else [])
