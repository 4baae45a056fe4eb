"""One user alone on the slots: the same times as the engine gives, job by job."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mrdsl.simulation.engine import scenario as scenarios
from mrdsl.simulation.engine.draws import Exponential, Samples, Spread, Straggling, TaskTimes, sampler
from mrdsl.simulation.engine.scenario import Arrivals, JobClass, QueueRule, Recorded, Scenario, Users, run_once
from mrdsl.simulation.engine.world import JobKind, Machines, Stage

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
