"""The page of a report: nothing of it is fetched, no name becomes markup, the same report gives the same bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from mrdsl.core.charts import Bar, BarChart, GanttChart, Graph, GraphNode, Interval, IntervalChart, LineChart, Series
from mrdsl.core.result import Table
from mrdsl.reporting.charts.colors import GROUNDS, PALETTE
from mrdsl.reporting.report import Listing, Report, Section
from mrdsl.reporting.report_files import page

EVIL = '\\", x: 1, "\'</script><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\x1b[31m'
NAN = float("nan")


def hostile() -> Report:
    charts = (
        BarChart(EVIL, (EVIL, "b"), {EVIL: [1.0, NAN], "q": [2.0, 3.0]}, EVIL, EVIL),
        LineChart(EVIL, EVIL, EVIL, (Series(EVIL, [0, 1, 2], [1, NAN, 2], [0] * 3, [3] * 3),)),
        IntervalChart(EVIL, EVIL, (Interval(EVIL, {EVIL: 1.0, "b": None}, 2.0),), EVIL),
        GanttChart(EVIL, (Bar(EVIL, EVIL, 0, 5, EVIL), Bar(EVIL, "b", 2, 9))),
        Graph(EVIL, (GraphNode("a", EVIL, (EVIL,), EVIL), GraphNode("b", "b")), (("a", "b"),)),
    )
    listing = Listing(EVIL, f"{EVIL}\nproblem capacity", {1: [EVIL]})
    sections = (
        Section("Drawings", charts),
        Section("Drawings", ()),
        Section("Words", (EVIL, Table(EVIL, (EVIL,), [(EVIL,)]), listing)),
    )
    return Report(EVIL, EVIL, EVIL, sections)


class Elements(HTMLParser):
    """Every start tag with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def made() -> str:
    return page(hostile())


def test_the_same_report_gives_the_same_bytes(made: str) -> None:
    assert page(hostile()) == made


def test_names_stay_names(made: str) -> None:
    elements = Elements()
    elements.feed(made)
    assert [tag for tag, _ in elements.tags].count("script") == 3
    images = [given for tag, given in elements.tags if tag == "img"]
    assert len(images) == 5
    assert all((given["src"] or "").startswith("data:image/svg+xml;base64,") for given in images)
    assert not any(name.startswith("on") for _, given in elements.tags for name in given)
    assert "49" not in re.findall(r"<h1>(.*?)</h1>", made)[0]
    assert "\x1b" not in made


def test_every_id_is_there_once(made: str) -> None:
    elements = Elements()
    elements.feed(made)
    ids = [given["id"] for _, given in elements.tags if "id" in given]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched_and_only_the_pages_own_scripts_run(made: str) -> None:
    elements = Elements()
    elements.feed(made)
    addresses = [value for _, given in elements.tags for name, value in given.items() if name in ("src", "href")]
    assert all(value is not None and value.startswith(("#", "data:")) for value in addresses)
    policy = next(given["content"] for _, given in elements.tags if given.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    scripts = re.findall(r"<script>(.*?)</script>", made, re.S)
    assert len(scripts) == 2
    for script in scripts:
        print_ = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{print_}'" in policy
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.partition("style-src")[0]


def test_what_the_script_draws_is_json_without_markup(made: str) -> None:
    text = re.findall(r'<script type="application/json" id="drawings">(.*?)</script>', made)[0]
    assert not set("<>&") & set(text)
    document = json.loads(text)
    assert len(document["drawings"]) == 5
    assert set(document["looks"]) == {"light", "dark"}
    made_up = re.findall(r'"(?:param|view)_(\w+)"', text)
    assert all(re.fullmatch(r"\d{1,2}", number) for number in made_up)


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", GROUNDS)
def test_colours_keep_their_contrast(name: str) -> None:
    """AA: 4.5 for text, 3 for what is drawn; white stands on bars."""
    ground = GROUNDS[name]
    assert min(contrast(text, ground.paper) for text in (ground.ink, ground.soft, ground.link)) >= 4.5
    assert contrast(ground.ink, ground.mark) >= 4.5
    assert min(contrast(colour, ground.paper) for colour in PALETTE) >= 3.0
    assert min(contrast(colour, "#ffffff") for colour in PALETTE) >= 4.5


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
