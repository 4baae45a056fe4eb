"""Commands on one plan: `verify`, `why` and `report`; `schema` prints the form of saved plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import WRONG_INPUT, diagnostics_exit_code, print_briefly, print_diagnostics
from mrdsl.cli.options import STANDARD_INPUT, STANDARD_INPUT_NAME, open_input, solve_command, standard_input
from mrdsl.cli.outputs import OutputFile, Outputs, command_line, say, say_tables
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, did_you_mean, one_error
from mrdsl.core.reading import STANDARD_OUTPUT, is_json_object
from mrdsl.core.result import Limits, Termination
from mrdsl.spec.declared import SIMULATION


@click.command()
@shared.file_argument
@click.option(
    "--rerun",
    is_flag=True,
    help="Repeat the simulation that the plan reports, and compare.",
)
@shared.processes
@shared.as_json
def verify(file: Path, rerun: bool, processes: int | None, as_json: bool) -> int:
    """Check the saved plan in FILE against its spec, and list the input files that have changed since.

    Exit code 2 if the plan violates a constraint, or if its value or its runs differ from the claims of the file;
    otherwise the exit code of the command that wrote it.
    """
    from mrdsl.planning.saved_plans import read_saved
    from mrdsl.planning.verified_plans import document, read_file, run_again, tables
    from mrdsl.planning.verified_plans import verify as check
    from mrdsl.reporting.document import to_json

    if file.is_file() and not is_json_object(file):
        hint = f"save a plan first: `mrdsl solve {file} -o plan.json`"
        message = f"`verify` needs a saved plan (JSON), and `{file}` is not one"
        raise one_error("malformed-plan", message, None, hint)
    saved = read_saved(standard_input(), STANDARD_INPUT_NAME) if file == STANDARD_INPUT else read_file(file)
    if processes is not None and not rerun:
        hint = "add `--rerun` to repeat the simulation, or remove `--processes`"
        raise one_error("wrong-option", "`--processes` requires `--rerun`", None, hint)
    verified = run_again(saved, check(saved), processes or 1) if rerun else check(saved)
    if as_json:
        say(to_json(document(verified, saved)), nl=False)
    else:
        say_tables(tables(verified, saved))
        spec = saved.result.spec
        print_diagnostics(verified.found, {spec.file: spec.text} if spec.text else {})
    return exit_code(verified.result) if verified.kept else WRONG_INPUT


@click.command()
@shared.spec_options
@shared.method_options
@shared.time_limit
@click.option(
    "--sensitivity/--no-sensitivity",
    default=True,
    help="Measure the effect of moving each constraint by one step.",
)
def why(
    solver: str, formulation: str | None, relax: bool, time_limit: float | None, sensitivity: bool, **options: Any
) -> int:
    """Explain the plan for the spec in FILE; if it has none, show the conflict and how to resolve it.

    FILE may be a saved plan; it is not solved again.

    --time-limit covers both the solve and the explanation; without it, the explanation takes at most 30 s. The first
    Ctrl-C ends the solve and explains its best plan so far; the second ends the command.
    """
    from mrdsl.explaining.why import why as run
    from mrdsl.solving.processes import kept

    opened = open_input(options["file"], options)
    loaded = opened.loaded
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    with kept():
        explained = run(opened.plan or loaded.spec, solver, formulation, relax, Limits(time=time_limit), sensitivity)
    result = explained.result
    told_below = {"no-plan"} if result.termination is Termination.INFEASIBLE else set()
    print_briefly([d for d in result.diagnostics if d.code not in told_below], loaded.texts, solve_command(options))
    say_tables(explained.parts)
    return exit_code(result)


@click.command()
@click.argument("kind", required=False)
@click.option("-o", "--output", type=OutputFile(), default="-", show_default=True, help="Output file.")
@shared.force
def schema(kind: str | None, output: Path, force: bool) -> None:
    """Print the JSON Schema of saved plans, of the family KIND or of all."""
    from mrdsl.families import family_names
    from mrdsl.planning.saved_plans import plan_schema
    from mrdsl.reporting.document import to_json

    outputs = Outputs({"-o": output}, force)
    outputs.check()
    if kind is not None and kind not in family_names():
        hint = did_you_mean(kind, family_names(), "known kinds: ")
        raise one_error("unknown-problem", f"unknown problem kind `{kind}`", None, hint)
    text = to_json(plan_schema(None if kind is None else (kind,)))
    if output == STANDARD_OUTPUT:
        say(text, nl=False)
    else:
        outputs.write("-o", text)


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
    callback=shared.seconds,
    metavar="T",
    default="10",
    show_default=True,
    help="Time for reasons, the sensitivity table and the what-if curves together; 0 omits the latter two.",
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
