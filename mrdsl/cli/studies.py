"""The command `sweep`, and pointers for the removed `study` and `experiment`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, STOPPED
from mrdsl.cli.inputs import parameters
from mrdsl.cli.outputs import OutputFile, Outputs, command_line, say, say_tables
from mrdsl.cli.progress import counting
from mrdsl.core.diagnostics import number_of, one_error
from mrdsl.core.result import Limits
from mrdsl.core.watching import watched
from mrdsl.exchange.registry import TABLES, endings


@click.command()
@shared.file_argument
@click.option(
    "--over",
    "axes",
    multiple=True,
    metavar="NAME=VALUES",
    help="A param and its values: `peak=0.8:1.4:0.1` (end included) or `scale=1,2`. Repeatable.",
)
@click.option(
    "--cases",
    type=click.Path(path_type=Path),
    metavar="TABLE",
    help="CSV file with a row for each case and a column for each param, such as `limit [min]`.",
)
@click.option("--seeds", metavar="A..B", help="Run every combination with each of these seeds.")
@click.option("-o", "--output", type=OutputFile(), help=f"Output file, {', '.join(endings(TABLES))}.")
@click.option("--plot", type=OutputFile(), help="Draw the objective: a picture (.svg, .png) or a report (.html, .md).")
@shared.force
@shared.params
@shared.allow_outside
@shared.method_options
@shared.time_limit
@shared.gap
@shared.threads
@shared.processes
@shared.former_jobs
@shared.executor
def sweep(
    file: Path,
    axes: tuple[str, ...],
    cases: Path | None,
    seeds: str | None,
    output: Path | None,
    plot: Path | None,
    force: bool,
    **options: Any,
) -> int:
    """Solve the spec in FILE for every combination, in parallel; an interrupted sweep continues.

    If FILE is the table of a sweep, draw it with `--plot`.
    """
    from mrdsl.reporting.report_files import check_plot
    from mrdsl.sweeping.cells import Setting, parse_axis, parse_seeds
    from mrdsl.sweeping.report import MOST_ROWS, changed_columns, sweep_table
    from mrdsl.sweeping.sweep import cases_in, check_ending
    from mrdsl.sweeping.sweep import sweep as run

    if plot is not None:
        check_plot(plot)
    Outputs({"--plot": plot}, force).check(file, options["data"], cases)
    if plot is not None and output is None and file.suffix.lower() in endings(TABLES):
        from mrdsl.sweeping.report import rows_in

        rows = rows_in(file)
        _draw(plot, rows, changed_columns(rows), file, force)
        return PLAN
    if output is None:
        hint = "add `-o rows.csv`; to draw a table of a sweep, pass the table and `--plot`"
        raise one_error("wrong-option", "`sweep` requires `-o`", None, hint)
    check_ending(output)
    Outputs({"-o": output, "--plot": plot}, force=True).check(file, options["data"], cases)
    limits = Limits(options["time_limit"], options["gap"], None, options["threads"], None)
    setting = Setting(
        str(file),
        options["solver"],
        options["formulation"],
        options["relax"],
        limits,
        options["allow_outside"],
        parameters(options),
    )
    wanted = [parse_axis(text) for text in axes]
    paired = cases_in(cases) if cases is not None else ()
    heads = [axis.head for axis in (*paired, *wanted)]
    progress = counting("runs")
    with watched(None):
        done = run(
            setting,
            wanted,
            parse_seeds(seeds) if seeds else (),
            output,
            cases=paired,
            workers=options["processes"] or options["former"],
            executor=options["executor"],
            progress=progress,
            force=force,
        )
    resumed = (
        f", {done.resumed} of them from an earlier run (values and bounds read from its journal, not checked again)"
        if done.resumed
        else ""
    )
    if done.table:
        say_tables([sweep_table(done.table, heads)])
        if done.rows > MOST_ROWS:
            say(f"{output} has the other {number_of(done.rows - MOST_ROWS, 'row')}")
    say(f"{output}: {done.rows} of {number_of(done.total, 'run')}{resumed}", err=True)
    if plot is not None and done.table:
        _draw(plot, done.table, heads, file, force)
    if done.interrupted:
        say("interrupted; run the same command again to continue", err=True)
        return STOPPED
    return PLAN


def _draw(plot: Path, rows: Sequence[Mapping[str, Any]], heads: Sequence[str], file: Path, force: bool) -> None:
    """The goal over the first axis, as a picture or as a report."""
    from mrdsl.reporting.report_files import PICTURES, write_chart, written
    from mrdsl.sweeping.report import sweep_chart, sweep_report

    if plot.suffix.lower() in PICTURES:
        write_chart(plot, sweep_chart(rows, heads, f"Sweep of {file.name}"), force=force)
    else:
        report = sweep_report(rows, heads, str(file), command_line())
        Outputs({"--plot": plot}, force).write("--plot", written(report, plot))


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def experiment(words: tuple[str, ...]) -> None:
    """Removed: run `python -m studies NAME` in a checkout."""
    command = " ".join(("python -m studies", *words))
    message = "`mrdsl experiment` was removed: the papers' reproductions are now scripts in the repository"
    raise one_error("unknown-experiment", message, None, f"run `{command}` in a checkout of mrdsl")


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def study(words: tuple[str, ...]) -> None:
    """Removed: call `mrdsl.sweep` for each method."""
    message = "`mrdsl study` was removed: studies are now scripts over the Python API"
    hint = "call `mrdsl.sweep` for each spec and method; `python -m studies` runs those of the papers in a checkout"
    raise one_error("unknown-experiment", message, None, hint)
