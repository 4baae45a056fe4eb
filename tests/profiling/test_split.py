"""Predictions from the first part of the time, where the right answer is known: tasks that are all alike."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrdsl import api
from mrdsl.cli import cli
from mrdsl.profiling.split import split_tables

from ..exchange.logs.making import BEGIN, Stage, as_json, job_events, spark_events

DATA = Path(os.environ.get("MRDSL_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "data"


def alike(waves: int, at_once: int) -> list[tuple[int, int]]:
    """Map tasks of 10 s each, so many at once."""
    return [(1000 + 10_000 * wave, 11_000 + 10_000 * wave) for wave in range(waves) for _ in range(at_once)]


def history(number: int, waves: int, at_once: int) -> bytes:
    """A job whose reduces take 2 s of shuffle behind the maps, 1 s of sorting and 4 s of reducing."""
    end = 1000 + 10_000 * waves
    reduces = [(2000, end + 2000, end + 3000, end + 7000)] * 2
    return as_json(job_events(f"job_1_{number:04d}", "etl", BEGIN + number * 60_000, alike(waves, at_once), reduces))


def test_alike_jobs_are_predicted_to_the_second(tmp_path: Path) -> None:
    """Three jobs of two waves are learned from; the fourth has three waves, on other slots."""
    for number, (waves, at_once) in enumerate([(2, 3), (2, 3), (2, 3), (3, 4)]):
        (tmp_path / f"{number}.jhist").write_bytes(history(number, waves, at_once))
    result = api.profile([tmp_path]).split(0.8)
    (job,) = result.jobs
    assert (result.learned, result.unknown) == (3, 0)
    assert (job.tasks, job.slots) == ((12, 2), (4, 2))
    assert job.ran == 30 + 7
    assert job.took == pytest.approx(1 + 30 + 7 + 0.7)
    assert job.forecast.simulated == pytest.approx(37)
    assert job.forecast.lower == pytest.approx(37)
    assert job.forecast.upper > 37


def test_a_stage_is_predicted_from_its_first_part(tmp_path: Path) -> None:
    """Five waves of 2 s on four slots: after half the time two waves have ended."""
    tasks = tuple((2000 * wave, 2000 * wave + 2000) for wave in range(5) for _ in range(4))
    stages: list[Stage] = [(0, (), tasks), (1, (0,), ((10_000, 12_000),))]
    (tmp_path / "log").write_bytes(spark_events("etl", BEGIN, [(0, 13_000, stages)]))
    (stage,) = api.profile([tmp_path]).split(0.5).stages
    assert (stage.name, stage.tasks[0], stage.slots[0], stage.ran) == ("0.0", 20, 4, 10.0)
    assert (stage.forecast.lower, stage.forecast.simulated) == (10.0, 10.0)


def test_a_class_that_was_not_there_before_is_counted(tmp_path: Path) -> None:
    for number in range(3):
        text = history(number, 2, 3)
        (tmp_path / f"{number}.jhist").write_bytes(text.replace(b"etl", b"new") if number == 2 else text)
    result = api.profile([tmp_path]).split(0.8)
    assert (len(result.jobs), result.learned, result.unknown) == (0, 2, 1)
    (table,) = split_tables(result)
    assert table.title == "How far off; 2 jobs were learned from"
    assert list(table.rows) == [("jobs", 0, 1, None, None, None, None)]


def test_a_stage_of_which_nothing_had_ended_is_counted(tmp_path: Path) -> None:
    stages: list[Stage] = [(0, (), ((0, 2000),) * 4)]
    (tmp_path / "log").write_bytes(spark_events("etl", BEGIN, [(0, 13_000, stages)]))
    result = api.profile([tmp_path]).split(0.5)
    assert (result.stages, result.unknown_stages) == ((), 1)


@pytest.mark.parametrize(("text", "code"), [("80%", 0), ("0.8", 0), ("0", 2), ("120%", 2), ("most", 2)])
def test_the_share_on_the_command_line(text: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "0.jhist").write_bytes(history(0, 2, 3))
    done = CliRunner().invoke(cli, ["profile", str(tmp_path), "--split", text], standalone_mode=False)
    assert getattr(done.exception, "exit_code", 0) == code


def test_what_stands_as_a_maximum_and_where_sorting_counts(tmp_path: Path) -> None:
    """One map of the first part takes 100 s, 45 take 10; sorting takes 1 s, and counts with the shuffle at the end.

    By hand: the 95th percentile is below the mean, which stands in; with it A of the upper estimate is above 0, and is
    less by two maxima over three slots. With 1 s more of shuffle and less of reduce, C is 1 s more.
    """
    (tmp_path / "0").write_bytes(
        as_json(job_events("job_1_0000", "etl", BEGIN, [(0, 10_000)] * 39 + [(0, 100_000)], []))
    )
    (tmp_path / "1").write_bytes(history(1, 2, 3))
    (tmp_path / "2").write_bytes(history(5, 2, 3))
    (whole,) = api.profile([tmp_path]).split(0.5).jobs
    (cut,) = api.profile([tmp_path], longest="p95").split(0.5).jobs
    mean = (45 * 10 + 100) / 46
    assert whole.forecast.upper - cut.forecast.upper == pytest.approx(2 * (100 - mean) + 2 * mean / 3)
    assert whole.forecast.lower == cut.forecast.lower
    assert whole.forecast.simulated == cut.forecast.simulated
    (shuffled,) = api.profile([tmp_path], sort="shuffle").split(0.5).jobs
    assert shuffled.forecast.lower == pytest.approx(whole.forecast.lower)
    assert shuffled.forecast.upper == pytest.approx(whole.forecast.upper + 1)


def test_clusters_of_a_split_see_the_first_part_only(tmp_path: Path) -> None:
    """Two kinds are learned from; a later job that took a thousand times as long is of the kind of its size."""
    pytest.importorskip("sklearn")
    for number in range(8):
        at_once, length = ((2, 10_000), (40, 20_000))[number % 2]
        events = job_events(f"job_1_{number:04d}", "", BEGIN + number * 60_000, [(0, length + number)] * at_once, [])
        (tmp_path / f"{number}").write_bytes(as_json(events))
    late = job_events("job_1_0009", "", BEGIN + 600_000, [(0, 10**7)] * 41, [])
    (tmp_path / "9").write_bytes(as_json(late))
    (job,) = api.profile([tmp_path], cluster=True).split(0.8).jobs
    assert (job.group, job.slots[0]) == ("class_2", 41)
    assert job.forecast.simulated == pytest.approx(20, abs=0.1)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")
def test_the_real_trace_is_split() -> None:
    """Of 59 jobs those submitted in the last fifth of the time are predicted; the page has their table."""
    result = api.profile([DATA / "hadoop/rumen/mr2011/folder-input-trace.json.gz"], by="tasks").split(0.8)
    assert len(result.jobs) + result.unknown + result.learned == 59
    page = (Path(__file__).resolve().parents[2] / "docs" / "profile.md").read_text()
    for each in result.jobs:
        assert f"| {each.name[-5:]} | {each.tasks[0]} | {each.tasks[1]} |" in page
        assert f"| {each.forecast.average:.1f} |" in page
        assert f"| {each.forecast.simulated:.1f} | {each.ran:.1f} |" in page
