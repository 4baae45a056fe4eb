"""Logs as other versions and other programs write them: file systems, white space, names of fields, compressions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrdsl import api
from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.reading import find_logs, read_logs
from mrdsl.exchange.logs.records import MapReduceJob
from mrdsl.exchange.spot_history import read_spot_history
from tests.exchange.logs.making import BEGIN, as_json, job_events
from tests.shared_data import shared

GIB = 2**30
GROUP = "org.apache.hadoop.mapreduce.FileSystemCounter"
SPLITS = "org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter"


def read(path: Path) -> tuple[list[MapReduceJob], tuple[Diagnostic, ...]]:
    telling = Telling()
    found = list(read_logs(find_logs([path], telling), telling))
    return found, telling.diagnostics()  # type: ignore[return-value]


def counters(**groups: dict[str, int]) -> dict[str, Any]:
    names = {"fs": GROUP, "splits": SPLITS, "own": "com.example.Counters", "old": "FileSystemCounters"}
    return {
        "name": "X",
        "groups": [
            {
                "name": names[group],
                "displayName": group,
                "counts": [{"name": name, "displayName": name, "value": value} for name, value in values.items()],
            }
            for group, values in groups.items()
        ],
    }


SYSTEMS = ("S3", "S3A", "S3N", "GS", "ABFS", "ABFSS", "WASB", "WASBS", "ADL", "OSS", "COSN", "O3FS", "VIEWFS")


@pytest.mark.parametrize(
    ("of_maps", "of_all", "read_bytes"),
    [
        *((counters(fs={"HDFS_BYTES_READ": 1170, f"{each}_BYTES_READ": GIB}), None, GIB + 1170) for each in SYSTEMS),
        (counters(fs={"HDFS_BYTES_READ": 5, "S3A_BYTES_READ": 7}), None, 12),
        (counters(old={"FILE_BYTES_READ": 99, "HDFS_BYTES_READ": 5}), None, 5),
        (counters(fs={"HDFS_BYTES_READ": 5, "HDFS_BYTES_READ_EC": 5, "HDFS_BYTES_WRITTEN": 70}), None, 5),
        (counters(fs={"HDFS_BYTES_READ": 5}, own={"MY_BYTES_READ": 10**12}), None, 5),
        (counters(fs={"S3A_BYTES_READ": 300 * 2**40}), None, 300 * 2**40),
        (counters(fs={"FILE_BYTES_READ": 900}, splits={"BYTES_READ": 700}), None, 700),
        (counters(fs={"S3A_BYTES_READ": 900}, splits={"BYTES_READ": 700}), None, 900),
        (counters(fs={"FILE_BYTES_READ": 900}), None, None),
        (None, counters(fs={"GS_BYTES_READ": 11}), 11),
        (counters(fs={"GS_BYTES_READ": 0}), counters(fs={"GS_BYTES_READ": 11}), 0),
        ({"groups": []}, counters(fs={"GS_BYTES_READ": 11}), 11),
        ({"groups": [{"name": GROUP}]}, {"groups": 7}, None),
    ],
)
def test_input_is_that_of_every_file_system(tmp_path: Path, of_maps: Any, of_all: Any, read_bytes: int | None) -> None:
    """A byte is counted for one file system. ``FILE`` is that of spills; splits of local files have a counter."""
    *events, (kind, record, fields) = job_events("job_1_0001", "etl", BEGIN, [(0, 5000)], [])
    ended = {**fields, "mapCounters": of_maps, "totalCounters": of_all}
    (tmp_path / "a.jhist").write_bytes(as_json([*events, (kind, record, ended)]))
    (job,), told = read(tmp_path)
    assert told == ()
    assert job.input_bytes == read_bytes


def test_a_history_with_spaces_is_that_without(tmp_path: Path) -> None:
    text = shared("cases/jhist_with_spaces/job_1700000000000_0001-x.jhist").read_text(encoding="utf-8")
    (tmp_path / "spaced.jhist").write_text(text, encoding="utf-8")
    head, *lines = text.splitlines()
    dense = [head, *(json.dumps(json.loads(line), separators=(",", ":")) for line in lines)]
    (tmp_path / "dense.jhist").write_text("\n".join(dense) + "\n", encoding="utf-8")
    (spaced,), told = read(tmp_path / "spaced.jhist")
    (plain,), _ = read(tmp_path / "dense.jhist")
    assert told == ()
    assert list(spaced.attempts) == list(plain.attempts)
    assert (spaced.name, spaced.total_maps, spaced.input_bytes) == (plain.name, 2, plain.input_bytes)


def test_a_broken_line_of_a_history_with_spaces_is_reported(tmp_path: Path) -> None:
    events = as_json(job_events("job_1_0001", "etl", BEGIN, [(0, 5000)], []))
    (tmp_path / "a.jhist").write_bytes(events + b'{ "type" : "MAP_ATT\nno event\n{"kind":"x"}\n')
    _, told = read(tmp_path)
    assert [each.message for each in told] == [
        "this event is not a complete JSON object",
        "this line is not an event",
        "this line is not an event",
    ]


def test_containers_of_the_load_simulator_have_durations() -> None:
    (job,), told = read(shared("cases/sls_container_duration.json"))
    assert told == ()
    (each,) = api.profile([shared("cases/sls_container_duration.json")]).classes
    assert (each.map_tasks, each.map.average, each.map.longest) == (10, 12.0, 12.0)
    assert (each.reduce_tasks, each.reduce and each.reduce.average) == (2, 30.0)
    assert len(job.attempts) == 12


@pytest.mark.parametrize("key", ["container.duration.ms", "duration.ms"])
def test_jobs_of_the_load_simulator_differ_in_their_tasks(tmp_path: Path, key: str) -> None:
    """A container without a type is a map; a start and an end count more than a duration."""
    tasks = [{"count": 3, key: 1000}, {"count": 4, key: "2000", "container.type": "reduce"}]
    whole = {"container.start.ms": 5000, "container.end.ms": 9000, key: 1, "container.type": "map"}
    jobs = [{"job.id": "a", "job.tasks": tasks[:1]}, {"job.id": "b", "job.tasks": [*tasks, whole], "job.count": 2}]
    (tmp_path / "sls.json").write_text("\n".join(map(json.dumps, jobs)))
    found, told = read(tmp_path)
    assert told == ()
    assert [(job.job, [str(each.kind)[0] for each in job.attempts].count("r"), len(job.attempts)) for job in found] == [
        ("a", 0, 3),
        ("b", 4, 8),
        ("b_2", 4, 8),
    ]
    assert {(each.finish or 0) - (each.start or 0) for each in found[1].attempts} == {1000, 2000, 4000}


@pytest.mark.parametrize(
    "document",
    [
        {"jobID": "x", "mapTasks": 1},
        {"jobID": "job_1_0001", "status": "SUCCEEDED"},
        {"mapTasks": {"a": 1}, "jobID": 7},
        [{"jobID": "q"}],
    ],
)
def test_other_documents_with_a_job_id_are_not_rumen(tmp_path: Path, document: Any) -> None:
    (tmp_path / "x.json").write_text(json.dumps(document))
    found, told = read(tmp_path)
    assert found == []
    assert [(each.code, each.message) for each in told] == [
        ("unknown-log", "this is not a log format that mrdsl reads")
    ]


def test_the_document_of_another_program_is_not_rumen() -> None:
    with pytest.raises(MrdslError) as refused:
        api.profile([shared("cases/json_with_jobID.json")])
    assert refused.value.diagnostics[0].code == "unknown-log"


@pytest.mark.parametrize("kind", [0, 1])
def test_lzf_is_named(tmp_path: Path, kind: int) -> None:
    """A chunk of LZF is ``ZV``, its kind, and its sizes."""
    (tmp_path / "app-1.lzf").write_bytes(b"ZV" + bytes([kind]) + b"\x00\x20" + b'{"Event":"SparkListenerLogStart"}')
    found, told = read(tmp_path)
    assert found == []
    assert [each.message for each in told] == ["this is compressed with LZF, which mrdsl does not read"]
    assert "zstd" in told[0].hint


def test_a_page_of_prices_is_not_the_whole_history(tmp_path: Path) -> None:
    path = shared("cases/spot_history_page.json")
    told: list[Diagnostic] = []
    assert len(read_spot_history(path, told)) == 2
    assert [(each.code, each.severity) for each in told] == [("missing-hours", "warning")]
    assert "page" in told[0].message
    for token in ("", None):
        whole = {**json.loads(path.read_text()), "NextToken": token}
        (tmp_path / "whole.json").write_text(json.dumps(whole))
        told = []
        assert len(read_spot_history(tmp_path / "whole.json", told)) == 2
        assert told == []
