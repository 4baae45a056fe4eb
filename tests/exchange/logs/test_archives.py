"""Logs in archives and in several files, as the History Server and Databricks give them, and logs of other engines."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mrdsl import api
from mrdsl.core.diagnostics import MrdslError
from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.reading import find_logs, read_logs
from mrdsl.exchange.logs.records import MapReduceJob, SparkApplication

from .making import BEGIN, as_json, job_events, spark_events
from .test_formats import TEXT_HISTORY, zstd

LOG = spark_events("etl", BEGIN, [(0, 9000, [(0, (), ((1000, 3000), (1000, 4000))), (1, (0,), ((4000, 8000),))])])
LINES = LOG.splitlines(keepends=True)


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def read(*paths: Path) -> tuple[list[Any], tuple[Any, ...]]:
    telling = Telling()
    found = list(read_logs(find_logs(paths, telling), telling))
    return found, telling.diagnostics()


def test_an_archive_of_the_history_server(tmp_path: Path) -> None:
    """One file, a rolled log compressed with zstd as Spark 4 writes it by default, and a job history; any name."""
    rolled = {f"eventlog_v2_b/events_{n}_b.zstd": zstd(b"".join(part)) for n, part in ((2, LINES[7:]), (1, LINES[:7]))}
    history = as_json(job_events("job_1_0001", "sort", BEGIN, [(0, 4000)], []))
    files = {"a": LOG, **rolled, "eventlog_v2_b/appstatus_b": b"", "done/job_1_0001.jhist": history}
    (tmp_path / "logs").write_bytes(zipped(files))
    found, told = read(tmp_path / "logs")
    assert told == ()
    assert [Path(run.source).relative_to(tmp_path).as_posix() for run in found] == [
        "logs/a",
        "logs/done/job_1_0001.jhist",
        "logs/eventlog_v2_b",
    ]
    plain, _, parts = found
    assert isinstance(plain, SparkApplication)
    assert plain.stages == parts.stages
    assert (plain.started, plain.finished) == (parts.started, parts.finished)
    profiles = api.profile([tmp_path])
    assert (profiles.logs, profiles.barren) == (1, 0)


def test_archives_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = zipped({"a": LOG})
    broken = bytearray(zipped({"a": LOG}, zipfile.ZIP_STORED))
    broken[len(broken) // 2] ^= 255
    encrypted = bytearray(whole)
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        encrypted[encrypted.index(mark) + (6 if mark == b"PK\x03\x04" else 8)] |= 1
    cases = {
        "cut": (whole[: len(whole) // 2], "the archive is broken or cut"),
        "broken": (bytes(broken), "Bad CRC-32"),
        "encrypted": (bytes(encrypted), "cannot be expanded"),
        "nested": (zipped({"inner": whole}), "an archive in another one"),
        "other": (zipped({"inner": b"text"}), "not a log format"),
    }
    for name, (data, reason) in cases.items():
        (tmp_path / name).write_bytes(data)
        _, told = read(tmp_path / name)
        assert [reason in each.message for each in told] == [True], name
        assert told[0].span.file.startswith(str(tmp_path / name))
    (tmp_path / "empty").write_bytes(zipped({}))
    assert read(tmp_path / "empty")[0] == []
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(whole)))
    with pytest.raises(MrdslError) as refused:
        api.profile(["-"])
    assert refused.value.diagnostics[0].hint == "unpack it first"


def test_an_archive_that_expands_too_far_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(zipped({"a": LOG + b" " * 3_000_000}))
    telling = Telling()
    list(read_logs(find_logs([tmp_path / "bomb"], telling), telling, limit=1_000_000))
    assert any("expands to too many bytes" in each.message for each in telling.diagnostics())


def test_a_log_of_databricks_is_its_files_by_date(tmp_path: Path) -> None:
    """The file without a date is the last one; it never has an end of the application."""
    parts = {
        "eventlog-2024-03-01--09-45.gz": gzip.compress(b"".join(LINES[:6])),
        "eventlog-2024-03-01--10-00.gz": gzip.compress(b"".join(LINES[6:9])),
        "eventlog": b"".join(LINES[9:-1]),
    }
    for home in (tmp_path / "one", tmp_path / "two"):
        home.mkdir()
    for name, data in parts.items():
        (tmp_path / "one" / name).write_bytes(data)
    (tmp_path / "two" / "eventlog").write_bytes(LOG)
    (first, second), told = read(tmp_path)
    assert first.stages == second.stages
    assert [each.code for each in told] == ["cut-log"]
    assert Path(first.source).name == "one"
    assert Path(second.source).name == "eventlog"
    (each,) = api.profile([tmp_path / "one"]).stage_classes
    assert [stage.tasks for stage in each.stages] == [2, 1]


@pytest.mark.parametrize(
    "text",
    [
        b'{"events":[{"ts":1,"eventtype":"DAG_SUBMITTED"}],"entity":"dag_1_0001_1","entitytype":"TEZ_DAG_ID"}\x01\n',
        b'{"dag":{"otherinfo":{"dagName":"q","numCompletedTasks":3}}}',
    ],
)
def test_logs_of_tez_are_refused_with_the_way_to_go(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(text)
    found, told = read(tmp_path)
    assert found == []
    assert [(each.code, each.message) for each in told] == [
        ("unknown-log", "this is history of Tez, which mrdsl does not read")
    ]
    assert "a `stage` for each vertex" in told[0].hint


def test_history_of_hadoop_0_18_has_no_points(tmp_path: Path) -> None:
    """It has neither a version nor a point at the end of a line; all else is as in Hadoop 0.20."""
    _, rest = TEXT_HISTORY.split("\n", 1)
    old = rest.replace('" .\n', '" \n')
    (tmp_path / "old").write_text(old)
    (tmp_path / "new").write_text(TEXT_HISTORY)
    (new, before), told = read(tmp_path)
    assert told == ()
    assert isinstance(before, MapReduceJob)
    assert [*before.attempts] == [*new.attempts]
    assert (before.status, before.submitted, before.finished) == (new.status, new.submitted, new.finished)
    (tmp_path / "old").write_text(old[: old.rindex("SUCCESS")])
    assert [each.code for each in read(tmp_path / "old")[1]] == ["cut-log"]
