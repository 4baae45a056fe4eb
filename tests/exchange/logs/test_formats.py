"""Logs in every wrapping, made here by other means than those that read them; what is cut or too large is told."""

from __future__ import annotations

import gzip
import io
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrdsl import api
from mrdsl.cli import cli
from mrdsl.exchange.logs import opening, traces
from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.hadoop_history import configuration_beside
from mrdsl.exchange.logs.opening import PIECE, UnreadableLogError, ahead, chunks, numbered
from mrdsl.exchange.logs.reading import find_logs, read_logs
from mrdsl.exchange.logs.records import LATEST, Attempt, AttemptEnd, Attempts, MapReduceJob, SparkApplication, TaskKind
from mrdsl.exchange.logs.traces import objects

from .making import BEGIN, as_binary, as_json, job_events, lz4_java, xerial_snappy

MAPS = [(1000, 5000), (1000, 9000), (6000, 8000)]
REDUCES = [(2000, 10_000, 10_100, 12_000), (9500, 11_000, 11_050, 11_500)]
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
EVENTS = job_events("job_1_0001", "Sleep job", BEGIN, MAPS, REDUCES, lost=1)


def spark_log(tasks: int = 40) -> bytes:
    lines: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.0.0"},
        {"Event": "SparkListenerApplicationStart", "App Name": "funnel", "App ID": "a-1", "Timestamp": BEGIN},
        {"Event": "SparkListenerJobStart", "Job ID": 0, "Stage IDs": [0, 1],
         "Stage Infos": [{"Stage ID": i, "Stage Attempt ID": 0, "Stage Name": f"s{i}",
                          "Parent IDs": [0] if i else []} for i in range(2)]},
        {"Event": "SparkListenerStageSubmitted", "Stage Info": {"Stage ID": 0, "Parent IDs": []}},
    ]  # fmt: skip
    for task in range(tasks):
        reason = {"Reason": "Success" if task % 10 else "ExceptionFailure"}
        info = {"Task ID": task, "Launch Time": BEGIN + task, "Finish Time": BEGIN + 3 * task, "Failed": not task % 10,
                "Killed": False}  # fmt: skip
        lines.append({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0, "Task Type": "ResultTask",
                      "Task End Reason": reason, "Task Info": info, "Task Metrics":
                      {"Shuffle Read Metrics": {"Remote Bytes Read": 3, "Local Bytes Read": 4}}})  # fmt: skip
    lines.append({"Event": "SparkListenerApplicationEnd", "Timestamp": BEGIN + 1000})
    return "\n".join(json.dumps(line) for line in lines).encode()


def zstd(data: bytes) -> bytes:
    import cramjam

    return bytes(cramjam.zstd.compress(data))


WRAPPINGS = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd, "lz4": lz4_java, "snappy": xerial_snappy}


def read(folder: Path, data: bytes, name: str = "log") -> tuple[list[Any], tuple[Any, ...]]:
    (folder / name).write_bytes(data)
    telling = Telling()
    found = list(read_logs(find_logs([folder / name], telling), telling))
    return found, telling.diagnostics()


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_every_wrapping_gives_the_same_application(wrapping: str, tmp_path: Path) -> None:
    (found,), told = read(tmp_path, WRAPPINGS[wrapping](spark_log(40)))
    assert isinstance(found, SparkApplication)
    first, second = found.stages
    assert found.version == "4.0.0"
    assert sum(first.durations) == sum(2 * task for task in range(40) if task % 10)
    assert (first.failed, first.shuffle_read, second.skipped, second.parents) == (4, 40 * 7, True, (0,))
    assert told == ()


