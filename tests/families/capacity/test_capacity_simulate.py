"""A capacity plan run: what is reported of every class, and jobs whose schedule can be worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.families.capacity.facts import JobClass
from mrdsl.simulation.settings import WhatIf
from mrdsl.spec.blocks import Coefficients, MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.schema import Range
from tests.families.capacity.capacity_specs import capacity
from tests.formulas.queues import multi_server_wait
from tests.simulation.plain_users import Plain, means, spread, summed

EQUAL = JobClass(
    name="equal",
    map=MapPhase(tasks=50, avg=10.0, max=10.0),
    shuffle=ShufflePhase(first_max=3.0, avg=5.0, max=5.0),
    reduce=ReducePhase(tasks=12, avg=6.0, max=6.0),
    slots=Slots(map=2, reduce=1),
    jobs=Range(1, 1),
    deadline=200.0,
    penalty=100.0,
)
SPREAD = replace(EQUAL, name="spread", map=MapPhase(tasks=50, avg=10.0, max=16.0), jobs=Range(3, 4))


def test_a_lone_job_of_equal_tasks_takes_its_waves() -> None:
    plan = mrdsl.simulate(capacity((EQUAL,)), runs=2, jobs=3).plan
    slots = plan.of_class(0).whole_slots
    reduces = ceil(12 / slots.reduce)
    # The first wave's shuffle is 3 s, that of later waves 5 s.
    by_hand = 10.0 * ceil(50 / slots.map) + 9.0 + 11.0 * (reduces - 1)
    assert slots.map < 50
    assert slots.reduce < 12
    seen = plan.observed["equal"]
    assert (seen.mean, seen.p50, seen.p99) == pytest.approx((by_hand,) * 3)
    assert seen.kept.share == 1.0


def test_classes_have_their_slots_to_themselves() -> None:
    alone = mrdsl.simulate(capacity((SPREAD,)), runs=2, jobs=4).plan.observed["spread"]
    both = mrdsl.simulate(capacity((replace(EQUAL, jobs=Range(2, 2)), SPREAD)), runs=2, jobs=4).plan.observed["spread"]
    assert alone == both


def test_a_class_of_coefficients_is_told_and_left_out() -> None:
    known = JobClass(
        name="known",
        coefficients=Coefficients(A=500.0, B=100.0, C=5.0),
        slots=Slots(map=2, reduce=1),
        jobs=Range(2, 2),
        deadline=200.0,
        penalty=1.0,
    )
    result = mrdsl.simulate(capacity((known, EQUAL)), runs=1, jobs=2)
    assert [d.message for d in result.diagnostics if d.code == "not-simulated"] == [
        "class known is given by coefficients, without tasks: it is not simulated"
    ]
    assert set(result.plan.observed) == {"equal"}
    assert "kept" not in result.plan.document()["classes"]["known"]


def test_the_command_reports_what_was_kept() -> None:
    done = CliRunner().invoke(
        cli, ["simulate", "models/capacity/quickstart.mrspec", "--runs", "2", "--jobs", "3", "--json"]
    )
    assert done.exit_code == 0, done.output
    classes = json.loads(done.output)["plan"]["classes"]
    for document in classes.values():
        kept, seen = document["kept"], document["observed"]
        assert 0.0 <= kept["low"] < kept["share"] <= kept["high"] <= 1.0
        each_run = 3 * document["admitted"]
        assert seen["jobs"] == 2 * (each_run - each_run // 10)
        assert seen["p50"] <= seen["p95"] <= seen["p99"]
        assert seen["mean"] < document["deadline"]


def test_where_there_is_no_plan_the_result_says_why() -> None:
    result = mrdsl.simulate(capacity((replace(EQUAL, deadline=1.0),)), runs=1, jobs=2)
    assert result.plan is None
    assert [d.code for d in result.diagnostics] == ["impossible-deadline"]


def test_the_same_seed_gives_the_same_plan_and_another_seed_other_times() -> None:
    spec = capacity((SPREAD,))
    once, again, other = (mrdsl.simulate(spec, runs=2, seed=seed, jobs=3).plan.document() for seed in (1, 1, 2))
    assert once == again != other


def spec_of(classes: str, simulation: str = "") -> mrdsl.Spec:
    text = "problem capacity, estimates = paper\nseed = 3\nvm m5 { on_demand { price = 0.192 USD/h } }\n"
    return mrdsl.loads(f"{text}{classes}\nsimulation {{ {simulation} }}\nminimize cost\n")


MAPS = "class a {{ map {{ tasks = {0}, avg = 10 s, max = {1} s }} slots {{ map = 2, reduce = 1 }} {2} }}"
GIVEN = "jobs = 4..4, deadline = {0} min, penalty = 1 USD, "
PLAIN = """class a { map { tasks = 40, avg = 10 s, max = 16 s } shuffle { first_max = 3 s, avg = 5 s, max = 8 s }
  reduce { tasks = 12, avg = 6 s, max = 9 s } slots { map = 2, reduce = 1 }
  jobs = 4..4, deadline = 4 min, penalty = 1 USD }"""


def mean_of(spec: mrdsl.Spec, **given: object) -> float:
    return float(mrdsl.simulate(spec, runs=2, jobs=5, **given).plan.observed["a"].mean)


def test_random_arrivals_wait_as_long_as_erlang_says() -> None:
    # One exponential task a job; 4 jobs and a lax deadline give the class four slots.
    spec = spec_of(MAPS.format(1, 10, GIVEN.format(30) + "distribution = exponential, arrivals = 0.32/s"))
    seen = mrdsl.simulate(spec, runs=10, jobs=500).plan
    assert seen.of_class(0).whole_slots.map == 4
    observed = seen.observed["a"]
    by_erlang = 10.0 + multi_server_wait(0.1, 0.32, 4)
    assert observed.mean == pytest.approx(by_erlang, abs=2.0 * observed.half_width)
    assert observed.half_width < 0.1 * by_erlang
    assert observed.utilisation == pytest.approx(0.8, abs=0.02)


def test_a_plain_simulator_agrees_within_their_intervals() -> None:
    plan = mrdsl.simulate(spec_of(PLAIN), runs=6, jobs=40).plan
    slots = plan.of_class(0).whole_slots
    reduce = summed(spread(3.0, 3.0), spread(5.0, 8.0), spread(6.0, 9.0))
    stages = [(40, (), 0, spread(10.0, 16.0)), (12, (0,), 1, reduce)]
    mean, half = means(lambda run: Plain(stages, (slots.map, slots.reduce), 4, 160, seed=run), 6)
    seen = plan.observed["a"]
    assert seen.mean == pytest.approx(mean, abs=seen.half_width + half)
    assert seen.half_width < 0.02 * seen.mean


@pytest.mark.parametrize(
    ("simulation", "slower"),
    [
        ("stragglers { share = 10 %, factor = 6 }", True),
        ("task_failures { probability = 20 %, retries = 9 }", True),
        ("machine_failures { permanent = 3 }", True),
        ("machine_failures { rate = 20/h, repair_time = 1 min }", True),
        ("scheduler = fifo", False),
    ],
)
def test_what_goes_wrong_costs_time(simulation: str, slower: bool) -> None:
    assert (mean_of(spec_of(PLAIN, simulation)) > 1.02 * mean_of(spec_of(PLAIN))) == slower


def test_copies_help_against_stragglers_and_a_shuffle_service_against_losses() -> None:
    slow = "stragglers { share = 5 %, factor = 8 }"
    assert mean_of(spec_of(PLAIN, f"{slow} speculation {{ }}")) < 0.95 * mean_of(spec_of(PLAIN, slow))
    losses = "machine_failures { rate = 40/h, repair_time = 30 s }"
    assert mean_of(spec_of(PLAIN, f"{losses} shuffle_service = yes")) < 0.98 * mean_of(spec_of(PLAIN, losses))


def test_machines_may_go_before_the_first_job() -> None:
    # Without a warm-up they go at once: the class has run on what is left from its first job on.
    for warm_up in (0, 10):
        plan = mrdsl.simulate(
            spec_of(PLAIN, f"warm_up = {warm_up}%, machine_failures {{ permanent = 3 }}"), runs=1, jobs=5
        ).plan
        assert plan.observed["a"].jobs == 20 - 20 * warm_up // 100


def test_jobs_are_given_up_where_no_retry_is_left() -> None:
    plan = mrdsl.simulate(spec_of(PLAIN, "task_failures { probability = 1 %, retries = 0 }"), runs=2, jobs=50).plan
    seen = plan.observed["a"]
    # 52 tasks that must all go well: 0.99^52 of the jobs do.
    assert 1.0 - seen.failed / seen.jobs == pytest.approx(0.99**52, abs=0.08)
    assert round(seen.kept.share * seen.jobs) <= seen.jobs - seen.failed
    gone = mrdsl.simulate(
        spec_of(PLAIN, "task_failures { probability = 99 %, retries = 0 }"), runs=1, jobs=2
    ).plan.observed["a"]
    assert (gone.failed, gone.mean, gone.kept.share) == (gone.jobs, None, 0.0)


def test_users_who_think_meet_idle_slots() -> None:
    busy, thinking = spec_of(PLAIN), spec_of(PLAIN.replace("penalty", "think = 10 min, penalty"))
    assert mean_of(thinking) < 0.8 * mean_of(busy)


def test_bursts_and_recorded_arrivals(tmp_path: Path) -> None:
    (tmp_path / "arrivals.txt").write_text("0\n500\n1000\n1500\n")
    (tmp_path / "maps.txt").write_text("10\n")
    text = (
        "problem capacity, estimates = paper\nvm m5 { on_demand { price = 0.192 USD/h } }\n"
        + MAPS.format(4, 10, GIVEN.format(30) + 'submissions = "arrivals.txt", recorded { map = "maps.txt" }')
        + "\nminimize cost\nsimulation { warm_up = 0% }\n"
    )
    spec = mrdsl.loads(text, folder=tmp_path)
    one, two = (mrdsl.simulate(spec, runs=1, what_if=what).plan.observed["a"] for what in (WhatIf(), WhatIf(burst=2)))
    # Four slots, four tasks of 10 s a job: one job at a time takes 10 s; of two at once both take 20 s.
    assert (one.jobs, one.mean, one.p99) == (4, 10.0, 10.0)
    assert (two.jobs, two.mean) == (8, 20.0)


def test_classes_that_lend_slots_wait_less() -> None:
    other = PLAIN.replace("class a", "class b").replace("penalty", "think = 30 min, penalty")
    apart, lent = (mean_of(spec_of(PLAIN + other, f"lending = {word}")) for word in ("no", "yes"))
    assert lent < 0.8 * apart


@pytest.mark.parametrize(
    ("scheduler", "by_hand"), [("fair", (40.0, 40.0)), ("capacity", (35.0, 40.0)), ("fifo", (32.5, 40.0))]
)
@pytest.mark.parametrize("preemption", ["", "preemption = 1 h,"])
def test_every_scheduler_keeps_its_order(scheduler: str, by_hand: tuple[float, float], preemption: str) -> None:
    # Jobs of four tasks of 10 s; two users of a and one of b share three slots, of which the plan gives a two.
    # fair: a slot for each job. capacity: a's first job has two slots to 20 s, each later one waits 20 s for them.
    # fifo: three slots for the oldest job: a's end at 20, 30, 60 and 70 s, b's at 40 and 80 s.
    one, two = (MAPS.format(4, 10, f"jobs = {n}..{n}, deadline = 30 min, penalty = 1 USD") for n in (1, 2))
    both = two + one.replace("class a", "class b")
    spec = spec_of(both, f"warm_up = 0%, work_conserving = yes, {preemption} scheduler = {scheduler}")
    plan = mrdsl.simulate(spec, runs=1, jobs=2).plan
    assert [plan.of_class(k).whole_slots.map for k in (0, 1)] == [2, 1]
    assert [plan.observed[name].jobs for name in "ab"] == [4, 2]
    assert tuple(plan.observed[name].mean for name in "ab") == by_hand


@pytest.mark.parametrize(("scheduler", "by_hand"), [("fair", 40.0), ("capacity", 220 / 6), ("fifo", 220 / 6)])
def test_a_class_on_slots_of_its_own_has_its_scheduler(scheduler: str, by_hand: float) -> None:
    # Two users on two slots: side by side, or the first job of all alone to 20 s and each later one after a wait.
    jobs = MAPS.format(4, 10, "jobs = 2..2, deadline = 30 min, penalty = 1 USD")
    spec = spec_of(jobs, f"warm_up = 0%, preemption = 1 s, scheduler = {scheduler}")
    assert mrdsl.simulate(spec, runs=1, jobs=3).plan.observed["a"].mean == pytest.approx(by_hand)


def test_a_class_of_stages_runs_and_waits_for_its_longest_path() -> None:
    stages = """class a {
      stage one { tasks = 4, avg = 10 s, max = 10 s } stage two { tasks = 1, avg = 30 s, max = 30 s }
      stage last { tasks = 4, avg = 5 s, max = 5 s, after = [one, two] } slots { task = 4 }
      jobs = 1..1, deadline = 30 min, penalty = 1 USD }"""
    plan = mrdsl.simulate(spec_of(stages), runs=1, jobs=3).plan
    # A lax deadline: one slot, on which the job takes the sum of its tasks.
    assert plan.of_class(0).whole_slots.task == 1
    assert plan.observed["a"].mean == 90.0
    tight = stages.replace("30 min", "1 min")
    plan = mrdsl.simulate(spec_of(tight), runs=1, jobs=3).plan
    # Three slots: three tasks of the first stage, then its fourth beside the second stage, from 10 to 40 s; then the
    # last stage's four tasks in two waves.
    assert plan.of_class(0).whole_slots.task == 3
    assert plan.observed["a"].mean == 50.0


def test_the_number_of_processes_changes_nothing() -> None:
    spec = spec_of(PLAIN, "stragglers { share = 10 %, factor = 6 } speculation { } machine_failures { rate = 5/h }")
    one, two = (mrdsl.simulate(spec, runs=3, jobs=4, processes=count).plan.document() for count in (1, 2))
    assert one == two


def test_what_the_command_asks_for_is_said() -> None:
    done = CliRunner().invoke(
        cli,
        [
            "simulate",
            "models/capacity/quickstart.mrspec",
            "--runs",
            "1",
            "--jobs",
            "2",
            "--json",
            "--slowstart",
            "5%",
            "--stragglers",
            "2%:4",
            "--fail-machines",
            "1",
        ],
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.output)
    said = {"slowstart": 0.05, "stragglers": {"share": 0.02, "factor": 4.0}, "lose": 1}
    assert document["plan"]["simulation"]["what_if"] == said
    assert "what-if" in [each["code"] for each in document["diagnostics"]]


def test_more_work_than_slots_and_no_machine_left_are_told_before_the_run() -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.simulate(spec_of(MAPS.format(1, 10, GIVEN.format(30) + "arrivals = 0.4/s")), runs=1, jobs=2)
    assert [d.code for d in refused.value.diagnostics] == ["overloaded-cluster"]
    assert "bring 1 times the work" in refused.value.diagnostics[0].message
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.simulate(spec_of(PLAIN), runs=1, jobs=2, what_if=WhatIf(lose=1000))
    (told,) = refused.value.diagnostics
    assert "permanent failures take 1000 machines" in told.message
    assert told.place == "--fail-machines"
    assert told.hint.startswith("write --fail-machines ")


SPARES_NONE = MAPS.format(4, 10, "jobs = 1..1, deadline = 30 min, penalty = 1 USD")


def test_where_no_machine_is_to_spare_the_words_of_whoever_said_so_are_told() -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.simulate(spec_of(SPARES_NONE), runs=1, jobs=2, lose=1)
    (told,) = refused.value.diagnostics
    assert told.place == "--fail-machines"
    assert told.hint == "leave out --fail-machines: the class has no machine to spare"
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.simulate(spec_of(SPARES_NONE, "machine_failures { permanent = 1 }"), runs=1, jobs=2)
    (told,) = refused.value.diagnostics
    assert told.span is not None
    assert told.hint == "leave out machines: the class has no machine to spare"


@pytest.mark.parametrize("path", ["capacity/quickstart", "bounds/reference", "joint/S1"])
def test_bursts_without_arrivals_are_refused(path: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match="`--burst` has no effect") as refused:
        mrdsl.simulate(mrdsl.load(f"models/{path}.mrspec"), runs=1, jobs=2, burst=3)
    assert "arrivals = 3/h" in refused.value.diagnostics[0].hint


def test_of_two_runs_of_a_plan_the_last_alone_is_told() -> None:
    plan = mrdsl.solve(spec_of(PLAIN.replace("penalty", "guarantee = average, penalty")))
    first = mrdsl.simulate(plan, runs=4, jobs=20, stragglers=(0.5, 60.0))
    assert {"what-if", "promise-broken"} <= {each.code for each in first.diagnostics}
    assert mrdsl.simulate(first, runs=2, jobs=3) == mrdsl.simulate(plan, runs=2, jobs=3)


@pytest.mark.parametrize(
    ("what_if", "path"),
    [
        (WhatIf(slowstart=1.5), "slowstart"),
        (WhatIf(stragglers=(2.0, 4.0)), "stragglers"),
        (WhatIf(stragglers=(0.1, 0.5)), "factor"),
        (WhatIf(lose=-1), "lose"),
        (WhatIf(burst=0), "burst"),
    ],
)
def test_a_what_if_that_cannot_be_is_refused(what_if: WhatIf, path: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.simulate(spec_of(PLAIN), what_if=what_if)
    assert [d.path for d in refused.value.diagnostics] == [path]


def test_a_family_that_runs_as_its_spec_says_takes_no_what_if() -> None:
    spec = mrdsl.load("models/schedule/reference.mrspec")
    with pytest.raises(mrdsl.MrdslError, match="do not apply to a schedule problem"):
        mrdsl.simulate(spec, what_if=WhatIf(burst=2))


TYPES = """problem capacity, estimates = paper
vm fast { on_demand { price = 0.4 USD/h } }
vm slow { on_demand { price = 0.1 USD/h } SPOT }
class a { map { tasks = 4, avg = 10 s, max = 10 s } slots { map = 2, reduce = 1 } on fast { speed = 2 }
  jobs = 2..2, deadline = 30 min, penalty = 100 USD, types = [fast] }
