"""Predictions from the first part of the time, where the right answer is known: tasks that are all alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mrdsl import api
from mrdsl.cli import cli
from mrdsl.profiling.split import split_tables

from ..exchange.logs.making import BEGIN, Stage, as_json, job_events, spark_events
from ..shared_data import shared
from .test_replay import logs


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
    (job,) = result.runs
    assert (result.learned, result.unknown) == (3, 0)
    assert (job.learned, job.same_slots, job.tasks, job.slots) == (3, False, (12, 2), (4, 2))
    assert job.took == job.simulated == job.estimates[0] == pytest.approx(1 + 30 + 7 + 0.7)
    assert job.estimates[2] > job.took
    assert job.causes == pytest.approx((0, 0, 0, 0), abs=1e-9)
    assert job.cause == ""
    # On two map slots and one reduce slot: six waves, and a second wave of shuffle and reduce.
    assert (job.fewer.slots, job.fewer.simulated) == ((2, 1), pytest.approx(1 + 60 + 7 + 7 + 0.7))
    assert job.fewer.repeated == pytest.approx(job.fewer.simulated)


def test_a_stage_is_predicted_from_its_first_part(tmp_path: Path) -> None:
    """Five waves of 2 s on four slots: after half the time two waves have ended."""
    tasks = tuple((2000 * wave, 2000 * wave + 2000) for wave in range(5) for _ in range(4))
    stages: list[Stage] = [(0, (), tasks), (1, (0,), ((10_000, 12_000),))]
    (tmp_path / "log").write_bytes(spark_events("etl", BEGIN, [(0, 13_000, stages)]))
    (stage,) = api.profile([tmp_path]).split(0.5).stages
    assert (stage.name, stage.tasks, stage.slots, stage.took) == ("0.0", 20, 4, 10.0)
    assert (stage.estimates[0], stage.simulated) == (10.0, 10.0)


NIGHT = 86_400_000


def night(number: int, work: int, before: int = 1000, cores: int = 4) -> bytes:
    """Eight tasks of a stage and then one, on two executors; it ends 0.5 s after its last task."""
    waves = 8 // (2 * cores)
    tasks = tuple((before + work * wave, before + work * (wave + 1)) for wave in range(waves) for _ in range(2 * cores))
    end = before + work * waves
    stages: list[Stage] = [(0, (), tasks), (1, (0,), ((end + 2000, end + 5000),))]
    log = spark_events("etl", BEGIN + number * NIGHT, [(0, end + 5500, stages)])
    return log.replace(b'"Total Cores": 4', b'"Total Cores": %d' % cores)


def test_equal_nights_are_predicted_exactly(tmp_path: Path) -> None:
    """Sixteen of twenty nights are learned from, and the last four are predicted."""
    for number in range(20):
        (tmp_path / f"{number}").write_bytes(night(number, 10_000))
    result = api.profile([tmp_path]).split(0.8)
    assert (len(result.runs), result.learned, result.unknown) == (4, 16, 0)
    for each in result.runs:
        assert (each.learned, each.same_slots, each.slots) == (16, True, (8,))
        assert each.took == each.simulated == pytest.approx(1 + 10 + 2 + 3 + 0.5)
        # The work of 83 s on eight slots is below the critical path of 13 s.
        assert each.estimates[0] == pytest.approx(1 + 10 + 2 + 3 + 0.5)
        assert each.within
        assert each.causes == pytest.approx((0, 0, 0, 0), abs=1e-9)
        assert (each.fewer.slots, each.fewer.simulated) == ((4,), pytest.approx(26.5))
    (_, _, summary) = split_tables(result)[-3:]
    assert [row[:4] for row in summary.rows if row[0] == "runs"] == [("runs", 4, 0, 100.0)]


def test_a_night_on_other_slots_is_told_apart(tmp_path: Path) -> None:
    """Nights on eight slots tell the time of the last one, which had two waves on four."""
    for number in range(4):
        (tmp_path / f"{number}").write_bytes(night(number, 10_000, cores=2 if number == 3 else 4))
    result = api.profile([tmp_path]).split(0.8)
    (each,) = result.runs
    assert (each.slots, each.same_slots) == ((4,), False)
    assert each.took == each.simulated == pytest.approx(1 + 20 + 2 + 3 + 0.5)
    assert any(row[0] == "runs on other slots" for row in split_tables(result)[-1].rows)


@pytest.mark.parametrize(
    ("work", "before", "wanted"), [(15_000, 1000, (5.0, 0.0, 0.0, 0.0)), (10_000, 7000, (0.0, 6.0, 0.0, 0.0))]
)
def test_the_causes_of_a_miss(work: int, before: int, wanted: tuple[float, ...], tmp_path: Path) -> None:
    """The last night has tasks of 15 s in place of 10 s, or starts its first task 6 s later."""
    for number in range(4):
        later = number == 3
        log = night(number, work if later else 10_000, before if later else 1000)
        (tmp_path / f"{number}").write_bytes(log)
    (each,) = api.profile([tmp_path]).split(0.8).runs
    assert each.causes == pytest.approx(wanted, abs=1e-9)
    assert sum(each.causes) == pytest.approx(each.took - each.simulated)
    assert each.cause == ("input" if wanted[0] else "driver")


def test_skew_and_waiting_are_causes(tmp_path: Path) -> None:
    """One task takes 45 s and seven take 5 s: a mean of 10 s as before. Then its executors come late, by 4 s each."""
    spread: list[Stage] = [(0, (), ((1000, 46_000), *((1000, 6000),) * 7)), (1, (0,), ((48_000, 51_000),))]
    late: list[Stage] = [(0, (), (*((1000, 11_000),) * 4, *((11_000, 21_000),) * 4)), (1, (0,), ((23_000, 26_000),))]
    for stages, wanted in ((spread, (0, 0, 35, 0)), (late, (0, 0, 0, 10))):
        for number in range(3):
            (tmp_path / f"{number}").write_bytes(night(number, 10_000))
        end = stages[1][2][0][1] + 500
        (tmp_path / "3").write_bytes(spark_events("etl", BEGIN + 3 * NIGHT, [(0, end, stages)]))
        (each,) = api.profile([tmp_path]).split(0.8).runs
        assert each.causes == pytest.approx(wanted, abs=1e-9)
        assert each.cause == ("skew" if wanted[2] else "waiting")


def test_a_single_run_is_predicted_from_its_first_part(tmp_path: Path) -> None:
    """The time after the last task is not known then."""
    (tmp_path / "0").write_bytes(night(0, 10_000, cores=2))
    (each,) = api.profile([tmp_path]).split(0.8).runs
    assert (each.learned, each.took, each.simulated) == (0, 26.5, pytest.approx(26.0))
    assert each.causes == pytest.approx((0.0, 0.5, 0.0, 0.0), abs=1e-9)


def test_a_class_that_was_not_there_before_is_counted(tmp_path: Path) -> None:
    for number in range(3):
        text = history(number, 2, 3)
        (tmp_path / f"{number}.jhist").write_bytes(text.replace(b"etl", b"new") if number == 2 else text)
    result = api.profile([tmp_path]).split(0.8)
    assert (len(result.runs), result.learned, result.unknown) == (0, 2, 1)
    (table,) = split_tables(result)
    assert table.title == "How far off; learned from 2 runs"
    assert list(table.rows) == [("runs", 0, 1, None, None, None, None)]


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

    By hand: the 95th percentile is below the mean, which stands in. Six maps on three slots have less work than the
    longest one takes, so that they end with it at most. With 1 s more of shuffle and less of reduce nothing changes.
    """
    (tmp_path / "0").write_bytes(
        as_json(job_events("job_1_0000", "etl", BEGIN, [(0, 10_000)] * 39 + [(0, 100_000)], []))
    )
    (tmp_path / "1").write_bytes(history(1, 2, 3))
    (tmp_path / "2").write_bytes(history(5, 2, 3))
    (whole,) = api.profile([tmp_path]).split(0.5).runs
    (cut,) = api.profile([tmp_path], longest="p95").split(0.5).runs
    mean = (45 * 10 + 100) / 46
    assert whole.estimates[2] - cut.estimates[2] == pytest.approx(100 - (5 * mean / 3 + mean))
    assert whole.estimates[0] == cut.estimates[0]
    assert whole.simulated == cut.simulated
    (shuffled,) = api.profile([tmp_path], sort="shuffle").split(0.5).runs
    assert shuffled.estimates[0] == pytest.approx(whole.estimates[0])
    assert shuffled.estimates[2] == pytest.approx(whole.estimates[2])


