"""Growth with the input: known coefficients, fits compared with all subsets of terms, and specs over a param."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl import api
from mrdsl.exchange.logs.records import Attempt, AttemptEnd, MapReduceJob, TaskKind
from mrdsl.profiling.family_texts import spec_text
from mrdsl.profiling.gathering import gather
from mrdsl.profiling.losses import MIB, _fitted, growth_of, run_growth, sizes_of
from mrdsl.profiling.report import report

from ..exchange.logs.making import BEGIN, Stage, spark_events
from ..shared_data import shared


def night(number: int, tasks: int, size: int) -> bytes:
    """A stage of tasks that read the input in equal parts and take a second for 100 MiB, and one of two tasks."""
    waves = -(-tasks // 8)
    length = size * 10 // tasks
    spans = [(1000 + length * (n // 8), 1000 + length * (n // 8 + 1)) for n in range(tasks)]
    end = 1000 + length * waves
    stages: list[Stage] = [(0, (), tuple(spans)), (1, (0,), ((end, end + 3000),) * 2)]
    log = spark_events("etl", BEGIN + number * 3_600_000, [(0, end + 3000, stages)])
    lines = log.splitlines()
    for place, line in enumerate(lines):
        read = size * MIB / tasks if b'"Stage ID": 0,' in line else 0
        lines[place] = line.replace(b'"Bytes Read": 1000', b'"Bytes Read": %d' % read)
    return b"\n".join(lines)


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        ([1, 2, 3], True),
        ([1, 2, None], False),
        ([1, 1, 2], False),
        ([10, 11, 12], False),
        ([10, 11, 15], True),
        ([], False),
    ],
)
def test_which_sizes_differ_enough(inputs: list[int | None], wanted: bool) -> None:
    assert bool(sizes_of(inputs)) is wanted


def test_known_coefficients_are_found() -> None:
    found = growth_of([100.0, 200.0, 400.0, 800.0], [3 + 0.008 * size for size in (100, 200, 400, 800)])
    assert found is not None
    assert (found.constant, found.slope, found.interval) == pytest.approx((3, 0.008, 0), abs=1e-9)
    assert growth_of([100.0, 200.0, 400.0], [7, 7, 7]) is None
    assert growth_of([100.0, 200.0, 400.0], [9, 7, 5]) is None


def test_runs_have_the_terms_of_ernest() -> None:
    sizes = [100.0, 200.0, 400.0, 800.0, 1600.0, 300.0, 500.0]
    slots = [4, 8, 4, 16, 8, 32, 2]
    times = [20 + 0.5 * n / m + 3 * np.log(m) + 0.1 * m for n, m in zip(sizes, slots, strict=True)]
    found = run_growth(sizes, slots, times)
    assert found.coefficients == pytest.approx((20, 0.5, 0, 3, 0.1), rel=1e-6)
    assert found.interval == pytest.approx(0, abs=1e-6)
    assert run_growth(sizes[:3], [4, 4, 4], [20 + 0.5 * n / 4 for n in sizes[:3]]).coefficients[2:] == (0.0, 0.0, 0.0)


def test_work_that_grows_faster_than_the_input_of_a_slot_has_a_square() -> None:
    slots = [2, 3, 4, 6, 8, 12]
    found = run_growth([1.0] * 6, slots, [30 + 200 / m + 500 / m**2 for m in slots])
    assert found.coefficients == pytest.approx((30, 200, 500, 0, 0), rel=1e-6)
    assert found.held_out == pytest.approx(0, abs=1e-6)
    assert "2 slots" in found.warning
    assert not run_growth([1.0] * 6, slots, [30 + 200 / m for m in slots]).warning


@given(st.lists(st.tuples(st.floats(1, 100), st.floats(0, 100)), min_size=4, max_size=8))
@settings(max_examples=40, deadline=None)
def test_no_subset_of_terms_fits_better(points: list[tuple[float, float]]) -> None:
    """The least squares of each subset of the terms, of those with no negative coefficient."""
    x, y = (np.array(side) for side in zip(*points, strict=True))
    terms = np.column_stack([np.ones(len(x)), x, np.log1p(x)])
    found, _, _ = _fitted(terms, y.tolist())
    own = float(((y - terms @ np.array(found)) ** 2).sum())
    best = float((y**2).sum())
    for count in (1, 2, 3):
        for chosen in map(list, combinations(range(3), count)):
            other = np.linalg.lstsq(terms[:, chosen], y, rcond=None)[0]
            if (other >= 0.0).all():
                best = min(best, float(((y - terms[:, chosen] @ other) ** 2).sum()))
    assert own <= best + 1e-6 * (1.0 + float((y**2).sum()))


def test_a_spec_grows_with_its_input(tmp_path: Path) -> None:
    """Four nights with a task for every 100 MiB: twice the input gives twice the tasks of the first stage alone."""
    for number, tasks in enumerate((8, 16, 24, 32)):
        (tmp_path / f"{number}").write_bytes(night(number, tasks, 100 * tasks))
    found = api.profile([tmp_path])
    (each,) = found.stage_classes
    assert each.sizes == pytest.approx((800, 1600, 2400, 3200), rel=1e-3)
    assert each.growth is not None
    assert (each.growth.least, each.growth.most) == (pytest.approx(800, rel=1e-3), pytest.approx(3200, rel=1e-3))
    first, second = each.stages
    assert first.more_tasks is not None
    assert first.more_tasks.at(4000) == pytest.approx(40, rel=1e-3)
    assert (first.longer, second.more_tasks, second.longer) == (None, None, None)
    titles = [table.title for table in report(found)]
    assert "Growth of stages with the input" in titles
    for family in ("timetable", "capacity", "joint"):
        text = found.to_mrspec(family)
        assert "param input_etl" in text
        (node,) = mrdsl.loads(text).facts.classes
        assert [stage.tasks for stage in node.stages] == [20, 2]
        (larger,) = mrdsl.loads(text, {"input_etl": "6400 MiB"}).facts.classes
        assert [stage.tasks for stage in larger.stages] == [64, 2]


def test_map_tasks_grow_with_the_input() -> None:
    """A map for every 128 MiB; families that divide a cluster keep the mean."""
    jobs = [
        MapReduceJob(
            "log",
            f"job_{maps}",
            "SUCCEEDED",
            "etl",
            submitted=maps * 100_000,
            finished=maps * 100_000 + 9000,
            attempts=tuple(
                Attempt(TaskKind.MAP, AttemptEnd.SUCCEEDED, maps * 100_000, maps * 100_000 + 5000) for _ in range(maps)
            ),
            input_bytes=maps * 128 * int(MIB),
        )
        for maps in (4, 8, 12)
    ]
    found = gather((job, "etl") for job in jobs)
    (larger,) = mrdsl.loads(spec_text(found, "capacity"), {"input_etl": "4 GiB"}).facts.classes
    assert larger.map.tasks == 32
    (usual,) = mrdsl.loads(spec_text(found, "timetable")).facts.classes
    assert usual.map.tasks == 8
    assert "input_etl" not in spec_text(found, "bounds")


def test_equal_sizes_make_no_param(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}").write_bytes(night(number, 8, 800))
    found = api.profile([tmp_path])
    assert "param input" not in found.to_mrspec()
    assert not [table for table in report(found) if "Growth" in table.title]


def test_runs_on_few_slots_do_not_decide_alone() -> None:
    """Squares of relative errors are least: 1,000 s on one slot, 10 % off, must not spoil 2 s on 64 slots."""
    slots = [2, 4, 8, 16, 32, 64]
    times = [1100.0 if m == 2 else 2000.0 / m for m in slots]
    found = run_growth([1.0] * 6, slots, times)
    assert found.at(1.0, 64) == pytest.approx(2000.0 / 64, rel=0.05)
    assert found.held_out is not None
    assert run_growth([1.0] * 3, [4, 4, 8], [5.0, 5.0, 3.0]).held_out is None


C3O = {"sort": 0.08, "kmeans": 0.14, "pagerank": 0.05}
"""Limits of the mean relative error for each cluster size from the others, the smallest and the largest included."""


@pytest.mark.parametrize("job", list(C3O))
def test_measured_runtimes_on_a_size_that_was_left_out(job: str) -> None:
    """Every configuration of C3O that ran on four sizes or more; k-means lacks memory on its smallest clusters."""
    with shared(f"data/runtimes/c3o_{job}.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    of_size = {"instance_count", "slots", "memory", "gross_runtime"}
    groups: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for row in rows:
        key = tuple(value for name, value in row.items() if name not in of_size)
        groups.setdefault(key, []).append((int(row["instance_count"]), float(row["gross_runtime"])))
    errors, warned = [], []
    for runs in groups.values():
        slots, times = zip(*runs, strict=True)
        if len(set(slots)) >= 4:
            found = run_growth([1.0] * len(runs), slots, times)
            assert found.held_out is not None
            errors.append(found.held_out)
            warned.append(bool(found.warning))
    assert len(errors) >= 20
    assert sum(errors) / len(errors) <= C3O[job]
    assert sum(warned) >= 0.9 * len(warned) if job == "kmeans" else True
    assert sum(warned) <= 0.1 * len(warned) if job == "pagerank" else True
