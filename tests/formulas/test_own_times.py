"""Times on own slots: list scheduling by hand and by drawn schedules, closed means beside simulated ones."""

from __future__ import annotations

from itertools import permutations
from random import Random

import numpy as np
import pytest

from mrdsl import load, loads, simulate, solve
from mrdsl.checking import means
from mrdsl.core.diagnostics import MrdslError
from mrdsl.formulas.phase_means import mean_time, mean_times, shape_at, shapes_of, sums_of
from mrdsl.formulas.stages import serial_parts
from mrdsl.simulation.engine.draws import TaskTimes, sampler
from mrdsl.simulation.engine.world import Stage
from mrdsl.simulation.own_slots import completion
from mrdsl.simulation.own_slots import mean_times as simulated

CLASSES = {
    "40 equal tasks": ("stage s { tasks = 40, avg = 10 s, max = 10 s }", "deadline = 101 s", 4),
    "41 equal tasks": ("stage s { tasks = 41, avg = 10 s, max = 10 s }", "deadline = 51 s", 9),
    "a slot each": ("stage s { tasks = 8, avg = 9 s, max = 10 s }", "deadline = 10.5 s, guarantee = upper", 8),
    "one task": ("stage s { tasks = 1, avg = 9 s, max = 10 s }", "deadline = 10 s, guarantee = upper", 1),
    "one slot": ("stage s { tasks = 5, avg = 10 s, max = 10 s }", "deadline = 50 s", 1),
    "startup": ("stage s { tasks = 40, avg = 10 s, max = 10 s }\n  startup = 9 s", "deadline = 110 s", 4),
    # (20 - 10) / k + 10 for both: at 8 slots the first stage ends after its longest task
    "chain": (
        "stage a { tasks = 4, avg = 5 s, max = 10 s }\n  stage b { tasks = 8, avg = 5 s, max = 10 s, after = [a] }",
        "deadline = 24 s, guarantee = upper",
        8,
    ),
    # side by side: 80 s of work, a path of 10 s, and 16 tasks at once; (80 - 10) / k + 10 <= 20
    "beside": (
        "stage a { tasks = 8, avg = 5 s, max = 10 s }\n  stage b { tasks = 8, avg = 5 s, max = 10 s }",
        "deadline = 20 s, guarantee = upper",
        7,
    ),
    "lower": ("stage s { tasks = 40, avg = 10 s, max = 20 s }", "deadline = 100 s, guarantee = lower", 4),
    # max(40 / k, 10) and (40 - 10) / k + 10: halfway at most 18 s
    "average": ("stage s { tasks = 4, avg = 10 s, max = 10 s }", "deadline = 18 s, guarantee = average", 3),
}


def capacity(body, limit, more=""):
    return loads(
        f"""problem capacity "t"
estimates = scheduling
{more}
vm m {{ on_demand {{ price = 1 USD/h }} }}
class c {{
  {body}
  slots {{ task = 1 }}
  jobs = 2, {limit}, penalty = 1000 USD
}}
minimize cost
"""
    )


@pytest.mark.parametrize("name", CLASSES)
def test_slots_of_one_job(name):
    body, limit, slots = CLASSES[name]
    plan = solve(capacity(body, limit)).plan
    assert plan.classes["c"].whole_slots.task == 2 * slots
    assert plan.rented == 2 * slots


@pytest.mark.parametrize("name", CLASSES)
def test_bounds_sizes_the_same_whole_slots_for_means(name):
    body, limit, slots = CLASSES[name]
    if "guarantee" in limit:
        limit = limit.partition(",")[0]
    text = f'problem bounds "t"\nestimates = scheduling\nclass c {{\n  {body}\n  {limit}\n}}\nminimize slots\n'
    plan = solve(loads(text)).plan
    assert plan.map_slots[0] == round(plan.map_slots[0])
    if "guarantee" not in CLASSES[name][1]:
        assert plan.map_slots[0] == slots


@pytest.mark.parametrize("seed", range(40))
def test_upper_and_lower_bound_every_schedule(seed):
    random = Random(seed)
    count = random.randint(1, 4)
    stages, lines = [], []
    for number in range(count):
        after = [other for other in range(number) if random.random() < 0.5]
        times = [random.choice([1.0, 2.0, 3.0, 7.0]) for _ in range(random.randint(1, 6))]
        stages.append((tuple(after), random.choice([0.0, 0.0, 2.0]), times))
        names = ", ".join(f"s{other}" for other in after)
        lines.append(
            f"stage s{number} {{ tasks = {len(times)}, avg = {sum(times) / len(times)!r} s, max = {max(times)} s, "
            f"delay = {stages[-1][1]} s{f', after = [{names}]' if after else ''} }}"
        )
    slots = random.randint(1, 8)
    spec = loads(
        'problem bounds "t"\nestimates = scheduling\n'
        f"cluster {{ slots {{ task = {slots} }} }}\nclass c {{\n  " + "\n  ".join(lines) + "\n}\nestimate completion\n"
    )
    plan = solve(spec).plan
    assert bool(plan.upper_is_bound[0])
    for _ in range(60):
        drawn = [(after, delay, random.sample(times, len(times))) for after, delay, times in stages]
        time = completion(drawn, slots)
        assert time <= plan.completion["upper"][0] * (1 + 1e-9)
        assert time >= plan.completion["lower"][0] * (1 - 1e-9)
    middle = (plan.completion["upper"][0] + plan.completion["lower"][0]) / 2
    assert plan.completion["average"][0] == pytest.approx(middle)


