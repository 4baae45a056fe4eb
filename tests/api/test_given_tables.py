"""Blocks from tables of other libraries: those of a file of the same rows, and the same words for what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.csv_text import csv_text
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.deadline.facts import Dag, DeadlineFacts

CLASSES: dict[str, list[Any]] = {
    "name": ["sort", 'join, "large"'],
    "coefficients.A [s]": [5400.0, 2500.5],
    "coefficients.B [s]": [1250.0, 900.25],
    "coefficients.C [s]": [95.0, 60.0],
    "slots.map": [4, 4],
    "slots.reduce": [2, 2],
    "jobs.low": [2, 1],
    "jobs.high": [6, 5],
    "deadline [min]": [10, 8],
    "penalty [USD]": [0.4, 0.1],
}
VM = "vm m5 { on_demand { price = 0.2 USD/h } }"


def of_nanoarrow(columns: Mapping[str, Sequence[Any]]) -> Any:
    nanoarrow = pytest.importorskip("nanoarrow")
    kinds = {str: nanoarrow.string(), float: nanoarrow.float64(), int: nanoarrow.int32(), bool: nanoarrow.bool_()}
    arrays = [
        nanoarrow.c_array(list(values), kinds[type(next(v for v in values if v is not None))])
        for values in columns.values()
    ]
    schema = nanoarrow.struct({name: nanoarrow.Schema(a.schema) for name, a in zip(columns, arrays, strict=True)})
    length = len(next(iter(columns.values())))
    return nanoarrow.Array(nanoarrow.c_array_from_buffers(schema, length, [None], children=arrays))


def of_polars(columns: Mapping[str, Sequence[Any]]) -> Any:
    return pytest.importorskip("polars").DataFrame(dict(columns))


def of_pandas(columns: Mapping[str, Sequence[Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(dict(columns))


def of_pyarrow(columns: Mapping[str, Sequence[Any]]) -> Any:
    return pytest.importorskip("pyarrow").table(dict(columns))


LIBRARIES = (of_nanoarrow, of_polars, of_pandas, of_pyarrow)
Make = Callable[[Mapping[str, Sequence[Any]]], Any]


def of_file(folder: Path, columns: Mapping[str, Sequence[Any]], braces: str = "") -> mrdsl.Spec:
    (folder / "classes.csv").write_text(csv_text(list(columns), zip(*columns.values(), strict=True)))
    (folder / "a.mrspec").write_text(f'problem capacity\n{VM}\nclasses from "classes.csv" {{ {braces} }}\n')
    return mrdsl.load(folder / "a.mrspec")


@pytest.mark.parametrize("make", LIBRARIES)
def test_a_spec_of_a_table_is_that_of_its_file(make: Make, tmp_path: Path) -> None:
    read = of_file(tmp_path, CLASSES)
    classes = mrdsl.from_table("capacity", "classes", make(CLASSES))
    built = mrdsl.Spec(problem="capacity", facts=CapacityFacts(vms=read.facts.vms, classes=classes))
    assert built.facts == read.facts
    assert mrdsl.solve(built, "highs").objective == mrdsl.solve(read, "highs").objective
    assert mrdsl.Spec.from_json(built.to_json()) == built


@pytest.mark.parametrize("make", LIBRARIES)
def test_braces_hold_for_all_rows_and_say_which_count(make: Make, tmp_path: Path) -> None:
    columns = {**CLASSES, "team": ["x", "y"]}
    braces = 'think = 1 min, require { team = "y" }'
    (only,) = mrdsl.from_table("capacity", "classes", make(columns), braces)
    (read,) = of_file(tmp_path, columns, braces).facts.classes
    assert only == read
    assert (only.name, only.think) == ('join, "large"', 60.0)


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "a limit": ({"deadline [min]": [10, -3]}, "out-of-range", "table['deadline [min]'][1]"),
    "an empty cell": ({"jobs.low": [None, 1]}, "empty-cell", "table['jobs.low'][0]"),
    "no number": ({"slots.map": ["four", "4"]}, "not-a-number", "table['slots.map'][0]"),
    "a head": ({"jobs.lo": [1, 1]}, "unknown-column", "table['jobs.lo']"),
    "another currency": ({"fee [EUR]": [1, 1]}, "unknown-column", "table['fee [EUR]']"),
    "a part": ({"slots.reduce": [1.0, 1.5]}, "not-whole", "table['slots.reduce'][1]"),
    "the same name": ({"name": ["sort", "sort"]}, "duplicate", "table.row[1]"),
}


@pytest.mark.parametrize("make", [of_nanoarrow, of_polars, of_pyarrow])
@pytest.mark.parametrize(("changed", "code", "path"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_row_and_column(
    make: Make, changed: dict[str, Any], code: str, path: str, tmp_path: Path
) -> None:
    columns = {**CLASSES, **changed}
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.from_table("capacity", "classes", make(columns))
    with pytest.raises(mrdsl.MrdslError) as of_a_file:
        of_file(tmp_path, columns)
    found = told.value.diagnostics
    assert [(d.code, d.message, d.hint) for d in found] == [
        (d.code, d.message, d.hint) for d in of_a_file.value.diagnostics if d.code == code
    ]
    assert [(d.code, d.path) for d in found] == [(code, path)]
    assert all(d.span is None for d in found)


def test_a_column_that_lacks_is_told() -> None:
    columns = {head: values for head, values in CLASSES.items() if head != "penalty [USD]"}
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.from_table("capacity", "classes", of_polars(columns))
    assert [(d.code, d.path) for d in told.value.diagnostics] == [("missing-column", "table")]


@pytest.mark.parametrize("rows", [[], (), [{}]])
def test_a_table_without_columns_is_refused(rows: Any) -> None:
    with pytest.raises(mrdsl.MrdslError, match="the table has no columns"):
        mrdsl.vm_types(rows)


def test_blocks_within_blocks_and_lists_of_names() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"name": ["a", "b", "c"], "duration [s]": [10, 20, 30], "after": [[], ["a"], ["a", "b"]]},
        schema_overrides={"name": polars.Categorical, "duration [s]": polars.Decimal(10, 2)},
    )
    tasks = mrdsl.from_table("deadline", "tasks", frame)
    facts = DeadlineFacts(dags=(Dag(name="nightly", allowable_delay=100.0, tasks=tasks),))
    assert [tuple(task.after) for task in tasks] == [(), ("a",), ("a", "b")]
    assert mrdsl.solve(mrdsl.Spec(problem="deadline", facts=facts)).plan is not None


def test_types_come_from_a_table_too() -> None:
    rows = {"name": ["a", "b"], "cores": [4, 8], "on_demand.price [EUR/h]": [0.2, 0.4], "emr": [True, False]}
    (only,) = mrdsl.vm_types(of_polars(rows), "require { emr = yes }")
    assert (only.name, only.cores, only.on_demand.price) == ("a", 4.0, 0.2 / 3600)


@pytest.mark.parametrize(
    ("problem", "word", "code"),
    [("capacities", "classes", "unknown-problem"), ("capacity", "clases", "unknown-block")],
)
def test_what_is_asked_for_is_known(problem: str, word: str, code: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.from_table(problem, word, of_polars(CLASSES))
    assert [d.code for d in told.value.diagnostics] == [code]
    assert "did you mean" in told.value.diagnostics[0].hint


def test_without_nanoarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = of_polars(CLASSES)
    monkeypatch.setitem(sys.modules, "nanoarrow", None)
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.from_table("capacity", "classes", frame)
    assert [d.code for d in told.value.diagnostics] == ["missing-extra"]
    assert "tables" in told.value.diagnostics[0].hint
