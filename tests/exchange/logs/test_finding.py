"""Folders as users have them: links, junk, names of every kind, many files, folders that nobody may read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mrdsl.core.diagnostics import Severity
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.exchange.logs.formats import SHOWN, SHOWN_FILES, Telling
from mrdsl.exchange.logs.reading import Log, find_logs, read_logs
from mrdsl.planning.saved_specs import SavedFile
from mrdsl.reporting.diagnostics import as_text

from .making import BEGIN, as_json, job_events


def names(*paths: Path) -> list[str]:
    telling = Telling()
    found = [log.name for log in find_logs(paths, telling)]
    assert telling.diagnostics() == ()
    return found


def found_and_told(folder: Path, *, allow_outside: bool = False) -> tuple[list[str], list[tuple[str, str]]]:
    """The logs below a folder, and the code and the file's name of each warning."""
    telling = Telling()
    found = [str(Path(log.name).relative_to(folder)) for log in find_logs([folder], telling, allow_outside)]
    told = [(each.code, str(Path(each.span.file).relative_to(folder))) for each in telling.diagnostics() if each.span]
    return found, sorted(told)


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
    (logs / "gone").symlink_to(logs / "nowhere")
    gone = ("unreadable-log", "gone")
    assert found_and_told(logs, allow_outside=True) == (["b/deep/one", "c/two"], [gone])
    assert found_and_told(logs) == (["b/deep/one"], [("file-outside", "c"), ("file-outside", "d"), gone])


def test_links_that_lead_outside_are_left_out_unless_allowed(tmp_path: Path) -> None:
    """Of files and folders, by way of another link, and with a name that begins as the folder's own."""
    logs, beside = tmp_path / "logs", tmp_path / "logs-of-others"
    logs.mkdir()
    beside.mkdir()
    (beside / "one").write_text("x")
    (logs / "mine").write_text("x")
    (logs / "within").symlink_to("mine")
    (logs / "root").symlink_to("/")
    (logs / "file").symlink_to(beside / "one")
    (logs / "folder").symlink_to("../logs-of-others")
    (tmp_path / "step").symlink_to(beside / "one")
    (logs / "twice").symlink_to("../step")
    (logs / ".hidden").symlink_to("/etc/passwd")
    found, told = found_and_told(logs)
    assert found == ["mine", "within"]
    assert told == [("file-outside", name) for name in ("file", "folder", "root", "twice")]
    (logs / "root").unlink()
    assert found_and_told(logs, allow_outside=True) == (["file", "folder/one", "mine", "twice", "within"], [])
    (tmp_path / "by-link").symlink_to(logs)
    assert names(tmp_path / "by-link" / "mine") == [str(tmp_path / "by-link" / "mine")]
    assert [name for name, _ in [found_and_told(tmp_path / "by-link")]] == [["mine", "within"]]


def test_settings_beside_a_history_follow_the_same_rule(tmp_path: Path) -> None:
    """A link that leads out of the folder is told, and none of its settings are used; one within is read."""
    logs, text = (
        tmp_path / "logs",
        "<configuration><property><name>{0}</name><value>{1}</value></property></configuration>",
    )
    logs.mkdir()
    (tmp_path / "secret.xml").write_text(text.format("mapreduce.job.queuename", "night"))
    (logs / "settings.xml").write_text(text.format("mapreduce.job.queuename", "day"))
    for number, target in ((1, "../secret.xml"), (2, "settings.xml")):
        events = job_events(f"job_1_000{number}", "etl", BEGIN, [(1000, 5000)], [(2000, 6000, 6100, 8000)])
        (logs / f"job_1_000{number}.jhist").write_bytes(as_json(events))
        (logs / f"job_1_000{number}_conf.xml").symlink_to(target)

    def settings(allow_outside: bool) -> tuple[list[str | None], list[tuple[str, str]]]:
        telling = Telling()
        found = read_logs(find_logs([logs / "."], telling, allow_outside), telling)
        names = [each.configuration.get("mapreduce.job.queuename") for each in found]
        told = telling.diagnostics()
        return names, [
            (each.code, Path(each.span.file).name) for each in told if each.span and each.code != "unknown-log"
        ]

    assert settings(allow_outside=False) == ([None, "day"], [("file-outside", "job_1_0001_conf.xml")])
    assert settings(allow_outside=True) == (["night", "day"], [])


@pytest.mark.skipif(not Path("/proc/kmsg").exists(), reason="no /proc")
@pytest.mark.parametrize("target", ["/proc/kmsg", "/dev/zero", "/dev/tty", "/proc/self/environ"])
def test_devices_and_files_of_the_system_are_left_out_although_allowed(target: str, tmp_path: Path) -> None:
    """A read of /proc/kmsg waits for the kernel's next message."""
    (tmp_path / "link").symlink_to(target)
    assert found_and_told(tmp_path, allow_outside=True) == ([], [("unreadable-log", "link")])
    assert found_and_told(tmp_path)[1][-1] == ("file-outside", "link")
    telling = Telling()
    assert list(read_logs(find_logs([target], telling), telling)) == []
    assert [each.code for each in telling.diagnostics()] == ["unreadable-log"]
    with pytest.raises(UnreadableError):
        read_bytes(tmp_path / "link")
    kept = SavedFile("kmsg", target, 5, "0" * 64)
    assert kept.state() == "missing"


def test_what_is_no_log_by_its_name(tmp_path: Path) -> None:
    for name in (".hidden", "job_1_1_conf.xml", "a.crc", "b.summary", "appstatus_1", "kept", "günther ✓\nnew.log"):
        (tmp_path / name).write_text("x")
    os.mkfifo(tmp_path / "pipe")
    assert found_and_told(tmp_path) == (["günther ✓\nnew.log", "kept"], [("unreadable-log", "pipe")])


def test_rolled_logs_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    home = tmp_path / "eventlog_v2_app"
    home.mkdir()
    for number in (10, 9, 1):
        (home / f"events_{number}_app").write_text("x")
    (log,) = find_logs([tmp_path], Telling())
    assert log == Log(str(home), tuple(str(home / f"events_{number}_app") for number in (1, 9, 10)), 7)


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


def test_no_line_of_a_file_outside_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password of somebody\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "link").symlink_to(tmp_path / "secret")
    telling = Telling()
    assert list(find_logs([tmp_path / "logs"], telling)) == []
    printed = as_text(telling.diagnostics(), {})
    assert "warning[file-outside]" in printed
    assert "password" not in printed
