"""Specs of `mrdsl new` from the user's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import mrdsl
from mrdsl.cli import cli

LOGS = Path(__file__).resolve().parents[2] / "models" / "logs"
CLASSES = "name;map.tasks;map.avg [s];map.max [s];slots.map;slots.reduce;jobs;deadline [min];penalty [USD]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "types.csv").write_text("name,on_demand.price [USD/h]\nm5,0.2\nr5,0.3\n")
    (tmp_path / "classes.csv").write_text(CLASSES + "a b;300;12,5;20;2;1;5;15;10\n")
    (tmp_path / "region.csv").write_text("instance_type,vcpu,memory_mib,on_demand_usd_h\nm5.large,2,8192,0.1\n")
    return tmp_path


def new(*words: object) -> Result:
    return CliRunner().invoke(cli, ["new", *map(str, words)], standalone_mode=False, catch_exceptions=False)


def test_tables_make_a_spec_that_can_be_solved(folder: Path) -> None:
    """Cells have decimal commas. The file of the spec names tables relative to its own folder."""
    (folder / "specs").mkdir()
    spec = folder / "specs" / "night.mrspec"
    done = new("capacity", "--catalogue", folder / "types.csv", "--class-table", folder / "classes.csv", "-o", spec)
    assert done.stderr == ""
    assert '"../classes.csv"' in spec.read_text()
    (spec.parent.parent / "night.mrspec").write_text(spec.read_text().replace("../", ""))
    facts = mrdsl.load(folder / "night.mrspec").facts
    assert [vm.name for vm in facts.vms] == ["m5", "r5"]
    assert facts.classes[0].map.avg == 12.5


def test_logs_are_classes_on_types_of_a_catalogue(folder: Path) -> None:
    done = new("capacity", "--catalogue", folder / "region.csv", "--logs", LOGS)
    assert "vms from ec2(" in done.stdout
    assert "vm machine" not in done.stdout
    assert "param price" not in done.stdout
    text = done.stdout.replace(str(folder), ".")
    assert [each.name for each in mrdsl.loads(_inside(text, folder), folder=folder).facts.classes] == [
        "clicks",
        "thumbnails",
    ]


def _inside(text: str, folder: Path) -> str:
    """The spec with the name of its table in the folder."""
    start, end = text.index('ec2("') + 5, text.index('region.csv"')
    return text[:start] + text[end:]


def test_what_a_spec_lacks_is_reported(folder: Path) -> None:
    done = new("capacity", "--catalogue", folder / "types.csv")
    assert "lacks `class NAME { ... }`" in done.stderr
    done = new("capacity", "--class-table", folder / "classes.csv")
    assert "vm NAME { on_demand" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bounds", "--catalogue", "types.csv"), "`bounds` has no `vm` blocks"),
        (("capacity", "--catalogue", "nothing.csv"), "no such file"),
        (("capacity", "--class-table", "classes.csv", "--logs", LOGS), "both give the classes"),
        (("energy", "--catalogue", "region.csv"), "does not read"),
        (("nothing", "--catalogue", "types.csv"), "unknown problem kind"),
    ],
)
def test_mistakes(words: tuple[object, ...], said: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(mrdsl.MrdslError, match=said):
        new(*words)


@pytest.mark.parametrize(
    ("family", "answers", "given"),
    [
        ("capacity", "types.csv\n\nlogs\n", ("types.csv", None, ("logs",))),
        ("capacity", "\nclasses.csv\n", (None, "classes.csv", ())),
        ("hybrid", "types.csv\n", ("types.csv", None, ())),
        ("capacity", "\n\n\n", None),
    ],
)
def test_a_terminal_is_asked_for_the_files_that_a_family_reads(
    family: str, answers: str, given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []

    def own_spec(_: str, folder: Path, *files: Any) -> str:
        read.append(tuple(str(file) if isinstance(file, Path) else file for file in files))
        return ""

    monkeypatch.setattr("mrdsl.cli.extending.asks", lambda: True)
    monkeypatch.setattr("mrdsl.api.own_specs.own_spec", own_spec)
    done = CliRunner().invoke(cli, ["new", family], input=answers)
    assert read == ([] if given is None else [given])
    assert (f"problem {family}" in done.stdout) == (given is None)