class b { map { tasks = 4, avg = 10 s, max = 10 s } slots { map = 2, reduce = 1 }
  on slow { map { tasks = 4, avg = 12 s, max = 12 s } }
  jobs = 2..2, deadline = 30 min, penalty = 100 USD, types = [slow] }
minimize cost
simulation { warm_up = 0%, machine_failures { repair_time = 5 min } }
"""


def test_classes_run_at_the_speed_and_with_the_profile_of_their_types() -> None:
    # A slot for every job: four tasks one after the other, at twice the speed or as measured on the type.
    plan = mrdsl.simulate(mrdsl.loads(TYPES.replace("SPOT", "")), runs=1, jobs=3).plan
    assert plan.mix is not None
    assert (plan.observed["a"].mean, plan.observed["b"].mean) == (20.0, 48.0)
    document = plan.document()["classes"]["a"]
    assert document["observed"]["jobs"] == 6
    assert document["kept"]["share"] == 1.0


def test_spot_machines_are_taken_back() -> None:
    def mean(rate: str) -> float:
        spot = f"spot {{ price = 0.01 USD/h, interruptions = {rate} }}"
        plan = mrdsl.simulate(mrdsl.loads(TYPES.replace("SPOT", spot)), runs=4, jobs=20).plan
        assert plan.observed["a"].mean == 20.0
        assert plan.mix is not None
        assert plan.mix.total("spot") > 0
        return float(plan.observed["b"].mean)

    assert mean("20/h") > 1.5 * mean("0/h")


SPLIT = """problem capacity, estimates = paper
vm fast { on_demand { price = 0.4 USD/h } }
vm slow { on_demand { price = 0.1 USD/h }, available = 1 }
class b { map { tasks = 4, avg = 10 s, max = 10 s } slots { map = 1, reduce = 1 }
  on slow { map { tasks = 4, avg = 12 s, max = 12 s } }
  jobs = 3..3, deadline = 30 min, penalty = 100 USD }