def test_two_parallel_stages_have_no_cap_at_the_tasks_of_one():
    stages = [((), 0.0, [10.0] * 8), ((), 0.0, [10.0] * 8)]
    assert completion(stages, 8) == 20.0
    body = "stage a { tasks = 8, avg = 10 s, max = 10 s }\n  stage b { tasks = 8, avg = 10 s, max = 10 s }"
    spec = loads(
        f'problem bounds "t"\nestimates = scheduling\ncluster {{ slots {{ task = 8 }} }}\nclass c {{\n  {body}\n}}\n'
        "estimate completion\n"
    )
    assert solve(spec).plan.completion["upper"][0] == pytest.approx(150.0 / 8.0 + 10.0)


@pytest.mark.parametrize(
    ("parents", "parts"),
    [
        (((), (0,), (1,)), [[0], [1], [2]]),
        (((), (), (0, 1), (0, 1), (2, 3)), [[0, 1], [2, 3], [4]]),
        (((), ()), [[0, 1]]),
        (((), (0,), (0,), (1, 2)), [[0], [1, 2], [3]]),
    ],
)
def test_serial_parts(parents, parts):
    assert [sorted(part) for part in serial_parts(parents)] == parts
    named = [str(number) for number in range(len(parents))]
    spec = loads(
        'problem bounds "t"\ncluster { slots { task = 8 } }\nclass c {\n'
        + "\n".join(
            f"stage x{name} {{ tasks = 1, avg = 1 s, max = 1 s, after = [{', '.join(f'x{p}' for p in before)}] }}"
            for name, before in zip(named, parents, strict=True)
        )
        + "\n}\nestimate completion\n"
    )
    from mrdsl.checking.exact import components

    assert sorted(map(sorted, components(tuple(spec.facts.classes[0].stages)))) == sorted(parts)


def one(word, avg, longest, tasks):
    return shapes_of(
        np.array([word]),
        np.array([max(0.0, 2.0 * avg - longest)]),
        np.array([avg]),
        np.array([longest]),
        np.array([float(tasks)]),
    )


@pytest.mark.parametrize("seed", range(60))
def test_means_of_phases_are_those_of_simulations(seed):
    random = Random(seed)
    word = ("uniform", "lognormal", "exponential", "fixed")[seed % 4]
    tasks = random.randint(1, 60)
    slots, longest = random.randint(1, tasks + 1), random.choice([1.0, 1.1, 1.5, 2.0, 3.0])
    times = TaskTimes(sampler(word, max(0.0, 2.0 - longest), 1.0, longest, tasks))
    found = mean_times(np.array([float(tasks)]), np.array([float(slots)]), one(word, 1.0, longest, tasks))[0]
    expected = simulated([Stage("s", tasks, (), 0)], [times], [slots])[0]
    assert found == pytest.approx(expected, rel=0.03 if tasks > 12 else 0.08)


@pytest.mark.parametrize("seed", range(60))
def test_verification_computes_the_same_means(seed):
    random = Random(seed)
    word = ("uniform", "lognormal", "exponential", "fixed")[seed % 4]
    tasks, part = random.randint(1, 300), random.choice([0.0, 0.2, 0.5, 1.0])
    slots = np.array([float(random.randint(1, tasks)) for _ in range(4)])
    longest = random.choice([1.0, 1.1, 1.5, 2.0, 3.0])
    first, second = one(word, 1.0, longest, tasks), one("uniform", 1.0, 1.4, tasks)
    shape = shape_at(int(sums_of(first, second, np.array([part]))[0]))
    other = means.added(
        means.shape(word, max(0.0, 2.0 - longest), 1.0, longest, tasks),
        means.shape("uniform", 0.6, 1.0, 1.4, tasks),
        part,
    )
    counts = np.full(4, float(tasks))
    assert mean_time(counts, slots, shape) == pytest.approx(means.mean(other, counts, slots), rel=1e-7)


