"""Real logs against phase durations that were worked out independently: counts exactly, times to 0.1 %."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mrdsl import api
from mrdsl.cli import cli
from mrdsl.core.diagnostics import MrdslError
from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.reading import find_logs, read_logs
from mrdsl.exchange.logs.records import AttemptEnd, MapReduceJob, SparkApplication, TaskKind
from mrdsl.profiling.report import JOB_COLUMNS, STAGE_COLUMNS, job_rows, stage_rows
from tests.shared_data import shared


def rows_of(name: str) -> list[dict[str, str]]:
    with shared(f"data/{name}").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@cache
def runs(folder: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Every row of our own tables, by file and job, or file, stage and attempt."""
    telling, found = Telling(), {}
    for run in read_logs(find_logs([shared(f"data/{folder}")], telling), telling):
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


def test_every_job_of_mapreduce() -> None:
    expected = rows_of("EXPECTED_mr_acceptance.tsv")
    assert len(expected) == 68
    for row in expected:
        ours = runs("hadoop")[Path(row["source"]).name, row["job"], ""]
        wrong = {key: (row[key], ours[key]) for key in JOB_COLUMNS[2:] if not agrees(row[key], ours[key])}
        assert not wrong, row["job"]


def test_every_stage_of_spark() -> None:
    expected = rows_of("EXPECTED_spark_acceptance.tsv")
    assert len(expected) == 50
    for row in expected:
        ours = runs("spark")[Path(row["file"]).name, row["stage"], row["attempt"]]
        wrong = {key: (row[key], ours[key]) for key in STAGE_COLUMNS[1:] if not agrees(row[key], ours[key])}
        assert not wrong, row


HADOOP, HRAVEN = "hadoop/jhist/apache-hadoop-common/", "hadoop/jhist/twitter-hraven/"
SLEEP = "1329348443227-user-Sleep+job-1329348468601-10-1-SUCCEEDED-default.jhist"
# file, code and line of its one message ("" where the log is whole and tells of failures itself), runs that are saved
ROBUST = [
    (f"{HADOOP}job_0.23.9-FAILED.jhist", "", 0, 1),
    (f"{HADOOP}job_1329348432655_0001-{SLEEP}", "", 0, 1),
    (
        f"{HADOOP}job_1393307629410_0001-1393307687476-user-Sleep+job-1393307723835-0-0-FAILED-default-1393307693920.jhist",
        "", 0, 1,
    ),
    (f"{HADOOP}job_2.0.3-alpha-FAILED.jhist", "", 0, 1),
    (f"{HADOOP}job_2.4.0-FAILED.jhist", "", 0, 1),
    (f"{HRAVEN}job_1329348432999_0003-{SLEEP}", "broken-log", 1, 1),
    (
        f"{HRAVEN}job_1410289045532_259974-1411647985641-user35-SomeJobName-1411647999554-1-0-SUCCEEDED-"
        "root.someQueueName-1411647995323.jhist",
        "cut-log", 15, 1,
    ),
    (f"{HRAVEN}something.example.com_1337787092259_job_201205231531_256984_userName1_App1", "cut-log", 4, 1),
    ("hadoop/jhist/apache-eagle/job_1479206441898_508949-1481299030929-testhistory.jhist", "broken-log", 31, 1),
    ("hadoop/rumen/wordcount2.json", "", 0, 2),
    ("hadoop/rumen/mr2011/goldFoldedTrace.json.gz", "", 0, 89),
    ("hadoop/rumen/mr2011/truncated-job-tracker-log", "cut-log", 58, 1),
    ("hadoop/rumen/mr2011/input-trace.json", "cut-log", 2093, 4),
    ("spark/nvidia/qualification__truncated_eventlog", "cut-log", 62, 1),
    ("spark/nvidia/profiling__malformed_json_eventlog.zstd", "broken-log", 4, 1),
    ("spark/nvidia/qualification__join_missing_sql_end", "", 0, 1),
    ("spark/nvidia/qualification__empty_eventlog", "", 0, 1),
    ("spark/dr-elephant/event_log_1", "", 0, 1),
    ("spark/dr-elephant/event_log_2", "cut-log", 4, 1),
    ("sls/hadoop-trunk-readfile/nodes-with-resources.json", "unknown-log", 1, 0),
    ("sls/hadoop-common-2014/test_resources_yarn-site.xml", "unknown-log", 1, 0),
]  # fmt: skip
NAMES = [path.rpartition("/")[2][:40] for path, *_ in ROBUST]


@pytest.mark.parametrize(("path", "code", "line", "saved"), ROBUST, ids=NAMES)
def test_a_broken_log_is_told_with_its_line(path: str, code: str, line: int, saved: int) -> None:
    telling = Telling()
    runs = list(read_logs(find_logs([shared(f"data/{path}")], telling), telling))
    messages = telling.diagnostics()
    assert len(runs) == saved
    assert [message.code for message in messages] == ([code] if code else [])
    for message in messages:
        assert message.span is not None
        assert (message.span.file, message.span.line) == (str(shared(f"data/{path}")), line)


@pytest.mark.parametrize(("path", "saved"), [(path, saved) for path, _, _, saved in ROBUST], ids=NAMES)
def test_a_broken_log_is_no_fault_of_the_command(path: str, saved: int) -> None:
    done = CliRunner().invoke(cli, ["profile", str(shared(f"data/{path}"))], standalone_mode=False)
    assert getattr(done.exception, "exit_code", 0) == (0 if saved else 2)
    assert done.exception is None or isinstance(done.exception, MrdslError)


def test_overhead_and_doubts_of_real_jobs() -> None:
    """As the data are described: of the largest job 66 killed and 3 failed map attempts, one killed job, and so on."""
    traces = api.profile([shared("data/hadoop/rumen/mr2011/job-tracker-logs-trace-output.gz")])
    ends = Counter(each.end for each in traces.jobs[3].attempts if each.kind is TaskKind.MAP)
    assert (ends[AttemptEnd.KILLED], ends[AttemptEnd.FAILED]) == (66, 3)
    assert [each.reason for each in traces.left_out] == ["it did not succeed (killed)"]
    (folded,) = api.profile([shared("data/hadoop/rumen/mr2011/goldFoldedTrace.json.gz")]).classes
    assert any("since the end is before the begin" in warning for warning in folded.warnings)
    (sleep,) = api.profile([shared(f"data/{ROBUST[1][0]}")]).classes
    assert "1 job with more reduce tasks than the log announces" in sleep.warnings


def test_a_rolled_log_is_one_application(tmp_path: Path) -> None:
    home = tmp_path / "eventlog_v2_local-1623876083964"
    home.mkdir()
    for part in (1, 2):
        name = f"events_{part}_local-1623876083964.zstd"
        path = shared(f"data/spark/nvidia/qualification__eventlog_v2_local-1623876083964__{name}")
        (home / name).symlink_to(path)
    (home / "appstatus_local-1623876083964").touch()
    telling = Telling()
    (application,) = read_logs(find_logs([tmp_path], telling, allow_outside=True), telling)
    assert isinstance(application, SparkApplication)
    assert [len(stage.durations) for stage in application.stages] == [600, 2000, 200, 1]
    assert telling.diagnostics() == ()
