"""``mrdsl study``: run a study file, and continue an interrupted one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, STOPPED, print_diagnostics
from mrdsl.cli.outputs import OutputFile, Outputs, command_line, say, say_tables, say_wrapped
from mrdsl.core.diagnostics import number_of


@click.command()
@click.argument("file", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for runs, tables and charts; default: the name of the study file.",
)
@click.option("--table", type=OutputFile(), help="Also write the runs to a .csv, .jsonl or .parquet file.")
@click.option("--report", type=OutputFile(), help="Also write a report, .html or .md.")
@shared.force
@shared.allow_outside
@shared.solver_folder
@shared.processes
@shared.former_jobs
@shared.executor
@click.option("--retry", is_flag=True, help="Repeat the runs that failed.")
@click.option("--no-plots", is_flag=True, help="Do not write charts.")
def study(file: str | None, output: Path | None, table: Path | None, report: Path | None, **options: Any) -> int:
    """Run the study in FILE, or the shipped one of that name; list those without. An interrupted study continues.

    Of a folder that a study has filled, print its tables.
    """
    from mrdsl.sweeping.study.reader import filled_folder, shipped_studies, study_file

    if file is None:
        for name, found in shipped_studies().items():
            say_wrapped(f"{name}: {found.about}")
        return PLAN
    from mrdsl.sweeping.study.study import Way, run_study_file
    from mrdsl.sweeping.sweep import check_ending, write_table

    filled = filled_folder(file)
    if filled is not None:
        from mrdsl.sweeping.study.study import tables_in

        say_tables(tables_in(filled))
        return PLAN
    path = study_file(file)
    outputs = Outputs({"--table": table, "--report": report}, options["force"])
    outputs.check(path)
    if table is not None:
        check_ending(table)
    if report is not None:
        from mrdsl.reporting.report_files import check_ending as check_report

        check_report(report)
    way = Way(
        options["processes"] or options["former"],
        options["executor"],
        options["allow_outside"],
        options["force"],
        options["retry"],
        not options["no_plots"],
        tuple(each for each in outputs.files.values() if each is not None),
    )
    folder = output or Path(path.stem)
    done = run_study_file(path, folder, way)
    resumed = (
        f", {done.resumed} of them from an earlier run (values and bounds read from runs.jsonl, not checked again)"
        if done.resumed
        else ""
    )
    say(f"{folder}: {len(done.table)} of {number_of(done.total, 'run')}{resumed}", err=True)
    if done.left_out:
        say_wrapped(f"skipped, because they are not installed: {', '.join(done.left_out)}", err=True)
    if done.left_out_tables:
        say_wrapped(f"skipped too, because they compare with one of them: {', '.join(done.left_out_tables)}", err=True)
    if done.interrupted:
        say("interrupted; run the same command again to continue", err=True)
        return STOPPED
    print_diagnostics(done.diagnostics, {})
    say_tables(done.tables)
    if table is not None:
        write_table(table, done.table, force=options["force"])
    if report is not None:
        from mrdsl.reporting.report_files import written
        from mrdsl.reporting.study_files import study_report

        page = study_report(done.title, done.about or done.title, done.charts, done.tables, {}, command_line())
        outputs.write("--report", written(page, report))
    return PLAN