@pytest.mark.parametrize("wrapping", ["gzip", "zstd", "lz4", "snappy"])
def test_a_cut_stream_is_told(wrapping: str, tmp_path: Path) -> None:
    noise = bytes(random.Random(1).randbytes(200_000)).hex().encode()
    data = WRAPPINGS[wrapping](spark_log(400) + b"\n" + noise)
    _, told = read(tmp_path, data[: len(data) // 2])
    assert {d.code for d in told} <= {"cut-log", "broken-log"}
    assert any("stream" in d.message for d in told)


def test_what_expands_too_far_is_refused() -> None:
    with pytest.raises(UnreadableLogError, match="expands to more than 1,000,000 bytes"):
        list(chunks(io.BytesIO(gzip.compress(bytes(50_000_000))), limit=1_000_000))


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_bomb_expands_piece_by_piece(pack: Any) -> None:
    """64 MiB of zeros are some KB; no piece of them is larger than others."""
    packed = pack(bytes(2**26))
    assert len(packed) < 2**17
    assert max(len(piece) for piece in chunks(io.BytesIO(packed))) <= PIECE


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LONGEST_LINE", 10_000)
    with pytest.raises(UnreadableLogError, match="a line is longer than 10,000 bytes"):
        list(numbered([b"a" * 4000] * 4))


@given(st.lists(st.sampled_from([b"", b"a", b"skip me", b"longer than a piece"])), st.integers(1, 12))
@UNTIMED
def test_lines_are_the_same_however_they_are_cut(texts: list[bytes], size: int) -> None:
    data = b"\n".join(texts)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    found = [(number, bytes(line)) for number, line in numbered(pieces, (b"skip",))]
    whole = texts[:-1] if texts and not texts[-1] else texts
    assert found == [(number, text) for number, text in enumerate(whole, 1) if not text.startswith(b"skip")]


def test_what_a_small_cut_log_had_is_used(tmp_path: Path) -> None:
    """It breaks where the kind of log is still looked for."""
    noise = random.Random(1).randbytes(3000).hex().encode()
    data = gzip.compress(spark_log(40) + b"\n" + noise)
    (found,), told = read(tmp_path, data[:-1000])
    assert len(found.stages[0].launches) == 36
    assert any("stream is cut" in d.message and d.span is not None and d.span.line > 1 for d in told)


def test_the_thread_that_expands_ends_with_its_reader() -> None:
    before = threading.active_count()
    pieces = ahead(iter([b"x"] * 1000))
    assert next(pieces) == b"x"
    pieces.close()
    assert threading.active_count() == before

    def broken() -> Iterator[bytes]:
        yield b"a"
        raise UnreadableLogError("here")

    taken = []
    with pytest.raises(UnreadableLogError, match="here"):
        taken.extend(ahead(broken()))
    assert threading.active_count() == before


def test_every_byte_read_is_counted(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(gzip.compress(spark_log(400)))
    (log,) = find_logs([tmp_path], Telling())
    counted: list[int] = []
    assert len(list(read_logs([log], Telling(), progress=counted.append))) == 1
    assert sum(counted) == log.size == (tmp_path / "log").stat().st_size


@pytest.mark.parametrize("encode", [as_json, as_binary])
def test_both_encodings_of_job_history(encode: Any, tmp_path: Path) -> None:
    (job,), told = read(tmp_path, encode(EVENTS), "job_9_0009.jhist")
    assert isinstance(job, MapReduceJob)
    assert (job.job, job.status, job.name, job.queue) == ("job_1_0001", "FINISHED", "Sleep job", "root.night")
    assert sorted(str(each.end) for each in job.attempts) == ["failed"] + ["succeeded"] * 5
    assert [message.message for message in told] == [
        "the file is named after job_9_0009, but contains job_1_0001, which is used"
    ]


def test_a_cut_binary_history_keeps_what_came_before(tmp_path: Path) -> None:
    whole = as_binary(EVENTS)
    (job,), told = read(tmp_path, whole[:-40])
    assert job.status == "UNFINISHED"
    assert {d.code for d in told} == {"cut-log"}


def test_comments_and_the_configuration_beside(tmp_path: Path) -> None:
    settings_file = tmp_path / "job_1_0001_conf.xml"
    kept = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in (("a.b", "7"), ("mapreduce.job.queuename", "night"), ("mapreduce.map.memory.mb", "2048"))
    )
    settings_file.write_text(f"<configuration>{kept}</configuration>")
    (job,), _ = read(tmp_path, b"<!--\n a licence\n-->\n" + as_json(EVENTS))
    assert job.configuration == {"mapreduce.job.queuename": "night", "mapreduce.map.memory.mb": "2048"}
    assert job.queue == "root.night"
    (old,), _ = read(tmp_path, as_json(EVENTS).replace(b"jobQueueName", b"untold"))
    assert old.queue == "night"
    for text, reason in (
        ('<!DOCTYPE x [<!ENTITY e "x">]><configuration/>', "it declares entities"),
        ("<configuration>\n<property>", "no element found"),
        ('<?xml version="1.0" encoding="none"?><configuration/>', "unknown encoding"),
        ("<configuration/>".encode("utf-16"), "it is no text of UTF-8"),
    ):
        settings_file.write_bytes(text.encode() if isinstance(text, str) else text)
        (job,), told = read(tmp_path, as_json(EVENTS))
        assert job.configuration == {}
        assert [reason in message.message for message in told] == [True]


@pytest.mark.parametrize(
    "items",
    [
        "null",
        {"type": "record", "name": "Nothing", "fields": []},
        {"type": "record", "name": "Two", "fields": [{"name": "a", "type": "null"}]},
        {"type": "fixed", "name": "None", "size": 0},
    ],
)
def test_a_schema_by_which_few_bytes_are_many_things_is_refused(items: Any, tmp_path: Path) -> None:
    """An array of 2**40 nulls is six bytes."""
    fields = [{"name": "type", "type": "string"}, {"name": "event", "type": {"type": "array", "items": items}}]
    schema_line = json.dumps({"type": "record", "name": "Event", "fields": fields})
    bomb = b"Avro-Binary\n" + schema_line.encode() + b"\n\x02x" + b"\x80\x80\x80\x80\x80\x40\x00"
    found, told = read(tmp_path, bomb)
    assert found == []
    assert ["take no bytes" in message.message for message in told] == [True]


@pytest.mark.parametrize("line", [b"null", b"{", b'{"type": {}}', b'{"type": "record", "name": "E", "fields": [1]}'])
def test_a_schema_that_is_none(line: bytes, tmp_path: Path) -> None:
    found, told = read(tmp_path, b"Avro-Binary\n" + line + b"\n\x02x")
    assert found == []
    assert [(message.code, message.span and message.span.line) for message in told] == [("broken-log", 2)]


TEXT_HISTORY = """Meta VERSION="1" .
Job JOBID="job_1_0001" JOBNAME="word\\ count" USER="ops" SUBMIT_TIME="1000" .
Job JOBID="job_1_0001" LAUNCH_TIME="1100" TOTAL_MAPS="1" TOTAL_REDUCES="0" JOB_STATUS="PREP" .
MapAttempt TASK_TYPE="MAP" TASKID="m" TASK_ATTEMPT_ID="a0" START_TIME="2000" TRACKER_NAME="tracker_n1:1" .
MapAttempt TASK_TYPE="MAP" TASKID="m" TASK_ATTEMPT_ID="a0" TASK_STATUS="FAILED" FINISH_TIME="2500" ERROR="an error
\tat some.place.
of two lines" .
MapAttempt TASK_TYPE="MAP" TASKID="m" TASK_ATTEMPT_ID="a1" START_TIME="3000" TRACKER_NAME="tracker_n2:1" .
MapAttempt TASK_TYPE="MAP" TASKID="m" TASK_ATTEMPT_ID="a1" TASK_STATUS="SUCCESS" FINISH_TIME="9000" HOSTNAME="/r/n2" .
Job JOBID="job_1_0001" FINISH_TIME="9500" JOB_STATUS="SUCCESS" .
"""


def test_an_error_of_several_lines_is_one_event(tmp_path: Path) -> None:
    (job,), told = read(tmp_path, TEXT_HISTORY.encode())
    assert told == ()
    assert [(str(each.end), each.start, each.finish, each.host) for each in job.attempts] == [
        ("failed", 2000, 2500, "n1"),
        ("succeeded", 3000, 9000, "n2"),
    ]
    _, told = read(tmp_path, TEXT_HISTORY.replace('of two lines" .\n', "").encode())
    assert [(message.code, message.span.line) for message in told if message.span] == [("cut-log", 5)]


ATTEMPT = st.builds(
    Attempt, st.sampled_from(TaskKind), st.sampled_from(AttemptEnd), *[st.none() | st.integers(0, LATEST)] * 4,
    st.sampled_from(["", "n1", "n2"]),
)  # fmt: skip


@given(st.lists(ATTEMPT, max_size=20), st.slices(20))
@UNTIMED
def test_columns_hold_what_they_were_given(attempts: list[Attempt], part: slice) -> None:
    held = Attempts(attempts)
    assert list(held) == attempts
    assert held[part] == attempts[part]
    assert len(held) == len(attempts)


@pytest.mark.parametrize("time", [-1, 2**63, 10**30, -(10**30)])
def test_impossible_times_are_told_or_unknown(time: int, tmp_path: Path) -> None:
    log = spark_log(40).replace(b'"Finish Time": %d,' % (BEGIN + 3 * 7), b'"Finish Time": %d,' % time)
    (application,), told = read(tmp_path, log)
    assert len(application.stages[0].launches) == 35
    assert [(message.code, message.span.line) for message in told if message.span] == [("broken-log", 4 + 8)]
    task = {"attempts": [{"result": "SUCCESS", "startTime": time, "finishTime": BEGIN}]}
    document = {"jobID": "job_1_0001", "outcome": "SUCCESS", "finishTime": BEGIN, "mapTasks": [task]}
    (job,), _ = read(tmp_path, json.dumps(document).encode())
    assert [each.start for each in job.attempts] == [None]


@pytest.mark.parametrize("job", ["../job_1_0001", "job_1_0001/../../job_1_0001", "job_1_0001\x00", ""])
def test_an_id_does_not_lead_out_of_the_folder(job: str, tmp_path: Path) -> None:
    """The same settings are read where the id is that of a job."""
    (tmp_path / "logs").mkdir()
    text = (
        "<configuration><property><name>mapreduce.job.queuename</name><value>night</value></property></configuration>"
    )
    for folder in (tmp_path, tmp_path / "logs"):
        (folder / "job_1_0001_conf.xml").write_text(text)
    history = str(tmp_path / "logs" / "log.jhist")
    assert configuration_beside(history, job, Telling()) == {}
    assert configuration_beside(history, "job_1_0001", Telling()) == {"mapreduce.job.queuename": "night"}


@pytest.mark.parametrize(
    ("jobs", "counts"), [(100_000, [100_000]), (1, [100_000] * 40), (3, [90_000] * 7), (100_000, []), (7, [5])]
)
def test_counts_of_sls_multiply_within_one_budget(jobs: int, counts: list[int], tmp_path: Path) -> None:
    container = {"container.start.ms": 0, "container.end.ms": 4000, "container.type": "map"}
    tasks = [{**container, "count": count} for count in counts]
    path = tmp_path / "sls.json"
    path.write_text(json.dumps({"job.id": "a", "job.count": jobs, "job.tasks": tasks}))
    telling = Telling()
    found = list(read_logs(find_logs([path], telling), telling))
    containers, written = sum(len(job.attempts) for job in found), len(tasks)
    assert len(found) <= traces.MOST_ALIKE
    assert containers <= traces.MOST_REPEATED + written
    whole = jobs * sum(counts)
    assert (containers == whole and len(found) == jobs) == (not telling.found)


def test_jobs_and_containers_of_sls_that_are_repeated(tmp_path: Path) -> None:
    """Three jobs of four containers each; of a number that no cluster has a part is used, and that is told."""
    task = {"container.type": "map", "container.start.ms": 0, "container.end.ms": 5, "count": 4}
    document = {"job.id": "j", "job.count": 3, "job.start.ms": 0, "job.end.ms": 9, "job.tasks": [task]}
    jobs, told = read(tmp_path, json.dumps(document).encode())
    assert [(job.job, job.name, len(job.attempts)) for job in jobs] == [("j", "j", 4), ("j_2", "j", 4), ("j_3", "j", 4)]
    assert told == ()
    many, told = read(
        tmp_path, json.dumps({**document, "job.count": 1, "job.tasks": [{**task, "count": 10**9}]}).encode()
    )
    assert len(many[0].attempts) == traces.MOST_ALIKE
    assert [each.message for each in told] == ["container 1 has 1,000,000,000 copies"]


@pytest.mark.parametrize("count", [0, -1, 1.5, "3", None, True, 10**30])
def test_counts_of_sls_that_are_not_numbers_of_copies_are_reported(count: Any, tmp_path: Path) -> None:
    task = {"container.type": "map", "container.start.ms": 0, "container.end.ms": 5}
    for written in ({"job.count": count, "job.tasks": [task]}, {"job.tasks": [{**task, "count": count}]}):
        jobs, told = read(tmp_path, json.dumps({"job.id": "j", **written}).encode())
        assert [each.code for each in told] == ["broken-log"]
        assert jobs


def test_a_log_on_standard_input() -> None:
    done = CliRunner().invoke(cli, ["profile", "-"], input=gzip.compress(as_json(EVENTS)), standalone_mode=False)
    assert done.exception is None
    assert "Sleep_job" in done.output


def test_names_in_logs_move_no_terminal(tmp_path: Path) -> None:
    events = job_events("job_1_0001", "\x1b[2Jgone\u202e", BEGIN, MAPS, REDUCES)
    (tmp_path / "log").write_bytes(as_json(events))
    for more in ([], ["-o", "-"], ["-o", "-", "--by", "(.*)"]):
        done = CliRunner().invoke(cli, ["profile", str(tmp_path), *more], standalone_mode=False)
        assert done.exception is None
        assert "gone" in done.output
        assert "\x1b" not in done.output


VALUES = st.integers() | st.text() | st.none()
DOCUMENTS = st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)).map(
    lambda value: {"v": value}
)


