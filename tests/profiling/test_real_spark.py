"""Real Spark runs on 4 to 32 slots, repeated and predicted from their logs; print the table by running this module.

The time of a job is that from the start of the application to its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import mean, median

import pytest

from mrdsl import api
from mrdsl.exchange.logs.records import SparkApplication
from mrdsl.profiling.gathering import Known, Part, estimates, repeated
from mrdsl.profiling.losses import damage, usable
from mrdsl.profiling.replay import in_order
from mrdsl.profiling.stage_classes import slots_of_run, times_of
from mrdsl.profiling.whole_runs import known_run

from ..shared_data import shared

Errors = list[tuple[str, float]]
RUN = re.compile(r"(\w+)-2026-1[12]-(\d+)-4\.3\.0-(\d+)slots")


@cache
def runs() -> dict[str, SparkApplication]:
    """The usable runs by the names of their logs."""
    found = {Path(each.source).name: usable(each) for each in api.profile([shared("data/spark-real")]).applications}
    return {name: run for name, run in found.items() if not damage(run) and any(s.launches for s in run.stages)}


def took(run: SparkApplication) -> float:
    assert run.started is not None
    assert run.finished is not None
    return (run.finished - run.started) / 1000


def stages_alone() -> Iterator[tuple[str, Known, int, float]]:
    """Stages that ran while no other one did: their tasks, the slots, and the time of the first task to the last [s].

    Stages whose tasks wait for the executor that has their data in its memory are left out: those of the second pass of
    an application with a cache and with several executors.
    """
    for name, run in runs().items():
        spans = {s.stage: (min(s.launches), max(s.finishes)) for s in run.stages if s.launches}
        if len(spans) < len([s for s in run.stages if s.launches]) or (len(run.lives) > 1 and "kmeans" in run.name):
            continue
        for stage, (begin, end) in spans.items():
            if not any(b < end and e > begin for other, (b, e) in spans.items() if other != stage):
                times = tuple(in_order(run, stage))
                yield (
                    name,
                    Known(0.0, (Part(len(times), (), 0.0, times),), 0.0),
                    slots_of_run(run),
                    (end - begin) / 1000,
                )


def stage_errors() -> Errors:
    return [(name, repeated(known, (slots,)) / span - 1.0) for name, known, slots, span in stages_alone()]


def own_errors() -> Errors:
    return [(name, repeated(known_run(run), (slots_of_run(run),)) / took(run) - 1.0) for name, run in runs().items()]


def profiled() -> dict[str, Known]:
    """The run on 8 slots of each program."""
    found = {
        match[1]: known_run(run) for name, run in runs().items() if (match := RUN.match(name)) and match[2] == "01"
    }
    assert set(found) == {"etl", "branches", "wide"}
    return found


def work(known: Known) -> float:
    return sum(sum(part.work) for part in known.parts)


def as_noisy_as(known: Known, run: SparkApplication) -> Known:
    """A job with its task times multiplied by the ratio of the sum of those of a run to their own sum."""
    noise = work(known_run(run)) / work(known)
    return replace(known, parts=tuple(replace(p, work=tuple(noise * time for time in p.work)) for p in known.parts))


def other_errors(without_noise: bool) -> Errors:
    """The errors of predictions from the profiled run for runs on other slots, and for its repetition."""
    found = []
    for name, run in runs().items():
        match = RUN.match(name)
        if match and match[2] != "01":
            known = profiled()[match[1]]
            predicted = repeated(as_noisy_as(known, run) if without_noise else known, (int(match[3]),))
            found.append((name, predicted / took(run) - 1.0))
    return found


def estimate_errors(place: int) -> Errors:
    return [(name, estimates(known, (slots,))[place] / span - 1.0) for name, known, slots, span in stages_alone()]


def test_bounds_contain_what_their_premises_cover() -> None:
    """Runs on other slots are within the bounds of the profiled one, with the noise of the machine in its tasks."""
    over = []
    for name, run in runs().items():
        match = RUN.match(name)
        if match and match[2] != "01":
            low, _, high = estimates(as_noisy_as(profiled()[match[1]], run), (int(match[3]),))
            assert low <= took(run) <= high, name
            over.append(high / took(run) - 1.0)
    assert median(over) <= 0.25


def rows() -> Iterator[tuple[str, Errors, float, float, float]]:
    """What is predicted, its errors, and the limits of their mean, their median and the worst one."""
    yield "stages alone, recorded tasks in their order", stage_errors(), 0.01, 0.01, 0.05
    yield "jobs from their own tasks", own_errors(), 0.02, 0.02, 0.08
    yield "jobs on other slots from one run, noise taken out", other_errors(True), 0.04, 0.04, 0.12
    yield "jobs on other slots from one run", other_errors(False), 0.05, 0.04, 0.12


@pytest.mark.parametrize("place", range(4))
def test_real_runs_are_predicted(place: int) -> None:
    what, errors, most_mean, most_median, most = list(rows())[place]
    sizes = [abs(error) for _, error in errors]
    assert len(sizes) >= 28
    assert mean(sizes) <= most_mean, what
    assert median(sizes) <= most_median, what
    assert max(sizes) <= most, max(errors, key=lambda each: abs(each[1]))


def test_times_are_from_the_start_of_the_application_to_its_end() -> None:
    for run in runs().values():
        times = times_of(run)
        assert (times.begin, times.end) == (run.started, run.finished)


def test_tasks_that_start_at_one_moment_are_in_the_order_of_their_indices() -> None:
    """The first stage of `wide` has six tasks on eight slots: the shortest is not the first one."""
    run = next(run for name, run in runs().items() if name.startswith("wide-2026-11-01"))
    times = in_order(run, 0)
    assert len(times) == 6
    assert times != sorted(times)


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| errors | number | median | mean of \\|error\\| | worst |"
    yield "|---|---|---|---|---|"
    every = [(what, errors) for what, errors, *_ in rows()]
    every += [
        (f"stages alone, `{word}`", estimate_errors(place)) for place, word in enumerate(("lower", "average", "upper"))
    ]
    for what, errors in every:
        values = [100.0 * error for _, error in errors]
        worst = max(values, key=abs)
        yield (
            f"| {what} | {len(values)} | {median(values):+.1f} % | {mean(map(abs, values)):.1f} % | {worst:+.1f} % |"
        )


if __name__ == "__main__":
    print("\n".join(table()))
