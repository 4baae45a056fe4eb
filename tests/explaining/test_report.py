"""A plan's report: the decision, what it rests on, what if, and what repeats it; the same plan gives the same bytes."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from mrdsl.cli.progress import StatusLine
from mrdsl.core.charts import BarChart, IntervalChart, LineChart, Series
from mrdsl.core.result import Result, Table
from mrdsl.core.watching import Progress, watched
from mrdsl.explaining.report import report
from mrdsl.explaining.sensitivity import FACTORS, Curves, How, curves
from mrdsl.families import SHIPPED
from mrdsl.families import family as find_family
from mrdsl.language.loading import load_file, load_text
from mrdsl.planning.solve_spec import solve
from mrdsl.reporting.report import Listing, Part, Report
from mrdsl.reporting.report_files import markdown
from mrdsl.simulation.settings import Settings
from studies.__main__ import studies
from tests.families.capacity.type_specs import random_types
from tests.families.foreign.installing import SHOP, install
from tests.families.foreign.shop import REFERENCE as REFERENCE_OF_SHOP

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "models" / "capacity" / "reference.mrspec"
COMMAND = "mrdsl report night.mrspec -o night.html"
SMALL = """problem capacity
vm m { on_demand { price = 1 USD/h } }
class a {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 6, deadline = 10 min, penalty = 20 USD
}
minimize cost
"""
PLAIN = How(seconds=0.0)


def parts(whole: Report, title: str) -> tuple[Part, ...]:
    return next(section.parts for section in whole.sections if section.title == title)


@pytest.fixture(scope="module")
def capacity() -> Report:
    loaded = load_file(REFERENCE)
    assert loaded.spec is not None
    return report(loaded.spec, PLAIN, COMMAND, known=loaded.diagnostics)[0]


def test_the_decision_is_what_the_plan_says(capacity: Report) -> None:
    assert capacity.decision == (
        "Rent 539 m5 on demand, 40 m5 reserved: 113.328 USD for 1 h, and 34 of 36 jobs are admitted."
    )
    assert "proven: bound 113.328" in capacity.proof


def test_the_cost_splits_into_what_the_plan_pays(capacity: Report) -> None:
    """539 · 0.192 + 40 · 0.121 + 2 · 2.50 USD by the prices in the spec; a job of twitter has 27 and 10 slots."""
    split, beside, jobs = parts(capacity, "At a glance")
    assert isinstance(split, BarChart)
    assert split.groups == ("m5 on demand", "m5 reserved", "rejected sort")
    assert split.series["cost [USD]"] == pytest.approx([539 * 0.192, 40 * 0.121, 2 * 2.5])
    assert isinstance(beside, IntervalChart)
    twitter = beside.rows[0]
    assert (twitter.limit, twitter.values["average"]) == (900.0, pytest.approx(11058 / 27 + 3692 / 10 + 117, rel=1e-9))
    assert isinstance(jobs, BarChart)
    assert jobs.series["rejected"] == [0.0, 2.0, 0.0]


def test_lines_that_something_is_said_of_are_marked(capacity: Report) -> None:
    (listing,) = parts(capacity, "Spec")
    assert isinstance(listing, Listing)
    lines = listing.text.splitlines()
    assert [lines[number - 1].split()[0] for number in sorted(listing.marks)] == ["deadline"]


def test_what_repeats_it_names_command_versions_and_fingerprints(capacity: Report) -> None:
    (told,) = parts(capacity, "To repeat it")
    assert isinstance(told, Table)
    said = dict(told.rows)
    assert said["command"] == COMMAND
    assert said["solver"].startswith("direct ")
    assert said["SHA-256 of reference.mrspec"] == hashlib.sha256(REFERENCE.read_bytes()).hexdigest()


def test_curves_are_what_solving_again_gives() -> None:
    """A second way: the text itself with other numbers, and prices as a linear program scales by them."""
    spec = load_text(SMALL).spec
    assert spec is not None
    result = solve(spec)
    found = curves(spec, result, How(seconds=60.0))
    deadline, price, times = found.charts
    assert found.computed == found.planned == 3 * (len(FACTORS) - 1)
    for factor, value in zip(FACTORS, deadline.series[0].y, strict=True):
        again = load_text(SMALL.replace("10 min", f"{600 * factor:g} s")).spec
        assert again is not None
        assert value == pytest.approx(solve(again).objective.value)
    base = result.objective.value
    assert base is not None
    assert price.series[0].y == pytest.approx([base * factor for factor in FACTORS])
    assert [line.name for line in times.series] == ["task times of a"]
    for factor, value in zip(FACTORS, times.series[0].y, strict=True):
        work = f"A = {5400 * factor} s, B = {1250 * factor} s, C = {95 * factor} s"
        longer = load_text(SMALL.replace("A = 5400 s, B = 1250 s, C = 95 s", work)).spec
        assert longer is not None
        assert value == pytest.approx(solve(longer).objective.value)


def test_a_relaxed_plan_is_compared_with_relaxed_ones() -> None:
    """Its curve is that of the relaxation, not of whole machines, which cost more."""
    spec = load_text(SMALL).spec
    assert spec is not None
    relaxed = solve(spec, relax=True)
    deadline, *_ = parts(report(spec, How(seconds=60.0), COMMAND, plan=relaxed)[0], "What if")
    assert isinstance(deadline, LineChart)
    again = load_text(SMALL.replace("10 min", "420 s")).spec
    assert again is not None
    assert deadline.series[0].y[0] == pytest.approx(solve(again, relax=True).objective.value)
    assert deadline.series[0].y[0] != pytest.approx(solve(again).objective.value, rel=1e-6)


def test_time_that_runs_out_is_told(capacity: Report) -> None:
    spec = load_file(REFERENCE).spec
    assert spec is not None
    (said,) = [part for part in parts(report(spec, How(seconds=1e-9), COMMAND)[0], "What if") if isinstance(part, str)]
    assert re.fullmatch(r"[01] of 55 points were computed in 1e-09 s; raise `--analysis-time` for more\.", said)


def test_curves_of_one_point_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load_text(SMALL).spec
    assert spec is not None
    curve, point = Series("many", [70.0, 100.0], [2.0, 1.0]), Series("single", [70.0, 100.0], [None, 1.0])
    charts = (LineChart("both", "x", "y", (curve, point)), LineChart("none", "x", "y", (point,)))
    monkeypatch.setattr("mrdsl.explaining.report.curves", lambda *_: Curves(charts, 1, 1))
    drawn, said = parts(report(spec, PLAIN, COMMAND)[0], "What if")
    assert drawn == LineChart("both", "x", "y", (curve,))
    assert isinstance(said, str)
    assert "single" in said
    assert "many" not in said


def test_a_spec_without_a_plan_says_what_excludes_what() -> None:
    spec = load_text(f"{SMALL}subject to {{ vms <= 2 }}\n").spec
    assert spec is not None
    whole, result = report(spec, How(seconds=20.0), COMMAND)
    assert result.plan is None
    assert whole.decision == "No plan meets all constraints."
    assert any("Conflicting" in part.title for part in parts(whole, "Why") if isinstance(part, Table))


def test_markdown_shows_names_as_they_are(capacity: Report) -> None:
    text = markdown(capacity)
    assert text.startswith("# Nightly analytics on rented machines\n\n**Rent 539 m5")
    assert "| twitter | 10 | 0 | 270 |" in text
    assert ">  16 |   deadline = 15 min" in text
    hostile = Report("<script>x</script> | `a`", "*b*", "", ())
    assert markdown(hostile).startswith("# &lt;script\\>x&lt;/script\\> \\| \\`a\\`\n\n**\\*b\\***")


def test_lines_hold_no_more_than_the_plan_knows() -> None:
    """A family without a goal has no curves."""
    spec = load_file(ROOT / "models" / "bounds" / "reference.mrspec").spec
    assert spec is not None
    assert curves(spec, solve(spec), PLAIN).charts == ()
    assert isinstance(LineChart("", "", "", ()).table(), Table)


@pytest.fixture(scope="module", params=SHIPPED)
def shipped(request: pytest.FixtureRequest) -> tuple[Report, Result]:
    spec = load_file(ROOT / "models" / request.param / "reference.mrspec").spec
    assert spec is not None
    return report(spec, PLAIN, COMMAND)


def test_every_family_says_what_to_do_and_draws_it(shipped: tuple[Report, Result]) -> None:
    """The decision names the figure that the plan is about: the goal's, else the plan's own."""
    whole, result = shipped
    figure = {
        "bounds": lambda plan: f"{plan.completion['average'][0]:.0f} s",
        "deadline": lambda plan: f"{plan.slack.min():.2f}".rstrip("0"),
        "energy": lambda plan: f"{plan.energy.total:.1f} J",
        "timetable": lambda plan: f"{plan.cost:.4g} USD",
        "schedule": lambda plan: f"{plan.jobs.tardy} ({100 * plan.jobs.tardy_share:.3g} %)",
    }.get(result.problem, lambda _: f"{result.objective.value:.6g}")
    assert figure(result.plan) in whole.decision
    assert whole.decision.endswith(".")
    assert parts(whole, "At a glance")
    assert parts(whole, "Assumptions")
    assert result.plan is not None
    assert list(parts(whole, "Plan")) == list(result.tables())
    for title, shown in (("Over time", result.plan.bars()), ("Order of tasks", result.plan.graph("") is not None)):
        assert any(section.title == title for section in whole.sections) == bool(shown)


def test_the_parts_of_a_cost_are_the_whole(shipped: tuple[Report, Result]) -> None:
    whole, result = shipped
    for chart in parts(whole, "At a glance"):
        if isinstance(chart, BarChart) and chart.title.startswith("Where the"):
            found = sum(value for values in chart.series.values() for value in values if value is not None)
            assert found == pytest.approx(result.objective.value, rel=1e-9)


def test_what_is_not_known_of_a_plan_is_a_risk(shipped: tuple[Report, Result]) -> None:
    whole, result = shipped
    risks = [part for part in parts(whole, "Warnings") if isinstance(part, str)]
    unproven = result.objective.value is not None and result.solution != "optimal"
    assert any("not proven" in risk for risk in risks) == unproven
    runs = find_family(result.problem)
    assert runs is not None
    assert any("--simulate" in risk for risk in risks) == bool(runs.simulate or runs.simulate_plan)


def test_markdown_of_every_family_is_whole(shipped: tuple[Report, Result]) -> None:
    """Every table's rows have as many cells as its head."""
    widths: list[int] = []
    for line in [*markdown(shipped[0]).splitlines(), ""]:
        if line.startswith("| "):
            widths.append(len(re.findall(r"(?<!\\)\|", line)))
        else:
            assert len(set(widths)) <= 1
            widths = []


