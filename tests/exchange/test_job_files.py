"""SWIM traces, tables of jobs, recorded spot prices: read right, and every broken line told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.exchange.job_traces import SwimJob, TableJob, read_jobs, read_runs, read_swim
from mrdsl.exchange.spot_history import PriceSteps, price_steps, read_spot_history
from tests.shared_data import shared


def written(folder: Path, text: str) -> Path:
    file = folder / "file"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_trace_by_hand(tmp_path: Path) -> None:
    file = written(tmp_path, "job0\t16\t16\t14443\t0\t3566\r\n\njob1\t16\t0\t0\t1e3\t0\n")
    assert list(read_swim(file)) == [SwimJob("job0", 16.0, 14443.0, 0.0, 3566.0), SwimJob("job1", 16.0, 0.0, 1e3, 0.0)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("job1\t20\t4\t10\t0", "5 fields where a SWIM trace has 6"),
        ("job1\t20\t4\t10\t0\tmany", "reduce output [B] is 'many', not a number"),
        ("job1\t20\t4\t-10\t0\t0", "map input [B] is -10: it cannot be negative or infinite"),
        ("job1\t20\t4\tnan\t0\t0", "map input [B] is nan: it cannot be negative or infinite"),
        ("job1\t20\t4\tinf\t0\t0", "map input [B] is inf: it cannot be negative or infinite"),
        ("job1\t12\t4\t10\t0\t0", "job1 is submitted at 12 s, before the job above it (16 s)"),
        ("\x00\x01\xff", "1 fields where a SWIM trace has 6"),
    ],
)
def test_a_broken_line_is_told_and_left_out(tmp_path: Path, line: str, told: str) -> None:
    good = "job0\t16\t16\t14443\t0\t3566"
    mistakes: list[Diagnostic] = []
    jobs = list(read_swim(written(tmp_path, f"{good}\n{line}\njob2\t30\t9\t1\t2\t3\n"), mistakes))
    assert [job.name for job in jobs] == ["job0", "job2"]
    assert [(each.code, each.message) for each in mistakes] == [("broken-trace", told)]
    assert mistakes[0].span is not None
    assert mistakes[0].span.line == 2


def test_not_more_mistakes_than_anybody_reads(tmp_path: Path) -> None:
    mistakes: list[Diagnostic] = []
    assert list(read_swim(written(tmp_path, "x\n" * 1000), mistakes)) == []
    assert len(mistakes) == 20


def test_the_facebook_day() -> None:
    """5,894 jobs, 4,448 of them without a shuffle, hour 11 empty: as the data's own notes say."""
    mistakes: list[Diagnostic] = []
    jobs = list(read_swim(shared("data/swim/FB-2009_samples_24_times_1hr_0.tsv"), mistakes))
    assert not mistakes
    assert len(jobs) == 5894
    assert sum(job.shuffle_bytes == 0 for job in jobs) == 4448
    assert not [job for job in jobs if 11 * 3600 <= job.submit < 12 * 3600]
    assert sum(2.25 * 3600 <= job.submit < 6.25 * 3600 for job in jobs) == 997


HEADER = "name,submit [s],map.tasks,map.avg [min],reduce.tasks,shuffle.avg [s],reduce.avg [s],deadline [s]\n"


def test_a_table_by_hand(tmp_path: Path) -> None:
    text = HEADER + "sort,0,3,1,1,60,60,360\n\ncount,60,2,2,,,,\n"
    assert list(read_jobs(written(tmp_path, text))) == [
        TableJob("sort", 0.0, 3, 60.0, 1, 60.0, 60.0, 360.0),
        TableJob("count", 60.0, 2, 120.0, 0, 0.0, 0.0, None),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,submit\n", "column submit needs a unit of time, such as `submit [s]`"),
        ("name,speed\n", "there is no column 'speed' in a table of jobs"),
        ("name,submit [s],map.tasks\n", "the table has no column 'map.avg'"),
        (HEADER + "a,x,3,1,,,,\n", "submit is 'x', not a number"),
        (HEADER + "a,-1,3,1,,,,\n", "submit is -1: it cannot be negative or infinite"),
        (HEADER + "a,0,2.5,1,,,,\n", "map.tasks is 2.5: it counts tasks and must be whole"),
        (HEADER + "a,0,0,1,,,,\n", "a needs at least one map task that takes time"),
        (HEADER + "a,0,2,1,3,0,0,\n", "a has reduce tasks that take no time"),
        (HEADER + "a,0,2,1,,,,59\n", "a is due 59 s after its submission; one wave of its tasks takes 60 s"),
        (HEADER + "a,0,2\n", "a has no map.avg"),
        (
            HEADER + "a,9,2,1,,,,\nb,8,2,1,,,,\n",
            "b is submitted at 8 s, before the job above it (9 s): sort by submit time",
        ),
    ],
)
def test_a_broken_table_is_told(tmp_path: Path, text: str, told: str) -> None:
    mistakes: list[Diagnostic] = []
    list(read_jobs(written(tmp_path, text), mistakes))
    assert [(each.code, each.message) for each in mistakes] == [("broken-table", told)]