@given(
    st.lists(DOCUMENTS, max_size=5),
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_objects_behind_each_other_survive_any_cutting(documents: list[Any], sizes: list[int]) -> None:
    data = "\n".join(json.dumps(document, ensure_ascii=False) for document in documents).encode()
    parts, at = [], 0
    while at < len(data):
        size = sizes[len(parts) % len(sizes)]
        parts.append(data[at : at + size])
        at += size
    telling = Telling()
    found = list(objects(parts, "x", telling))
    assert [document for _, document in found] == documents
    assert [line for line, _ in found] == [1 + i for i in range(len(documents))]
    assert telling.diagnostics() == ()


@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_text_between_objects_is_told_with_its_line(size: int) -> None:
    """Brackets and quotes in strings open and close nothing; commas, line ends and a byte-order mark are no text."""
    data = b'\xef\xbb\xbf{"a": "}{\\"["},\n{"a": [1]}\n\nlost"}\n  {"a": {}}\n tail'
    telling = Telling()
    found = list(objects((data[at : at + size] for at in range(0, len(data), size)), "x", telling))
    assert found == [(1, {"a": '}{"['}), (2, {"a": [1]}), (5, {"a": {}})]
    assert [(told.message, told.span and told.span.line) for told in telling.diagnostics()] == [
        ("this text is in no object", 4),
        ("this text is in no object", 6),
    ]


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"hello", b"\x00" * 100, b"{", b'{"a": 1}', b"\x1f\x8b", b"LZ4Block", b"PK\x03\x04"]
)
def test_what_is_no_log_is_one_message(data: bytes, tmp_path: Path) -> None:
    found, told = read(tmp_path, data)
    assert found == []
    assert len(told) == 1
    assert told[0].span is not None


def test_folders_pipes_and_names_that_are_not_there(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()
    telling = Telling()
    logs = find_logs([tmp_path / "pipe", tmp_path / "empty", tmp_path / "nowhere"], telling)
    assert list(read_logs(logs, telling)) == []
    assert sorted(d.code for d in telling.diagnostics()) == ["no-logs", "no-logs", "unreadable-log"]


def test_what_was_lost_is_counted(tmp_path: Path) -> None:
    """Seven lines are broken: three are told with their place, the others as a number."""
    lines = spark_log(40).split(b"\n")
    for place in range(10, 17):
        lines[place] = lines[place][:-9]
    (tmp_path / "log").write_bytes(b"\n".join(lines))
    profiles = api.profile([tmp_path])
    assert profiles.lost == 7
    assert [message.span.line for message in profiles.diagnostics if message.span] == [11, 12, 13, 1]
    assert profiles.diagnostics[-1].message == "and 4 more of this kind in this file"