def test_clusters_of_a_split_see_the_first_part_only(tmp_path: Path) -> None:
    """Two kinds are learned from; a later job that took a thousand times as long is of the kind of its size."""
    pytest.importorskip("sklearn")
    for number in range(8):
        at_once, length = ((2, 10_000), (40, 20_000))[number % 2]
        events = job_events(f"job_1_{number:04d}", "", BEGIN + number * 60_000, [(0, length + number)] * at_once, [])
        (tmp_path / f"{number}").write_bytes(as_json(events))
    late = job_events("job_1_0009", "", BEGIN + 600_000, [(0, 10**7)] * 41, [])
    (tmp_path / "9").write_bytes(as_json(late))
    (job,) = api.profile([tmp_path], cluster=True).split(0.8).runs
    assert (job.group, job.slots[0]) == ("class_2", 41)
    assert job.simulated - 0.7 == pytest.approx(20, abs=0.1)


def real_runs(folder: Path) -> list[str]:
    """The rows of the page on all real logs that can be predicted, from one command each."""
    rows = []
    rumen = shared("data/hadoop/rumen")
    traces = [rumen / "mr2011" / "folder-input-trace.json.gz", rumen / "2jobs2min-rumen-jh.json"]
    for path in (*logs(folder), *traces):
        found = api.profile([path], by="tasks" if path in traces else "name", allow_outside=True).split(0.8)
        for each in found.runs:
            words = each.name[-5:], " + ".join(map(str, each.tasks)) if path in traces else sum(each.tasks)
            slots = ", ".join(map(str, each.slots))
            times = (*each.estimates, each.simulated, each.took)
            cells = (
                *words,
                slots,
                *(f"{time:.1f}" for time in times),
                f"{100 * (each.simulated / each.took - 1):.0f} %",
            )
            causes = (*(f"{cause:.1f}" for cause in each.causes), each.cause or "–")
            rows.append(
                f"| {' | '.join(map(str, (*cells, *causes)))} |".replace("-0.0 |", "0.0 |").replace("| -", "| −")
            )
    return rows


def test_the_page_has_the_real_runs(tmp_path: Path) -> None:
    """Ten runs of Spark and six jobs of MapReduce; the causes of each add up to its miss."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "validation" / "profiles.md").read_text()
    rows = real_runs(tmp_path)
    assert len(rows) == 16
    assert not [row for row in rows if row not in page]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as home:
        print("\n".join(real_runs(Path(home))))
