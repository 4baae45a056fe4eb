"""Logs of machines of several types: each class says how it runs on each, as logs of that type alone say."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli

LOGS = Path(__file__).parents[2] / "models" / "logs"


def fewer(folder: Path, *numbers: int) -> Path:
    """A folder of some of the logs."""
    folder.mkdir()
    for number in numbers:
        shutil.copy(LOGS / f"job_1700000000000_{number:04d}.jhist", folder)
    return folder


def test_classes_say_how_they_run_on_each_type(tmp_path: Path) -> None:
    others = {"r5.xlarge": fewer(tmp_path / "r5", 1, 2, 3, 4, 5, 6), "m5": fewer(tmp_path / "m5", 7, 8, 9, 10)}
    profiles = mrdsl.profile([LOGS])
    alone = {name: mrdsl.profile([folder]) for name, folder in others.items()}
    facts = mrdsl.loads(profiles.to_mrspec(on=alone)).facts
    assert [vm.name for vm in facts.vms] == ["machine", *others]
    base = mrdsl.loads(profiles.to_mrspec("capacity")).facts.classes
    for node, plain in zip(facts.classes, base, strict=True):
        assert (node.map, node.shuffle, node.reduce, node.jobs) == (plain.map, plain.shuffle, plain.reduce, plain.jobs)
        for row in node.on:
            classes = mrdsl.loads(alone[row.name].to_mrspec("capacity")).facts.classes
            same = next(each for each in classes if each.name == node.name)
            assert (row.map, row.shuffle, row.reduce, row.slots) == (same.map, same.shuffle, same.reduce, same.slots)
        missing = [name for name, there in alone.items() if node.name not in [each.name for each in there.classes]]
        assert [row.name for row in node.on] == [name for name in others if name not in missing]
        assert node.types == (tuple(n for n in ("machine", *others) if n not in missing) if missing else ())


def test_a_class_runs_only_on_types_that_it_was_measured_on(tmp_path: Path) -> None:
    every = mrdsl.profile([LOGS])
    (clicks,) = [number for number in range(1, 13) if _class_of(tmp_path, number) == "clicks"][:1]
    folder = fewer(tmp_path / "one", clicks)
    facts = mrdsl.loads(every.to_mrspec(on={"r5": mrdsl.profile([folder])})).facts
    assert {node.name: node.types for node in facts.classes} == {"clicks": (), "thumbnails": ("machine",)}


def _class_of(folder: Path, number: int) -> str:
    (one,) = mrdsl.profile([fewer(folder / f"only{number}", number)]).classes
    return one.name


def test_the_command_writes_what_python_gives(tmp_path: Path) -> None:
    folder = fewer(tmp_path / "r5", 1, 2, 3, 4, 5, 6)
    written = tmp_path / "two.mrspec"
    ran = CliRunner().invoke(cli, ["profile", str(LOGS), "--on", "r5", str(folder), "-o", str(written)])
    assert ran.exit_code == 0, ran.output
    expected = mrdsl.profile([LOGS]).to_mrspec(on={"r5": mrdsl.profile([folder])})
    assert written.read_text(encoding="utf-8") == expected
    assert not [each for each in mrdsl.check(mrdsl.load(written)) if each.severity == "error"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--on", "machine", "LOGS"], "is already in use"),
        (["--on", "r5", "LOGS", "--on", "r5", "LOGS"], "is already in use"),
        (["--on", "r5", "LOGS", "--classes", "2"], "names the classes differently for each machine type"),
        (["--on", "r5", "LOGS", "--family", "joint"], "a spec of joint knows one type of machines"),
    ],
)
def test_what_makes_no_spec_of_several_types_is_told(words: list[str], told: str, tmp_path: Path) -> None:
    given = [str(LOGS) if word == "LOGS" else word for word in words]
    ran = CliRunner().invoke(cli, ["profile", str(LOGS), *given, "-o", str(tmp_path / "out.mrspec")])
    assert isinstance(ran.exception, mrdsl.MrdslError) or ran.exit_code == 2
    assert told in f"{ran.output}{ran.exception}"
