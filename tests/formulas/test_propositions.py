"""The propositions' formulas at their limits; that simulations stay inside them is tested in tests/simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.formulas import propositions
from mrdsl.formulas.mapreduce import Profile
from mrdsl.formulas.scaling import scaled


def test_equal_tasks_in_whole_waves_meet_both_bounds_of_a_phase():
    # 12 tasks of 5 s on 4 slots run in 3 waves; the upper bound leaves (1 - 1/k) of one task.
    assert propositions.phase_lower(12, 5.0, 4) == 15.0
    assert propositions.phase_upper(12, 5.0, 5.0, 4) == pytest.approx(15.0 + 5.0 * (1 - 1 / 4))


def test_one_slot_leaves_no_room():
    assert propositions.phase_lower(7, 3.0, 1) == propositions.phase_upper(7, 3.0, 9.0, 1) == 21.0


@settings(derandomize=True, max_examples=100)
@given(
    st.integers(1, 50),
    st.floats(0.1, 10),
    st.floats(1, 3),
    st.floats(0.05, 0.95),
    st.floats(0, 1e3),
    st.integers(2, 40),
)
def test_proposition_2_3_is_the_smaller_of_its_branches(tasks, avg, spread, share, other, slots):
    longest = avg * spread
    upper = propositions.two_jobs_upper(tasks, avg, longest, share, other, slots)
    alone = propositions.phase_upper(tasks, avg, longest, share * slots)
    together = (other + tasks * avg - longest) / slots + longest
    assert upper == pytest.approx(min(float(alone), together))


def test_a_whole_cluster_for_one_job_of_one_class():
    assert propositions.class_lower(30, 4.0, 1, 1.0, 10) == propositions.phase_lower(30, 4.0, 10)
    assert propositions.class_upper(30, 4.0, 6.0, 1, 1.0, 10) == pytest.approx((120 - 12) / 10 + 12)


def test_few_tasks_keep_the_work_of_the_lower_bound():
    assert propositions.class_upper(1, 4.0, 4.0, 2, 0.5, 10) == pytest.approx(4.0 * 2 / 5 + 8.0)


def test_profiles_grow_with_the_data():
    one = Profile(*(np.array([value]) for value in (80.0, 22.0, 32.0, 8.0, 11.0, 77.0, 89.0, 24.0, 26.5, 37.0)))
    grown = scaled(one, 2.5)
    assert grown.map_tasks[0] == 200.0
    assert grown.map_avg[0] == 22.0
    assert grown.reduce_tasks[0] == 24.0
    assert grown.shuffle_avg[0] == pytest.approx(192.5)
    assert grown.reduce_max[0] == pytest.approx(92.5)
    assert scaled(one, 1e-6).map_tasks[0] == 1.0
    assert scaled(one, 1 / 80).map_tasks[0] == 1.0
    with pytest.raises(ValueError, match="positive"):
        scaled(one, 0.0)
