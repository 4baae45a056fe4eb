"""Commands that make results: `mrdsl solve` finds a plan for a spec, `mrdsl simulate` runs it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import (
    BROKEN,
    NO_PLAN_EXISTS,
    PLAN,
    PRINTED,
    SOLVER_FAILED,
    STOPPED,
    UNDECIDED,
    diagnostics_exit_code,
    print_cause,
    print_diagnostics,
)
from mrdsl.cli.options import Opened, open_input
from mrdsl.cli.outputs import Outputs, say, terminal_style, terminal_width
from mrdsl.contracts.family import kind_words
from mrdsl.core.diagnostics import MrdslError, has_errors, in_order, one_error
from mrdsl.core.reading import STANDARD_OUTPUT, is_through
from mrdsl.core.result import Limits, Outcome, Result, SolutionStatus, Termination
from mrdsl.exchange.registry import OF_A_PLAN, OF_A_RUN, PlanWriter
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.language.resolving import Loaded
    from mrdsl.simulation.settings import Settings


EXPLAIN_FOR = 10.0
"""Seconds that `solve` spends on saying why there is no plan; `why` takes its time."""


@click.command()
@shared.spec_options
@shared.method_options
@shared.time_limit
@shared.gap
@shared.nodes
@shared.threads
@click.option("--start", type=click.Path(path_type=Path), help="Start from a saved plan, such as yesterday's.")
@click.option("--validate", is_flag=True, help="Simulate the plan, and report which constraints the runs meet.")
@shared.runs
@shared.jobs
@shared.processes
@shared.as_json
@shared.json_file
@shared.plan_files(OF_A_PLAN)
@shared.force
@shared.verbose
def solve(
    as_json: bool,
    output: Path | None,
    force: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Find the plan for the spec in FILE.

    With --validate the plan is run, and the exit code is that of `mrdsl simulate`.
    """
    outputs = Outputs({"-o": output, **files_of_plan(OF_A_PLAN, options)}, force, as_json)
    return run_command(_solve, options, outputs, OF_A_PLAN, verbose)


def run_command(
    run: Callable[[Opened, dict[str, Any]], Result],
    options: dict[str, Any],
    outputs: Outputs,
    writers: Iterable[PlanWriter],
    verbose: bool,
    own_seed: bool = False,
) -> int:
    """Read the spec that the options name, run it, show the result, write its files, and give the exit code."""
    outputs.check(options["file"], options["data"])
    for one in writers:
        path = outputs.files[f"--{one.name}"]
        if one.needs and path is not None:
            from mrdsl.reporting.report_files import check_form

            check_form(path)
    started = time.perf_counter()
    opened = open_input(options["file"], options, own_seed=own_seed)
    loaded = opened.loaded
    parsed = {"parse": time.perf_counter() - started}
    outputs.check(*loaded.files)
    if loaded.spec is None:
        return fail(MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics)), loaded, outputs, parsed)
    try:
        result = run(opened, options)
    except MrdslError as failure:
        print_cause(failure)
        return fail(failure, loaded, outputs, parsed)
    diagnostics = tuple(in_order((*loaded.diagnostics, *result.diagnostics)))
    result = replace(result, seconds={**parsed, **result.seconds}, diagnostics=diagnostics)
    print_result(result, loaded, outputs, verbose)
    return write_files(result, outputs, writers)


def _solve(opened: Opened, options: dict[str, Any]) -> Result:
    from mrdsl.planning.solve_spec import solve as run
    from mrdsl.solving.processes import kept

    loaded = opened.loaded
    assert loaded.spec is not None
    limits = Limits(options["time_limit"], options["gap"], options["nodes"], options["threads"], None)
    method = (options["solver"], options["formulation"], options["relax"])
    settings = _settings(loaded.spec, options)
    start = None if options["start"] is None else _start(options["start"])
    began = time.monotonic()
    with kept():
        result = run(loaded.spec, *method, limits, start=start)
    if settings is not None and result.plan is not None:
        return validated(loaded.spec, result, settings)
    if result.termination is Termination.INFEASIBLE and has_errors(result.diagnostics):
        left = EXPLAIN_FOR if limits.time is None else max(began + limits.time - time.monotonic(), 0.0)
        return _explained(loaded.spec, result, method, min(EXPLAIN_FOR, left))
    return result


def _start(path: Path) -> Result:
    from mrdsl.planning.verified_plans import open_plan

    return open_plan(path).require()


def _settings(spec: Spec, options: dict[str, Any]) -> Settings | None:
    """Return the settings of runs of the plan, or None for no runs. Raises MrdslError before the solve."""
    if not options["validate"]:
        said = next((each for each in ("runs", "jobs", "processes") if options[each] is not None), None)
        if said is not None:
            hint = f"add `--validate` to simulate the plan, or remove `--{said}`"
            raise one_error("wrong-option", f"`--{said}` requires `--validate`", None, hint)
        return None
    from mrdsl.planning.simulate_spec import require_runs_of_plans
    from mrdsl.simulation.settings import RUNS, Settings

    require_runs_of_plans(spec, "--validate")
    return Settings(options["runs"] or RUNS, jobs=options["jobs"], processes=options["processes"] or 1)


def validated(spec: Spec, result: Result, settings: Settings) -> Result:
    """Return the result with the outcome of runs of its plan, and their time."""
    from mrdsl.planning.simulate_spec import observe

    started = time.perf_counter()
    observed = observe(spec, result, settings)
    assert observed is not None
    return replace(observed, seconds={**result.seconds, "simulate": time.perf_counter() - started})