def test_thousands_of_lines_are_cut_and_told() -> None:
    spec = load_text("# a line\n" * 3000 + SMALL).spec
    assert spec is not None
    more, listing = parts(report(spec, PLAIN, COMMAND)[0], "Spec")
    assert more == "The first 2,000 of 3,008 lines."
    assert isinstance(listing, Listing)
    assert len(listing.text.splitlines()) == 2000


def test_a_family_without_words_of_its_own_has_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, SHOP)
    spec = load_text(REFERENCE_OF_SHOP).spec
    assert spec is not None
    whole, result = report(spec, PLAIN, COMMAND)
    assert whole.decision == f"The plan of this shop problem: cost {result.objective.value:g} USD."
    assert list(parts(whole, "Plan")) == list(result.tables())


def test_python_has_the_same_by_the_same_names(tmp_path: Path) -> None:
    spec = load_text(SMALL).spec
    assert spec is not None
    text = mrdsl.report(spec, tmp_path / "night.md", spend=0.0)
    assert (tmp_path / "night.md").read_text(encoding="utf-8") == text
    assert text == mrdsl.report(mrdsl.solve(spec), markdown=True, spend=0.0)
    with pytest.raises(mrdsl.MrdslError, match="already exists"):
        mrdsl.report(spec, tmp_path / "night.md", spend=0.0)


