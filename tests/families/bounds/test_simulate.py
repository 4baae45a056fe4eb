"""A bounds spec simulated: what it reports, that it is deterministic, and how it stands to the formulas."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrdsl.cli import cli
from mrdsl.families.bounds import FAMILY
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, JobClass
from mrdsl.families.bounds.facts import Simulation as Length
from mrdsl.families.bounds.simulate import simulate
from mrdsl.language.loading import load_file, load_text
from mrdsl.spec.blocks import MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.schema import Source
from mrdsl.spec.simulated import Recorded
from mrdsl.spec.spec import Goal, Spec
from tests.formulas.queues import multi_server_wait

JOB = JobClass(
    name="a",
    map=MapPhase(tasks=60, avg=10.0, max=16.0),
    shuffle=ShufflePhase(first_max=3.0, avg=5.0, max=8.0),
    reduce=ReducePhase(tasks=12, avg=6.0, max=9.0),
)
SLOTS = Slots(map=24, reduce=12)


def spec_of(*classes, goal=None, length=None, **cluster):
    return Spec(
        problem="bounds",
        facts=BoundsFacts(classes=classes, cluster=Cluster(slots=SLOTS, **cluster), simulation=length),
        goal=goal,
    )


def test_partitioned_slots_keep_every_mean_between_lower_and_upper():
    spec = spec_of(replace(JOB, jobs=2), replace(JOB, name="b", jobs=3, share=0.5), work_conserving="no")
    plan = simulate(spec, 3, 1, 20).plan
    for index, name in enumerate(plan.names):
        low, high = plan.completion["lower"][index], plan.completion["upper"][index]
        assert low < plan.observed[name].mean < high
        assert plan.observed[name].p95 < high
    assert plan.observed["a"].jobs >= 3 * 2 * 18


def test_lent_slots_make_jobs_faster_than_the_lower_estimate():
    spec = spec_of(replace(JOB, jobs=6))
    plan = simulate(spec, 2, 1, 20).plan
    assert plan.observed["a"].mean < plan.completion["lower"][0]
    kept = simulate(spec_of(replace(JOB, jobs=6), work_conserving="no"), 2, 1, 20).plan
    assert plan.observed["a"].mean < kept.observed["a"].mean


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others():
    spec = spec_of(replace(JOB, jobs=3))
    once, again, other = (simulate(spec, 2, seed, 5).plan.document() for seed in (1, 1, 2))
    assert once == again != other


def test_one_user_alone_takes_what_its_waves_take():
    # Equal tasks: 60 map tasks on 24 slots in 3 waves, 12 reduce tasks in one, with the first shuffle.
    job = replace(
        JOB,
        map=MapPhase(tasks=60, avg=10.0, max=10.0),
        think=1.0,
        shuffle=ShufflePhase(first_max=3.0, avg=5.0, max=5.0),
        reduce=ReducePhase(tasks=12, avg=6.0, max=6.0),
    )
    plan = simulate(spec_of(job), 1, 0, 50).plan
    assert plan.observed["a"].mean == pytest.approx(30.0 + 3.0 + 6.0)
    assert plan.completion["waves"][0] == pytest.approx(39.0)
    assert plan.observed["a"].half_width == pytest.approx(0.0)


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo"])
def test_every_scheduler_serves_random_arrivals(scheduler):
    single = JobClass(name="a", map=MapPhase(tasks=1, avg=10.0, max=10.0), arrivals=2.0)
    spec = spec_of(single, scheduler=scheduler)
    assert [each.code for each in FAMILY.check(spec) if each.severity == "error"] == []
    plan = simulate(spec, 2, 3, 4000).plan
    # M/D/c waits about half as long as M/M/c (Cosmetatos); here 24 servers at 83 % load.
    wait = plan.observed["a"].mean - 10.0
    assert wait == pytest.approx(multi_server_wait(0.1, 2.0, 24) / 2, rel=0.35)


def test_the_fifo_scheduler_makes_jobs_wait():
    spec = spec_of(replace(JOB, jobs=4), scheduler="fifo", pools="separate")
    plan = simulate(spec, 2, 1, 20).plan
    assert plan.observed["a"].mean > plan.completion["upper"][0]


def test_capacity_runs_the_older_job_of_a_class_first():
    fair = simulate(spec_of(replace(JOB, jobs=6)), 4, 1, 30).plan.observed["a"]
    queue = simulate(spec_of(replace(JOB, jobs=6), scheduler="capacity"), 4, 1, 30).plan.observed["a"]
    assert queue.p50 < fair.p50


def test_preemption_and_minimum_shares_help_the_small_class():
    long = JobClass(name="long", map=MapPhase(tasks=48, avg=200.0, max=300.0), jobs=2, share=0.5)
    short = JobClass(name="short", map=MapPhase(tasks=6, avg=2.0, max=3.0), think=50.0)
    usual = simulate(spec_of(long, short), 2, 1, 10).plan.observed["short"].mean
    helped = simulate(spec_of(long, replace(short, minimum_share=0.25), preemption=1.0), 2, 1, 10).plan
    assert helped.observed["short"].mean < usual


def test_sized_slots_keep_their_deadlines_in_the_simulation():
    node = replace(JOB, jobs=3, deadline=150.0, guarantee="upper")
    spec = replace(spec_of(node, goal=Goal("minimize", "slots"), work_conserving="no"), constraints=())
    plan = simulate(spec, 2, 1, 20).plan
    assert plan.observed["a"].p95 <= 150.0


def test_recorded_times_are_replayed(tmp_path):
    file = tmp_path / "times.txt"
    file.write_text("4000\n8000\n12000\n")
    node = replace(
        JOB, shuffle=None, reduce=None, recorded=Recorded(map=Source("table", str(file), "times.txt"), unit=1e-3)
    )
    plan = simulate(spec_of(node, pools="separate"), 1, 1, 20).plan
    rows = list(plan.trace().rows)
    assert {round(row[6] - row[5], 6) for row in rows} == {4.0, 8.0, 12.0}
    assert [each.code for each in FAMILY.check(spec_of(replace(node, map=MapPhase(tasks=60, avg=6.0, max=8.0))))] == [
        "wrong-recording"
    ]


def test_the_trace_holds_every_task_once_and_the_chart_its_first_ones():
    plan = simulate(spec_of(replace(JOB, jobs=2), length=Length(jobs_per_user=4)), 1, 0, None).plan
    rows = list(plan.trace().rows)
    completed = [job for job in {row[0] for row in rows} if sum(row[0] == job for row in rows) == 72]
    assert len(completed) >= 8
    assert {row[2] for row in rows} == {"map", "reduce"}
    ends = np.array([row[6] for row in rows])
    assert (np.diff(ends) >= 0).all()
    assert len(plan.bars()) == min(3000, len(rows))


SPEC = """problem bounds "Two users"
seed = 3
cluster { slots { map = 8, reduce = 4 } }
class a { map { tasks = 20, avg = 3 s, max = 5 s }, jobs = 2 }
estimate completion
"""


def test_the_command_writes_table_chart_and_trace(tmp_path):
    file = tmp_path / "a.mrspec"
    file.write_text(SPEC)
    done = CliRunner().invoke(
        cli,
        [
            "simulate",
            str(file),
            "--runs",
            "2",
            "--jobs",
            "5",
            "--json",
            "--gantt",
            str(tmp_path / "a.svg"),
            "--trace",
            str(tmp_path / "a.csv"),
        ],
        standalone_mode=False,
    )
    assert done.return_value == 0, done.output
    assert '"half_width"' in done.output
    assert '"seed": 3' in done.output
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert (tmp_path / "a.csv").read_text().startswith("job,class,stage,pool,slot,start [s],end [s],killed\n")


def test_too_many_arrivals_are_refused():
    loaded = load_text(SPEC.replace("jobs = 2", "arrivals = 1/s"))
    assert [each.code for each in loaded.diagnostics] == ["overloaded-cluster"]


@pytest.mark.parametrize(
    "model", sorted((Path(__file__).parents[3] / "models/bounds").glob("*.mrspec")), ids=lambda model: model.stem
)
def test_every_model_is_sound_and_can_be_simulated(model):
    loaded = load_file(model)
    assert list(loaded.diagnostics) == []
    plan = simulate(loaded.spec, 1, 1, 2).plan
    assert set(plan.observed) == set(plan.names)
    assert all(seen.mean > 0.0 and seen.p50 <= seen.p95 for seen in plan.observed.values())
