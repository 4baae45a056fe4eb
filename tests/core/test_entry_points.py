"""What packages declare for mrdsl is found as Python itself finds it, wherever they lie on its path."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from mrdsl.core import entry_points as module
from mrdsl.core.entry_points import entry_points_of

GROUP = "mrdsl.test_of_entry_points"
DECLARED = f"[{GROUP}]\nmine = somewhere:thing\n"


def in_folder(folder: Path) -> str:
    (folder / "mine-1.0.dist-info").mkdir(parents=True)
    (folder / "mine-1.0.dist-info" / "METADATA").write_text("Name: mine\nVersion: 1.0\n")
    (folder / "mine-1.0.dist-info" / "entry_points.txt").write_text(DECLARED)
    return str(folder)


def in_egg_info(folder: Path) -> str:
    (folder / "mine.EGG-INFO").mkdir(parents=True)
    (folder / "mine.EGG-INFO" / "PKG-INFO").write_text("Name: mine\nVersion: 1.0\n")
    (folder / "mine.EGG-INFO" / "entry_points.txt").write_text(DECLARED)
    return str(folder)


def in_egg(folder: Path) -> str:
    egg = folder / "mine-1.0.egg"
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO" / "PKG-INFO").write_text("Name: mine\nVersion: 1.0\n")
    (egg / "EGG-INFO" / "entry_points.txt").write_text(DECLARED)
    return str(egg)


def in_archive(folder: Path) -> str:
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "mine.zip", "w") as archive:
        archive.writestr("mine-1.0.dist-info/METADATA", "Name: mine\nVersion: 1.0\n")
        archive.writestr("mine-1.0.dist-info/entry_points.txt", DECLARED)
    return str(folder / "mine.zip")


def nowhere(folder: Path) -> str:
    return str(folder / "missing")


@pytest.mark.parametrize("place", [in_folder, in_egg_info, in_egg, in_archive, nowhere])
def test_as_python_finds_them(place: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [place(tmp_path / "there"), *sys.path])  # type: ignore[operator]
    found = entry_points_of(GROUP)
    assert [(point.name, point.value) for point in found] == ([("mine", "somewhere:thing")] if place != nowhere else [])
    assert sorted(found) == sorted(entry_points(group=GROUP))


def test_the_folder_of_work_counts_where_the_path_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert [point.name for point in entry_points_of(GROUP)] == ["mine"]


def test_who_finds_packages_elsewhere_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_spec(self, *_: object) -> None:
            return None

        def find_distributions(self, *_: object) -> tuple[()]:
            return ()

    assert not module._may_be_declared(GROUP)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert module._may_be_declared(GROUP)