def _explained(spec: Spec, result: Result, method: tuple[str, str | None, bool], seconds: float) -> Result:
    """Return the result with short reasons instead of the bare fact that there is no plan.

    If the family has reported an impossible part, a change that resolves everything is added: its hints are about one
    constraint each, without all others.
    """
    from mrdsl.explaining.why import as_diagnostic, explain

    explanation = explain(spec, *method, seconds=seconds)
    said = tuple(d for d in result.diagnostics if d.code != "no-plan")
    if has_errors(said) and explanation.repair is None:
        return replace(result, diagnostics=said)
    return replace(result, diagnostics=(*said, as_diagnostic(spec, explanation)))


def exit_code(result: Result) -> int:
    """Return the documented exit code of a result; for a plan that was run, by the worst verdict on its constraints."""
    if result.plan is not None:
        outcomes = result.plan.outcomes().values()
        return BROKEN if Outcome.BROKEN in outcomes else UNDECIDED if Outcome.UNDECIDED in outcomes else PLAN
    if result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return NO_PLAN_EXISTS
    return SOLVER_FAILED if result.termination is Termination.ERROR else STOPPED


def print_result(result: Result, loaded: Loaded, outputs: Outputs, verbose: bool) -> None:
    """Print a result as a table or as JSON, its diagnostics, and on request the times of its stages.

    If a file of another kind goes to standard output, the table goes to standard error.
    """
    as_json = outputs.printed or outputs.to_standard_output == "-o"
    if as_json:
        from mrdsl.reporting.document import result_document, to_json

        saved = outputs.to_standard_output == "-o"
        document = result.to_json() if saved else to_json(result_document(result))
        PRINTED.set(True)
        say(document, nl=False)
    else:
        from mrdsl.core.result import result_text

        beside = outputs.to_standard_output is not None
        stream = sys.stderr if beside else sys.stdout
        good = result.solution is not SolutionStatus.NONE
        ending = terminal_style(stream, fg="green" if good else "red")
        say(
            result_text(result, terminal_width(stream), terminal_style(stream, bold=True), ending), nl=False, err=beside
        )
    if not as_json:
        print_diagnostics(result.diagnostics, loaded.texts)
    if verbose:
        stages = ", ".join(f"{stage} {value:.3f} s" for stage, value in result.seconds.items())
        say(stages, err=True)


def write_files(result: Result, outputs: Outputs, writers: Iterable[PlanWriter]) -> int:
    """Write the requested files of a result that was printed, and return the exit code.

    Without a plan, only the proof that none exists is saved: a corrected run then finds no file in its way.
    A file that cannot be written, or an empty drawing, does not prevent the others.
    """
    code = exit_code(result)
    contents: dict[str, Callable[[Result, Path], str | bytes]] = {"-o": _saved}
    contents |= {f"--{one.name}": partial(_content_of_plan, one) for one in writers}
    always = {f"--{one.name}" for one in writers if one.without_plan}
    for option, content in contents.items():
        path = outputs.files[option]
        if path is None or (option == "-o" and path == STANDARD_OUTPUT):
            continue
        if result.plan is None and option not in always and (option != "-o" or code != NO_PLAN_EXISTS):
            say(f"{path} was not written: there is no plan", err=True)
            continue
        try:
            outputs.write(option, content(result, path))
        except MrdslError as failure:
            print_diagnostics(failure.diagnostics, {})
            code = failure.exit_code
    return code


def _saved(result: Result, path: Path) -> str:
    """Return the saved plan with names as seen from the folder that the file lies in, links followed."""
    return result.to_json(None if is_through(path) else str(path.resolve().parent))


def fail(failure: MrdslError, loaded: Loaded, outputs: Outputs, parsed: dict[str, float]) -> int:
    """Return reports that there is no result, in the form that was asked for, and gives the exit code."""
    from mrdsl.reporting.document import failure_document, to_json

    document = to_json(failure_document(failure.diagnostics, parsed, loaded.spec))
    if outputs.printed or outputs.to_standard_output == "-o":
        say(document, nl=False)
    else:
        print_diagnostics(failure.diagnostics, loaded.texts)
    if outputs.to_standard_output != "-o" and failure.exit_code == NO_PLAN_EXISTS:
        outputs.write("-o", document)
    return failure.exit_code


def files_of_plan(writers: Iterable[PlanWriter], options: Mapping[str, Any]) -> dict[str, Path | None]:
    """Return the files that options of :func:`shared.plan_files` name, by option."""
    return {f"--{one.name}": options[one.name] for one in writers}


def _content_of_plan(writer: PlanWriter, result: Result, path: Path) -> bytes:
    """Return the content of a file. Raises MrdslError ``nothing-to-write`` if the plan has no such form."""
    from mrdsl.exchange.result_files import NothingToWriteError

    try:
        return writer.load()(result, path)
    except NothingToWriteError as cause:
        message = f"{cause.what}: {kind_words(result.problem)} plan has {cause.lacks}"
        hint = "remove the option; the plan is printed without it"
        raise one_error("nothing-to-write", message, None, hint) from None


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
    metavar="N",
    type=shared.Whole(0),
    help="Remove N machines of every class after the warm-up.",
)
@click.option("--burst", metavar="N", type=shared.Whole(1), help="Let N jobs come with each arrival.")
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
