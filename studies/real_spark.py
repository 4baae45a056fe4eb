"""Real Spark runs of programs whose tasks sleep, predicted from one run of each, and planned for deadlines.

A control repeats the profiled run: its difference is the noise of the machine. A plan is kept if a real run on its
slots ends by the deadline; one slot fewer shows whether it has slots to spare.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any

import mrdsl
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.result import Table
from mrdsl.core.tables import cell_text
from mrdsl.core.writer import write_text
from mrdsl.profiling.gathering import Known, repeated
from mrdsl.profiling.predicting import JobRuns, Run, runs_of

SCRIPT = Path(__file__).parent / "spark_programs.py"
ALL = "etl,branches,wide,iterative,skew,aqe"
PAGE = (
    "# Validation: real Spark runs",
    "",
    "Six programs ran on a real Spark with `local[N]`. Their tasks sleep, so that they take nearly the same time on",
    "any number of slots. The first run of each program was profiled, and the others were predicted from it.",
    'To repeat it, install `".[spark]"` and a Java runtime 17, and run `python -m studies real_spark{again}`.',
    "",
    "*Noise* is the sum of the task times of a run over that of the profiled run. *Without noise* is the prediction",
    "with task times multiplied by it, and with the times of that run before its first task and after its last one.",
    "The control repeats the profiled run on as many slots.",
)
BETWEEN = (0.25, 0.5, 0.75)
"""Places of deadlines between the times predicted for the most slots and for the profiled run."""


@dataclass(frozen=True)
class Ran:
    """A real run: its slots, its time [s], and its tasks."""

    slots: int
    took: float
    known: Known


def real_spark(
    output: Path,
    programs: str = ALL,
    slots: str = "4,8,12,16",
    profiled: int = 8,
    scale: float = 1.0,
    deadlines: int = 3,
    python: str = "",
) -> Iterator[Table]:
    """Yield the tables of predictions and of plans, and write `real-spark.md` into the folder.

    Args:
        output: Folder for tables and the page.
        programs: Names of programs of `spark_programs.py`.
        slots: Numbers of slots to predict and to run.
        profiled: Slots of the run that is profiled.
        scale: Multiple of the times of tasks.
        deadlines: Deadlines of each program, at most three.
        python: Interpreter with PySpark; by default the running one.

    Raises:
        MrdslError: PySpark or a Java runtime is missing, or a program fails.
    """
    if not python and importlib.util.find_spec("pyspark") is None:
        hint = 'pip install ".[spark]", and install a Java runtime 17; or name an interpreter: --set python=PATH'
        raise MrdslError([error("missing-extra", "the study runs PySpark, which is not installed", None, hint)])
    counts = [int(each) for each in slots.split(",")]
    rows: list[tuple[Any, ...]] = []
    plans: list[tuple[Any, ...]] = []
    for name in programs.split(","):
        first = _run(name, profiled, scale, python)
        job = JobRuns(name, (Run(name, first.known, profiled, profiled, first.took),))
        for count in [profiled, *(each for each in counts if each != profiled)]:
            ran = _run(name, count, scale, python)
            noise = _work(ran.known) / _work(first.known)
            quiet = repeated(_noisy(first.known, noise, ran.known), (count,))
            kind = "control" if count == profiled else "other slots"
            off = [100.0 * (time / ran.took - 1.0) for time in (job.mean(count), quiet)]
            rows.append((name, count, kind, ran.took, job.mean(count), off[0], noise, quiet, off[1]))
        shortest = job.mean(max(counts))
        for place in BETWEEN[:deadlines]:
            deadline = round(shortest + place * (first.took - shortest), 1)
            least = job.least(deadline)
            if least is not None:
                real, fewer = (_run(name, count, scale, python) if count else None for count in (least, least - 1))
                assert real is not None
                late = None if fewer is None else fewer.took
                plans.append((name, deadline, least, real.took, "yes" if real.took <= deadline else "no", late))
    columns = (
        "program",
        "slots",
        "run",
        "took [s]",
        "predicted [s]",
        "off [%]",
        "noise",
        "without noise [s]",
        "off now [%]",
    )
    tables = [Table("Times on other slots", columns, rows)]
    if plans:
        heads = ("program", "deadline [s]", "slots", "took [s]", "kept", "one slot fewer [s]")
        tables.append(Table("Plans for deadlines", heads, plans))
    tables.append(_summary(rows, plans))
    write_text(output / "real-spark.md", _page(tables, scale), force=True)
    yield from tables


def _run(name: str, slots: int, scale: float, python: str) -> Ran:
    """Run a program and return the contents of its log."""
    with TemporaryDirectory() as folder:
        logs = Path(folder).as_uri()
        words = [python or sys.executable, str(SCRIPT), name, str(slots), str(scale), logs]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        found = [each for each in Path(folder).iterdir() if each.is_file()]
        if done.returncode or not found:
            last = (done.stderr.strip().splitlines() or ["no log"])[-1]
            hint = "Spark needs a Java runtime 17: set JAVA_HOME"
            raise MrdslError([error("broken-run", f"the program `{name}` failed: {last[:200]}", None, hint)])
        (job,) = runs_of(mrdsl.profile(found).gathered)
    (run,) = job.runs
    assert run.took is not None
    return Ran(slots, run.took, run.known)


def _work(known: Known) -> float:
    return sum(sum(part.work) for part in known.parts)


def _noisy(known: Known, noise: float, other: Known) -> Known:
    """Return a job with the noise of another run: its times outside tasks, and its task times on average."""
    parts = tuple(replace(part, work=tuple(noise * time for time in part.work)) for part in known.parts)
    return Known(other.before, parts, other.end)


def _summary(rows: list[tuple[Any, ...]], plans: list[tuple[Any, ...]]) -> Table:
    found: list[tuple[Any, ...]] = []
    for what, kind in (("the control, the noise of the machine", "control"), ("other slots", "other slots")):
        for words, place in ((what, 5), (f"{what}, noise taken out", 8)):
            errors = [abs(float(str(row[place]))) for row in rows if row[2] == kind]
            if errors:
                found.append((words, len(errors), median(errors), mean(errors), max(errors)))
    kept = sum(row[4] == "yes" for row in plans)
    if plans:
        found.append((f"deadlines kept: {kept} of {len(plans)}", len(plans), None, None, None))
    return Table("Errors", ("what", "number", "median [%]", "mean [%]", "worst [%]"), found)


def _page(tables: list[Table], scale: float) -> str:
    """Return the page of the results."""
    again = f" --set scale={scale:g}" if scale != 1.0 else ""
    lines = [line.format(again=again) for line in PAGE]
    for table in reversed(tables):
        lines += ["", f"## {table.title}", "", f"| {' | '.join(table.columns)} |", "|" + "---|" * len(table.columns)]
        for row in table.rows:
            cells = [f"{each:.3g}" if isinstance(each, float) and abs(each) < 10 else cell_text(each) for each in row]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
