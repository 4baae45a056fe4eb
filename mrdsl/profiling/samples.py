"""Recorded task times of each class as files of one number a line, in seconds, as simulations draw them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mrdsl.exchange.logs.records import AttemptEnd, MapReduceJob, TaskKind
from mrdsl.profiling.gathering import Gathered
from mrdsl.profiling.spec_text import words_of
from mrdsl.profiling.stage_classes import ran_stages

LEAST = 0.001


def sample_files(gathered: Gathered) -> dict[str, str]:
    """Texts by name of file: ``CLASS-map.txt``, ``CLASS-reduce.txt`` with the shuffle included, ``CLASS-s0.txt``."""
    words = words_of([*gathered.classes, *gathered.stage_classes])
    files: dict[str, list[float]] = {}
    for each, word in zip(gathered.classes, words, strict=False):
        jobs = [job for job, _, name in gathered.jobs if name == each.name]
        files[f"{word}-map.txt"] = [value for job in jobs for value in _maps(job)]
        if each.reduce_tasks:
            files[f"{word}-reduce.txt"] = [value for job in jobs for value in _reduces(job)]
    for staged, word in zip(gathered.stage_classes, words[len(gathered.classes) :], strict=True):
        shape = tuple(stage.after for stage in staged.stages)
        runs = [ran_stages(run) for run, name in gathered.applications if name == staged.name]
        alike = [stages for stages in runs if tuple(stage.after for stage in stages) == shape]
        for place in range(len(shape)):
            files[f"{word}-s{place}.txt"] = [value / 1000 for stages in alike for value in stages[place].durations]
    return {name: _text(values) for name, values in files.items() if values}


def _text(values: Iterable[float]) -> str:
    return "".join(f"{max(value, LEAST):.3f}\n" for value in values)


def _maps(job: MapReduceJob) -> Iterator[float]:
    for each in job.attempts:
        if each.kind is TaskKind.MAP and each.end is AttemptEnd.SUCCEEDED and each.finish and each.start is not None:
            yield (each.finish - each.start) / 1000


def _reduces(job: MapReduceJob) -> Iterator[float]:
    """From the start, or from the end of the last map where that is later, to the end."""
    good = [each for each in job.attempts if each.end is AttemptEnd.SUCCEEDED and each.finish is not None]
    last_map = max((each.finish or 0 for each in good if each.kind is TaskKind.MAP), default=0)
    for each in good:
        if each.kind is TaskKind.REDUCE and each.start is not None and each.finish is not None:
            begin = each.start if not job.phases_known else max(each.start, last_map)
            if each.finish >= begin:
                yield (each.finish - begin) / 1000
