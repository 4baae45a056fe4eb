"""Waves and slots (Vishal 2015, 3.4-3.5) against a task-by-task simulation and a numerical minimum."""

from heapq import heapify, heappop, heappush

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.formulas import waves
from mrdsl.formulas.waves import WaveProfile

TIMES = st.integers(1, 50).map(float)
PROFILES = st.builds(WaveProfile.of_equal_tasks, st.integers(1, 60), TIMES, st.integers(0, 40), TIMES, TIMES)


def phase_end(tasks: int, slots: int, duration: float) -> float:
    """List scheduling, one task at a time."""
    free = [0.0] * slots
    heapify(free)
    end = 0.0
    for _ in range(tasks):
        start = heappop(free)
        end = max(end, start + duration)
        heappush(free, start + duration)
    return end


@settings(derandomize=True, max_examples=60)
@given(PROFILES, st.integers(1, 30), st.integers(1, 30))
def test_equal_tasks_end_when_list_scheduling_says(profile: WaveProfile, map_slots: int, reduce_slots: int) -> None:
    reduce_task = profile.shuffle_max + profile.reduce_max
    expected = phase_end(profile.map_tasks, map_slots, profile.map_max)
    expected += phase_end(profile.reduce_tasks, reduce_slots, reduce_task)
    times = waves.completion(profile, map_slots, reduce_slots)
    assert (times.lower, times.average, times.upper) == (expected, expected, expected)


@settings(derandomize=True, max_examples=60)
@given(PROFILES, st.floats(1.0, 500.0))
def test_least_slots_meet_the_deadline_with_the_least_sum(profile: WaveProfile, deadline: float) -> None:
    a, b, c = waves.coefficients(profile)
    slots = waves.least_slots(profile, deadline)
    assert a / slots.map + (b / slots.reduce if b else 0.0) + c == pytest.approx(deadline)
    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        other_map = slots.map * factor
        left = deadline - c - a / other_map
        if b and left > 0:
            assert other_map + b / left >= (slots.map + slots.reduce) * (1 - 1e-12)


def test_wave_times_by_hand() -> None:
    """80 map tasks on 16 slots and 64 reduce tasks on 16: 5 and 4 waves (3.2.1)."""
    profile = WaveProfile(80, 10.0, 20.0, 64, 4.0, 5.0, 8.0, 2.0, 6.0, 1.0, 3.0)
    times = waves.completion(profile, 16, 16)
    assert times == waves.WaveTimes(5 * 10 + 4 + 3 * 2 + 4 * 1, 5 * 15 + 5 + 3 * 4 + 4 * 2, 5 * 20 + 8 + 3 * 6 + 4 * 3)
    fixed = waves.slots_with_fixed_reduce(profile, 100.0)
    a, b, c = waves.coefficients(profile)
    assert (fixed.map, fixed.reduce) == (pytest.approx(a / (100 - c - b / 64)), 64)


@pytest.mark.parametrize(
    ("wanted", "tasks", "slots"),
    [(0.2, 5, 1), (3.0, 5, 3), (3.0000000001, 5, 3), (3.1, 5, 4), (float("inf"), 5, 5), (0.0, 0, 0)],
)
def test_whole_slots(wanted: float, tasks: int, slots: int) -> None:
    assert waves.whole_slots(wanted, tasks) == slots


def test_the_slots_of_anagram_are_not_those_of_figure_3_8() -> None:
    """Tables 3.1 and 3.2, D1 with 48 map and 24 reduce slots beside it: A = 32 x 140 s, B = 24 x 161 s, C = -0.5 s.

    sqrt(A) (sqrt(A) + sqrt(B)) / (T - C) = 66.93 x 129.09 / 480.5 = 17.98, and 62.16 x 129.09 / 480.5 = 16.70; the text
    has 42 and 22.
    """
    anagram = waves.WaveProfile(32, 94.0, 186.0, 24, 121.0, 136.0, 152.0, 121.0, 152.0, 16.0, 33.0)
    slots = waves.least_slots(anagram, 480.0)
    assert (slots.map, slots.reduce) == pytest.approx((17.98, 16.70), abs=0.005)
