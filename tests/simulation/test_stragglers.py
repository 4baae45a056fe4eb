"""Slow attempts take their multiple in all that they do: rule 26 of docs/reference/semantics.md.

Where every attempt is slow, time itself is stretched: each family that runs the engine must show exactly the factor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.families.capacity.methods.calibration import Cell, Trials, quantile
from mrdsl.simulation.described import class_of
from mrdsl.simulation.engine.draws import Exponential, Spread, StreamDraws, TaskTimes, mean_attempt, slowdown
from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users, run_once
from mrdsl.simulation.engine.world import Faults, JobKind, Machines, Speculation, Stage
from mrdsl.simulation.planned import Held
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.settings import WhatIf
from mrdsl.spec.blocks import Simulation
from mrdsl.spec.simulated import Stragglers

PHASES = """map { tasks = 3, avg = 10 s, max = 10 s }
  shuffle { avg = 10 s, max = 10 s, first_avg = 7 s, first_max = 7 s }
  reduce { tasks = 2, avg = 10 s, max = 10 s } distribution = fixed, think = 0 s"""
FAMILIES = {
    "bounds": """problem bounds
cluster {{ slots {{ map = 3, reduce = 1 }} }}
class a {{ {} }}
{}
estimate completion
""",
    "capacity": """problem capacity
vm m5 {{ on_demand {{ price = 0.2 USD/h }} }}
class a {{ {}, slots {{ map = 2, reduce = 1 }}, jobs = 1..1, deadline = 70 s, penalty = 9 USD }}
{}
minimize cost
""",
    "joint": """problem joint
