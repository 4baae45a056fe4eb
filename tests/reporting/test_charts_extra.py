"""Without the extra `report`, whatever draws says so before anything is solved; Markdown and plans need none of it."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrdsl.cli import cli
from mrdsl.core.diagnostics import MrdslError
from studies import capacity_promised, energy_random, methods, real_spark, timetable_days
from studies.__main__ import studies
from studies.catalogue import STUDIES

ROOT = Path(__file__).resolve().parents[2]
MAKESPAN = str(ROOT / "models" / "makespan" / "reference.mrspec")


@pytest.mark.parametrize("library", ["altair", "vl_convert", "jinja2"])
@pytest.mark.parametrize("words", ["solve SPEC --gantt", "report SPEC -o"], ids=lambda words: words.split()[0])
def test_the_extra_is_named(words: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr("mrdsl.explaining.report.solve", None)
    monkeypatch.setattr("mrdsl.planning.solve_spec.solve", None)
    output = tmp_path / "night.html"
    with pytest.raises(MrdslError) as caught:
        CliRunner().invoke(
            cli, [*words.replace("SPEC", MAKESPAN).split(), str(output)], standalone_mode=False, catch_exceptions=False
        )
    (told,) = caught.value.diagnostics
    assert (told.code, caught.value.exit_code) == ("missing-extra", 3)
    assert told.message == f"charts and reports need {library}, which the extra `report` brings"
    assert not output.exists()


FRESH = """import sys
sys.modules.update(altair=None, vl_convert=None, jinja2=None)
import mrdsl
from mrdsl.cli import cli
from mrdsl.cli.boundary import run
path = sys.argv[1]
codes = []
for words in ("solve SPEC --gantt x.svg", "report SPEC -o x.html", "report SPEC -o x.md --analysis-time=0"):
    sys.argv[1:] = words.replace("SPEC", path).split()
    codes.append(run(cli))
try:
    mrdsl.solve(mrdsl.load(path)).plot()
except mrdsl.MrdslError as told:
    codes.append(told.diagnostics[0].code)
print(codes)
"""


def test_a_process_without_the_extra_starts(tmp_path: Path) -> None:
    """In this process other tests have loaded the libraries; a user without them has not."""
    done = subprocess.run(
        [sys.executable, "-c", FRESH, MAKESPAN],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "[3, 3, 0, 'missing-extra']", done.stderr
    assert done.stderr.count("missing-extra") == 2


def test_markdown_needs_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("altair", "vl_convert", "jinja2"):
        monkeypatch.setitem(sys.modules, library, None)
    output = tmp_path / "night.md"
    done = CliRunner().invoke(cli, ["report", MAKESPAN, "-o", str(output), "--analysis-time=0"], standalone_mode=False)
    assert done.return_value == 0
    assert output.read_text(encoding="utf-8").startswith("# Five production jobs")


def test_an_ending_that_says_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MrdslError, match=r"`night\.pdf` has no extension of a report"):
        CliRunner().invoke(
            cli,
            ["report", MAKESPAN, "-o", str(tmp_path / "night.pdf")],
            standalone_mode=False,
            catch_exceptions=False,
        )


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if study.draws])
def test_a_study_that_draws_asks_before_it_begins(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setattr("studies.__main__.run_study", None)
    with pytest.raises(MrdslError, match="charts and reports need altair"):
        CliRunner().invoke(studies, [name, "-o", str(tmp_path / "out")], standalone_mode=False, catch_exceptions=False)
    assert not (tmp_path / "out").exists()


QUICK = {
    "capacity-cases": "classes=3 instances=1",
    "hybrid-bridge": "horizon=20",
    "hybrid-regimes": "sample=1 horizon=20",
    "joint-instances": "",
    "joint-integrality": "small=1",
}
"""Studies that draw nothing, in small."""
SLOW = {
    "capacity-honesty": capacity_promised,
    "capacity-saving": capacity_promised,
    "energy-random": energy_random,
    "energy-sensitivity": methods,
    "hybrid-weights": methods,
    "makespan-quality": methods,
    "real-spark": real_spark,
    "timetable-days": timetable_days,
}
"""The others, which take seconds even so, or data from elsewhere: their modules."""


def test_no_study_is_left_out() -> None:
    assert {name for name, study in STUDIES.items() if not study.draws} == {*QUICK, *SLOW}
    assert all("write_chart" not in inspect.getsource(module) for module in SLOW.values())


@pytest.mark.parametrize("name", QUICK)
def test_a_study_that_draws_nothing_needs_no_extra(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("altair", "vl_convert", "jinja2"):
        monkeypatch.setitem(sys.modules, library, None)
    settings = [word for setting in QUICK[name].split() for word in ("--set", setting)]
    CliRunner().invoke(
        studies,
        [name, "-o", str(tmp_path / "out"), *settings],
        standalone_mode=False,
        catch_exceptions=False,
    )
    assert list((tmp_path / "out").glob("*.csv"))
