"""``mrdsl simulate``: runs of a spec or plan, and their observations."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.inputs import Opened
from mrdsl.cli.outputs import Outputs
from mrdsl.cli.solve import files_of_plan, run_command
from mrdsl.core.result import Limits, Result
from mrdsl.exchange.registry import OF_A_RUN


@click.command()
@shared.spec_options
@shared.solver_folder
@shared.time_limit
@shared.runs
@shared.jobs
@shared.processes
@click.option(
    "--slowstart", callback=shared.share, metavar="P", help="Start reduces once a share P of the maps is done."
)
@click.option(
    "--stragglers", callback=shared.slow_tasks, metavar="P:F", help="Make a share P of all tasks take F times as long."
)
@click.option(
    "--fail-machines",
    cls=shared.Renamed,
    former=("--lose",),
    metavar="N",
    type=click.IntRange(0),
    help="Remove N machines of every class after the warm-up.",
)
@click.option("--burst", metavar="N", type=click.IntRange(1), help="Let N jobs come with each arrival.")
@shared.as_json
@shared.json_file
@shared.plan_files(OF_A_RUN)
@shared.force
@shared.verbose
def simulate(
    as_json: bool,
    output: Path | None,
    force: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Simulate the spec or saved plan in FILE and report the outcome.

    A spec is solved first, within --time-limit; a saved plan is run as it is.

    Exit code 6 if the runs miss a constraint, 7 if they are inconclusive.
    """
    outputs = Outputs({"-o": output, **files_of_plan(OF_A_RUN, options)}, force, as_json)
    return run_command(_run, options, outputs, OF_A_RUN, verbose, own_seed=True)


def _run(opened: Opened, options: dict[str, Any]) -> Result:
    from mrdsl.api import simulate as run
    from mrdsl.simulation.settings import RUNS, WhatIf

    given = opened.loaded.spec if opened.plan is None else opened.plan
    assert given is not None
    what_if = WhatIf(options["slowstart"], options["stragglers"], options["fail_machines"], options["burst"])
    started = time.perf_counter()
    result = run(
        given,
        runs=options["runs"] or RUNS,
        jobs=options["jobs"],
        processes=options["processes"] or 1,
        seed=options["seed"],
        what_if=what_if,
        limits=Limits(time=options["time_limit"]),
    )
    return replace(result, seconds={"simulate": time.perf_counter() - started})
