"""Causes of long runs: figures by hand, at and below their thresholds, and what they cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mrdsl import api
from mrdsl.cli import cli
from mrdsl.exchange.logs.records import Attempt, AttemptEnd, TaskKind
from mrdsl.profiling.findings import FAILED, FEW, GC, LONG, RULES, SKEW, SLOW, SMALL, SPILL, Finding, findings_of

from ..exchange.logs.making import BEGIN, spark_events
from .test_profiles import job

MIB = 2**20


def found(folder: Path, tasks: list[tuple[int, int]], change: Any = None) -> dict[str, Finding]:
    """The findings of one stage of these tasks [ms], by what they are; ``change`` edits the end of each task."""
    end = max(finish for _, finish in tasks)
    lines = []
    for line in spark_events("etl", BEGIN, [(0, end, [(0, (), tuple(tasks))])]).splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd" and change is not None:
            change(event["Task Info"], event["Task Metrics"], sum(b"TaskEnd" in each for each in lines))
        lines.append(json.dumps(event).encode())
    (folder / "log").write_bytes(b"\n".join(lines))
    (run,) = api.profile([folder]).applications
    return {each.rule.what: each for each in findings_of(run)}


def test_a_balanced_stage_has_none(tmp_path: Path) -> None:
    assert found(tmp_path, [(0, 60_000)] * 8) == {}


@pytest.mark.parametrize(("longest", "level"), [(319_999, 0), (320_000, 1), (640_000, 2), (2_560_000, 4)])
def test_skew(longest: int, level: int, tmp_path: Path) -> None:
    """Seven tasks of 160 s and a longer one: its time over the median, and the slots that wait for it."""
    seen = found(tmp_path, [(0, 160_000)] * 7 + [(0, longest)])
    assert (SKEW.what in seen) == (level > 0)
    if level:
        skew = seen[SKEW.what]
        assert (skew.figure, skew.level, skew.cost) == (longest / 160_000, level, 7 * (longest - 160_000))


def test_short_tasks_have_no_skew(tmp_path: Path) -> None:
    """Dr. Elephant looks at stages whose longest task takes more than 150 s."""
    assert SKEW.what not in found(tmp_path, [(0, 1000)] * 7 + [(0, 150_000)])
    assert SKEW.what in found(tmp_path, [(0, 1000)] * 7 + [(0, 150_001)])


def test_long_tasks_and_few_tasks(tmp_path: Path) -> None:
    """Two tasks follow eight: six of eight slots are idle for 100 s."""
    seen = found(tmp_path, [(0, 300_000)] * 7 + [(0, 310_000)])
    assert (seen[LONG.what].figure, seen[LONG.what].level) == (5.0, 2)
    log = [(0, 400_000, [(0, (), ((0, 200_000),) * 8), (1, (0,), ((200_000, 300_000),) * 2)])]
    (tmp_path / "log").write_bytes(spark_events("etl", BEGIN, log))  # type: ignore[arg-type]
    (run,) = api.profile([tmp_path]).applications
    (few,) = [each for each in findings_of(run) if each.rule is FEW]
    assert (few.place, few.figure, few.cost) == ("stage 1", 4.0, 6 * 100_000)


@pytest.mark.parametrize(("collected", "level"), [(4799, 0), (4800, 1), (6000, 3), (9000, 4)])
def test_garbage_collection(collected: int, level: int, tmp_path: Path) -> None:
    def change(info: Any, metrics: Any, number: int) -> None:
        metrics |= {"Executor Run Time": 60_000, "JVM GC Time": collected}

    seen = found(tmp_path, [(0, 60_000)] * 4, change)
    assert (GC.what in seen) == (level > 0)
    if level:
        assert (seen[GC.what].level, seen[GC.what].cost) == (level, 4.0 * collected)


def test_spill_and_small_partitions(tmp_path: Path) -> None:
    """Each of 20 tasks in five waves reads 32 MiB and spills 8 MiB; 5 s of each 60 s are overhead."""

    def change(info: Any, metrics: Any, number: int) -> None:
        metrics |= {"Executor Run Time": 55_000, "Memory Bytes Spilled": 8 * MIB}
        metrics["Input Metrics"] = {"Bytes Read": 32 * MIB}

    waves = [(60_000 * (place // 4), 60_000 * (place // 4 + 1)) for place in range(20)]
    seen = found(tmp_path, waves, change)
    assert (seen[SPILL.what].figure, seen[SPILL.what].level, seen[SPILL.what].cost) == (0.25, 3, None)
    assert (seen[SMALL.what].figure, seen[SMALL.what].cost) == (4.0, 20 * 5000)
    assert SMALL.what not in found(tmp_path, [(0, 60_000)] * 4, change)


def test_a_slow_machine(tmp_path: Path) -> None:
    """Tasks on n2 take 300 s, those on n1 and n3 100 s: three times as long, and 200 s too long each."""

    def change(info: Any, metrics: Any, number: int) -> None:
        info["Host"] = f"n{number % 3 + 1}"

    seen = found(tmp_path, [(0, 300_000 if place % 3 == 1 else 100_000) for place in range(6)], change)
    slow = seen[SLOW.what]
    assert (slow.place, slow.figure, slow.level, slow.cost) == ("n2", 3.0, 2, 2 * 200_000)


def test_failed_attempts_of_mapreduce() -> None:
    """One of three map attempts failed, after 800 ms; n1 alone has tasks, so that no machine is called slow."""
    attempts = tuple(Attempt(TaskKind.MAP, AttemptEnd.SUCCEEDED, 0, 1000, host="n1") for _ in range(2))
    lost = Attempt(TaskKind.MAP, AttemptEnd.FAILED, 0, 800, host="n1")
    (each,) = findings_of(job(attempts=(*attempts, lost)))
    assert (each.rule, each.figure, each.level, each.cost) == (FAILED, 1 / 3, 4, 800)


def test_what_costs_little_is_left_out() -> None:
    """0.9 % of the slot time; 1 % is told."""
    for lost, told in ((180, False), (205, True)):
        attempts = [Attempt(TaskKind.MAP, AttemptEnd.SUCCEEDED, 0, 10_000) for _ in range(2)]
        attempts.append(Attempt(TaskKind.MAP, AttemptEnd.FAILED, 0, lost))
        assert bool(findings_of(job(attempts=tuple(attempts)))) == told


def test_every_rule_has_its_levels_in_order() -> None:
    for rule in RULES:
        assert list(rule.levels) == sorted(rule.levels)
        assert Finding(rule, "", rule.levels[0], None).level == 1
        assert Finding(rule, "", rule.levels[0] * 0.999, None).level == 0


def test_the_command_prints_them(tmp_path: Path) -> None:
    log = spark_events("etl", BEGIN, [(0, 700_000, [(0, (), ((0, 160_000),) * 7 + ((0, 640_000),))])])
    (tmp_path / "log").write_bytes(log)
    done = CliRunner().invoke(cli, ["profile", str(tmp_path), "--report"], standalone_mode=False)
    assert done.exception is None, done.output
    assert "Findings" in done.output
    assert "skew" in done.output
    assert "0.933333" in done.output  # seven slots for 480 s, in hours
