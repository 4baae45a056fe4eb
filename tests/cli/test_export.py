"""`mrdsl export`: where files go, what is printed, and the same from Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.resources import resource
from tests.command_lines import Ran, run_here

MODELS = Path(str(resource("models")))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    shutil.copy(MODELS / "capacity" / "quickstart.mrspec", tmp_path / "q.mrspec")
    shutil.copy(MODELS / "joint" / "reference.mrspec", tmp_path / "joint.mrspec")
    return tmp_path


def run(place: Path, line: str) -> Ran:
    return run_here(tuple(line.split()), place)


@pytest.mark.parametrize(
    ("output", "written"),
    [
        ("night.json", "night.json"),
        ("new/night.json", "new/night.json"),
        ("there", "there/emr.json"),
        ("new", "new/emr.json"),
    ],
)
def test_one_file_goes_where_it_is_named(output: str, written: str, place: Path) -> None:
    (place / "there").mkdir()
    ran = run(place, f"export q.mrspec emr --vm m5=m5.xlarge -o {output}")
    assert ran.exit_code == 0, ran.output
    assert written in ran.output.splitlines()
    assert json.loads((place / written).read_text())["Name"] == "Quickstart"
    assert "not exported: the master is one m5.2xlarge" in ran.output


def test_several_files_need_a_folder(place: Path) -> None:
    ran = run(place, "export joint.mrspec yarn -o queues.xml")
    assert ran.exit_code == 2
    assert "`queues.xml` is a file, but the export has 3" in ran.output
    assert not (place / "queues.xml").exists()
    assert run(place, "export joint.mrspec yarn -o queues").exit_code == 0
    assert (place / "queues" / "fair-scheduler.xml").is_file()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--vm m5", "must have the form NAME=TYPE"),
        ("--vm m6=m5.xlarge", "`m6`, but the spec has no such VM type"),
        ("--vm m5=m5.xlarge --cores many", "write"),
        ("--vm m5=m5.xlarge --memory 16", "write `16 GiB`"),
        ("--vm m5=m5.xlarge --master huge", "`huge` is no instance type"),
        ("", "`m5` is no instance type that EMR takes"),
    ],
)
def test_options_that_are_wrong(options: str, told: str, place: Path) -> None:
    ran = run(place, f"export q.mrspec emr {options} -o x.json")
    assert ran.exit_code == 2, ran.output
    assert told in ran.output
    assert "Traceback" not in ran.output
    assert not (place / "x.json").exists()


def test_python_gives_what_the_command_writes(place: Path) -> None:
    assert run(place, "export q.mrspec emr --vm m5=m5.xlarge --master m5.2xlarge -o x.json").exit_code == 0
    spec = mrdsl.load(place / "q.mrspec")
    made = mrdsl.export(spec, "emr", vms={"m5": "m5.xlarge"}, master="m5.2xlarge")
    assert made.files["emr.json"] == (place / "x.json").read_text()
    assert made == mrdsl.export(mrdsl.solve(spec), "emr", vms={"m5": "m5.xlarge"}, master="m5.2xlarge")
    with pytest.raises(mrdsl.MrdslError, match="cannot be written as `em`"):
        mrdsl.export(spec, "em")


def test_without_a_plan_there_is_nothing_to_write(place: Path) -> None:
    text = (place / "q.mrspec").read_text() + "subject to { vms <= 1 }\n"
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.export(mrdsl.loads(text), "emr", vms={"m5": "m5.xlarge"})
    assert told.value.diagnostics[-1].code == "nothing-to-export"
