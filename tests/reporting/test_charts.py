"""Charts say what they were given, place things to scale, and never change by themselves."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mrdsl.cli import cli
from mrdsl.core.charts import (
    Bar,
    BarChart,
    Chart,
    GanttChart,
    Graph,
    GraphNode,
    Interval,
    IntervalChart,
    LineChart,
    Series,
    parts_chart,
)
from mrdsl.core.diagnostics import MrdslError
from mrdsl.exchange.registry import DRAWN
from mrdsl.reporting.charts import png, specification, svg
from mrdsl.reporting.charts.diagrams import layers, levels
from mrdsl.reporting.charts.drawing import time_unit
from mrdsl.reporting.report_files import FORMS, write_chart

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
NAN = float("nan")
EMPTY: list[Chart] = [
    GanttChart("", ()),
    LineChart("", "", "", ()),
    BarChart("", (), {}),
    IntervalChart("", "", ()),
    Graph("", ()),
]


def texts(markup: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(markup).iter(f"{SVG}text")]


def marks(markup: str, kind: str) -> list[ET.Element]:
    """The drawn things of a kind that have a label for assistive programs."""
    labelled = (node for node in ET.fromstring(markup).iter(f"{SVG}path") if node.get("aria-label"))
    return [node for node in labelled if node.get("aria-roledescription") == kind]


def rows(made: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The data of the first layer whose rows have the key."""
    data = [layer.get("data", made.get("data")) for layer in made.get("layer", [made])]
    return next(each["values"] for each in data if each and each["values"] and key in each["values"][0])


def test_time_axes_take_the_unit_that_reads_well() -> None:
    assert [time_unit(t)[1] for t in (10, 170, 180, 4 * 3600, 4 * 86400)] == ["s", "s", "min", "h", "d"]


def test_gantt_bars_are_to_scale_and_escaped() -> None:
    drawn = svg(GanttChart("A & B", (Bar("a", "x<y", 0, 50, "map"), Bar("b & c", "", 50, 100, "reduce"))))
    spans = []
    for bar in marks(drawn, "bar"):
        across = [float(x) for x in re.findall(r"[ML](-?[\d.]+),", bar.attrib["d"])]
        spans.append((min(across), max(across)))
    (left, middle), (begins, right) = spans
    assert middle == pytest.approx(begins, abs=5)
    assert middle - left == pytest.approx(right - begins, abs=5)
    assert {"A & B", "x<y", "b & c", "map", "reduce", "time [s]"} <= set(texts(drawn))
    data = rows(specification(GanttChart("", (Bar("a", "x", 0, 7200), Bar("a", "y", 7200, 14400)))), "from")
    assert [(row["from"], row["to"]) for row in data] == [(0, 2), (2, 4)]


def test_overlapping_bars_of_a_lane_do_not_hide_each_other() -> None:
    bars = [Bar("a", "1", 0, 10), Bar("a", "2", 5, 15), Bar("a", "3", 10, 20), Bar("b", "4", 0, 1)]
    assert {bar.label: level for bar, level in levels(bars)} == {"1": 0, "2": 1, "3": 0, "4": 0}


def test_a_line_breaks_where_a_value_is_missing() -> None:
    chart = LineChart(
        "T", "x", "y", (Series("s", [0, 1, 2, 3, 4], [1, 2, NAN, 4, 5], [0] * 5, [6] * 5), Series("t", [0], [1]))
    )
    drawn = svg(chart)
    lines = [
        node for node in ET.fromstring(drawn).iter(f"{SVG}path") if node.get("aria-roledescription") == "line mark"
    ]
    assert lines[0].attrib["d"].count("M") == 2
    assert len(marks(drawn, "point")) == 5
    assert {"T", "x", "y", "s", "t"} <= set(texts(drawn))


def test_bars_stand_on_zero_and_leave_holes() -> None:
    bars = marks(svg(BarChart("T", ("a", "b"), {"p": [1.0, -1.0], "q": [2.0, NAN]})), "bar")
    heights = [abs(float(re.findall(r"v(-?[\d.]+)", bar.attrib["d"])[0])) for bar in bars]
    assert len(heights) == 3
    assert heights[2] == pytest.approx(2 * heights[0], abs=0.02)
    assert heights[1] == pytest.approx(heights[0], abs=0.02)


def test_a_limit_stands_beside_what_should_keep_it() -> None:
    chart = IntervalChart(
        "T", "time [s]", (Interval("a", {"low": 1.0, "high": 4.0}, 3.0), Interval("b", {"low": None}))
    )
    drawn = svg(chart)
    assert len(marks(drawn, "point")) == 3
    assert {"a", "low", "high", "deadline", "time [s]"} <= set(texts(drawn))
    assert chart.table().rows == [("a", 1.0, 4.0, 3.0), ("b", None, None, None)]


