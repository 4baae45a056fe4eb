"""The coefficients of paper 000, equations (1) to (4), against hand calculations from the paper's formulas."""

import numpy as np
import pytest

from mrdsl.formulas import mapreduce
from mrdsl.formulas.mapreduce import Coefficients, Profile


def profile(*columns: float) -> Profile:
    return Profile(*(np.array([value], dtype=float) for value in columns))


# the Twitter profile of the reference spec
TWITTER = profile(370, 30, 42, 8, 11, 37, 40, 64, 22, 44)


def values(work: Coefficients) -> tuple[float, float, float]:
    return work.map_work[0], work.reduce_work[0], work.constant[0]


def test_lower_is_equation_1() -> None:
    assert values(mapreduce.lower(TWITTER)) == (370 * 30, 64 * (37 + 22), 8 - 37)


def test_upper_is_equation_2() -> None:
    assert values(mapreduce.upper(TWITTER)) == (
        370 * 30 - 2 * 42,
        64 * 37 - 2 * 40 + 64 * 22 - 2 * 44,
        2 * 40 + 11 + 2 * 42 + 2 * 44,
    )


def test_average_is_the_mean_of_both_at_any_slots() -> None:
    jobs, map_slots, reduce_slots = np.array([7.0]), np.array([90.0]), np.array([30.0])
    times = [
        mapreduce.completion(estimate(TWITTER), jobs, map_slots, reduce_slots)[0]
        for estimate in (mapreduce.lower, mapreduce.average, mapreduce.upper)
    ]
    assert times[1] == pytest.approx((times[0] + times[2]) / 2)
    assert times[0] < times[1] < times[2]


def test_few_tasks_take_the_lower_coefficient_with_the_upper_constant() -> None:
    few = profile(2, 10, 12, 1, 2, 3, 4, 1, 5, 6)
    assert values(mapreduce.upper(few)) == (20, 8, 2 * 4 + 2 + 2 * 12 + 2 * 6)
    assert values(mapreduce.average(few)) == (20, 8, (1 - 3 + 46) / 2)


def test_a_single_task_never_beats_its_upper_estimate() -> None:
    one = profile(1, 10, 10, 0, 0, 0, 0, 0, 0, 0)
    for slots in (1.0, 5.0, 1000.0):
        assert mapreduce.completion(mapreduce.upper(one), np.ones(1), np.array([slots]), np.zeros(1))[0] >= 10.0


def test_map_only_classes_drop_shuffle_and_reduce() -> None:
    map_only = profile(100, 10, 20, np.nan, np.nan, np.nan, np.nan, 0, np.nan, np.nan)
    assert values(mapreduce.lower(map_only)) == (1000, 0, 0)
    assert values(mapreduce.upper(map_only)) == (960, 0, 40)
    assert mapreduce.completion(mapreduce.lower(map_only), np.array([2.0]), np.array([50.0]), np.zeros(1))[0] == 40.0


def test_completion_without_slots_or_without_jobs() -> None:
    work = mapreduce.lower(TWITTER)
    assert mapreduce.completion(work, np.ones(1), np.ones(1), np.zeros(1))[0] == np.inf
    assert np.isnan(mapreduce.completion(work, np.zeros(1), np.ones(1), np.ones(1))[0])
