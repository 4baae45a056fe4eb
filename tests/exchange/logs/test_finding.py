"""Folders as users have them: links, junk, names of every kind, many files, folders that nobody may read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mrdsl.core.diagnostics import Severity
from mrdsl.exchange.logs.finding import Log, find_logs
from mrdsl.exchange.logs.reading import read_logs
from mrdsl.exchange.logs.telling import SHOWN, SHOWN_FILES, Telling


def names(*paths: Path) -> list[str]:
    telling = Telling()
    found = [log.name for log in find_logs(paths, telling)]
    assert telling.diagnostics() == ()
    return found


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    """A loop of links, a folder reached by two names, and one that lies elsewhere."""
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    (logs / "b" / "deep").mkdir(parents=True)
    elsewhere.mkdir()
    for path in (logs / "b" / "deep" / "one", elsewhere / "two"):
        path.write_text("x")
    (logs / "b" / "deep" / "loop").symlink_to(logs)
    (logs / "c").symlink_to(elsewhere)
    (logs / "d").symlink_to(elsewhere)
    (logs / "gone").symlink_to(tmp_path / "nowhere")
    assert names(logs) == [str(logs / "b" / "deep" / "one"), str(logs / "c" / "two")]


def test_what_is_no_log_by_its_name(tmp_path: Path) -> None:
    for name in (".hidden", "job_1_1_conf.xml", "a.crc", "b.summary", "appstatus_1", "kept", "günther ✓\nnew.log"):
        (tmp_path / name).write_text("x")
    os.mkfifo(tmp_path / "pipe")
    assert [Path(name).name for name in names(tmp_path)] == ["günther ✓\nnew.log", "kept"]


def test_rolled_logs_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    home = tmp_path / "eventlog_v2_app"
    home.mkdir()
    for number in (10, 9, 1):
        (home / f"events_{number}_app").write_text("x")
    (log,) = find_logs([tmp_path], Telling())
    assert log == Log(str(home), tuple(str(home / f"events_{number}_app") for number in (1, 9, 10)))


def test_a_file_that_two_paths_name_is_one_log(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("x")
    assert names(tmp_path, tmp_path / "one", tmp_path / "o*") == [str(tmp_path / "one")]


def test_a_folder_that_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "one").write_text("x")
    scan = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    telling = Telling()
    assert [log.name for log in find_logs([tmp_path], telling)] == [str(tmp_path / "one")]
    (told,) = telling.diagnostics()
    assert told.message == "the folder cannot be read: Permission denied"
    assert (told.code, told.span and told.span.file) == ("unreadable-log", str(tmp_path / "closed"))


def test_of_a_thousand_files_of_junk_twenty_are_told_in_full(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"{number:04d}").write_bytes(b"junk")
    telling = Telling()
    assert list(read_logs(find_logs([tmp_path], telling), telling)) == []
    *told, last = telling.diagnostics()
    assert {each.code for each in told} == {last.code} == {"unknown-log"}
    assert len(told) == SHOWN_FILES
    assert telling.lost == 1000
    assert last.message == "and 980 more of this kind in 980 more files, of which this is the first"
    assert last.span is not None
    assert last.span.file == str(tmp_path / "0020")
    assert telling.failed(str(tmp_path / "0999"))


def test_kinds_and_severities_are_counted_apart() -> None:
    telling = Telling()
    for number in range(SHOWN_FILES + 1):
        telling.warn("broken-log", "w", f"file{number}", 7)
        telling.fail("cut-log", "f", f"file{number}")
    for _ in range(SHOWN + 2):
        telling.warn("broken-log", "w", "file0")
    told = telling.diagnostics()
    assert sum(each.severity is Severity.ERROR for each in told) == SHOWN_FILES + 1
    assert [each.message for each in told if each.message not in ("w", "f")] == [
        "and 3 more of this kind in this file",
        "and one more file",
        "and one more file",
    ]
    assert telling.lost == 2 * (SHOWN_FILES + 1) + SHOWN + 2
