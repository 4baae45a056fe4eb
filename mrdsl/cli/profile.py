"""``mrdsl profile``: from a folder of logs to a spec."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.output_file import OutputFile
from mrdsl.cli.outputs import Outputs
from mrdsl.cli.printing import say
from mrdsl.cli.progress import bytes_read
from mrdsl.core.output_folders import refuse_folder
from mrdsl.spec.options import SEED

if TYPE_CHECKING:
    from mrdsl.profiling.profiles import Profiles


@click.command()
@click.argument("paths", nargs=-1, metavar="LOGS...")
@click.option("-o", "--output", type=OutputFile(), help="Write the spec to a file; - prints it.")
@click.option(
    "--family",
    default="capacity",
    show_default=True,
    help="capacity, joint, bounds, makespan, energy, schedule.",
)
@click.option(
    "--by", default="name", show_default=True, help="What makes a class: name, queue, user, tasks, a pattern."
)
@click.option("--cluster", is_flag=True, help="Group jobs by how long and large they are (scikit-learn).")
@click.option("--classes", type=int, help="How many clusters; without it as many as set themselves apart.")
@click.option("--max", "longest", default="max", show_default=True, help="What stands as a maximum: max or p95.")
@click.option("--sort", default="reduce", show_default=True, help="What sorting counts as: reduce or shuffle.")
@click.option("--seed", type=shared.Count(SEED), default=0, show_default=True, help="The seed of clustering.")
@click.option("--jobs", "job_table", type=OutputFile(), help="One row a job of MapReduce, as CSV.")
@click.option("--stages", "stage_table", type=OutputFile(), help="One row a stage of Spark, as CSV.")
@click.option("--profiles", "class_table", type=OutputFile(), help="One row a class, as CSV.")
@click.option("--arrivals", "arrival_table", type=OutputFile(), help="The jobs as `arrivals from` reads them, as CSV.")
@click.option("--samples", type=click.Path(path_type=Path, file_okay=False), help="A folder for recorded task times.")
@click.option("--price", help='What one VM costs, such as "0.20 USD/h".')
@click.option(
    "--on", nargs=2, multiple=True, metavar="TYPE LOGS", help="Logs of machines of another type, for `on TYPE`."
)
@click.option("--split", "share", metavar="SHARE", help="Predict what came after SHARE of the time (80%) from before.")
@click.option("--allow-outside", is_flag=True, help="Follow links that lead outside the folders of logs.")
@shared.force
def profile(
    paths: tuple[str, ...],
    output: Path | None,
    family: str,
    by: str,
    cluster: bool,
    classes: int | None,
    longest: str,
    sort: str,
    seed: int,
    job_table: Path | None,
    stage_table: Path | None,
    class_table: Path | None,
    arrival_table: Path | None,
    samples: Path | None,
    price: str | None,
    on: tuple[tuple[str, str], ...],
    share: str | None,
    allow_outside: bool,
    force: bool,
) -> int:
    """Read the job histories, traces and event logs in LOGS and write a spec with what they say."""
    from mrdsl.api import profile as run
    from mrdsl.core.diagnostics import MrdslError, error
    from mrdsl.profiling.report import report
    from mrdsl.profiling.split import split_tables
    from mrdsl.reporting.text import print_tables

    named = {"-o": output, "--jobs": job_table, "--stages": stage_table, "--profiles": class_table}
    outputs = Outputs({**named, "--arrivals": arrival_table}, force)
    if samples is not None:
        refuse_folder(samples)
    outputs.check(*(Path(path) for path in paths if path != "-" and Path(path).is_file()))
    if not paths:
        raise MrdslError([error("no-logs", "no log is named", None, "write `mrdsl profile logs/ -o night.mrspec`")])
    split_at = None if share is None else _share(share)
    options: dict[str, Any] = {
        "by": by,
        "classes": classes,
        "cluster": cluster,
        "seed": seed,
        "longest": longest,
        "sort": sort,
        "allow_outside": allow_outside,
    }
    _check_types(on, cluster or classes is not None)
    profiles = run(paths, **options, price=price, watch=bytes_read)
    others = {name: run([logs], **options, watch=bytes_read) for name, logs in on}
    for read in (profiles, *others.values()):
        print_diagnostics(read.diagnostics, {})
    _write_tables(profiles, outputs)
    if samples is not None:
        _write_samples(profiles, samples, force, paths)
    if output is not None:
        outputs.write("-o", _spec(profiles, family, output, arrival_table, samples, others))
    if outputs.to_standard_output is None:
        shown = report(profiles) if split_at is None else split_tables(profiles.split(split_at, seed))
        say(print_tables(shown))
    return 0


def _write_tables(profiles: Profiles, outputs: Outputs) -> None:
    from mrdsl.core.csv_text import csv_text
    from mrdsl.profiling import tables

    rows: dict[str, Callable[[], tuple[Sequence[str], Iterable[Sequence[Any]]]]] = {
        "--jobs": lambda: (tables.JOB_COLUMNS, tables.job_rows(profiles.jobs)),
        "--stages": lambda: (tables.STAGE_COLUMNS, tables.stage_rows(profiles.applications)),
        "--profiles": lambda: tables.class_table(profiles.classes),
        "--arrivals": lambda: (tables.ARRIVAL_COLUMNS, tables.arrival_rows(profiles.gathered.jobs)),
    }
    for option, table in rows.items():
        if outputs.files[option] is not None:
            outputs.write(option, csv_text(*table()))


def _write_samples(profiles: Profiles, folder: Path, force: bool, logs: tuple[str, ...]) -> None:
    from mrdsl.core.writer import Together, make_folder
    from mrdsl.profiling.samples import sample_files

    files = sample_files(profiles.gathered)
    make_folder(folder)
    Outputs({name: folder / name for name in files}, force).check(*(Path(log) for log in logs))
    with Together(force=force) as together:
        for name, text in files.items():
            with together.text(folder / name) as stream:
                stream.write(text)


def _check_types(on: Sequence[tuple[str, str]], clustered: bool) -> None:
    """Types with names of their own, and classes whose names mean the same in all logs. Raises MrdslError."""
    from mrdsl.core.diagnostics import MrdslError, error

    names = ["machine", *(name for name, _ in on)]
    twice = next((name for name in names if names.count(name) > 1 or name in ("", "one")), None)
    if twice is not None:
        message = f"`{twice}` cannot be the name of another type of machines"
        hint = "`machine` is that of LOGS, and each --on has a name of its own, such as --on r5 logs-r5/"
        raise MrdslError([error("wrong-option", message, None, hint)])
    if on and clustered:
        message = "classes that are found by --cluster have other names in the logs of each type"
        raise MrdslError([error("wrong-option", message, None, "leave out --cluster and --classes, or --on")])


def _spec(
    profiles: Profiles,
    family: str,
    output: Path,
    arrivals: Path | None,
    samples: Path | None,
    on: Mapping[str, Profiles],
) -> str:
    from mrdsl.core.diagnostics import MrdslError, error

    if not profiles.classes and not profiles.stage_classes:
        message = "no job and no application makes a profile, so there is no spec to write"
        raise MrdslError([error("no-classes", message, None, "the table of what was left out says why")])
    try:
        if family != "schedule":
            return profiles.to_mrspec(
                family, samples=None if samples is None else os.path.relpath(samples, output.parent), on=on
            )
        if on:
            raise ValueError("a spec of schedule reads its jobs from a table, which knows no types of machines")
        if arrivals is None:
            message, hint = "a spec of schedule reads its jobs from a table", "add `--arrivals jobs.csv`"
            raise MrdslError([error("wrong-option", message, None, hint)])
        return profiles.to_schedule(os.path.relpath(arrivals, output.parent))
    except ValueError as problem:
        raise MrdslError([error("wrong-option", str(problem), None, "write --family capacity")]) from None


def _share(text: str) -> float:
    """A part of the time: ``80%`` or ``0.8``."""
    from mrdsl.core.diagnostics import MrdslError, error

    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100.0 if text.strip().endswith("%") else 1.0)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise MrdslError([error("wrong-option", f"`{text}` is no part of the time", None, "write --split 80%")])
    return share
