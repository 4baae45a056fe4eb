"""Whole processes measured side by side: medians of interleaved runs, ratios against a named peer, peak memory.

    from measure import Case, compare, show
    print(show(compare([Case("mrdsl", [...]), Case("peer", [...])], runs=5), against="peer"))

Runs take turns, so that a busy moment of the machine hits all cases alike. Seconds are those of a clock on the wall;
CPU seconds (of the process and all that it waited for) beside them tell how much of it a busy machine stretched.
Peak memory is that of the whole process tree (proportional set size, sampled every 20 ms) in one extra run that is
not timed.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """One command to measure; it must exit with one of ``codes``."""

    name: str
    command: Sequence[str]
    folder: str | Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Measured:
    """Seconds and CPU seconds of every run, peak memory in MB (None: not measured), what the last run printed."""

    name: str
    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    memory: float | None
    output: str

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def cpu(self) -> float:
        return statistics.median(self.cpu_seconds)


def compare(cases: Sequence[Case], runs: int = 5, memory: bool = False, timeout: float = 600.0) -> list[Measured]:
    """Runs every case ``runs`` times, taking turns, after one run of each to warm the file cache."""
    seconds: dict[str, list[tuple[float, float]]] = {case.name: [] for case in cases}
    output: dict[str, str] = {}
    for turn in range(runs + 1):
        for case in cases:
            taken, output[case.name] = _timed(case, timeout)
            if turn:
                seconds[case.name].append(taken)
    peaks = {case.name: peak_memory(case, timeout) for case in cases} if memory else {}
    return [
        Measured(case.name, *zip(*seconds[case.name], strict=True), peaks.get(case.name), output[case.name])
        for case in cases
    ]


def show(measured: Sequence[Measured], against: str) -> str:
    """A Markdown table with ratios against the case of that name."""
    base = next(m for m in measured if m.name == against)
    lines = [
        f"| case | median s | min .. max s | ratio to {against} | CPU s | CPU ratio | peak MB | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for m in measured:
        peak = "" if m.memory is None else f"{m.memory:.0f}"
        ratio = "" if m.memory is None or not base.memory else f"{m.memory / base.memory:.2f}"
        lines.append(
            f"| {m.name} | {m.median:.3f} | {min(m.seconds):.3f} .. {max(m.seconds):.3f} | "
            f"{m.median / base.median:.2f} | {m.cpu:.3f} | {m.cpu / base.cpu:.2f} | {peak} | {ratio} |"
        )
    return "\n".join(lines)


def machine() -> str:
    """What the numbers were measured on, in one line."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, load {load:.1f} at start"


def peak_memory(case: Case, timeout: float = 600.0) -> float:
    """The highest memory of the process tree in MB; Linux only, NaN elsewhere."""
    if not Path("/proc/self/smaps_rollup").exists():
        return float("nan")
    process = subprocess.Popen(
        case.command,
        cwd=case.folder,
        env={**os.environ, **case.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], sum(map(_proportional, _tree(process.pid))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        process.wait(timeout)
    finally:
        process.kill()
        done.set()
        watcher.join()
    return peak[0] / 1024.0


def _timed(case: Case, timeout: float) -> tuple[tuple[float, float], str]:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        case.command,
        cwd=case.folder,
        env={**os.environ, **case.environment},
        text=True,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    taken, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    if done.returncode not in case.codes:
        raise RuntimeError(f"{case.name} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return (taken, cpu), done.stdout


def _tree(root: int) -> list[int]:
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found.extend(map(int, task.read_text().split()))
            except OSError:
                continue
    return found


def _proportional(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1])
    except OSError:
        pass
    return 0.0
