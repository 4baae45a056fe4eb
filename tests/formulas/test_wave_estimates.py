"""Waves of many classes at once against the waves of one job, and the smooth form against whole waves."""

import numpy as np
import pytest
from hypothesis import given as where
from hypothesis import settings
from hypothesis import strategies as st

from mrdsl.formulas import wave_estimates, waves
from mrdsl.formulas.mapreduce import Profile, completion

TIMES = st.tuples(st.floats(0, 5), st.floats(0, 5), st.floats(0, 5))
NAN = np.array([np.nan])


def arrays(*values):
    return [np.array([float(value)]) for value in values]


def both(maps, reduces, times):
    """The same job for both modules; each of ``times`` is shortest, average less shortest, longest less average."""
    points = [(low, low + more, low + more + rest) for low, more, rest in times]
    (m, f, s, r) = points
    profile = Profile(*arrays(maps, m[1], m[2], f[1], f[2], s[1], s[2], reduces, r[1], r[2]))
    one = waves.WaveProfile(maps, m[0], m[2], reduces, f[0], f[1], f[2], s[0], s[2], r[0], r[2])
    return profile, one, arrays(*(low for low, _, _ in points))


@settings(derandomize=True, max_examples=100)
@where(
    st.integers(1, 60),
    st.integers(0, 20),
    st.tuples(TIMES, TIMES, TIMES, TIMES),
    st.integers(1, 70),
    st.integers(1, 25),
)
def test_many_classes_agree_with_one_job(maps, reduces, times, map_slots, reduce_slots):
    profile, one, (map_min, first_min, shuffle_min, reduce_min) = both(maps, reduces, times)
    expected = waves.completion(one, map_slots, reduce_slots)
    on = arrays(map_slots, reduce_slots)
    middle = wave_estimates.midpoints(profile, map_min, shuffle_min, reduce_min)
    low = wave_estimates.shortest(profile, map_min, first_min, shuffle_min, reduce_min)
    found = [
        wave_estimates.completion(profile, each, *on)[0] for each in (low, middle, wave_estimates.longest(profile))
    ]
    assert found == pytest.approx([expected.lower, expected.average, expected.upper])
    smooth = wave_estimates.coefficients(profile, middle)
    assert [float(part[0]) for part in (smooth.map_work, smooth.reduce_work, smooth.constant)] == pytest.approx(
        list(waves.coefficients(one))
    )


def test_the_smooth_form_is_exact_for_whole_waves():
    profile = Profile(*arrays(60, 10, 12, 3, 4, 5, 6, 20, 7, 8))
    times = wave_estimates.midpoints(profile, NAN, NAN, NAN)
    on = arrays(12, 5)
    whole = wave_estimates.completion(profile, times, *on)
    assert completion(wave_estimates.coefficients(profile, times), np.ones(1), *on) == pytest.approx(whole)


def test_the_least_time_defaults_to_the_mirror_of_the_longest_but_not_below_zero():
    avg, most, given = np.array([30.0, 5.0, 5.0]), np.array([42.0, 16.0, 16.0]), np.array([np.nan, np.nan, 2.0])
    found = wave_estimates.least(avg, most, given)
    assert found.tolist() == [18.0, 0.0, 2.0]


@pytest.mark.parametrize("slots", [(0, 5), (12, 0), (0, 0)])
def test_tasks_that_take_no_time_never_end_without_a_slot(slots):
    profile = Profile(*arrays(60, 0, 0, 3, 4, 0, 0, 20, 0, 0))
    found = wave_estimates.completion(profile, wave_estimates.longest(profile), *arrays(*slots))
    assert found.tolist() == [np.inf]


def test_a_job_without_reduces_needs_no_slot_for_them():
    profile = Profile(*arrays(60, 10, 12, 3, 4, 5, 6, 0, 7, 8))
    assert wave_estimates.completion(profile, wave_estimates.longest(profile), *arrays(12, 0)).tolist() == [60.0]
