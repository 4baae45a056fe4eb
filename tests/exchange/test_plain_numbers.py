"""Plain decimal numbers of a table are read to the bit as `float` reads them, and nothing else is taken for one."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.exchange.cells import LONGEST, CellReader, RawTable, cells_of, read_raw
from mrdsl.spec.schema import Source

ODD = (
    "",
    ".",
    "1.2.3",
    "-1",
    "+1",
    "1e3",
    " 1",
    "1 ",
    "1_0",
    "nan",
    "inf",
    "x",
    "٣",
    "0x1",
    "1" * (LONGEST + 1),
    "1\v",
)


class Found:
    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def add(self, diagnostic: Diagnostic | None) -> None:
        assert diagnostic is not None
        self.found.append(diagnostic)


def plain(draw: random.Random) -> str:
    """Digits with at most one point, up to as many characters as are read."""
    size = draw.randint(1, LONGEST)
    digits = "".join(draw.choice("0123456789") for _ in range(size))
    at = draw.randint(0, size - 1)
    return digits if size == 1 or draw.random() < 0.3 else digits[:at] + "." + digits[at + 1 :]


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_those_of_float(seed: int) -> None:
    draw = random.Random(seed)
    rows = [[plain(draw) for _ in range(3)] for _ in range(500)]
    text = "a,b,c\n" + "".join(",".join(row) + "\n" for row in rows)
    cells = cells_of(text.encode(), 3, ",")
    assert cells is not None
    for index in range(3):
        found = cells.column(index)
        assert found is not None
        assert found.tolist() == [float(row[index]) for row in rows]


@pytest.mark.parametrize("odd", ODD)
def test_what_is_not_plain_is_left_to_a_slower_reader(odd: str) -> None:
    cells = cells_of(f"a,b\n1,2\n{odd},3\n4,5.5\n".encode(), 2, ",")
    assert cells is not None
    assert cells.column(0) is None
    assert cells.column(1) is not None


@pytest.mark.parametrize("text", ["a,b\n1\n", "a,b\n1,2,3\n", "a\n1,2\n", "a,b\n1,2\n\n"])
def test_lines_of_another_number_of_cells_are_no_columns(text: str) -> None:
    assert cells_of(text.encode(), text.partition("\n")[0].count(",") + 1, ",") is None


@pytest.mark.parametrize("last", ["\n", ""])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_single_column_and_the_end_of_a_file(last: str, delimiter: str, tmp_path: Path) -> None:
    for heads, row in (("a", "7.25"), (f"a{delimiter}b", f"1{delimiter}7.25")):
        path = tmp_path / ("t.tsv" if delimiter == "\t" else "t.csv")
        path.write_text(f"{heads}\n{row}\n{row}{last}")
        raw = read_raw(Source("table", str(path), "t"), "t")
        assert raw.plain
        assert CellReader(raw, Found()).numbers([heads.count(delimiter)], [True])[0].tolist() == [7.25, 7.25]


@pytest.mark.parametrize("seed", range(30))
def test_readers_of_one_table_agree(seed: int, tmp_path: Path) -> None:
    """Values and mistakes are the same whether columns are read at once or cell by cell."""
    draw = random.Random(seed)
    rows = [[plain(draw) if draw.random() < 0.99 else draw.choice(ODD[:-1]) for _ in range(3)] for _ in range(40)]
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "".join(",".join(row) + "\n" for row in rows))
    raw = read_raw(Source("table", str(path), "t"), "t")
    slow = RawTable(raw.file, raw.text, raw.header, raw.delimiter, raw.rows, False)
    values, mistakes = [], []
    for table in (raw, slow):
        report = Found()
        values.append(CellReader(table, report).numbers([0, 1, 2], [True, False, True]))
        mistakes.append([(d.code, d.message, d.span) for d in report.found])
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*values, strict=True))
    assert mistakes[0] == mistakes[1]


def test_a_range_in_a_cell_is_told_where_its_ends_stand(tmp_path: Path) -> None:
    path, report = tmp_path / "t.csv", Found()
    path.write_text("a,jobs\n1,4..6\n2,x\n")
    CellReader(read_raw(Source("table", str(path), "t"), "t"), report).numbers([1], [True])
    assert [d.hint for d in report.found] == [
        "a range has a column for each end: `jobs.low` and `jobs.high`",
        "write a plain number",
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_rows_read_in_parts_are_the_same(rows: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "name,a,b\n" + "".join(f"é{row},{row}.5,{7 * row}\n" for row in range(rows))
    monkeypatch.setattr("mrdsl.exchange.cells.AT_ONCE", at_once)
    cells = cells_of(text.encode(), 3, ",")
    assert cells is not None
    assert cells.texts(0) == [f"é{row}" for row in range(rows)]
    assert [*map(list, (cells.column(1), cells.column(2)))] == [  # type: ignore[arg-type]
        [row + 0.5 for row in range(rows)],
        [7.0 * row for row in range(rows)],
    ]
    assert cells_of(text.replace(",0.5,", ",", 1).encode(), 3, ",") is None
