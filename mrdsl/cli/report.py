"""``mrdsl report``: a plan as a page that one can hand on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_briefly
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import open_input, solve_command
from mrdsl.cli.outputs import OutputFile, Outputs, command_line
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits
from mrdsl.spec.declared import SIMULATION


@click.command()
@shared.spec_options
@click.option("-o", "--output", type=OutputFile(), required=True, help="Output file, .html or .md; - prints Markdown.")
@shared.force
@shared.method_options
@shared.time_limit
@shared.gap
@click.option(
    "--simulate",
    "runs",
    metavar="RUNS",
    type=shared.Count(SIMULATION["runs"]),
    help="Simulate the plan with RUNS independent runs.",
)
@click.option(
    "--analysis-time",
    cls=shared.Renamed,
    former=("--spend",),
    callback=shared.seconds,
    metavar="T",
    default="30",
    show_default=True,
    help="Time for the sensitivity table, and again for the what-if curves; 0 omits both.",
)
def report(output: Path, force: bool, runs: int | None, analysis_time: float, **options: Any) -> int:
    """Solve the spec in FILE and write a report of the plan: one HTML page, or Markdown.

    FILE may be a saved plan; it is not solved again.
    """
    from mrdsl.explaining.report import report as run
    from mrdsl.explaining.sensitivity import How
    from mrdsl.reporting.report_files import check_ending, written
    from mrdsl.simulation.settings import Settings
    from mrdsl.solving.processes import kept

    check_ending(output)
    outputs = Outputs({"-o": output}, force)
    outputs.check(options["file"], options["data"])
    opened = open_input(options["file"], options)
    loaded = opened.loaded
    outputs.check(*loaded.files)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    limits = Limits(time=options["time_limit"], gap=options["gap"])
    how = How(options["solver"], options["formulation"], options["relax"], limits, analysis_time)
    command = command_line()
    settings = Settings(runs=runs) if runs is not None else None
    with kept():
        whole, result = run(loaded.spec, how, command, plan=opened.plan, runs=settings, known=loaded.diagnostics)
    outputs.write("-o", written(whole, output))
    print_briefly(result.diagnostics, loaded.texts, solve_command(options))
    return exit_code(result)
