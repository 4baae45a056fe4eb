"""``mrdsl profile``: from a folder of logs to a spec."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.outputs import OutputFile, Outputs
from mrdsl.cli.progress import bytes_read


@click.command()
@click.argument("paths", nargs=-1, metavar="LOGS...")
@click.option("-o", "--output", type=OutputFile(), help="Write the spec to a file; - prints it.")
@click.option("--family", default="capacity", show_default=True, help="The problem of the spec: capacity or bounds.")
@click.option("--by", default="name", show_default=True, help="What makes a class: name, queue, user or a pattern.")
@click.option("--cluster", is_flag=True, help="Group jobs by how long and large they are (scikit-learn).")
@click.option("--classes", type=int, help="How many clusters; without it as many as set themselves apart.")
@click.option("--max", "longest", default="max", show_default=True, help="What stands as a maximum: max or p95.")
@click.option("--sort", default="reduce", show_default=True, help="What sorting counts as: reduce or shuffle.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="The seed of clustering.")
@click.option("--jobs", "job_table", type=OutputFile(), help="One row a job of MapReduce, as CSV.")
@click.option("--stages", "stage_table", type=OutputFile(), help="One row a stage of Spark, as CSV.")
@click.option("--profiles", "class_table", type=OutputFile(), help="One row a class, as CSV.")
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
    force: bool,
) -> int:
    """Read the job histories, traces and event logs in LOGS and write a spec with what they say."""
    from mrdsl.api import profile as run
    from mrdsl.core.csv_text import csv_text
    from mrdsl.core.diagnostics import MrdslError, error
    from mrdsl.profiling import tables
    from mrdsl.profiling.report import report
    from mrdsl.reporting.text import print_tables

    outputs = Outputs({"-o": output, "--jobs": job_table, "--stages": stage_table, "--profiles": class_table}, force)
    outputs.check(*(Path(path) for path in paths if path != "-" and Path(path).is_file()))
    if not paths:
        raise MrdslError([error("no-logs", "no log is named", None, "write `mrdsl profile logs/ -o night.mrspec`")])
    found = run(paths, by=by, classes=classes, cluster=cluster, seed=seed, longest=longest, sort=sort, watch=bytes_read)
    print_diagnostics(found.diagnostics, {})
    if job_table is not None:
        outputs.write("--jobs", csv_text(tables.JOB_COLUMNS, tables.job_rows(found.every_job)))
    if stage_table is not None:
        outputs.write("--stages", csv_text(tables.STAGE_COLUMNS, tables.stage_rows(found.applications)))
    if class_table is not None:
        outputs.write("--profiles", csv_text(*tables.class_table(found.classes)))
    if output is not None:
        if not found.classes:
            message = "no class of MapReduce jobs was found, so there is no spec to write"
            raise MrdslError([error("no-classes", message, None, "`--stages stages.csv` writes what Spark's logs say")])
        try:
            outputs.write("-o", found.to_mrspec(family))
        except ValueError as problem:
            raise MrdslError([error("wrong-option", str(problem), None, "write --family capacity")]) from None
    if outputs.to_standard_output is None:
        sys.stdout.write(print_tables(report(found)))
        sys.stdout.write("\n")
    return 0