def test_a_graph_runs_left_to_right() -> None:
    nodes = (GraphNode("z", "last"), GraphNode("a", "first", ("60 s",), marked=True), GraphNode("m", "middle"))
    graph = Graph("G", nodes, (("a", "m"), ("m", "z"), ("a", "z")))
    assert layers(graph) == [["a"], ["m"], ["z"]]
    boxes = {row["name"]: row["x"] for row in rows(specification(graph), "short")}
    assert boxes["first"] < boxes["middle"] < boxes["last"]
    assert len(rows(specification(graph), "x2")) == 3


def test_a_graph_refuses_a_cycle_and_an_unknown_box() -> None:
    pair = (GraphNode("a", "a"), GraphNode("b", "b"))
    with pytest.raises(ValueError, match="cycle"):
        specification(Graph("", pair, (("a", "b"), ("b", "a"))))
    with pytest.raises(KeyError):
        specification(Graph("", pair, (("a", "c"),)))


def test_boxes_of_one_layer_do_not_overlap_and_few_edges_cross() -> None:
    nodes = tuple(GraphNode(f"n{i}", f"n{i}", ("one", "two")) for i in range(12))
    edges = tuple((("n0", f"n{i}")) for i in range(1, 11)) + tuple((f"n{i}", "n11") for i in range(1, 11))
    boxes = sorted((row["x"], row["y"], row["y2"]) for row in rows(specification(Graph("", nodes, edges)), "short"))
    middle = boxes[1:11]
    assert len({x for x, _, _ in middle}) == 1
    assert all(after >= end for (_, _, end), (_, after, _) in itertools.pairwise(middle))
    crossed = Graph("", nodes[:4], (("n0", "n3"), ("n1", "n2")))
    (upper, lower), (left, right) = layers(crossed)
    assert {(upper, left), (lower, right)} == {("n0", "n3"), ("n1", "n2")}


@pytest.mark.parametrize("empty", EMPTY, ids=lambda chart: type(chart).__name__)
def test_nothing_still_draws(empty: Chart) -> None:
    assert ET.fromstring(svg(empty)).tag == f"{SVG}svg"
    assert empty.table().rows == []


def test_the_same_chart_gives_the_same_bytes() -> None:
    chart = LineChart("T", "x", "y", (Series("s", [0, 1], [1, 2], [0, 0], [3, 3]), Series("t", [0, 1], [2, 1])))
    assert svg(chart) == svg(chart)
    assert specification(chart) == specification(chart)
    assert "param_" not in str(specification(chart))


def test_files_are_what_their_names_end_in(tmp_path: Path) -> None:
    chart = parts_chart("Cost", {"VMs": 2.0, "penalties": 1.0}, "cost [USD]")
    for name, begins in (("a.svg", b"<svg"), ("a.png", b"\x89PNG")):
        write_chart(tmp_path / name, chart)
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert png(chart) == (tmp_path / "a.png").read_bytes()
    with pytest.raises(MrdslError, match=r"`a\.pdf` has no extension of a picture"):
        write_chart(tmp_path / "a.pdf", chart)
    with pytest.raises(MrdslError, match="already exists"):
        write_chart(tmp_path / "a.svg", chart)


STARTS = {".svg": b"<svg", ".png": b"\x89PNG\r\n\x1a\n", ".html": b"<!DOCTYPE html>"}


@pytest.mark.parametrize("ending", STARTS)
@pytest.mark.parametrize(
    "words",
    [
        "solve models/makespan/reference.mrspec --gantt",
        "solve models/deadline/reference.mrspec --graph",
        "simulate models/bounds/table3.mrspec --runs 1 --jobs 3 --gantt",
    ],
    ids=["gantt", "graph", "run"],
)
def test_a_drawing_is_what_its_name_says(words: str, ending: str, tmp_path: Path) -> None:
    command, spec, *rest = words.split()
    drawing = tmp_path / f"plan{ending.upper() if ending == '.png' else ending}"
    done = CliRunner().invoke(cli, [command, str(ROOT / spec), *rest, str(drawing)], standalone_mode=False)
    assert done.return_value == 0, done.output
    content = drawing.read_bytes()
    assert content.startswith(STARTS[ending])
    if ending == ".html":
        assert b'id="decision"' not in content
        assert content.count(b"<figure") == 1


@pytest.mark.parametrize("name", ["plan.pdf", "plan"])
@pytest.mark.parametrize("option", ["solve --gantt", "solve --graph", "simulate --gantt"])
def test_an_ending_of_no_picture_is_refused_before_the_work(
    option: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mrdsl.cli.solve.open_input", None)
    command, named = option.split()
    spec = str(ROOT / "models" / "bounds" / "reference.mrspec")
    with pytest.raises(MrdslError, match=f"`{name}` has no extension of a picture") as caught:
        CliRunner().invoke(
            cli, [command, spec, named, str(tmp_path / name)], standalone_mode=False, catch_exceptions=False
        )
    (told,) = caught.value.diagnostics
    assert (told.code, told.hint) == ("wrong-option", "end it in .svg, .png, .html")


def test_the_registry_names_the_endings_that_are_drawn() -> None:
    assert tuple(FORMS) == DRAWN
