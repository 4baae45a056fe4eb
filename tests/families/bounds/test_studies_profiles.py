"""The study of 003, 3.6: its printed profiles, the equations by hand, and drawn jobs within their bounds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.simulation.sampling import stream
from studies.bounds_profiles import PRINTED, on_data, profile_of, profiles, run
from tests.shared_data import shared

ROOT = Path(__file__).resolve().parents[3]


def test_the_profiles_are_those_of_the_thesis() -> None:
    thesis = shared("papers/003_8cafda9652224917.txt")
    text = thesis.read_text(encoding="utf-8")
    for (data, slots, application), (maps, shuffles, reduces) in PRINTED.items():
        name = rf"\| \$D_\{{{data[1]}{slots},24\}}/{application[0]}\$ +"
        for numbers in (maps, (*shuffles, *reduces)):
            row = name + "".join(rf"\| {number:g} +" for number in numbers)
            assert re.search(row, text), (data, slots, application, numbers)


def test_what_the_tables_say(tmp_path: Path) -> None:
    """Anagram on D1 by hand: 32 maps on 24 slots are two waves, 24 reduces on 24 one."""
    bounds, scaled, errors, curve, due = profiles(tmp_path)
    first = bounds.rows[0]
    assert first[3:6] == pytest.approx((2 * 94 + 121 + 16, 2 * 140 + 136 + 24.5, 2 * 186 + 152 + 33))
    for row in bounds.rows:
        assert row[3] <= row[6] <= row[7] <= row[8] <= row[5]
    assert scaled.rows[0][2:] == pytest.approx((144, 142, 340, 267, 61.25, 52))
    assert all(row[3] < 0 for row in errors.rows)
    one_wave = [row for row in curve.rows if row[2] == 16]
    assert [row[0] for row in one_wave] == [24]
    assert {(row[1], row[2]): row[3] for row in due.rows} == {(18, 17): 601.5, (24, 24): 440.5, (42, 22): 461.5}
    assert (tmp_path / "figure_3_7.svg").exists()


def test_a_drawn_job_never_leaves_the_bounds() -> None:
    """Slots that are fewer than tasks, and more; the times of waves are the equations' own."""
    from mrdsl.formulas import waves

    profile = on_data(profile_of("D1", 24, "WordCount"), 1.3)
    assert profile.map_tasks == 42
    random = stream(5, "bounds")
    for maps, reduces in ((1, 1), (5, 7), (24, 24), (60, 30)):
        found = waves.completion(profile, maps, reduces)
        seen = np.array([run(profile, maps, reduces, random) for _ in range(50)])
        assert seen.max() <= found.upper * (1 + 1e-12)
        assert seen.min() >= found.lower * (1 - 1e-12)


def test_a_spec_prints_the_bounds_of_waves() -> None:
    """(3.11), (3.14), (3.12) of Anagram on D1, from a spec with 24 slots of each kind."""
    spec = mrdsl.loads(
        """problem bounds
cluster { slots { map = 24, reduce = 24 } }
class anagram {
  map     { tasks = 32, min = 94 s, avg = 144 s, max = 186 s }
  shuffle { first_min = 121 s, first_avg = 136 s, first_max = 152 s, min = 121 s, avg = 136 s, max = 152 s }
  reduce  { tasks = 24, min = 16 s, avg = 24.5 s, max = 33 s }
  jobs = 1
}
estimate completion
"""
    )
    plan = mrdsl.solve(spec).plan
    assert plan is not None
    found = plan.document()["classes"]["anagram"]["completion"]
    assert (found["waves_lower"], found["waves"], found["waves_upper"]) == (325.0, 440.5, 557.0)
    assert any(table.title == "In whole waves" for table in plan.tables())
