"""What a study leaves in its folder: every table as CSV, and a manifest."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.result import Table
from mrdsl.core.writer import write_text
from studies.catalogue import STUDIES, Study
from studies.running import reproduce, run_study
from studies.study_files import written
from tests.command_lines import run_here

COSTS = Table("Cost: of n, %", ("n", "cost"), [(1, 2.5), (2, None)])
SHARES = Table("Shares", ("name", "share"), [("=a", 0.5)])


def study(output: Path, rows: int = 2, seed: int = 7, fail: bool = False) -> Iterator[Table]:
    yield written(output, "costs", COSTS)
    if fail:
        raise KeyboardInterrupt
    yield SHARES
    write_text(output / "plot.svg", "<svg/>")


STUDY = Study("toy", "a study of nothing", study, {"rows": (2, "rows"), "seed": (7, "seed"), "fail": (False, "")})


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def test_every_table_is_a_file_once(tmp_path: Path) -> None:
    tables = list(run_study(STUDY, tmp_path, {"rows": 3, "seed": 5}))
    assert [table.title for table in tables] == ["Cost: of n, %", "Shares"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "02-shares.csv",
        "costs.csv",
        "manifest.json",
        "plot.svg",
    ]
    assert (tmp_path / "02-shares.csv").read_text().splitlines()[0] == "name,share"
    assert not (tmp_path / "02-shares.csv").read_text().splitlines()[1].startswith("=")


def test_the_manifest_says_what_repeats_it(tmp_path: Path) -> None:
    list(run_study(STUDY, tmp_path, {"rows": 3, "seed": 5}))
    found = manifest(tmp_path)
    assert (found["study"], found["options"], found["seed"]) == ("toy", {"rows": 3, "seed": 5}, 5)
    assert (found["mrdsl"], found["complete"]) == (mrdsl.__version__, True)
    assert [(one["title"], one["file"], one["rows"]) for one in found["tables"]] == [
        ("Cost: of n, %", "costs.csv", 2),
        ("Shares", "02-shares.csv", 1),
    ]
    for one in found["files"]:
        assert hashlib.sha256((tmp_path / one["name"]).read_bytes()).hexdigest() == one["sha256"]
    assert [one["name"] for one in found["files"]] == ["02-shares.csv", "costs.csv", "plot.svg"]


def test_a_study_that_is_stopped_says_so(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        list(run_study(STUDY, tmp_path, {"fail": True}))
    found = manifest(tmp_path)
    assert found["complete"] is False
    assert [one["title"] for one in found["tables"]] == ["Cost: of n, %"]


def test_the_command_leaves_both(tmp_path: Path) -> None:
    ran = run_here(("python", "-m", "studies", "joint-instances", "-o", "instances"), tmp_path)
    assert ran.exit_code == 0, ran.output
    found = manifest(tmp_path / "instances")
    assert found["study"] == "joint-instances"
    assert all((tmp_path / "instances" / one["file"]).is_file() for one in found["tables"])
    names = {str(path.relative_to(tmp_path / "instances")) for path in (tmp_path / "instances").rglob("*.*")}
    assert names == {one["name"] for one in found["files"]} | {"manifest.json"}


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_options_are_the_keywords_of_the_function(study: Study) -> None:
    parameters = inspect.signature(study.run).parameters.values()
    optional = {each.name for each in parameters if each.default is not each.empty}
    assert study.doc
    assert all(doc for _, doc in study.options.values())
    assert optional == set(study.options) | ({"mapper"} if study.by_cases else set())


def test_an_unknown_study_or_option_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(mrdsl.MrdslError, match="there is no study"):
        reproduce("capacity-case", tmp_path / "out")
    with pytest.raises(mrdsl.MrdslError, match="has no option"):
        reproduce("capacity-cases", tmp_path / "out", nothing=1)
    assert not (tmp_path / "out").exists()
