"""A row of a table without a cell of a block that may be left out has no such block: map-only jobs beside others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.language.loading import load_text
from mrdsl.language.resolving import Loaded
from mrdsl.spec.columns import Columns
from mrdsl.spec.validation import validate

HEAD = "name,map.tasks,map.avg [s],map.max [s],{}"
HEAD += "reduce.tasks,reduce.avg [s],reduce.max [s],jobs.low,jobs.high,penalty [USD]\n"
SHUFFLE = "shuffle.first_max [s],shuffle.avg [s],shuffle.max [s],"
TABLE = HEAD.format(SHUFFLE) + "sort,50,20,30,5,6,9,4,10,12,4,5,2\nscan,90,20,30,,,,,,,4,5,2\n"
PROBLEM = """problem capacity "x"
vm m5 { on_demand { price = 0.2 USD/h } }
REST
minimize cost
"""
SHARED = "slots { map = 2, reduce = 1 }, deadline = 15 min, guarantee = average"
FROM_TABLE = PROBLEM.replace("REST", f'classes from "classes.csv" {{ {SHARED} }}')
WRITTEN = PROBLEM.replace(
    "REST",
    f"""class sort {{
  map {{ tasks = 50, avg = 20 s, max = 30 s }}
  shuffle {{ first_max = 5 s, avg = 6 s, max = 9 s }}
  reduce {{ tasks = 4, avg = 10 s, max = 12 s }}
  jobs = 4..5, penalty = 2 USD, {SHARED}
}}
class scan {{ map {{ tasks = 90, avg = 20 s, max = 30 s }}, jobs = 4..5, penalty = 2 USD, {SHARED} }}""",
)


def from_table(folder: Path, table: str) -> Loaded:
    (folder / "classes.csv").write_text(table, encoding="utf-8")
    return load_text(FROM_TABLE, folder=folder)


def test_a_row_of_empty_cells_has_no_such_block(tmp_path: Path) -> None:
    loaded = from_table(tmp_path, TABLE)
    assert loaded.spec is not None, loaded.diagnostics
    written = mrdsl.loads(WRITTEN)
    sort, scan = loaded.spec.facts.classes
    assert sort == written.facts.classes[0]
    assert (scan.shuffle, scan.reduce) == (None, None)
    assert scan == written.facts.classes[1]


@pytest.mark.parametrize("solver", ["direct", "highs"])
def test_the_plan_is_that_of_the_written_blocks(solver: str, tmp_path: Path) -> None:
    spec = from_table(tmp_path, TABLE).spec
    assert spec is not None
    plans = [mrdsl.solve(each, solver) for each in (spec, mrdsl.loads(WRITTEN))]
    assert plans[0].objective.value == plans[1].objective.value
    assert plans[0].plan is not None
    assert plans[1].plan is not None
    assert plans[0].plan.document() == plans[1].plan.document()


def test_a_block_that_is_begun_is_filled(tmp_path: Path) -> None:
    loaded = from_table(tmp_path, TABLE.replace("scan,90,20,30,,,,,,", "scan,90,20,30,,6,,,,"))
    told = [(each.code, each.message) for each in loaded.diagnostics]
    assert told == [
        ("empty-cell", "this cell of `shuffle.first_max` is empty"),
        ("empty-cell", "this cell of `shuffle.max` is empty"),
    ]
    assert "leave every cell of `shuffle` in the row empty" in loaded.diagnostics[0].hint


def test_a_block_that_every_class_has_is_not_left_out(tmp_path: Path) -> None:
    """What the braces say holds for all rows, so that the block is there."""
    (tmp_path / "classes.csv").write_text(
        TABLE.replace("reduce.max [s],", "").replace("10,12,", "10,").replace(",,,,,,", ",,,,,"), encoding="utf-8"
    )
    shared = load_text(FROM_TABLE.replace("{ slots", "{ reduce { max = 12 s }, slots"), folder=tmp_path)
    assert ("empty-cell", "this cell of `reduce.tasks` is empty") in [(d.code, d.message) for d in shared.diagnostics]


def test_from_python_too() -> None:
    from mrdsl.families.capacity.facts import JobClass

    def column(*values: float) -> np.ndarray:  # type: ignore[type-arg]
        return np.array(values)

    spec = mrdsl.loads(WRITTEN)
    own = {"map.tasks": column(50, 90), "map.avg": column(20, 20), "map.max": column(30, 30), "penalty": 2.0}
    own |= {"jobs.low": 4.0, "jobs.high": 5.0, "deadline": 900.0, "slots.map": 2.0, "slots.reduce": 1.0}
    nan = float("nan")
    reduce = {"reduce.tasks": column(4, nan), "reduce.avg": column(10, nan), "reduce.max": column(12, nan)}
    for cells, expected in ((reduce, []), (reduce | {"reduce.max": column(12, 9)}, ["classes[1].reduce.tasks"])):
        classes = Columns(JobClass, ["sort", "scan"], own | cells)
        facts = type(spec.facts)(vms=spec.facts.vms, classes=classes)
        assert [each.path for each in validate(facts, type(facts))] == expected