cluster {{ size = 9 vms, vm_cost = 20 cent/h, period = 1 h }}
class a {{ {}, slots {{ map = 2, reduce = 1 }}, jobs = 1..1, deadline = 70 s, penalty = 9 USD }}
{}
minimize cost
""",
}


def of_phases(map_, first, shuffle, reduce) -> str:
    times = (f"avg = {each} s, max = {each} s" for each in (map_, shuffle, reduce))
    of_map, of_shuffle, of_reduce = times
    return (
        f"map {{ tasks = 1, {of_map} }} shuffle {{ {of_shuffle}, first_avg = {first} s, first_max = {first} s }} "
        f"reduce {{ tasks = 1, {of_reduce} }} distribution = fixed, think = 0 s"
    )


def bounds(profile: str, rules: str = "", **given):
    text = "problem bounds\ncluster { slots { map = 1, reduce = 1 } }\nclass a { %s }\nsimulation { warm_up = 0%%, %s }"
    spec = mrdsl.loads(text % (profile, rules) + "\nestimate completion\n")
    return mrdsl.simulate(spec, runs=1, jobs=2, **given).plan.observed["a"].mean


def test_a_slow_attempt_shuffles_slowly_too() -> None:
    profile = of_phases(10, 10, 10, 10)
    assert bounds(profile) == 30.0
    assert bounds(profile, "stragglers { share = 100%, factor = 4 }") == 120.0
    assert bounds(profile, stragglers=(1.0, 4.0)) == 120.0
    assert bounds(profile, "slowstart = 0%, stragglers { share = 100%, factor = 4 }") == 120.0


@settings(max_examples=20)
@given(
    times=st.tuples(*[st.integers(1, 50)] * 4),
    factor=st.sampled_from([1.0, 1.5, 4.0, 100.0]),
)
def test_all_attempts_slow_stretch_every_phase(times, factor) -> None:
    map_, first, _, reduce = times
    profile = of_phases(*times)  # one reduce task: its shuffle is one of the first
    assert bounds(profile, f"stragglers {{ share = 100%, factor = {factor} }}") == factor * (map_ + first + reduce)


def scenario(seed: int, slow: tuple[float, float] | None, faults: Faults) -> Scenario:
    random = np.random.default_rng(seed)
    tasks, users, slots = (int(random.integers(low, high)) for low, high in ((3, 40), (1, 5), (1, 20)))
    work = Exponential(9.0) if seed % 2 else Spread(5.0, 5.0, 5.0)
    factors = None if slow is None else slowdown(*slow)
    stages = (Stage("map", tasks), Stage("reduce", 1 + tasks // 3, (0,), 1, (1.0, 0.3)[seed % 3 == 0]))
    times = (TaskTimes(work, slow=factors), TaskTimes(work, Exponential(2.0), Exponential(4.0), factors))
    machines = (Machines(slots, 1, 0), Machines(1 + slots // 3, 1, 1))
    rule = (QueueRule(),)
    classes = (JobClass(JobKind("a", stages), times, Users(users), 8 * users),)
    return Scenario(classes, machines, (rule, rule), faults=faults)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("faults", [Faults(), Faults(share=0.2, retries=9), Faults(speculation=Speculation(0.5, 1.5))])
def test_time_is_stretched_in_every_engine(seed: int, faults: Faults) -> None:
    # Failures strike at shares of an attempt and copies at multiples of a median: all that happens happens 2^k later.
    plain, slow = (run_once(scenario(seed, each, faults), 3, 0) for each in (None, (1.0, 4.0)))
    assert slow.times[0] == pytest.approx([4.0 * each for each in plain.times[0]])
    assert slow.busy == pytest.approx([4.0 * each for each in plain.busy])


def test_the_share_is_of_whole_attempts() -> None:
    times = (TaskTimes(Spread(10.0, 10.0, 10.0), Spread(5.0, 5.0, 5.0), Spread(3.0, 3.0, 3.0), slowdown(0.25, 3.0)),)
    draws = StreamDraws([times], [[40_000]], lambda *place: stream(1, *place))
    block = draws.block(0, 0, 0)
    assert block.first is not None
    assert block.shuffle is not None
    # Work and shuffle of one attempt are slow together, or neither is.
    assert set(zip(block.work, block.first, block.shuffle, strict=True)) == {(10.0, 5.0, 3.0), (30.0, 15.0, 9.0)}
    assert np.mean(block.work) == pytest.approx(10.0 * 1.5, rel=0.02)
    assert mean_attempt(times[0]) == 13.0 * 1.5


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_that_runs_the_engine_has_the_rule(family: str) -> None:
    def mean(rules: str, **given) -> float:
        text = FAMILIES[family].format(PHASES, f"simulation {{ warm_up = 0%, {rules} }}")
        return mrdsl.simulate(mrdsl.loads(text), runs=1, jobs=3, **given).plan.observed["a"].mean

    plain = mean("")
    assert mean("stragglers { share = 100%, factor = 4 }") == pytest.approx(4.0 * plain)
    assert mean("", stragglers=(1.0, 4.0)) == pytest.approx(4.0 * plain)


def test_promised_percentiles_are_of_the_same_runs() -> None:
    text = FAMILIES["capacity"].format(PHASES, "")
    node = mrdsl.loads(text).facts.classes[0]
    rules = Simulation(warm_up=0.0)
    plain, slow = (
        quantile(Trials([held_of(node)], each, 1).times((Cell(1, 2, 1),), 0, 2), 0.95)
        for each in (rules, replace(rules, stragglers=Stragglers(share=1.0, factor=4.0)))
    )
    assert slow == pytest.approx(4.0 * plain)
    assert class_of(node, Users(1), replace(rules, stragglers=Stragglers(share=0.0, factor=4.0)), 1).times[1].slow


def held_of(node) -> Held:
    return Held(node, 1, (2, 1), (2, 2), node.name)


@pytest.mark.parametrize("family", ["schedule", "hybrid"])
def test_policies_without_stragglers_refuse_them(family: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.simulate(mrdsl.load(f"models/{family}/reference.mrspec"), runs=1, what_if=WhatIf(stragglers=(0.1, 4.0)))
    assert [each.code for each in refused.value.diagnostics] == ["wrong-option"]
