"""The shipped study files: each is sound as it stands, and in small it says what is known from elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Table
from mrdsl.reporting.study_files import study_report
from mrdsl.sweeping.cells import Axis
from mrdsl.sweeping.study.declaration import Study
from mrdsl.sweeping.study.planned import planned
from mrdsl.sweeping.study.reader import filled_folder, read_study, shipped_studies, study_file
from mrdsl.sweeping.study.study import Studied, Way, run_study
from studies.running import reproduce, study_files

SHIPPED = study_files()
RUNS = {"energy-sensitivity": 8 * 3 + 2 * 8 * 16 * 4, "hybrid-weights": (7 + 5) * 4 * 3, "makespan-quality": 50 * 9}
OPTIMA = Path(__file__).parents[1] / "families" / "makespan" / "optima.tsv"


def in_small(name: str, specs: tuple[str, ...], methods: set[str], tmp_path: Path, most: int = 2) -> Studied:
    """The study on a few specs by a few methods, with the first and the last values of its params and one seed."""
    whole = read_study(SHIPPED[name])

    def few(axis: Axis) -> Axis:
        return replace(axis, values=tuple(dict.fromkeys((*axis.values[: most - 1], axis.values[-1]))))

    designs = tuple(
        replace(
            one,
            specs=specs,
            methods=tuple(method for method in one.methods if method.label in methods),
            params=tuple(few(axis) for axis in one.params),
            seeds=one.seeds[:1],
        )
        for one in whole.designs
    )
    part: Study = replace(whole, designs=designs)
    return run_study(part, SHIPPED[name], tmp_path / "out", Way(workers=1, pictures=False))


def table(done: Studied, title: str) -> Table:
    return next(each for each in done.tables if each.title.startswith(title))


def by_method(done: Studied, **wanted: Any) -> dict[str, float]:
    return {
        row["method"]: row["value"]
        for row in done.table
        if all(row.get(name) == value for name, value in wanted.items())
    }


def test_all_shipped_studies_are_known_here() -> None:
    assert RUNS.keys() == SHIPPED.keys()
    assert all(study.about for study in shipped_studies().values())


def test_a_report_asks_in_one_sentence() -> None:
    """What a study asks ends in one sign, whether its file wrote it or not."""
    for about, asked in (("what it costs", "What it costs."), ("what it costs.", "What it costs."), ("why?", "Why?")):
        assert study_report("x", about, [], [], {}, "").decision == asked


@pytest.mark.parametrize("name", RUNS)
def test_every_run_of_a_shipped_study_can_be_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrdsl.solving.registry.where", lambda solver: "here")
    runs = planned(read_study(SHIPPED[name]), SHIPPED[name].parent).runs
    assert len(runs) == RUNS[name]


def test_a_study_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert study_file("hybrid-weights") == SHIPPED["hybrid-weights"]
    assert study_file("night.toml") == Path("night.toml")
    with pytest.raises(MrdslError, match="no study file `hybrid-wieghts`"):
        study_file("hybrid-wieghts")
    with pytest.raises(MrdslError) as failure:
        reproduce("hybrid-weights")
    assert failure.value.diagnostics[0].hint == "it is a file: mrdsl study hybrid-weights"


def test_a_shipped_study_goes_on_in_the_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("hybrid-weights", "night"):
        (tmp_path / name).mkdir()
    found = [filled_folder(given) for given in ("hybrid-weights", "./hybrid-weights", "night", "none")]
    assert found == [None, Path("hybrid-weights"), Path("night"), None]


def test_makespan_quality_proves_the_optima_that_are_known(tmp_path: Path) -> None:
    lines = OPTIMA.read_text(encoding="utf-8").splitlines()[1:]
    known = {int(batch): float(seconds) for batch, seconds, _ in (line.split("\t") for line in lines)}
    specs = ("batches/00.mrspec", "batches/03.mrspec")
    done = in_small("makespan-quality", specs, {"exact", "fifo", "johnson", "slot-search"}, tmp_path)
    for number in (0, 3):
        values = by_method(done, spec=f"batches/{number:02d}.mrspec")
        assert values["exact"] == pytest.approx(known[number])
        assert min(values.values()) == pytest.approx(known[number])
    above = {row[0]: row[1:] for row in table(done, "Above the proven bound").rows}
    assert above["exact"] == pytest.approx((0.0, 0.0))
    fifo = [100.0 * (by_method(done, spec=f"batches/{n:02d}.mrspec")["fifo"] / known[n] - 1.0) for n in (0, 3)]
    assert above["fifo"] == pytest.approx((sum(fifo) / 2, max(fifo)))
    assert done.diagnostics == ()


def test_hybrid_weights_are_the_costs_of_single_runs(tmp_path: Path) -> None:
    done = in_small("hybrid-weights", ("weights.mrspec",), {"controller", "threshold"}, tmp_path, most=1)
    file = resource("models") / "hybrid" / "weights.mrspec"
    for runs, param, value in (("weight", "V", 32), ("acceptance", "acceptance", 1)):
        found = by_method(done, runs=runs)
        for method in ("controller", "threshold"):
            own = mrdsl.solve(mrdsl.load(file, {param: value}, seed=1), method).of(mrdsl.HybridPlan).plan
            assert own is not None
            assert found[method] == pytest.approx(own.cost.average)
    (row,) = table(done, "Average cost per slot against V").rows
    assert row[1:] == pytest.approx(tuple(by_method(done, runs="weight").values()))
    assert len(done.table) == 4


def test_energy_sensitivity_misses_no_plan_that_exists(tmp_path: Path) -> None:
    methods = {"highs", "dsps", "mvps", "mrdsl-energy"}
    done = in_small("energy-sensitivity", ("worcou-small.mrspec",), methods, tmp_path)
    slow, fast = table(done, "Figure 9: energy of the shuffle").rows[0][1:]
    assert slow > fast > 0.0
    for promise in ("deadline", "budget"):
        points = table(done, f"Figure 10, {promise}: points")
        found = dict(zip(points.columns[1:], points.rows[0][1:], strict=True))
        assert found["highs"] == 1, "of two promises one is too tight for any plan"
        assert found["mrdsl-energy"] == found["highs"] >= max(found["dsps"], found["mvps"])
        above = table(done, f"Figure 10, {promise}: energy above").rows
        assert all(value is None or value >= -1e-4 for each in above for value in each[1:])
