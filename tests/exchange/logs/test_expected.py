"""Real logs against phase durations that were worked out independently: counts exactly, times to 0.1 %."""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mrdsl.exchange.logs.reading import find_logs, read_logs
from mrdsl.exchange.logs.records import MapReduceJob, SparkApplication
from mrdsl.exchange.logs.telling import Telling
from mrdsl.profiling.tables import JOB_COLUMNS, STAGE_COLUMNS, job_rows, stage_rows

DATA = Path(os.environ.get("MRDSL_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "data"
HERE = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")


def rows_of(name: str) -> list[dict[str, str]]:
    path = DATA / name
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@cache
def runs(folder: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Every row of our own tables, by file and job, or file, stage and attempt."""
    telling, found = Telling(), {}
    for run in read_logs(find_logs([DATA / folder], telling), telling):
        name = Path(run.source).name
        if isinstance(run, MapReduceJob):
            for row in job_rows([run]):
                found.setdefault((name, run.job, ""), dict(zip(JOB_COLUMNS, row, strict=True)))
        else:
            for row in stage_rows([run]):
                cells = dict(zip(STAGE_COLUMNS, row, strict=True))
                found[name, str(cells["stage"]), str(cells["attempt"])] = cells
    return found


def agrees(expected: str, ours: Any) -> bool:
    if expected == "" or ours is None:
        return expected == "" and ours in (None, "")
    if isinstance(ours, str):
        return ours == expected
    return abs(float(expected) - ours) <= 1e-3 * max(1.0, abs(float(expected)))


@HERE
def test_every_job_of_mapreduce() -> None:
    expected = rows_of("EXPECTED_mr_acceptance.tsv")
    assert len(expected) == 68
    for row in expected:
        ours = runs("hadoop")[Path(row["source"]).name, row["job"], ""]
        wrong = {key: (row[key], ours[key]) for key in JOB_COLUMNS[2:] if not agrees(row[key], ours[key])}
        assert not wrong, row["job"]


@HERE
def test_every_stage_of_spark() -> None:
    expected = rows_of("EXPECTED_spark_acceptance.tsv")
    assert len(expected) == 50
    for row in expected:
        ours = runs("spark")[Path(row["file"]).name, row["stage"], row["attempt"]]
        wrong = {key: (row[key], ours[key]) for key in STAGE_COLUMNS[1:] if not agrees(row[key], ours[key])}
        assert not wrong, row


ROBUST = [
    (
        "hadoop/jhist/twitter-hraven/something.example.com_1337787092259_job_201205231531_256984_userName1_App1",
        "cut-log",
    ),
    ("hadoop/rumen/mr2011/truncated-job-tracker-log", "broken-log"),
    ("hadoop/rumen/mr2011/input-trace.json", "cut-log"),
    ("spark/nvidia/profiling__malformed_json_eventlog.zstd", "broken-log"),
    ("spark/nvidia/qualification__truncated_eventlog", "cut-log"),
    ("spark/dr-elephant/event_log_2", "cut-log"),
    ("sls/hadoop-trunk-readfile/nodes-with-resources.json", "unknown-log"),
]


@HERE
@pytest.mark.parametrize(("path", "code"), ROBUST, ids=[path.rpartition("/")[2][:40] for path, _ in ROBUST])
def test_a_broken_log_is_told_with_its_line(path: str, code: str) -> None:
    telling = Telling()
    found = list(read_logs(find_logs([DATA / path], telling), telling))
    (told, *_) = [d for d in telling.diagnostics() if d.code == code]
    assert told.span is not None
    assert told.span.file.endswith(Path(path).name)
    assert found or code == "unknown-log"


@HERE
def test_a_rolled_log_is_one_application(tmp_path: Path) -> None:
    home = tmp_path / "eventlog_v2_local-1623876083964"
    home.mkdir()
    for part in (1, 2):
        name = f"events_{part}_local-1623876083964.zstd"
        path = DATA / "spark/nvidia" / f"qualification__eventlog_v2_local-1623876083964__{name}"
        (home / name).symlink_to(path)
    (home / "appstatus_local-1623876083964").touch()
    telling = Telling()
    (application,) = read_logs(find_logs([tmp_path], telling), telling)
    assert isinstance(application, SparkApplication)
    assert [len(stage.durations) for stage in application.stages] == [600, 2000, 200, 1]
    assert telling.diagnostics() == ()
