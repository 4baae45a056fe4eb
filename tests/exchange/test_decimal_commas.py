"""Tables with semicolons and decimal commas, as spreadsheets write them in much of the world."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.exchange.cells import CellReader, RawTable, read_raw
from mrdsl.exchange.job_traces import read_jobs, read_runs
from mrdsl.exchange.text import FormatError, Mistakes
from mrdsl.spec.schema import Source


def table(path: Path, text: str) -> RawTable:
    path.write_bytes(text.encode("utf-8-sig"))
    return read_raw(Source("table", str(path), "t"), "t")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_decimal_commas_are_points(end: str, tmp_path: Path) -> None:
    raw = table(tmp_path / "t.csv", end.join(["name;a;b [s]", "x, y;1,5;-2,25e3", '"u";"0,5";7', ""]))
    report = Mistakes()
    columns = CellReader(raw, report).numbers([1, 2], [True, True])
    assert [column.tolist() for column in columns] == [[1.5, 0.5], [-2250.0, 7.0]]
    assert CellReader(raw, report).texts(0) == ["x, y", "u"]
    assert not report.found


def test_a_cell_keeps_its_place(tmp_path: Path) -> None:
    raw = table(tmp_path / "t.csv", "a;b\n1,5;two\n")
    report = Mistakes()
    CellReader(raw, report).numbers([0, 1], [True, True])
    assert [str(found.span) for found in report.found] == ["t:2:5"]


def test_commas_stay_separators_where_the_header_has_them(tmp_path: Path) -> None:
    assert table(tmp_path / "t.csv", "a,b;c\n1,2\n").header == ("a", "b;c")


@pytest.mark.parametrize(("cells", "column"), [("1,5;1.234", 5), ("1.234,5;2", 1), ("2;1.234.567,8", 3)])
def test_separators_of_thousands_are_refused(cells: str, column: int, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        table(tmp_path / "t.csv", f"a;b\n{cells}\n")
    assert (caught.value.line, caught.value.column) == (2, column)


def test_points_alone_are_decimal_points(tmp_path: Path) -> None:
    raw = table(tmp_path / "t.csv", "a;b\n1.234;2\n")
    assert CellReader(raw, Mistakes()).numbers([0], [True])[0].tolist() == [1.234]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("cut", [";", ",", "\t"])
def test_rows_without_values_are_left_out(cut: str, end: str, tmp_path: Path) -> None:
    lines = ("name;a;b", ";;", "x;1;2", "; ;", ";3;", ";;", ";;", "")
    raw = table(tmp_path / "t.csv", end.join(lines).replace(";", cut))
    report = Mistakes()
    reader = CellReader(raw, report)
    assert reader.texts(0) == ["x", ""]
    assert reader.numbers([1], [True])[0].tolist() == [1.0, 3.0]
    assert [raw.line(row) for row in range(raw.rows)] == [3, 5]
    assert not report.found


def test_a_table_of_empty_rows_has_no_rows(tmp_path: Path) -> None:
    report = Mistakes()
    CellReader(table(tmp_path / "t.csv", "a;b\n;\n;\n"), report)
    assert [found.code for found in report.found] == ["empty-table"]


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"'])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_names_the_separator_is_no_header(first: str, end: str, tmp_path: Path) -> None:
    raw = table(tmp_path / "t.csv", end.join((first, "name;a", "x;1,5", "")))
    report = Mistakes()
    assert raw.header == ("name", "a")
    assert CellReader(raw, report).numbers([1], [True])[0].tolist() == [1.5]
    assert [raw.line(row) for row in range(raw.rows)] == [3]
    assert not report.found


JOBS = "name;submit [s];map.tasks;map.avg [s]\n"


@pytest.mark.parametrize("begins", ["", "sep=;\r\n"])
def test_jobs_have_decimal_commas(begins: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    rows = JOBS + "a;0,5;2;1,25\n;;;\nb;1,5;3;2e1\n"
    path.write_bytes((begins + rows.replace("\n", "\r\n")).encode("utf-8-sig"))
    mistakes: list[Diagnostic] = []
    found = [(job.name, job.submit, job.map_tasks, job.map_time) for job in read_jobs(path, mistakes)]
    assert found == [("a", 0.5, 2, 1.25), ("b", 1.5, 3, 20.0)]
    assert not mistakes


def test_mistakes_in_jobs_are_at_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    for rows, place in ((JOBS + "a;0,5;2;x\n", "2:1"), (JOBS + "a;0,5;2;1.234\n", "2:9")):
        path.write_text(rows)
        mistakes: list[Diagnostic] = []
        assert not list(read_jobs(path, mistakes))
        assert [str(found.span) for found in mistakes] == [f"{path}:{place}"]


def test_jobs_are_separated_by_tabs_too(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("class\tsubmit [s]\na\t1\n")
    assert [run.submit for run in read_runs(path)] == [1.0]


def test_the_named_separator_counts_although_the_header_has_others(tmp_path: Path) -> None:
    raw = table(tmp_path / "t.csv", "sep=;\nname, long;a\nx;1,5\n")
    assert raw.header == ("name, long", "a")
    assert CellReader(raw, Mistakes()).numbers([1], [True])[0].tolist() == [1.5]
    assert table(tmp_path / "u.csv", "sep=,\na;b,c\n1,2\n").header == ("a;b", "c")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_within_a_cell_are_kept_as_they_are(end: str, tmp_path: Path) -> None:
    """They are neither empty rows nor decimal numbers; the reader reports such a cell itself."""
    cell = end.join(("first", ";;", "2,5;", " 1.234", "last"))
    raw = table(tmp_path / "t.csv", end.join(("a;b;c", f'"{cell}";"0,5";1', ";;", "x;1,5;2", "")))
    assert raw.records[0][1] == [cell.replace("\r\n", "\n"), "0.5", "1"]
    assert raw.records[1][1] == ["x", "1.5", "2"]
    assert [raw.line(row) for row in range(raw.rows)] == [2, 8]
    report = Mistakes()
    CellReader(raw, report)
    assert [(found.code, found.span.line) for found in report.found if found.span] == [("control-character", 2)]


def test_a_sign_of_inches_opens_no_cell(tmp_path: Path) -> None:
    raw = table(tmp_path / "t.csv", 'a;b\n3" disk;1,5\n4" disk;2,5\n')
    assert CellReader(raw, Mistakes()).numbers([1], [True])[0].tolist() == [1.5, 2.5]
