"""``mrdsl check`` of folders: a catalogue that specs import is a part of them, not a spec of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from mrdsl.core.resources import resource

Shown = pytest.CaptureFixture[str]
QUICK = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
AT = QUICK.index("vm m5")
BEHIND = QUICK.index("class ")
VM, REST = QUICK[AT:BEHIND], QUICK[:AT] + QUICK[BEHIND:]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two specs in a folder that import one catalogue, in a folder below."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared").mkdir()
    Path("shared/machines.mrspec").write_text(VM, encoding="utf-8")
    for name in ("day", "night"):
        Path(f"{name}.mrspec").write_text(f'import "shared/machines.mrspec"\n{REST}', encoding="utf-8")


def check(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["mrdsl", "check", *arguments])
    return run(cli)


@pytest.mark.parametrize("files", [["."], ["day.mrspec", "shared/machines.mrspec"], ["shared", "night.mrspec"]])
def test_an_imported_catalogue_is_checked_where_it_is_imported(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check(monkeypatch, *files) == 0


def test_its_mistakes_are_told_once(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    Path("shared/machines.mrspec").write_text(VM.replace("USD/h", "USD", 1), encoding="utf-8")
    assert check(monkeypatch, ".", "--format", "json") == 2
    found = json.loads(capsys.readouterr().out)
    assert [(one["code"], one["file"]) for one in found["diagnostics"]] == [("wrong-unit", "shared/machines.mrspec")]


@pytest.mark.parametrize("files", [["shared/machines.mrspec"], ["shared"]])
def test_alone_it_is_no_spec(files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    assert check(monkeypatch, *files) == 2
    assert "error[missing-problem]" in capsys.readouterr().out
    Path("night.mrspec").unlink()
    Path("day.mrspec").unlink()
    assert check(monkeypatch, ".") == 2
