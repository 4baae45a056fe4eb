"""Times on other numbers of slots, predicted from logs: by hand, by closed forms, and against real runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mrdsl
from mrdsl.profiling.gathering import Known, Part, estimates
from mrdsl.profiling.predicting import JobRuns, Run
from mrdsl.simulation.engine.draws import shared_deviation
from tests.command_lines import run_here

from ..exchange.logs.making import BEGIN, job_events, spark_events
from ..exchange.logs.making import as_json as lines
from ..shared_data import shared

SPARK = Path("models/spark").resolve()


def one_stage(times, before=0.0, end=0.0):
    known = Known(before, (Part(len(times), (), 0.0, tuple(times)),), end)
    return JobRuns("a", (Run("r", known, 4, 4, 1.0),))


def test_equal_tasks_take_whole_waves():
    job = one_stage([10.0] * 41, 1.0, 0.5)
    assert [job.mean(slots) for slots in (1, 4, 8, 9, 41, 100)] == [411.5, 111.5, 61.5, 51.5, 11.5, 11.5]
    assert job.width == 41
    assert job.bounds(41) == (11.5, 11.5)
    assert job.bounds(8) == (pytest.approx(1.5 + 410 / 8), pytest.approx(1.5 + 400 / 8 + 10))


@pytest.mark.parametrize(
    ("deadline", "slots"), [(411.5, 1), (411.4, 2), (51.5, 9), (51.4, 11), (21.5, 21), (11.5, 41), (11.4, None)]
)
def test_the_fewest_slots_for_a_deadline(deadline, slots):
    assert one_stage([10.0] * 41, 1.0, 0.5).least(deadline) == slots


def test_fewer_slots_can_meet_a_deadline_that_more_miss():
    """Graham's anomaly: three slots take 12 s, four take 15 s, five 12 s again."""
    parts = [Part(1, (), 0.0, (3.0,)), *[Part(1, (), 0.0, (2.0,))] * 3]
    parts += [*[Part(1, (3,), 0.0, (4.0,))] * 4, Part(1, (0,), 0.0, (9.0,))]
    job = JobRuns("a", (Run("r", Known(0.0, tuple(parts), 0.0), 4, 4, 1.0),))
    assert [job.mean(slots) for slots in (3, 4)] == [12.0, 15.0]
    assert job.least(12.0) == 3
    low, high = job.bounds(4)
    assert low <= 12.0
    assert high >= 15.0


def test_stages_side_by_side_share_their_slots():
    """Two parallel stages of 8 tasks of 10 s take 20 s on 8 slots; their bounds have the critical path of 10 s once."""
    parts = (Part(8, (), 0.0, (10.0,) * 8), Part(8, (), 0.0, (10.0,) * 8))
    assert estimates(Known(0.0, parts, 0.0), (8,)) == (20.0, 24.375, (160 - 10) / 8 + 10)
    assert estimates(Known(0.0, parts, 0.0), (16,)) == (10.0, 10.0, 10.0)


def test_the_knee_of_equal_tasks():
    """k T^2 is least at 20 slots for 20 equal tasks; one task needs one slot."""
    assert one_stage([10.0] * 20).knee().slots == 20
    knee = one_stage([7.0]).knee()
    assert (knee.slots, knee.mean, knee.most, knee.shortest) == (1, 7.0, 1, 7.0)


def test_tasks_of_no_time():
    job = one_stage([0.0] * 5)
    assert job.mean(2) == 0.0
    assert job.least(1.0) == 1
    assert shared_deviation([0.0, 0.0]) == pytest.approx(0.05)


def test_the_factor_of_a_run_comes_from_several_runs():
    assert shared_deviation([100.0]) == pytest.approx(0.05)
    assert shared_deviation([100.0] * 4) == pytest.approx(0.025)
    assert shared_deviation([100.0, 110.0] * 50) == pytest.approx(0.0477, abs=0.001)


def test_one_run_has_no_interval(tmp_path):
    stages = [(0, (), ((1000, 3000), (1000, 5000), (3000, 6000)))]
    (tmp_path / "log").write_bytes(spark_events("etl", BEGIN, [(500, 6500, stages)]))
    done = run_here(("predict", "log", "--slots", "1,2,3", "--json"), tmp_path)
    assert done.exit_code == 0
    found = json.loads(done.output)
    assert [each["slots"] for each in found["predictions"]] == [1, 2, 3, 8]  # the executor of the log has 8 cores
    assert [each["interval"] for each in found["predictions"]] == [None] * 4
    assert "one run, so no interval is known" in " ".join(found["notes"])
    one, two, three, _ = (each["mean"] for each in found["predictions"])
    assert (one - two, two - three) == pytest.approx((4.0, 1.0))  # 9 s, 2 + 3 s beside 4 s, and 4 s
    (logged,) = [each for each in found["predictions"] if each["observed"] is not None]
    assert logged["slots"] == 8