def test_a_run_stands_beside_the_estimates() -> None:
    """What was simulated is a mark on the chart of deadlines, and the plan is the same."""
    spec = load_file(REFERENCE).spec
    assert spec is not None
    whole, result = report(spec, PLAIN, COMMAND, runs=Settings(runs=1, jobs=2))
    _, beside, *_ = parts(whole, "At a glance")
    assert isinstance(beside, IntervalChart)
    assert beside.rows[0].values["simulated p50"] > 0
    assert whole.decision == report(spec, PLAIN, COMMAND)[0].decision
    assert result.plan == solve(spec).plan


def test_a_study_has_a_report(tmp_path: Path) -> None:
    page = tmp_path / "study.md"
    words = ["joint-instances", "-o", str(tmp_path / "study"), "--report", str(page)]
    done = CliRunner().invoke(studies, words, standalone_mode=False, catch_exceptions=False)
    assert done.return_value is None
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Study joint-instances")
    assert "## To repeat it" in text


def test_the_cost_of_several_types_splits_by_offer() -> None:
    """By hand: 1 USD/h of a and 0.6 of its contract, both with a fee of 0.1; every part is VMs times its price."""
    text = SMALL.replace(
        "vm m { on_demand { price = 1 USD/h } }",
        "vm a { on_demand { price = 1 USD/h }, reserved { price = 0.6 USD/h, available = 3 }, fee = 0.1 USD/h }\n"
        "vm b { on_demand { price = 1.05 USD/h } }",
    )
    spec = load_text(text).spec
    assert spec is not None
    whole, result = report(spec, PLAIN, COMMAND)
    split, bought, *_ = parts(whole, "At a glance")
    assert isinstance(split, BarChart)
    assert isinstance(bought, BarChart)
    vms = dict(zip(bought.groups, bought.series["VMs"], strict=True))
    prices = {"a on demand": 1.1, "a reserved": 0.7, "b on demand": 1.05}
    assert vms["a reserved"] == 3.0
    assert len(vms) > 1
    cost = dict(zip(split.groups, split.series["cost [USD]"], strict=True))
    assert {name: cost[name] for name in vms} == pytest.approx({name: vms[name] * prices[name] for name in vms})
    assert sum(value or 0.0 for value in cost.values()) == pytest.approx(result.objective.value, rel=1e-12)


