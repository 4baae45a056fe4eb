"""Plans: their keys, their check from the facts, their chart; batches from profiles, tables and generators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import mrdsl
from mrdsl.families.makespan.plan import BARS, MakespanPlan
from mrdsl.families.makespan.schedule import batch_of
from mrdsl.families.makespan.verify import verify
from mrdsl.formulas.waves import WaveProfile, map_time, reduce_time

from .batches import TABLE_5_1, spec

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def plan() -> MakespanPlan:
    found = mrdsl.solve(spec(TABLE_5_1, 30, 30), "balanced-pools").plan
    assert isinstance(found, MakespanPlan)
    return found


def complaints(plan: MakespanPlan) -> list[str]:
    return [d.message for d in verify(spec(TABLE_5_1, 30, 30), plan)]


def test_the_reference_spec_is_table_5_1_and_auto_proves_it() -> None:
    reference = mrdsl.load(ROOT / "models" / "makespan" / "reference.mrspec")
    result = mrdsl.solve(reference)
    assert (result.objective.value, result.objective.bound) == (40.0, 40.0)
    assert batch_of(reference).names == tuple(row[0] for row in TABLE_5_1)


def test_the_document_has_the_keys_that_are_promised(plan: MakespanPlan) -> None:
    document = plan.document()
    assert set(document) == {"pools", "jobs", "lower_bound"}
    assert all(set(pool) == {"map_slots", "reduce_slots", "order"} for pool in document["pools"])
    assert list(document["jobs"]) == ["J1", "J2", "J3", "J4", "J5"]
    assert all(set(job) == {"pool", "start", "map_end", "finish"} for job in document["jobs"].values())
    for name, job in document["jobs"].items():
        assert name in document["pools"][job["pool"]]["order"]


def test_a_whole_plan_has_no_complaints(plan: MakespanPlan) -> None:
    assert complaints(plan) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: replace(p, waves=p.waves[1:]), "tasks of"),
        (
            lambda p: replace(
                p,
                waves=tuple(
                    replace(w, start=w.start - 1, end=w.end - 1) if w.phase == "reduce" else w for w in p.waves
                ),
            ),
            "before its map phase ends",
        ),
        (lambda p: replace(p, waves=tuple(replace(w, end=w.end - 0.5) for w in p.waves)), "does not take its time"),
        (
            lambda p: replace(
                p, waves=tuple(replace(w, start=0.0, end=w.end - w.start) if w.phase == "map" else w for w in p.waves)
            ),
            "at once on",
        ),
        (
            lambda p: replace(p, pools=tuple(replace(q, map_slots=q.map_slots + 1) for q in p.pools)),
            "hold 32 map slots of 30",
        ),
        (
            lambda p: replace(p, pools=(replace(p.pools[0], order=p.pools[0].order[:-1]), p.pools[1])),
            "name every job once",
        ),
        (lambda p: replace(p, jobs={**p.jobs, "J1": replace(p.jobs["J1"], finish=1.0)}), "times of J1"),
        (lambda p: replace(p, waves=tuple(replace(w, pool=1 - w.pool) for w in p.waves)), "outside its pool"),
    ],
)
def test_every_kind_of_fault_is_found(plan: MakespanPlan, change: object, words: str) -> None:
    assert callable(change)
    assert any(words in message for message in complaints(change(plan)))


def test_the_chart_shows_waves_and_joins_them_where_they_are_many(plan: MakespanPlan) -> None:
    bars = plan.bars()
    assert len(bars) == len(plan.waves)
    assert {bar.lane for bar in bars} == {"pool 0 map", "pool 0 reduce", "pool 1 map", "pool 1 reduce"}
    many = replace(plan, waves=plan.waves * (BARS // len(plan.waves) + 1))
    assert len(many.bars()) == 2 * len(plan.jobs)
    assert max(bar.end for bar in many.bars()) == 40.0


@pytest.mark.parametrize(
    ("solver", "jobs"),
    [
        ("genetic", 9),
        ("balanced-pools-genetic", 9),
        ("slot-search", 5),
        ("portfolio", 3),
    ],
)
def test_the_same_seed_gives_the_same_plan(solver: str, jobs: int) -> None:
    rows = [(f"J{j}", 5 + 7 * j % 11, 3.0 + j % 4, 2 + 3 * j % 7, 9.0 - j) for j in range(jobs)]
    first, again = (mrdsl.solve(spec(rows, 4, 3, seed=5), solver) for _ in range(2))
    assert first.plan == again.plan


def test_a_class_gives_the_phases_of_the_wave_model() -> None:
    text = """
        problem makespan
        cluster { slots { map = 20, reduce = 10 } }
        class twitter {
          map     { tasks = 37, avg = 30 s, max = 42 s, min = 20 s }
          shuffle { first_avg = 8 s, first_max = 11 s, avg = 37 s, max = 40 s }
          reduce  { tasks = 26, avg = 22 s, max = 44 s }
          jobs = 2
        }
        class maponly { map { tasks = 5, avg = 3 s, max = 4 s } }
        minimize makespan
    """
    batch = batch_of(mrdsl.loads(text))
    assert batch.names == ("twitter-1", "twitter-2", "maponly")
    profile = WaveProfile(
        map_tasks=37,
        map_min=20.0,
        map_max=42.0,
        reduce_tasks=26,
        first_shuffle_min=5.0,
        first_shuffle_avg=8.0,
        first_shuffle_max=11.0,
        shuffle_min=34.0,
        shuffle_max=40.0,
        reduce_min=0.0,
        reduce_max=44.0,
    )
    maps, reduces = batch.phases(20, 10)
    assert batch.seconds(maps[0]) == pytest.approx(map_time(profile, 20).average)
    assert batch.seconds(reduces[0]) == pytest.approx(reduce_time(profile, 10).average, abs=1e-5)
    assert (batch.seconds(maps[2]), batch.seconds(reduces[2])) == (3.0, 0.0)


def test_jobs_come_from_a_table_and_from_a_generator(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(
        "name,map.tasks,map.time [s],reduce.tasks,reduce.time [min]\nfirst,12,3.5,4,1\nsecond,22,5,0,\n"
    )
    text = """
        problem makespan
        seed = 3
        cluster { slots { map = 20, reduce = 10 } }
        jobs from "jobs.csv"
        job J[1..3] { map { tasks = uniform_int(5, 40), time = 6 s }, reduce { tasks = 2, time = 7 s } }
        minimize makespan
    """
    batch = batch_of(mrdsl.loads(text, folder=tmp_path))
    assert sorted(batch.names) == ["J1", "J2", "J3", "first", "second"]
    first = batch.names.index("first")
    assert (batch.map_tasks[first], batch.seconds(batch.map_time[first])) == (12, 3.5)
    assert (batch.reduce_tasks[first], batch.seconds(batch.reduce_time[first])) == (4, 60.0)
    assert batch.reduce_tasks[batch.names.index("second")] == 0
    result = mrdsl.solve(mrdsl.loads(text, folder=tmp_path), "johnson")
    assert set(result.plan.jobs) == set(batch.names)
