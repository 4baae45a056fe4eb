"""Every value of the Python API prints as its command does, and is HTML in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.core.result import Table
from mrdsl.families import SHIPPED

MODELS = Path(str(resource("models")))

TEXT = """problem capacity "Less < more", estimates = paper
param load = 1
vm m5 { on_demand { price = 0.2 USD/h } }
class a { map { tasks = 4, avg = 10 s, max = 10 s }, slots { map = 2, reduce = 1 }
  jobs = 3 * load .. 3 * load, deadline = 20 s, penalty = 1 USD }
minimize cost
"""


class Cells(HTMLParser):
    """Collects the texts of a page; fails on tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cells(value: object) -> list[str]:
    parser = Cells()
    parser.feed(value._repr_html_())  # type: ignore[attr-defined]
    assert not parser.open
    return parser.texts


@pytest.fixture(scope="module")
def spec() -> mrdsl.Spec:
    return mrdsl.loads(TEXT)


def test_a_result_reads_as_the_command_prints_it(spec: mrdsl.Spec) -> None:
    result = mrdsl.solve(spec)
    assert str(result).startswith("Less < more\n\nVMs\n")
    assert "optimal: cost 1 USD for 1 h" in str(result)
    assert "Less < more" in "".join(cells(result))
    assert {"on demand", "5"} <= set(cells(result))


def test_a_plan_shows_its_tables_with_and_without_a_result(spec: mrdsl.Spec) -> None:
    plan = mrdsl.solve(spec).plan
    assert "[money]" not in str(plan)
    assert "5" in cells(plan)


def test_a_spec_shows_its_text(spec: mrdsl.Spec) -> None:
    assert str(spec) == TEXT
    assert "".join(cells(spec)).strip() == TEXT.strip()


def test_explanations_comparisons_and_changes(spec: mrdsl.Spec) -> None:
    first, second = mrdsl.solve(spec), mrdsl.solve(mrdsl.loads(TEXT, {"load": 2}))
    assert "Goal" in str(mrdsl.compare(first, second))
    assert "rent 4 m5 on demand (5 to 9)" in str(mrdsl.diff(first, second))
    assert str(mrdsl.diff(first, first)) == "nothing to do\n"
    assert "constraint" in str(mrdsl.why(spec))
    for value in (mrdsl.compare(first, second), mrdsl.diff(first, second), mrdsl.why(spec)):
        assert cells(value)


def test_a_sweep_shows_its_runs(spec: mrdsl.Spec, tmp_path: Path) -> None:
    path = tmp_path / "a.mrspec"
    path.write_text(TEXT)
    done = mrdsl.sweep(path, {"load": [1, 2]}, tmp_path / "a.csv", processes=1)
    assert [line.split()[0] for line in str(done).splitlines()[1:]] == ["load", "----", "1", "2"]
    assert {"load", "1.8"} <= set(cells(done))


def test_a_wrong_keyword_names_the_function(spec: mrdsl.Spec) -> None:
    with pytest.raises(TypeError, match=r"solve\(\) got an unexpected keyword argument 'gap'"):
        mrdsl.solve(spec, gap=0.1)  # type: ignore[call-arg]


@pytest.mark.parametrize("family", SHIPPED)
def test_every_family_has_a_main_table_and_a_chart(family: str) -> None:
    """The main table has a row for each thing that the family plans, or their sum."""
    result = mrdsl.solve(mrdsl.load(MODELS / family / "reference.mrspec"), limits=mrdsl.Limits(time=5.0))
    assert result.plan is not None
    table = next(each for each in result.tables() if each.title.startswith(result.plan.planned))
    frame = result.to_dataframe()
    assert list(frame.columns) == list(table.columns)
    assert len(frame) == len(table.rows)
    assert list(result.plan.to_dataframe(result.tables()[-1].title)) is not None
    titles = [chart.title for chart in result.charts]
    assert titles
    assert result.plot(titles[-1]).to_dict()["title"]["text"] == titles[-1]
    with pytest.raises(mrdsl.MrdslError, match="nothing of this name"):
        result.to_dataframe("nothing of this name")
    with pytest.raises(mrdsl.MrdslError, match=titles[0]):
        result.plot("nothing of this name")


def test_frames_and_charts_of_other_values(spec: mrdsl.Spec, tmp_path: Path) -> None:
    first, second = mrdsl.solve(spec), mrdsl.solve(mrdsl.loads(TEXT, {"load": 2}))
    compared, changed, why = mrdsl.compare(first, second), mrdsl.diff(first, second), mrdsl.why(spec)
    assert compared.charts[0].table().rows == [("first", 1.0), ("second", pytest.approx(1.8))]
    assert 4 in changed.to_dataframe()["change"].tolist()
    assert (5, 9) in zip(*changed.charts[0].series.values(), strict=True)
    assert why.charts == first.charts
    assert why.to_dataframe().columns.tolist() == list(why.tables[0].columns)
    path = tmp_path / "a.mrspec"
    path.write_text(TEXT)
    done = mrdsl.sweep(path, {"load": [1, 2]}, tmp_path / "a.csv", processes=1)
    assert done.charts[0].series[0].y == pytest.approx([1.0, 1.8])
    for value in (compared, changed, done, why):
        assert value.plot().to_dict()["title"]
    with pytest.raises(mrdsl.MrdslError, match="no table"):
        spec.to_dataframe()
    with pytest.raises(mrdsl.MrdslError, match="no chart"):
        mrdsl.Result(mrdsl.Termination.INFEASIBLE).plot()


class Printer:
    """Takes the text that IPython prints."""

    printed = ""

    def text(self, text: str) -> None:
        self.printed += text


def test_ipython_prints_a_comparison_as_the_command_does(spec: mrdsl.Spec) -> None:
    result, printer = mrdsl.solve(spec), Printer()
    compared = mrdsl.compare(result, result)
    compared._repr_pretty_(printer, False)
    assert printer.printed == str(compared)


def test_profiles_read_as_the_command_prints_them() -> None:
    profiles = mrdsl.profile([MODELS / "logs"])
    assert {"clicks", "thumbnails"} <= set(cells(profiles))
    assert profiles.to_dataframe()["name"].tolist() == ["clicks", "thumbnails"]
    assert profiles.plot().to_dict()["title"]["text"] == "Average task times"


def test_markup_and_hidden_characters_are_escaped() -> None:
    table = Table("<b>", ("a&b", "x"), [("<script>", 1.5), ("\x1b[31m", None)])
    assert cells(table)[:2] == ["<b>", "a&b"]
    assert "\x1b" not in table._repr_html_() + str(table)