minimize cost
"""


def test_a_class_on_two_types_is_seen_as_one() -> None:
    # One VM of the cheap type holds one of the three jobs, on a slot; the others run on the other type.
    plan = mrdsl.simulate(mrdsl.loads(SPLIT + "simulation { warm_up = 0% }"), runs=2, jobs=2).plan
    mix = plan.mix
    assert mix is not None
    assert {mix.types[vm]: jobs for vm, jobs in zip(mix.of_vm, mix.jobs, strict=True)} == {"fast": 2.0, "slow": 1.0}
    seen = plan.observed["b"]
    assert seen.jobs == 2 * 3 * 2
    assert seen.mean == pytest.approx((2 * 40.0 + 48.0) / 3)
    assert seen.half_width == pytest.approx(0.0)
    assert seen.utilisation == pytest.approx(1.0)


def test_the_plan_says_of_every_class_whether_its_upper_estimate_is_a_bound() -> None:
    def said(classes: str) -> dict[str, bool | None]:
        plan = mrdsl.solve(spec_of(classes)).plan.document()["classes"]
        return {name: each["upper_is_bound"] for name, each in plan.items()}

    # One job alone; four with two slots of each kind or more; four with a slot each, which have none at times.
    assert said(PLAIN.replace("4..4", "1..1")) == {"a": True}
    assert said(PLAIN.replace("4 min", "80 s")) == {"a": True}
    assert said(PLAIN.replace("4 min", "5 h")) == {"a": False}
    known = """class k { coefficients { A = 500 s, B = 100 s, C = 5 s } slots { map = 2, reduce = 1 }
      jobs = 2..2, deadline = 10 min, penalty = 1 USD }"""
    assert said(known) == {"k": None}
    # What is called a bound is one in the run.
    plan = mrdsl.simulate(spec_of(PLAIN.replace("4 min", "80 s")), runs=4, jobs=20).plan
    assert plan.observed["a"].p99 <= plan.completion_upper[0]


def test_machines_that_are_taken_back_leave_no_bound() -> None:
    spot = TYPES.replace("SPOT", "spot { price = 0.01 USD/h, interruptions = 0.1/h }").replace("2..2", "1..1")
    plan = mrdsl.solve(mrdsl.loads(spot)).plan
    assert plan.mix.total("spot") > 0
    assert [plan.document()["classes"][name]["upper_is_bound"] for name in "ab"] == [True, False]
