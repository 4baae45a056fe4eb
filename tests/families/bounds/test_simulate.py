"""A bounds spec simulated: what it reports, that it is deterministic, and how it stands to the formulas."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.families.bounds import FAMILY
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, JobClass
from mrdsl.language.loading import load_file, load_text
from mrdsl.simulation.settings import WhatIf
from mrdsl.spec.blocks import MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.schema import Source
from mrdsl.spec.simulated import Recorded
from mrdsl.spec.simulated import Run as Length
from mrdsl.spec.spec import Goal, Spec
from tests.families.bounds.running import observed
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
    plan = observed(spec, 3, 1, 20)
    for index, name in enumerate(plan.names):
        low, high = plan.completion["lower"][index], plan.completion["upper"][index]
        assert low < plan.observed[name].mean < high
        assert plan.observed[name].p95 < high
    assert plan.observed["a"].jobs >= 3 * 2 * 18


def test_lent_slots_make_jobs_faster_than_the_lower_estimate():
    spec = spec_of(replace(JOB, jobs=6))
    plan = observed(spec, 2, 1, 20)
    assert plan.observed["a"].mean < plan.completion["lower"][0]
    kept = observed(spec_of(replace(JOB, jobs=6), work_conserving="no"), 2, 1, 20)
    assert plan.observed["a"].mean < kept.observed["a"].mean


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others():
    spec = spec_of(replace(JOB, jobs=3))
    once, again, other = (observed(spec, 2, seed, 5).document() for seed in (1, 1, 2))
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
    plan = observed(spec_of(job), 1, 0, 50)
    assert plan.observed["a"].mean == pytest.approx(30.0 + 3.0 + 6.0)
    assert plan.completion["waves"][0] == pytest.approx(39.0)
    assert plan.observed["a"].half_width == pytest.approx(0.0)


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo"])
def test_every_scheduler_serves_random_arrivals(scheduler):
    single = JobClass(name="a", map=MapPhase(tasks=1, avg=10.0, max=10.0), arrivals=2.0)
    spec = spec_of(single, scheduler=scheduler)
    assert [each.code for each in FAMILY.check(spec) if each.severity == "error"] == []
    plan = observed(spec, 2, 3, 4000)
    # M/D/c waits about half as long as M/M/c (Cosmetatos); here 24 servers at 83 % load.
    wait = plan.observed["a"].mean - 10.0
    assert wait == pytest.approx(multi_server_wait(0.1, 2.0, 24) / 2, rel=0.35)


def test_the_fifo_scheduler_makes_jobs_wait():
    spec = spec_of(replace(JOB, jobs=4), scheduler="fifo", pools="separate")
    plan = observed(spec, 2, 1, 20)
    assert plan.observed["a"].mean > plan.completion["upper"][0]


def test_capacity_runs_the_older_job_of_a_class_first():
    fair = observed(spec_of(replace(JOB, jobs=6)), 4, 1, 30).observed["a"]
    queue = observed(spec_of(replace(JOB, jobs=6), scheduler="capacity"), 4, 1, 30).observed["a"]
    assert queue.p50 < fair.p50


def test_preemption_and_minimum_shares_help_the_small_class():
    long = JobClass(name="long", map=MapPhase(tasks=48, avg=200.0, max=300.0), jobs=2, share=0.5)
    short = JobClass(name="short", map=MapPhase(tasks=6, avg=2.0, max=3.0), think=50.0)
    usual = observed(spec_of(long, short), 2, 1, 10).observed["short"].mean
    helped = observed(spec_of(long, replace(short, minimum_share=0.25), preemption=1.0), 2, 1, 10)
    assert helped.observed["short"].mean < usual


def test_sized_slots_keep_their_deadlines_in_the_simulation():
    node = replace(JOB, jobs=3, deadline=150.0, guarantee="upper")
    spec = replace(spec_of(node, goal=Goal("minimize", "slots"), work_conserving="no"), constraints=())
    plan = observed(spec, 2, 1, 20)
    assert plan.observed["a"].p95 <= 150.0


def test_recorded_times_are_replayed(tmp_path):
    file = tmp_path / "times.txt"
    file.write_text("4000\n8000\n12000\n")
    node = replace(
        JOB, shuffle=None, reduce=None, recorded=Recorded(map=Source("table", str(file), "times.txt"), unit=1e-3)
    )
    plan = observed(spec_of(node, pools="separate"), 1, 1, 20)
    rows = list(plan.trace().rows)
    assert {round(row[6] - row[5], 6) for row in rows} == {4.0, 8.0, 12.0}
    assert [each.code for each in FAMILY.check(spec_of(replace(node, map=MapPhase(tasks=60, avg=6.0, max=8.0))))] == [
        "wrong-recording"
    ]


def test_the_trace_holds_every_task_once_and_the_chart_its_first_ones():
    plan = observed(spec_of(replace(JOB, jobs=2), length=Length(jobs_per_user=4)), 1, 0, None)
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
    plan = observed(loaded.spec, 1, 1, 2)
    assert set(plan.observed) == set(plan.names)
    assert all(seen.mean > 0.0 and seen.p50 <= seen.p95 for seen in plan.observed.values())


def class_of(items, cluster="", simulation="", goal="estimate completion"):
    text = f"""problem bounds
    cluster {{ slots {{ map = 4, reduce = 2 }} {cluster} }}
    class a {{ map {{ tasks = 4, avg = 10 s, max = 10 s }} shuffle {{ first_max = 3 s, avg = 5 s, max = 5 s }}
      reduce {{ tasks = 2, avg = 6 s, max = 6 s }} think = 0 s, {items} }}
    simulation {{ warm_up = 0%, {simulation} }}
    {goal}
    """
    return mrdsl.loads(text)


def test_the_share_in_time_stands_beside_what_was_observed():
    # 10 s of maps, 9 s of reduces; 40 of 40 jobs in time have the binomial interval from 0.025 ** (1 / 40) to 1, where
    # equal times say no more than one job does.
    plan = mrdsl.simulate(class_of("deadline = 19 s"), runs=2, jobs=20).plan
    document = plan.document()["classes"]["a"]
    assert document["observed"]["mean"] == document["completion"]["mean"] == 19.0
    assert document["observed"]["utilisation"] == pytest.approx((4 * 10 + 2 * 9) / (6 * 19))
    assert (document["kept"]["share"], document["kept"]["high"]) == (1.0, 1.0)
    assert document["kept"]["low"] == pytest.approx(0.025 ** (1 / 40))
    late = mrdsl.simulate(class_of("deadline = 18.9 s"), runs=2, jobs=20).plan.document()["classes"]["a"]
    assert (late["kept"]["share"], late["kept"]["low"]) == (0.0, 0.0)
    assert "kept" not in mrdsl.simulate(class_of(""), runs=1, jobs=2).plan.document()["classes"]["a"]


def test_what_goes_wrong_can_be_said_in_a_bounds_spec_and_asked_for_by_the_command():
    def mean(simulation="", **given):
        return mrdsl.simulate(class_of("", simulation=simulation), runs=2, jobs=20, **given).plan.observed["a"].mean

    usual = mean()
    for wrong in ("stragglers { share = 10 %, factor = 6 }", "task_failures { probability = 20 %, retries = 9 }"):
        assert mean(wrong) > 1.1 * usual
    slow = WhatIf(stragglers=(0.1, 6.0))
    assert mean(what_if=slow) == mean("stragglers { share = 10 %, factor = 6 }")
    result = mrdsl.simulate(class_of(""), runs=1, jobs=2, what_if=slow)
    assert "what-if" in [each.code for each in result.diagnostics]
    assert result.plan.document()["simulation"]["what_if"] == {"stragglers": {"share": 0.1, "factor": 6.0}}


def test_reduces_that_start_early_hold_their_slots():
    # Two jobs on two reduce slots: those that hold slots while they wait are the first to go on.
    plan = mrdsl.simulate(class_of("distribution = fixed", simulation="slowstart = 0%"), runs=1, jobs=2).plan
    assert plan.observed["a"].mean == 19.0
    assert plan.document()["classes"]["a"]["observed"]["utilisation"] == pytest.approx((4 * 10 + 2 * 19) / (6 * 19))


def test_recorded_arrivals_come_in_bursts(tmp_path):
    (tmp_path / "at.txt").write_text("0\n100\n")
    text = """problem bounds
    cluster { slots { map = 4, reduce = 2 } }
    class a { map { tasks = 4, avg = 10 s, max = 10 s } submissions = "at.txt", burst = 2 }
    simulation { warm_up = 0% }
    estimate completion
    """
    spec = mrdsl.loads(text, folder=tmp_path)
    # Two jobs of four tasks share four slots: both end after 20 s.
    seen = mrdsl.simulate(spec, runs=1).plan.observed["a"]
    assert (seen.jobs, seen.mean, seen.p99) == (4, 20.0, 20.0)


def test_a_cluster_of_slots_has_no_machines_that_could_go():
    with pytest.raises(mrdsl.MrdslError, match="machines cannot fail here"):
        mrdsl.simulate(class_of(""), what_if=WhatIf(lose=1))


def test_masters_that_leave_no_slot_for_tasks_are_told_before_the_run():
    lax = class_of("deadline = 10 h", cluster="masters = yes", goal="minimize slots")
    with pytest.raises(mrdsl.MrdslError, match="1 job use up 1 slot,"):
        mrdsl.simulate(lax, runs=1, jobs=2)


def test_what_a_command_asks_for_may_be_too_much_work():
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.simulate(class_of("arrivals = 0.05/s"), what_if=WhatIf(burst=3))
    assert [each.code for each in refused.value.diagnostics] == ["overloaded-cluster"]


def test_the_number_of_processes_changes_nothing():
    spec = class_of("jobs = 2, distribution = exponential")
    assert len({str(mrdsl.simulate(spec, runs=3, jobs=4, processes=n).plan.document()) for n in (1, 2)}) == 1
