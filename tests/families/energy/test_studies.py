"""The studies, on few workloads: tables with the paper's figures beside ours, and the files that they write."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies import energy_comparison as energy


def test_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"classif": "Classif", "seqcou": "SeqCou"}
    monkeypatch.setattr(energy, "WORKLOADS", few)
    tables = {table.title: table for table in energy.compare(tmp_path, scales="small")}
    assert [row[0] for row in tables["Proven optima"].rows] == ["Classif", "SeqCou"]
    above = {row[0]: row for row in tables["6.2.1 energy above the optimum, %"].rows}
    assert above["DSPS"][2:5:2] == ("2 of 2", 4.6)
    assert above["mrdsl-energy"][3] == pytest.approx(0.0, abs=0.5)
    assert all(row[3] >= -1e-3 for name, row in above.items() if name not in ("EM", "EMRSA", "EMRSAPS"))
    by_application = tables["6.2.1 energy above the optimum by application, small workloads, %"].rows
    assert [(row[0], row[2], row[4]) for row in by_application] == [("Classif", 0.46, None), ("SeqCou", 2.08, 2.08)]
    assert all(row[1] >= -1e-3 and row[3] >= -1e-3 for row in by_application)
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == [
        "cost-small.svg",
        "deadline-small.svg",
        "details.csv",
        "energy-small.svg",
        "gantt-classif.svg",
        "gantt-seqcou.svg",
    ]
    assert len((tmp_path / "details.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 8