@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_parts_by_offer_are_the_whole(seed: int) -> None:
    """Random types with contracts, some paid already, spot, fees and masters."""
    spec = random_types(seed, types=3)
    whole, result = report(spec, PLAIN, COMMAND)
    assert result.plan is not None
    split = parts(whole, "At a glance")[0]
    assert isinstance(split, BarChart)
    (costs,) = split.series.values()
    assert "VMs" not in split.groups
    assert sum(value or 0.0 for value in costs) == pytest.approx(result.objective.value, rel=1e-9, abs=1e-9)


def test_a_report_tells_how_far_it_is() -> None:
    """Every point is told; of points, none has a value that is the report's."""
    spec = load_text(SMALL).spec
    assert spec is not None
    told: list[Progress] = []
    with watched(told.append):
        report(spec, How(seconds=60.0), COMMAND)
    last = {one.what: one for one in told if one.over}
    assert list(last) == ["solving", "sensitivity", "what-if curves"]
    for what in ("sensitivity", "what-if curves"):
        assert last[what].done == last[what].total
        assert {(one.value, one.bound) for one in told if one.what == what} == {(None, None)}
    assert last["what-if curves"].total == 3 * (len(FACTORS) - 1)


def test_a_report_tells_the_runs_of_its_simulation() -> None:
    spec = load_file(ROOT / "models" / "bounds" / "table3.mrspec").spec
    assert spec is not None
    told: list[Progress] = []
    with watched(told.append):
        report(spec, PLAIN, COMMAND, runs=Settings(runs=2, jobs=3))
    assert (2, 2) in {(one.done, one.total) for one in told if one.what == "simulating"}


def test_the_command_shows_it_to_whoever_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Progress] = []

    class Line(StatusLine):
        def __call__(self, progress: Progress) -> None:
            told.append(progress)

    monkeypatch.setattr("mrdsl.cli.progress.StatusLine", Line)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    (tmp_path / "night.mrspec").write_text(SMALL)
    words = ["mrdsl", "report", str(tmp_path / "night.mrspec"), "-o", str(tmp_path / "night.md"), "--simulate", "2"]
    monkeypatch.setattr("sys.argv", words)
    assert run(cli) == 0
    assert {"solving", "simulating", "what-if curves"} <= {one.what for one in told}
    assert told[-1].over