def record(time: str, price: str, zone: str = "us-west-1a", kind: str = "m3.medium") -> dict[str, str]:
    return {
        "Timestamp": time,
        "SpotPrice": price,
        "AvailabilityZone": zone,
        "InstanceType": kind,
        "ProductDescription": "Linux/UNIX",
    }


def history(folder: Path, *records: dict[str, str]) -> Path:
    return written(folder, json.dumps({"SpotPriceHistory": list(records)}))


def test_a_history_is_a_step_function_per_zone(tmp_path: Path) -> None:
    file = history(
        tmp_path,
        record("2014-01-06T08:00:00.000Z", "0.036"),
        record("2014-01-06T09:30:00+02:00", "0.018"),
        record("2014-01-06T07:30:30Z", "0.072", "us-west-1b"),
    )
    records = read_spot_history(file)
    assert price_steps(records, "us-west-1a") == PriceSteps((0.0, 1800.0), (0.018 / 3600, 0.036 / 3600))
    assert price_steps(records, "us-west-1b") == PriceSteps((0.0,), (0.072 / 3600,))
    assert price_steps(records) == "there are prices of us-west-1a, us-west-1b: name one as `zone`"
    assert price_steps(records, "eu-1") == "there is no price of zone 'eu-1'; there are: us-west-1a, us-west-1b"
    assert price_steps([]) == "the history is empty"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "this is not JSON: Expecting property name enclosed in double quotes"),
        ("[]", "there is no list SpotPriceHistory"),
        (
            json.dumps({"SpotPriceHistory": [record("2014-01-06T08:00:00Z", "0")]}),
            "record 1: SpotPrice 0 must be above 0",
        ),
        (
            json.dumps({"SpotPriceHistory": [record("2014-01-06T08:00:00Z", "x")]}),
            "record 1: SpotPrice 'x' is not a number",
        ),
        (json.dumps({"SpotPriceHistory": [record("monday", "1")]}), "record 1: Timestamp 'monday' is no ISO 8601 time"),
        (
            json.dumps({"SpotPriceHistory": [record("2014-01-06T08:00:00", "1")]}),
            "record 1: Timestamp '2014-01-06T08:00:00' names no time zone",
        ),
        (json.dumps({"SpotPriceHistory": [{"SpotPrice": "1"}]}), "record 1: Timestamp is missing or no string"),
        (json.dumps({"SpotPriceHistory": [7]}), "record 1: not an object"),
    ],
)
def test_a_broken_history_is_told(tmp_path: Path, text: str, told: str) -> None:
    mistakes: list[Diagnostic] = []
    assert read_spot_history(written(tmp_path, text), mistakes) == ()
    assert [(each.code, each.message) for each in mistakes] == [("broken-history", told)]


def test_the_example_of_the_aws_documentation(tmp_path: Path) -> None:
    """The second example's output, as printed: two zones, newest first."""
    text = shared("data/cloud/awscli_describe-spot-price-history.rst").read_text(encoding="utf-8")
    records = read_spot_history(written(tmp_path, text[text.rindex("Output::") + len("Output::") :]))
    assert len(records) == 2
    steps = price_steps(records, "us-west-1a")
    assert isinstance(steps, PriceSteps)
    assert steps.prices == (pytest.approx(0.08 / 3600),)


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("class,submit [s]\na,0\n", encoding="utf-8-sig")
    mistakes: list[Diagnostic] = []
    assert [each.name for each in read_runs(path, mistakes)] == ["a"]
    assert not mistakes
