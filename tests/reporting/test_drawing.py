"""The drawings are well-formed XML, say what they were given, place things to scale and never change by themselves."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import pytest

from mrdsl.core.result import Bar
from mrdsl.reporting.drawing import GraphNode, Series, bar_chart, gantt, graph, line_chart
from mrdsl.reporting.drawing.scale import linear, round_step, time_unit

SVG = "{http://www.w3.org/2000/svg}"


def texts(markup: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(markup).iter(f"{SVG}text")]


@pytest.mark.parametrize(("rough", "step"), [(1, 1), (1.01, 2), (2.1, 2.5), (3, 5), (7, 10), (0.03, 0.05), (640, 1000)])
def test_steps_are_round(rough: float, step: float) -> None:
    assert round_step(rough) == pytest.approx(step)


@pytest.mark.parametrize("values", [[], [3.0], [0.0], [-2.0, 5.0], [1e-9, 2e-9], [1e9, 1e9 + 1], [float("nan"), 1.0]])
def test_a_scale_covers_its_values_with_a_few_ticks(values: list[float]) -> None:
    scale = linear(values, 0, 100)
    finite = [value for value in values if value == value]
    assert all(scale.low <= value <= scale.high for value in finite)
    assert 2 <= len(scale.ticks()) <= 12
    assert scale(scale.low) == 0
    assert scale(scale.high) == 100


def test_time_axes_take_the_unit_that_reads_well() -> None:
    assert [time_unit(t)[1] for t in (10, 170, 180, 4 * 3600, 4 * 86400)] == ["s", "s", "min", "h", "d"]


def test_gantt_bars_are_to_scale_and_escaped() -> None:
    drawn = gantt([Bar("a", "x<y", 0, 50, "map"), Bar("b & c", "", 50, 100, "reduce")], "A & B")
    boxes = [g.find(f"{SVG}rect") for g in ET.fromstring(drawn).iter(f"{SVG}g")]
    first, second = (float(box.attrib["width"]) for box in boxes if box is not None)
    assert first == pytest.approx(second, abs=0.02)
    assert {"A & B", "x<y", "b & c", "map", "reduce", "time [s]"} <= set(texts(drawn))


def test_overlapping_bars_of_a_lane_do_not_hide_each_other() -> None:
    drawn = gantt([Bar("a", "", 0, 10), Bar("a", "", 5, 15), Bar("a", "", 10, 20)])
    tops = [g.find(f"{SVG}rect").attrib["y"] for g in ET.fromstring(drawn).iter(f"{SVG}g")]  # type: ignore[union-attr]
    assert tops[0] == tops[2] != tops[1]


def test_a_line_breaks_where_a_value_is_missing() -> None:
    drawn = line_chart([Series("s", [0, 1, 2, 3, 4], [1, 2, float("nan"), 4, 5], [0] * 5, [6] * 5)], "T", "x", "y")
    tree = ET.fromstring(drawn)
    assert len(list(tree.iter(f"{SVG}polyline"))) == 2
    assert len(list(tree.iter(f"{SVG}polygon"))) == 1
    assert {"T", "x", "y", "s"} <= set(texts(drawn))


def test_bars_stand_on_zero_and_leave_holes() -> None:
    drawn = bar_chart(["a", "b"], {"p": [1.0, -1.0], "q": [2.0, float("nan")]}, "T")
    bars = [r for r in ET.fromstring(drawn).iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert len(heights) == 3
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.02)
    assert heights[2] == pytest.approx(heights[0], abs=0.02)


def test_a_graph_runs_left_to_right() -> None:
    nodes = [GraphNode("z", "last"), GraphNode("a", "first", ("60 s",), marked=True), GraphNode("m", "middle")]
    drawn = graph(nodes, [("a", "m"), ("m", "z"), ("a", "z")], "G")
    left = {
        g.findtext(f"{SVG}text"): float(g.find(f"{SVG}rect").attrib["x"])  # type: ignore[union-attr]
        for g in ET.fromstring(drawn).iter(f"{SVG}g")
    }
    assert left["first"] < left["middle"] < left["last"]
    assert drawn.count("url(#arrow)") == 3


def test_a_graph_refuses_a_cycle() -> None:
    with pytest.raises(ValueError, match="cycle"):
        graph([GraphNode("a", "a"), GraphNode("b", "b")], [("a", "b"), ("b", "a")])


def test_boxes_of_one_layer_do_not_overlap() -> None:
    nodes = [GraphNode(f"n{i}", f"n{i}", ("one", "two")) for i in range(12)]
    edges = [("n0", f"n{i}") for i in range(1, 11)] + [(f"n{i}", "n11") for i in range(1, 11)]
    boxes = [
        [float(g.find(f"{SVG}rect").attrib[k]) for k in ("x", "y", "height")]  # type: ignore[union-attr]
        for g in ET.fromstring(graph(nodes, edges)).iter(f"{SVG}g")
    ]
    middle = sorted(y for x, y, _ in boxes[1:11])
    assert all(b - a >= boxes[1][2] for a, b in itertools.pairwise(middle))


@pytest.mark.parametrize("empty", [gantt([]), line_chart([], "", "", ""), bar_chart([], {}, ""), graph([], [])])
def test_nothing_still_draws(empty: str) -> None:
    assert ET.fromstring(empty).tag == f"{SVG}svg"
