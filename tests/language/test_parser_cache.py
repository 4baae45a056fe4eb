"""The parser's kept tables: data that revives nothing, and that a stranger cannot put there."""

from __future__ import annotations

import os
import pickle
import stat
from pathlib import Path
from typing import Any

import pytest

from mrdsl.core.resources import resource_text
from mrdsl.language import parser_cache, parsing
from mrdsl.language.grammar import _OPTIONS, grammar
from mrdsl.language.parsing import fast_parser, parse

NAME = parser_cache.name_of(parser_cache._key(resource_text("grammar/mrspec.lark"), _OPTIONS))
TEXT = 'problem capacity "a"\nclass c[1..3] { deadline = max(1 s, 2 min) / 2 # why\n jobs = 1 .. 2 }\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MRDSL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(parsing, "grammar", lambda: grammar.__wrapped__())
    return tmp_path / "cache"


def tree() -> Any:
    fast_parser.cache_clear()
    try:
        return parse(TEXT, "text")
    finally:
        fast_parser.cache_clear()


def test_kept_tables_give_the_same_trees(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = tree()
    assert [path.name for path in folder.iterdir()] == [NAME]
    monkeypatch.setattr(parser_cache, "_write", lambda *_: pytest.fail("built again"))
    assert tree() == built
    assert parsing.parse("x = = 1", "text")[1]


@pytest.mark.skipif(os.name == "nt", reason="no such modes there")
def test_the_folder_and_the_file_are_the_users_alone(folder: Path) -> None:
    tree()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600


class Planted:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("name", ["parser.tables", NAME])
def test_a_planted_pickle_runs_nothing(name: str, folder: Path, tmp_path: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / name).write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
    assert tree()[1] == ()
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.name == "nt", reason="no such modes there")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(mode: int, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(mode)
    assert tree()[1] == ()
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no such modes there")
def test_a_file_that_others_can_write_or_own_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree()
    kept = folder / NAME
    kept.chmod(0o666)
    assert parser_cache._read(kept, kept.read_text().split()[0]) is None
    kept.chmod(0o600)
    assert parser_cache._read(kept, kept.read_text().split()[0]) is not None
    monkeypatch.setattr(os, "geteuid", lambda: kept.stat().st_uid + 1)
    assert parser_cache._read(kept, kept.read_text().split()[0]) is None


@pytest.mark.parametrize("damage", [b"", b"\xff\n{}", b"x y\n{", b"[]"])
def test_a_damaged_file_is_made_anew(damage: bytes, folder: Path) -> None:
    right = tree()
    (folder / NAME).write_bytes(damage)
    assert tree() == right
    assert (folder / NAME).stat().st_size > 1000


def test_without_a_folder_the_tables_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "cache", tmp_path / "file"):
        monkeypatch.setenv("MRDSL_CACHE", str(place))
        monkeypatch.setattr(parsing, "grammar", lambda: grammar.__wrapped__())
        assert tree()[1] == ()


def test_other_installations_keep_theirs_and_old_ones_go(folder: Path) -> None:
    tree()
    for number in range(parser_cache.KEPT + 3):
        other = folder / parser_cache.name_of(f"{number:016d}")
        other.write_text("another grammar's")
        os.utime(other, ns=(number, number))
    (folder / NAME).write_bytes(b"damaged")
    tree()
    newest = [parser_cache.name_of(f"{number:016d}") for number in range(4, parser_cache.KEPT + 3)]
    assert {path.name for path in folder.iterdir()} == {NAME, *newest}
