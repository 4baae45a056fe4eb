"""Recorded task times of two real jobs, where they are at hand: read right, and simulated within the bounds."""

import numpy as np
import pytest

from mrdsl.families.bounds import FAMILY
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, JobClass
from mrdsl.simulation.recordings import read_times
from mrdsl.spec.blocks import MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.schema import Source
from mrdsl.spec.simulated import Recorded
from mrdsl.spec.spec import Spec
from tests.families.bounds.running import observed
from tests.shared_data import shared


def times(name):
    return read_times(shared("data/traces/dice") / name, 1e-3)


def source(name):
    return Source("table", str(shared("data/traces/dice") / name), name)


def job_class(number, tasks, jobs):
    maps, reduces = times(f"MapJ{number}.txt"), times(f"RSJ{number}.txt")
    return JobClass(
        name=f"job{number}",
        jobs=jobs,
        map=MapPhase(tasks=tasks[0], avg=float(maps.mean()), max=float(maps.max()), min=float(maps.min())),
        shuffle=ShufflePhase(first_max=0.0, avg=0.0, max=0.0),
        reduce=ReducePhase(tasks=tasks[1], avg=float(reduces.mean()), max=float(reduces.max())),
        recorded=Recorded(map=source(f"MapJ{number}.txt"), reduce=source(f"RSJ{number}.txt"), unit=1e-3),
    )


@pytest.mark.parametrize(
    ("name", "count", "mean", "least", "most"),
    [
        # awk '{s+=$1; if($1>m)m=$1; if(n==""||$1<n)n=$1} END{print NR, s/NR, n, m}'
        ("MapJ1.txt", 38449, 26.0105, 5.965, 84.395),
        ("MapJ2.txt", 6364, 62.0601, 43.009, 135.340),
        ("RSJ1.txt", 40317, 21.9343, 3.409, 191.321),
        ("RSJ2.txt", 6364, 30.9017, 18.011, 104.225),
    ],
)
def test_the_recordings_are_read_as_they_are(name, count, mean, least, most):
    found = times(name)
    assert (len(found), round(found.min(), 6), round(found.max(), 6)) == (count, least, most)
    assert found.mean() == pytest.approx(mean, abs=1e-4)


def test_replayed_jobs_stay_below_the_upper_estimate():
    classes = job_class(1, (200, 60), 2), job_class(2, (120, 30), 2)
    spec = Spec(
        problem="bounds",
        facts=BoundsFacts(classes=classes, cluster=Cluster(slots=Slots(map=40, reduce=20), work_conserving="no")),
    )
    assert [each.code for each in FAMILY.check(spec)] == []
    plan = observed(spec, 2, 1, 10)
    for index, name in enumerate(plan.names):
        assert plan.completion["lower"][index] < plan.observed[name].mean < plan.completion["upper"][index]
        assert plan.observed[name].p95 <= plan.completion["upper"][index]
    rows = list(plan.trace().rows)
    known = np.unique(times("MapJ1.txt"))
    replayed = [row[6] - row[5] for row in rows if row[1] == "job1" and row[2] == "map"]
    assert np.abs(known[:, None] - np.array(replayed[:50])).min(axis=0).max() < 1e-6
