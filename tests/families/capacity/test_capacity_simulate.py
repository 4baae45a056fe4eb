"""A capacity plan run: what is reported of every class, and jobs whose schedule can be worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.families.capacity.facts import JobClass
from mrdsl.spec.blocks import Coefficients, MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.schema import Range
from tests.families.capacity.capacity_specs import capacity

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
        "class known is given by coefficients, which do not say what tasks its jobs have: it is not simulated"
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
