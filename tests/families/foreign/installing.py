"""Packages that are installed for the length of a test: real dist-info folders on ``sys.path``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mrdsl import families

SHOP = {
    "mrdsl.families": {"shop": "tests.families.foreign.shop:FAMILY"},
    "mrdsl.solvers": {"shop-division": "tests.families.foreign.shop:PIPELINE"},
}


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, points: Mapping[str, Mapping[str, str]]) -> None:
    """Puts a package with these entry points, by their groups, on the path; the test's end takes it off."""
    about = folder / "some_package-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-package\nVersion: 1.0\n", encoding="utf-8")
    lines = (f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in named.items()) for group, named in points.items())
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    forget()


def forget() -> None:
    """Families are looked up anew."""
    families.family.cache_clear()
