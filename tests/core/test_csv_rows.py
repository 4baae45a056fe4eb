"""CSV is read whole or refused at its place: no quote takes the rows that follow it into one cell."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mrdsl.core.csv_text import CsvError, cell_starts, csv_rows
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.exchange.demand import Wanted, read_demand
from mrdsl.exchange.job_traces import read_jobs
from mrdsl.language.loading import load_file
from mrdsl.spec.schema import Source

ROOT = Path(__file__).resolve().parents[2]
CELLS = st.text(st.sampled_from('ab1 ,"\n\t;'), max_size=6)
TABLES = st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5)

CLASSES = (ROOT / "tests" / "language" / "data" / "classes.csv").read_text(encoding="utf-8").rstrip("\n").split("\n")
REGION = (ROOT / "tests" / "language" / "data" / "region.csv").read_text(encoding="utf-8").rstrip("\n").split("\n")
JOBS = ["name,submit [s],map.tasks,map.avg [s]", "a,0,4,10", "b,60,8,10", "c,70,8,10"]
DEMAND = ["hour,sort", "0,4", "1,5", "2,6"]

CAPACITY = """problem capacity
vm m5 { on_demand { price = 0.192 USD/h } }
classes from "table.csv"
minimize cost
"""


def read(text: str) -> tuple[list[list[str]], CsvError | None]:
    """The rows of a text, or why it is refused."""
    try:
        return [row for _, row in csv_rows(text.splitlines(keepends=True))], None
    except CsvError as refused:
        return [], refused


@given(TABLES)
def test_what_a_writer_quotes_is_read_as_it_was(rows: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    found = list(csv_rows(io.StringIO(out.getvalue(), newline="")))
    assert [row for _, row in found] == [row for row in rows if any(cell.strip() for cell in row)]
    for line, row in found:
        text = out.getvalue().split("\n", line - 1)[-1]
        assert next(text[start:end] for start, end in cell_starts(text)) == '"' + row[0].replace('"', '""') + '"'


@given(TABLES, st.integers(0, 200))
@example([["", "x"], ["", "y"]], 3)
def test_a_stray_quote_is_refused_on_the_line_of_its_cell_or_takes_no_row(rows: list[list[str]], at: int) -> None:
    plain = [["".join(c for c in cell if c in "ab1;") or "0" for cell in row] for row in rows]
    text = "".join(",".join(row) + "\n" for row in plain)
    at = min(at, len(text) - 1)
    line, broken = text[:at].count("\n") + 1, text[:at] + '"' + text[at:]
    found, refused = read(broken)
    if refused is not None:
        assert refused.line == line
        assert broken.split("\n")[line - 1][refused.column - 1] == '"'
    else:
        assert len(found) == sum(any(cell.strip() for cell in row) for row in plain)
        assert not any("\n" in cell for row in found for cell in row)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('a,b\n1,"join\n2,3\n', (2, 3)),
        ('a,b\n"x"y,3\n', (2, 1)),
        ('a,b\n"join,1\nb,"x",3\n', (2, 1)),
        ('a\n"x\ny",2,"z\n', (3, 6)),
        ('"', (1, 1)),
        ('a,b\n1,"' + "x" * 200_000, (2, 3)),
    ],
)
def test_the_place_is_the_quote_that_opens_the_cell(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(CsvError) as refused:
        list(csv_rows(text.splitlines(keepends=True)))
    assert (refused.value.line, refused.value.column) == place


def with_quote(lines: list[str], row: int, ends: bool, cell: int = 0) -> str:
    """The lines with a quote before a cell of a row, which the same cell of the last row closes if ``ends``."""
    found = [line.split(",") for line in lines]
    found[row][cell] = '"' + found[row][cell]
    if ends:
        found[-1][cell] += '"'
    return "\n".join(map(",".join, found)) + "\n"


@pytest.mark.parametrize("ends", [False, True], ids=["never closed", "closed rows later"])
@pytest.mark.parametrize("cell", [0, 1], ids=["first cell", "second cell"])
@pytest.mark.parametrize("reader", ["classes", "catalogue", "jobs", "demand"])
def test_every_reader_refuses_a_quote_that_takes_rows(reader: str, cell: int, ends: bool, tmp_path: Path) -> None:
    table, spec = tmp_path / "table.csv", tmp_path / "a.mrspec"
    mistakes: list[Diagnostic] = []
    if reader == "jobs":
        table.write_text(with_quote(JOBS, 1, ends, cell))
        list(read_jobs(table, mistakes))
    elif reader == "catalogue":
        table.write_text(with_quote(REGION, 1, ends, cell))
        spec.write_text('problem capacity\nvms from ec2("table.csv")\nminimize cost\n')
        mistakes = list(load_file(spec).diagnostics)
    elif reader == "classes":
        table.write_text(with_quote(CLASSES, 1, ends, cell))
        spec.write_text(CAPACITY)
        mistakes = list(load_file(spec).diagnostics)
    else:
        table.write_text(with_quote(DEMAND, 1, ends, cell))
        _, found = read_demand(Source("demand", str(table), "table.csv"), [Wanted("class", "sort", None)], 3)
        mistakes = list(found)
    text = table.read_text().split("\n")[1]
    column = 1 if ends and reader == "jobs" else text.index('"') + 1
    places = [(each.severity.value, each.span.line, each.span.column) for each in mistakes if each.span is not None]
    assert ("error", 2, column) in places, [each.message for each in mistakes]


def test_no_other_module_reads_csv_by_itself() -> None:
    others = [path for path in (ROOT / "mrdsl").rglob("*.py") if "csv.reader(" in path.read_text(encoding="utf-8")]
    assert [path.name for path in others] == ["csv_text.py"]
    assert not [path for path in (ROOT / "mrdsl").rglob("*.py") if "DictReader" in path.read_text(encoding="utf-8")]
