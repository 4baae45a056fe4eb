"""The evaluation of Vishal 2015, 3.6, again: profiles of Tables 3.1 and 3.2, Figures 3.3 to 3.8.

The thesis prints the profiles and a few numbers of each figure, no points. Its runs took Anagram and WordCount on 2 GB
(D1) and 5 GB (D2) of text in blocks of 64 MB, with 24 reduce tasks, on 24 or 48 map and 24 reduce slots. Here jobs are
drawn: each task takes a time between the shortest and the longest of the profile, evenly, and starts when a slot is
free. The shuffle has one column in print, which stands for first and later ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heapify, heapreplace
from math import ceil
from pathlib import Path

import numpy as np

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.result import Table
from mrdsl.core.rounding import ceiling
from mrdsl.formulas import waves
from mrdsl.formulas.waves import WaveProfile
from mrdsl.reporting.report_files import write_chart
from mrdsl.simulation.sampling import stream

BLOCK = 64.0
"""MB of a block, which a map task reads."""
SLOTS = 24
REDUCES = 24
DATA = {"D1": 2048.0, "D2": 5120.0}
"""MB of each dataset."""
DEADLINE = 480.0
PRINTED = {
    ("D1", 24, "Anagram"): ((94, 144, 186), (121, 136, 152), (16, 24.5, 33)),
    ("D2", 24, "Anagram"): ((86, 142, 193), (222, 267, 312), (34, 52, 70)),
    ("D1", 48, "Anagram"): ((94, 133, 170), (122, 137, 152), (15, 26, 37)),
    ("D2", 48, "Anagram"): ((71, 132, 171), (223, 265, 306), (35, 50.5, 66)),
    ("D1", 24, "WordCount"): ((12, 22, 32), (65, 77, 89), (16, 26.5, 37)),
    ("D2", 24, "WordCount"): ((15, 26, 37), (126, 140, 154), (45, 67, 89)),
    ("D1", 48, "WordCount"): ((11, 21, 31), (66, 79.5, 93), (13, 26.5, 40)),
    ("D2", 48, "WordCount"): ((14, 24.25, 34.5), (131, 141, 151), (41, 63.5, 86)),
}
"""Tables 3.1 and 3.2: dataset, map slots, application: shortest, average, longest of map, shuffle, reduce [s]."""


def profile_of(data: str, slots: int, application: str) -> WaveProfile:
    """A printed profile as a job on its dataset."""
    (map_min, _, map_max), (least, avg, most), (reduce_min, _, reduce_max) = PRINTED[data, slots, application]
    tasks = ceil(DATA[data] / BLOCK)
    return WaveProfile(tasks, map_min, map_max, REDUCES, least, avg, most, least, most, reduce_min, reduce_max)


def on_data(profile: WaveProfile, factor: float) -> WaveProfile:
    """3.3: the profile on other data; map tasks grow in number, shuffle and reduce times with their part of it."""
    grown = {
        name: factor * getattr(profile, name)
        for name in (
            "first_shuffle_min",
            "first_shuffle_avg",
            "first_shuffle_max",
            "shuffle_min",
            "shuffle_max",
            "reduce_min",
            "reduce_max",
        )
    }
    return replace(profile, map_tasks=max(int(ceiling(profile.map_tasks * factor)), 1), **grown)


def run(profile: WaveProfile, map_slots: int, reduce_slots: int, random: np.random.RandomState) -> float:
    """The completion time of one drawn job on slots of its own [s]."""
    p = profile
    maps = random.uniform(p.map_min, p.map_max, p.map_tasks)
    first = random.uniform(p.first_shuffle_min, p.first_shuffle_max, p.reduce_tasks)
    later = random.uniform(p.shuffle_min, p.shuffle_max, p.reduce_tasks)
    reduces = random.uniform(p.reduce_min, p.reduce_max, p.reduce_tasks)
    shuffles = np.where(np.arange(p.reduce_tasks) < reduce_slots, first, later)
    return _makespan(maps, map_slots) + _makespan(shuffles + reduces, reduce_slots)


def _makespan(times: np.ndarray, slots: int) -> float:
    free = [0.0] * min(slots, len(times))
    heapify(free)
    for time in times.tolist():
        heapreplace(free, free[0] + time)
    return max(free)


def profiles(output: Path, jobs: int = 10, seed: int = 1) -> Iterator[Table]:
    """Tables 3.1 and 3.2 with their bounds, and what Figures 3.3 to 3.8 show, predicted beside drawn jobs."""
    yield _bounds(jobs, seed)
    yield _scaling()
    yield from _predictions(jobs, seed)
    yield _allocation(output)
    yield _deadline(jobs, seed)


def _bounds(jobs: int, seed: int) -> Table:
    rows = []
    for (data, slots, application), _ in PRINTED.items():
        profile = profile_of(data, slots, application)
        found = waves.completion(profile, slots, SLOTS)
        random = stream(seed, "bounds", data, slots, application)
        seen = [run(profile, slots, SLOTS, random) for _ in range(jobs)]
        rows.append(
            (
                application,
                data,
                slots,
                found.lower,
                found.average,
                found.upper,
                min(seen),
                float(np.mean(seen)),
                max(seen),
            )
        )
    heads = ("application", "data", "map slots", "(3.11) [s]", "(3.14) [s]", "(3.12) [s]", "least drawn [s]")
    return Table("Tables 3.1 and 3.2: bounds, and drawn jobs", (*heads, "mean drawn [s]", "longest drawn [s]"), rows)


def _scaling() -> Table:
    """Figures 3.3 and 3.4: what 3.3 predicts for 5 GB from the profile of 2 GB, beside the printed profile of 5 GB."""
    rows = []
    for (data, slots, application), printed in PRINTED.items():
        if data == "D1":
            there = PRINTED["D2", slots, application]
            factor = DATA["D2"] / DATA["D1"]
            cells = zip((1.0, factor, factor), printed, there, strict=True)
            rows.append((application, slots, *(x for grown, old, new in cells for x in (grown * old[1], new[1]))))
    heads = [f"{phase}, {what} [s]" for phase in ("map", "shuffle", "reduce") for what in ("predicted", "printed")]
    return Table("Figures 3.3 and 3.4: average times on 5 GB", ("application", "map slots", *heads), rows)


def _predictions(jobs: int, seed: int) -> Iterator[Table]:
    """Figures 3.5 and 3.6: jobs on 1 to 2 GB, predicted by (3.14) and drawn."""
    rows = []
    for application, error in (("Anagram", -8.5), ("WordCount", -8.0)):
        random = stream(seed, "prediction", application)
        gaps, parts = [], []
        for size in random.uniform(1024.0, DATA["D1"], jobs).tolist():
            profile = on_data(profile_of("D1", SLOTS, application), size / DATA["D1"])
            seen = run(profile, SLOTS, SLOTS, random)
            gaps.append(waves.completion(profile, SLOTS, SLOTS).average - seen)
            parts.append(100.0 * gaps[-1] / seen)
        rows.append((application, jobs, error, float(np.mean(gaps)), float(np.mean(parts)), float(np.abs(parts).max())))
    heads = ("application", "jobs", "mean error, printed [s]", "mean error [s]", "mean error [%]", "largest error [%]")
    yield Table("Figures 3.5 and 3.6: predicted less drawn completion", heads, rows)


def _allocation(output: Path) -> Table:
    """Figure 3.7: the map slots that Anagram needs for 8 minutes on 2 GB, by reduce slots."""
    profile = profile_of("D1", SLOTS, "Anagram")
    a, b, c = waves.coefficients(profile)
    rows = []
    for reduces in range(1, SLOTS + 1):
        smooth = waves.slots_within(a, DEADLINE - c - b / reduces)
        whole = [
            m for m in range(1, profile.map_tasks + 1) if waves.completion(profile, m, reduces).average <= DEADLINE
        ]
        if np.isfinite(smooth):
            rows.append((reduces, smooth, whole[0] if whole else None))
    shown = [row for row in rows if row[1] <= 2 * profile.map_tasks]
    in_waves = [row for row in shown if row[2]]
    lines = (
        Series("(3.15)", [row[0] for row in shown], [row[1] for row in shown]),
        Series("whole waves, (3.14)", [row[0] for row in in_waves], [row[2] for row in in_waves]),
    )
    chart = LineChart("Anagram, 2 GB, 8 min", "reduce slots", "map slots", lines, y_zero=True)
    write_chart(output / "figure_3_7.svg", chart)
    return Table(
        "Figure 3.7: map slots for a deadline of 8 min", ("reduce slots", "map slots, (3.15)", "whole waves"), rows
    )


def _deadline(jobs: int, seed: int) -> Table:
    """Figure 3.8: Anagram on 2 GB, due in 8 minutes, on the slots of the equations and those that 3.6.4 names."""
    profile = profile_of("D1", SLOTS, "Anagram")
    least = waves.least_slots(profile, DEADLINE)
    sizes = {
        "(3.17), (3.18) rounded up": (ceil(least.map), ceil(least.reduce)),
        "the cluster's, 3.6.4": (SLOTS, SLOTS),
        "as printed, beyond both": (42, 22),
    }
    rows = []
    for name, (maps, reduces) in sizes.items():
        random = stream(seed, "deadline", maps, reduces)
        seen = np.array([run(profile, maps, reduces, random) for _ in range(jobs)])
        late = seen[seen > DEADLINE] - DEADLINE
        predicted = waves.completion(profile, maps, reduces).average
        rows.append(
            (name, maps, reduces, predicted, float(seen.mean()), len(late), float(late.mean()) if len(late) else 0.0)
        )
    heads = ("slots", "map", "reduce", "(3.14) [s]", "mean drawn [s]", f"late of {jobs}", "late by, mean [s]")
    return Table("Figure 3.8: Anagram due in 8 min (printed: 5 of 10 late by 0.3 s)", heads, rows)