MAPREDUCE = """problem capacity "t"
estimates = scheduling
vm m {{ on_demand {{ price = 1 USD/h }} }}
class c {{
  map     {{ tasks = {maps}, avg = 10 s, max = {longest} s }}
  shuffle {{ first_max = 3 s, avg = 2 s, max = 3 s }}
  reduce  {{ tasks = {reduces}, avg = 7 s, max = {longest} s }}
  slots {{ map = {slots}, reduce = {slots} }}
  jobs = 1, deadline = {deadline} s, penalty = 1000 USD{more}
}}
minimize cost
"""


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("guarantee", ["mean", "upper", "average", "lower"])
def test_pairs_are_the_cheapest_of_all(seed, guarantee):
    random = Random(seed)
    numbers = {
        "maps": random.randint(1, 12),
        "reduces": random.randint(1, 9),
        "longest": random.choice([10, 12, 20]),
        "slots": random.randint(1, 3),
        "deadline": random.randint(45, 120),
    }
    spec = loads(MAPREDUCE.format(**numbers, more=f", guarantee = {guarantee}"))
    result = solve(spec)
    from mrdsl.checking.rows import Rows
    from mrdsl.simulation.simulated_means import mean_of

    here = np.zeros(1, dtype=np.int64)
    work = Rows(spec.facts, here, here, mean_of).promised
    pairs = [(m, r) for m in range(1, numbers["maps"] + 1) for r in range(1, numbers["reduces"] + 1)]
    kept = [
        -(-(m + r) // numbers["slots"])
        for m, r in pairs
        if work.time(np.array([float(m)]), np.array([float(r)]))[0] <= numbers["deadline"]
    ]
    assert (result.plan.rented if result.plan else None) == (min(kept) if kept else None)


def test_recorded_tasks_are_simulated(tmp_path):
    # one task of 16 s and four of 4 s, in their order or not: 5 slots end after 16 s
    (tmp_path / "times.txt").write_text("16\n4\n4\n4\n4\n")
    (tmp_path / "a.mrspec").write_text(
        """problem capacity "t"
estimates = scheduling
vm m { on_demand { price = 1 USD/h } }
class c {
  stage s { tasks = 5, avg = 6.4 s, max = 16 s, samples = "times.txt" }
  slots { task = 1 }
  jobs = 1, deadline = 33 s, penalty = 1000 USD
}
minimize cost
"""
    )
    assert solve(load(tmp_path / "a.mrspec")).plan.rented == 1.0


@pytest.mark.parametrize("text", ["whole = no", "whole = no\nperiod = 2 h"])
def test_means_need_whole_slots(text):
    with pytest.raises(MrdslError) as failed:
        solve(capacity(*CLASSES["40 equal tasks"][:1], "deadline = 101 s, guarantee = mean", text))
    assert failed.value.diagnostics[0].code == "mean-in-fractions"


def test_fractions_have_the_average_by_default():
    plan = solve(capacity(*CLASSES["40 equal tasks"][:2], "whole = no")).plan
    # 400 / k and 390 / k + 10: halfway within 101 s
    assert plan.map_slots[0] == pytest.approx(2 * 395.0 / 96.0)


def test_orders_of_tasks_matter_only_within_the_bounds():
    times = [1.0, 2.0, 3.0, 4.0]
    found = {completion([((), 0.0, list(order))], 2) for order in permutations(times)}
    assert min(found) == 5.0
    assert max(found) == 7.0
    assert max(found) <= (10.0 - 4.0) / 2 + 4.0


def test_simulated_jobs_have_slots_as_stated():
    text = """problem capacity "t"
estimates = scheduling
vm m {{ on_demand {{ price = 1 USD/h }} }}
class c {{
  stage a {{ tasks = 1, avg = 10 s, max = 20 s, distribution = uniform }}
  stage b {{ tasks = 8, avg = 10 s, max = 10 s, after = [a] }}
  slots {{ task = 1 }}
  jobs = 2, deadline = 55 s, penalty = 1000 USD, sharing = {sharing}, guarantee = mean
}}
minimize cost
"""
    seen = {each: simulate(loads(text.format(sharing=each)), runs=8).plan for each in ("own", "class")}
    assert {plan.rented for plan in seen.values()} == {4.0}
    assert seen["own"].upper_is_bound(0)
    assert not seen["class"].upper_is_bound(0)
    own, shared = (plan.observed["c"].mean for plan in seen.values())
    assert own == pytest.approx(50.0, abs=1.5)
    assert shared < own - 1.0  # a job whose first stage still runs leaves its other slot to the other job


def test_joint_plans_over_periods_have_the_fewest_whole_slots():
    text = """problem joint "t"
estimates = scheduling
cluster { size = 100, vm_cost = 1 EUR/h }
class c {
  map { tasks = 40, avg = 10 s, max = 10 s }
  slots { map = 1, reduce = 1 }
  jobs = 2, deadline = 101 s, penalty = 1000 EUR
}
demand { periods = 2 }
minimize cost
"""
    plan = solve(loads(text)).plan
    each = plan.classes.map_slots / plan.classes.at_once
    assert each.shape == (2, 1)
    # 4 slots for 100 s, or 2 slots for 200 s are late; one job after the other needs 4 slots
    assert (each == 4.0).all()


@pytest.mark.parametrize("longest", [20.0, 21.0, 100.0, 1333.0])
def test_means_of_very_long_tasks_are_verified_too(longest):
    """Sums over starts are products of matrices up to 20 averages, and transforms beyond."""
    counts, slots = np.array([9.0, 40.0, 400.0]), np.array([4.0, 10.0, 30.0])
    shape = ("spread", 0.0, longest)
    assert mean_time(counts, slots, shape) == pytest.approx(means.mean(shape, counts, slots), rel=1e-7)