def test_a_job_of_mapreduce_has_map_and_reduce_tasks_on_the_slots(tmp_path):
    maps, reduces = [(1000, 5000), (1000, 6000)], [(6000, 7000, 7000, 9000)]
    (tmp_path / "a").write_bytes(lines(job_events("job_1_0001", "sort", BEGIN, maps, reduces)))
    first, second = mrdsl.predict([tmp_path / "a"], slots=[1, 2]).predictions
    assert first.mean - second.mean == pytest.approx(4.0)


def test_several_runs_have_an_interval_around_their_mean():
    found = mrdsl.predict([SPARK], slots=[8, 32])
    classes = [each for each in found.predictions if each.run is None]
    assert len(classes) == 4
    for each in classes:
        low, high = each.interval
        assert each.lower < low < each.mean < high
        assert each.upper > each.mean
    again = mrdsl.predict([SPARK], slots=[8, 32])
    assert again == found
    assert mrdsl.predict([SPARK], slots=[8], seed=1).predictions[0].interval != classes[0].interval


def test_executors_have_the_size_in_the_logs():
    by_executors, by_slots = (mrdsl.predict([SPARK], **{word: [2]}).predictions for word in ("executors", "slots"))
    assert (by_executors[0].executors, by_executors[0].slots) == (2, 8)
    assert (by_slots[0].executors, by_slots[0].slots) == (None, 2)


def test_costs_are_those_of_whole_vms(tmp_path):
    (tmp_path / "types.csv").write_text("name,cores,on_demand.price [USD/h]\nbig,16,1.6\nsmall,2,0.1\nhalf,0.5,0.01\n")
    found = mrdsl.predict([SPARK], slots=[6], vms=mrdsl.vm_types(tmp_path / "types.csv")).predictions[0]
    assert [(cost.vm, cost.vms) for cost in found.costs] == [("small", 3), ("big", 1)]
    assert [cost.cost for cost in found.costs] == pytest.approx([found.mean * 0.3 / 3600, found.mean * 1.6 / 3600])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--slots", "4,x"), "`--slots` must be whole numbers, got `x`"),
        (("--slots", ""), "`--slots` must be whole numbers"),
        (("--slots", "0"), "must be between 1 and"),
        (("--executors", "-1"), "`--executors` must be whole numbers"),
        (("--deadline", "0"), "`deadline` must be above 0 s"),
        (("--plot", "a.txt"), "has no extension of a picture"),
    ],
)
def test_wrong_options(words, said, tmp_path):
    (tmp_path / "logs").symlink_to(SPARK)
    done = run_here(("predict", "logs", *words), tmp_path)
    assert done.exit_code != 0
    assert said in done.output


def test_a_deadline_that_no_slots_meet_is_said(tmp_path):
    (tmp_path / "logs").symlink_to(SPARK)
    done = run_here(("predict", "logs", "--deadline", "60 s"), tmp_path)
    assert "clicks: no number of slots meets 60 s on average; 64 slots take 70.67 s" in done.output


def test_the_spec_of_bounds_has_the_same_jobs(tmp_path):
    (tmp_path / "logs").symlink_to(SPARK)
    done = run_here(("predict", "logs", "--spec", "jobs.mrspec", "--slots", "8"), tmp_path)
    assert done.exit_code == 0
    spec = mrdsl.load(tmp_path / "jobs.mrspec")
    assert [(node.name, [stage.tasks for stage in node.stages]) for node in spec.facts.classes] == [
        ("clicks", [64, 16]),
        ("report", [48, 24, 4]),
    ]
    assert mrdsl.solve(spec).plan is not None


REAL = {("etl", 20.0): 11, ("branches", 9.0): 12, ("wide", 30.0): 5, ("wide", 24.0): 7}
"""The fewest slots with which real runs met a deadline."""


@pytest.mark.parametrize(("program", "deadline"), list(REAL))
def test_deadlines_of_real_runs(program, deadline):
    (log,) = shared("data/spark-real").glob(f"{program}-2026-11-01-4.3.0-8slots-*")
    (found,) = mrdsl.predict([log], deadline=deadline).predictions
    assert REAL[program, deadline] <= found.slots <= 1.25 * REAL[program, deadline]
    assert found.mean <= deadline
