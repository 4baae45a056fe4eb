"""Plans and sweeps as pandas frames."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.resources import resource

MODELS = Path(str(resource("models")))


@pytest.fixture(scope="module")
def result() -> mrdsl.Result:
    return mrdsl.solve(mrdsl.load(MODELS / "capacity/quickstart.mrspec"), "direct")


def test_a_plan_is_a_frame(result: mrdsl.Result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_dataframe("Classes" if any(t.title == "Classes" for t in result.tables()) else "")
    table = next(t for t in result.tables() if list(t.columns) == list(frame.columns))
    assert list(frame["class"]) == ["clicks", "thumbnails"]
    assert frame["admitted"].tolist() == [row[table.columns.index("admitted")] for row in table.rows]


def test_every_table_is_a_frame(result: mrdsl.Result) -> None:
    pytest.importorskip("pandas")
    for table in result.tables():
        assert table.to_dataframe().shape == (len(table.rows), len(table.columns))


def test_a_sweep_is_a_frame(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    text = (MODELS / "capacity/quickstart.mrspec").read_text().replace("deadline = 15 min", "deadline = limit")
    (tmp_path / "spec.mrspec").write_text("param limit = 15 min\n" + text)
    done = mrdsl.sweep(tmp_path / "spec.mrspec", {"limit": ["15 min", "20 min"]}, solver="direct", processes=1)
    assert done.to_dataframe()["value"].tolist() == [row["value"] for row in done.table]


def test_an_unknown_table_is_told(result: mrdsl.Result) -> None:
    with pytest.raises(mrdsl.MrdslError, match="no table `Nothing`"):
        result.to_dataframe("Nothing")


def test_without_pandas_it_says_so(result: mrdsl.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(mrdsl.MrdslError, match="need pandas"):
        result.to_dataframe()
