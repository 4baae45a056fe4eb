"""One class alone on its slots: the same run as the engine of all cases has, job by job."""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify

import numpy as np
import pytest

from mrdsl.simulation.engine import scenario as scenarios
from mrdsl.simulation.engine.alone import AloneEngine
from mrdsl.simulation.engine.draws import Exponential, Samples, Spread, Straggling, TaskTimes, sampler, spreads
from mrdsl.simulation.engine.engine import Engine
from mrdsl.simulation.engine.scenario import Arrivals, JobClass, QueueRule, Recorded, Scenario, Users, run_once
from mrdsl.simulation.engine.world import Faults, JobKind, Machines, Stage

FETCH = (Exponential(2.0), Exponential(4.0))


def drawn(seed, times=None):
    """A class of maps alone, of maps and reduces, or of a DAG; users, or arrivals; fair, or the oldest job first."""
    random = np.random.default_rng(seed)
    tasks, users, slots = (int(random.integers(low, high)) for low, high in ((3, 60), (1, 9), (1, 60)))
    word = ("uniform", "lognormal", "exponential")[seed % 3]
    work = times or sampler(word, 2.0, 10.0, 17.0, tasks)
    stages, takes = [Stage("map", tasks)], [TaskTimes(work)]
    match seed % 4:
        case 1 | 2:
            stages.append(Stage("reduce", 1 + tasks // 4, (0,), 1))
            takes.append(TaskTimes(work) if times else TaskTimes(work, *FETCH))
        case 3:
            stages += [Stage("b", 7), Stage("c", 5, (0, 1)), Stage("d", 9, (0,))]
            takes += 3 * [TaskTimes(work)]
    recorded = tuple(np.cumsum(random.exponential(40.0, 40)).tolist())
    who = (Users(users), Users(users, 20.0), Arrivals(0.001, 2), Recorded(recorded))[seed // 4 % 4]
    machines = (Machines(slots, 2, 0, 1.3), Machines(1, 1, 0, 1.3), Machines(1 + slots // 4, 1, 1, 1.3))
    rule = (QueueRule(seed % 5 != 0),)
    return Scenario((JobClass(JobKind("a", tuple(stages)), tuple(takes), who, 15 * users),), machines, (rule, rule))


def both(scenario, seed, monkeypatch):
    """The same run by the loop for one class, and by the engine."""
    found = []
    for alone in (True, False):
        monkeypatch.setattr(Scenario, "alone", property(lambda _, alone=alone: alone))
        run = scenarios._Run(scenario, seed, 0, None)
        assert isinstance(run.engine, AloneEngine if alone else Engine)
        found.append(run.seen())
    return found


@pytest.mark.parametrize("fair", [True, False])
def test_jobs_that_wait_are_looked_at_a_few_times_however_many_they_are(fair, monkeypatch):
    """3000 jobs that come at once on few slots: a look at all that wait for each that comes would be millions."""
    looks = []
    monkeypatch.setattr(
        "mrdsl.simulation.engine.alone.heapify", lambda entries: looks.append(len(entries)) or heapify(entries)
    )
    job = JobKind("a", (Stage("map", 2), Stage("reduce", 1, (0,), 1)))
    one = JobClass(job, (TaskTimes(Exponential(10.0)), TaskTimes(Exponential(10.0))), Users(3000), 3000)
    scenario = Scenario((one,), (Machines(3, 1, 0), Machines(3, 1, 1)), ((QueueRule(fair),), (QueueRule(fair),)), 0.0)
    assert scenario.alone
    run_once(scenario, 0, 0)
    assert 0 < sum(looks) < 3 * 3000


@pytest.mark.parametrize("seed", range(24))
def test_every_job_ends_at_the_same_moment(seed, monkeypatch):
    assert drawn(seed).alone
    mine, engines = both(drawn(seed), seed, monkeypatch)
    assert (mine.times, mine.span, mine.tasks) == (engines.times, engines.span, engines.tasks)
    assert mine.busy == pytest.approx(engines.busy, rel=1e-9)  # a sum in another order


@pytest.mark.parametrize("seed", range(24))
def test_much_at_one_moment_is_settled_first_and_then_slots_are_given_out(seed, monkeypatch):
    scenario = drawn(seed, Samples((2.6, 3.9, 5.2)))
    mine, engines = both(scenario, seed, monkeypatch)
    # who of several that end at one moment is called first is open; how much is done when is not
    assert mine.span == pytest.approx(engines.span, rel=0.02)
    assert np.mean(mine.times[0]) == pytest.approx(np.mean(engines.times[0]), rel=0.05)


def test_equal_and_recorded_times_are_left_to_cohorts():
    assert not spreads(Samples((1.0, 2.0)))
    assert not spreads(Spread(5.0, 5.0, 5.0))
    assert not spreads(Straggling(Spread(5.0, 5.0, 5.0), 0.1, 3.0))
    assert spreads(Straggling(Exponential(5.0), 0.1, 3.0))
    assert not drawn(0, Samples((1.0, 2.0))).alone


@pytest.mark.parametrize(
    "change",
    [
        {"masters": True},
        {"queues": ((QueueRule(limit=3.0),), (QueueRule(),))},
        {"queues": ((QueueRule(), QueueRule()), (QueueRule(),))},
        {"machines": (Machines(2, 2, 0, 1.0), Machines(1, 1, 0, 1.3), Machines(1, 1, 1, 1.0))},
        {"classes": 2 * drawn(0).classes},
    ],
)
def test_whatever_it_does_not_know_is_the_engines(change):
    assert not replace(drawn(1), **change).alone


def test_faults_and_early_reduces_are_the_engines():
    faulty = replace(drawn(1), faults=Faults(share=0.01))
    assert not isinstance(scenarios._Run(faulty, 1, 0, None).engine, AloneEngine)
    (known,) = drawn(1).classes
    early = replace(known, kind=replace(known.kind, stages=(known.kind.stages[0], Stage("r", 3, (0,), 1, 0.05))))
    assert not replace(drawn(1), classes=(early,)).alone


def test_a_run_that_is_recorded_is_the_engines():
    seen = []
    assert run_once(drawn(1), 1, 0, seen.append).times == run_once(drawn(1), 1, 0).times
    assert seen


@pytest.mark.parametrize("seed", range(40))
def test_jobs_of_one_user_have_the_times_and_the_length_that_the_engine_gives(seed):
    """With equal times and delays, too; the sums of work and of time are in another order."""
    scenario = drawn(seed, Samples((2.6, 3.9, 5.2)) if seed % 2 else None)
    one = scenario.classes[0]
    stages = tuple(replace(stage, delay=1.5 * (seed % 3) * place) for place, stage in enumerate(one.kind.stages))
    who = Users(1, 7.0 * (seed % 4 == 0))
    one = replace(one, kind=JobKind("a", stages), who=who)
    scenario = replace(scenario, classes=(one,), warm_up=0.1 * (seed % 3))
    assert scenario.one_by_one
    found, engines = run_once(scenario, seed, 3), scenarios._Run(scenario, seed, 3, None).seen()
    assert [len(times) for times in found.times] == [len(times) for times in engines.times]
    assert found.times[0] == pytest.approx(engines.times[0], rel=1e-9)
    assert found.tasks == engines.tasks
    assert found.span == pytest.approx(engines.span, rel=1e-9)
    assert found.busy == pytest.approx(engines.busy, rel=1e-9)


def test_slow_tasks_of_one_user(monkeypatch):
    scenario = drawn(1)
    one = scenario.classes[0]
    times = tuple(replace(each, slow=Straggling(Spread(1.0, 1.0, 1.0), 0.2, 3.0)) for each in one.times)
    scenario = replace(scenario, classes=(replace(one, times=times, who=Users(1)),))
    found, engines = run_once(scenario, 5, 0), scenarios._Run(scenario, 5, 0, None).seen()
    assert found.times[0] == pytest.approx(engines.times[0], rel=1e-9)
