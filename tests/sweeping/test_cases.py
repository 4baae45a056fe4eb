"""Cases of a sweep: parameters whose values belong together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.core.charts import LineChart
from mrdsl.sweeping.cells import Axis, cells, parse_axis, sweep_chart

SPEC = """problem capacity "q"
param load = 1
param limit = 20 s
vm m5 { on_demand { price = 0.2 USD/h } }
class a { map { tasks = 4, avg = 10 s, max = 10 s }, slots { map = 2, reduce = 1 }
  jobs = 3 * load .. 3 * load, deadline = limit, penalty = 1 USD }
minimize cost
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "q.mrspec"
    path.write_text(SPEC)
    return path


def run(*words: object) -> object:
    ran = CliRunner().invoke(cli, ["sweep", *map(str, words)], standalone_mode=False, catch_exceptions=False)
    return ran.return_value


def costs(table: Sequence[object]) -> list[object]:
    return [row["value"] for row in table]  # type: ignore[index]


def test_each_case_is_solved_with_each_combination() -> None:
    cases = [Axis("load", ("1", "2")), Axis("limit", ("20 s", "1 min"))]
    found = cells([parse_axis("price=3,4")], (), cases)
    assert [tuple(cell.parameters.items()) for cell in found] == [
        (("load", load), ("limit", limit), ("price", price))
        for load, limit in (("1", "20 s"), ("2", "1 min"))
        for price in ("3", "4")
    ]


def test_a_table_of_cases_is_solved_and_drawn_again(spec: Path, tmp_path: Path) -> None:
    """Two waves of two tasks take 20 s, four of one 40 s: 3 * 2 and 9 * 1 slots are on 3 and 5 VMs."""
    hours = tmp_path / "hours.csv"
    hours.write_text("load;limit [s]\n1;20,0\n3;40\n")
    assert run(spec, "--cases", hours, "-j", 1, "-o", tmp_path / "out.csv") == 0
    lines = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert lines[0][:4] == ["run", "load", "limit [s]", "seed"]
    value = lines[0].index("value")
    assert [float(line[value]) for line in lines[1:]] == pytest.approx([0.6, 1.0])
    assert run(tmp_path / "out.csv", "--plot", tmp_path / "out.md") == 0
    assert "| 3 | 1 |" in (tmp_path / "out.md").read_text()


def test_python_takes_mappings_and_a_file(spec: Path, tmp_path: Path) -> None:
    cases = [{"load": 1.0, "limit": "20 s"}, {"load": 3.0, "limit": "40 s"}]
    done = mrdsl.sweep(spec, cases=cases, output=tmp_path / "a.jsonl", processes=1)
    assert costs(done.table) == pytest.approx([0.6, 1.0])
    assert [row["limit [s]"] for row in done.table] == [20, 40]
    assert run(tmp_path / "a.jsonl", "--plot", tmp_path / "a.md") == 0


def test_cases_with_a_first_value_each_are_one_line() -> None:
    rows = [{"load": load, "limit": limit, "value": load} for load, limit in ((1, 20), (2, 40), (3, 40))]
    chart = sweep_chart(rows, ["load", "limit"], "T")
    assert isinstance(chart, LineChart)
    assert [line.y for line in chart.series] == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("load,limit [s]\n1,\n", "empty-cell", "2:3"),
        ("load,a b\n1,2\n", "unknown-column", "1:6"),
        ("load,load\n1,2\n", "wrong-option", ""),
        ("load,hour\n1,2\n", "unknown-param", "1:6"),
        ("", "unreadable-table", ""),
    ],
)
def test_mistakes_in_cases(text: str, code: str, place: str, spec: Path, tmp_path: Path) -> None:
    hours = tmp_path / "hours.csv"
    hours.write_text(text)
    with pytest.raises(mrdsl.MrdslError) as caught:
        run(spec, "--cases", hours, "-o", tmp_path / "out.csv")
    (told,) = caught.value.diagnostics
    assert told.code == code
    assert str(told.span or "").endswith(place)


def test_mistakes_of_options(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "hours.csv").write_text("load\n1\n")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for words in (
        (spec, "--cases", tmp_path / "hours.csv", "--over", "load=1,2", "-o", tmp_path / "o.csv"),
        (spec, "--over", "load=1,2"),
        (tmp_path / "other.csv", "--plot", tmp_path / "o.md"),
    ):
        with pytest.raises(mrdsl.MrdslError):
            run(*words)
    with pytest.raises(mrdsl.MrdslError):
        mrdsl.sweep(spec, cases=[{"load": 1.0}, {"limit": 2.0}])
