"""The study of 5.7 runs, on a small day, and writes what it says."""

from __future__ import annotations

from math import erfc, exp, pi, sqrt
from pathlib import Path

import numpy as np

from mrdsl.families.makespan.schedule import batch_of
from studies.makespan_production import batch_of_hour, production


def test_the_study_writes_tables_and_plots(tmp_path: Path) -> None:
    makespans, decreases = production(tmp_path, vms="10,100", hours=2, rounds=2)
    assert [row[1] for row in makespans.rows] == [20, 200]
    bound, ours = (
        makespans.columns.index(f"{name}, slots [s]") for name in ("Lower bound", "Local search at slot level")
    )
    assert all(row[bound] <= row[ours] for row in makespans.rows)
    assert {(row[0], row[-1]) for row in decreases.rows if row[-1]} == {
        ("BalancedPools", 31.0),
        ("BalancedPools with genetic search", 34.0),
    }
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "makespans.csv",
        "decreases.csv",
        "makespans-phases.svg",
        "makespans-slots.svg",
        "decreases-phases.svg",
        "decreases-slots.svg",
    }


def test_the_draws_follow_the_printed_distributions_redrawn_below_one() -> None:
    hours = [batch_of(batch_of_hour(10, 1, hour)) for hour in range(300)]
    tasks = np.concatenate([batch.map_tasks for batch in hours])
    assert tasks.min() >= 1
    # The mean of a normal distribution (150, 550) that is cut off below 1, with the number then rounded.
    cut = (1 - 150) / 550
    mean = 150 + 550 * exp(-cut * cut / 2) / sqrt(2 * pi) / (erfc(cut / sqrt(2)) / 2)
    assert abs(tasks.mean() - mean) < 4 * tasks.std() / sqrt(len(tasks))
    np.testing.assert_array_equal(hours[0].map_tasks, batch_of(batch_of_hour(99, 1, 0)).map_tasks)
