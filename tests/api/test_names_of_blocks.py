"""The table of classes of blocks in the guide on frames: each family has those and no others of the same block."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import mrdsl
from mrdsl.families import family_names

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "how-to" / "dataframes.md"
ROW = re.compile(r"^\| `(vm|slots|class|job)` \| `(\w+)`[^|]*\| (.*) \|$", re.MULTILINE)


def test_the_guide_names_the_class_of_each_block() -> None:
    rows = ROW.findall(GUIDE.read_text())
    assert {block for block, _, _ in rows} == {"vm", "slots", "class", "job"}
    for _, name, families in rows:
        having = {each for each in family_names() if name in import_module(f"mrdsl.families.{each}.facts").__all__}
        assert set(re.findall(r"`(\w+)`", families)) == having, name


def test_a_frame_becomes_a_table_of_latex() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("jinja2")
    result = mrdsl.solve(mrdsl.load(ROOT / "models" / "capacity" / "quickstart.mrspec"))
    latex = result.to_dataframe("VMs").to_latex(index=False)
    assert latex.startswith("\\begin{tabular}{lrr}")
