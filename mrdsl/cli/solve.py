"""``mrdsl solve``: a spec in, a plan out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mrdsl.cli.boundary import NO_PLAN_EXISTS, PLAN, PRINTED, SOLVER_FAILED, STOPPED, print_diagnostics
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import OutputFile, load_spec, seconds, share, solver_folder, spec_options, write_whole
from mrdsl.diagnostics import MrdslError
from mrdsl.language.loading import Loaded, sort
from mrdsl.outcome import Limits, Result, Termination
from mrdsl.reporting.document import failure_document, result_document, to_json
from mrdsl.spec.spec import Spec

EXPLAIN_FOR = 5.0
"""Seconds that `solve` spends on saying why there is no plan; `why` takes its time."""


@click.command()
@spec_options
@click.option("--solver", default="auto", show_default=True, help="A solver or a pipeline; see `mrdsl solvers`.")
@solver_folder
@click.option("--formulation", metavar="P", help="Which formulation of the problem to solve.")
@click.option("--relax", is_flag=True, help="Let whole numbers be fractions.")
@click.option("--time-limit", callback=seconds, metavar="T", help="Stop after T seconds, or a time such as '2 min'.")
@click.option("--gap", callback=share, metavar="G", help="Stop at this relative gap, such as 0.001 or 0.1%.")
@click.option("--nodes", type=click.IntRange(0), help="Stop after so many nodes.")
@click.option("--threads", type=click.IntRange(1), help="Threads for the solver.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("-o", "--output", type=OutputFile(), help="Write the JSON object to a file.")
@click.option("--gantt", type=OutputFile(), help="Draw the plan as an SVG Gantt chart.")
@click.option("--graph", type=OutputFile(), help="Draw the plan's tasks and their order as SVG.")
@click.option("--verbose", is_flag=True, help="Tell how long each stage took.")
def solve(
    as_json: bool, output: Path | None, gantt: Path | None, graph: Path | None, verbose: bool, **options: Any
) -> int:
    """Find the plan for the spec in FILE."""
    started = time.perf_counter()
    loaded = load_spec(options["file"], options["defines"], options["data"], options["seed"], options["allow_outside"])
    parsed = {"parse": time.perf_counter() - started}
    if loaded.spec is None:
        return fail(
            MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics)), loaded, as_json, output, parsed
        )
    try:
        result = _solve(loaded, options)
    except MrdslError as failure:
        return fail(failure, loaded, as_json, output, parsed)
    found = tuple(sort((*loaded.diagnostics, *result.diagnostics)))
    result = replace(result, seconds={**parsed, **result.seconds}, diagnostics=found)
    show(result, loaded, as_json, verbose)
    return write_files(result, output, (draw, gantt), (draw_graph, graph))


def _solve(loaded: Loaded, options: dict[str, Any]) -> Result:
    from mrdsl.solving.interruption import kept
    from mrdsl.solving.run import solve as run

    assert loaded.spec is not None
    limits = Limits(options["time_limit"], options["gap"], options["nodes"], options["threads"], None)
    method = (options["solver"], options["formulation"], options["relax"])
    with kept():
        result = run(loaded.spec, *method, limits)
    if any(found.code == "no-plan" for found in result.diagnostics):
        return _explained(loaded.spec, result, method)
    return result


def _explained(spec: Spec, result: Result, method: tuple[str, str | None, bool]) -> Result:
    """The result with the reasons, in short, in place of the bare fact that there is no plan."""
    from mrdsl.solving.infeasibility import as_diagnostic, explain

    reason = as_diagnostic(spec, explain(spec, *method, seconds=EXPLAIN_FOR))
    return replace(result, diagnostics=tuple(reason if d.code == "no-plan" else d for d in result.diagnostics))


def exit_code(result: Result) -> int:
    """The documented exit code of a result."""
    if result.plan is not None:
        return PLAN
    if result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return NO_PLAN_EXISTS
    return SOLVER_FAILED if result.termination is Termination.ERROR else STOPPED


def show(result: Result, loaded: Loaded, as_json: bool, verbose: bool) -> None:
    """Prints a result as a table or as JSON, its diagnostics, and how long the stages took where that is asked."""
    if as_json:
        document = to_json(result_document(result))
        PRINTED.set(True)
        click.echo(document, nl=False)
    elif sys.stdout.isatty():
        from rich.console import Console

        from mrdsl.reporting.terminal import print_result

        print_result(result, Console())
    else:
        from mrdsl.reporting.text import result_text

        click.echo(result_text(result), nl=False)
    if not as_json:
        print_diagnostics(result.diagnostics, loaded.texts)
    if verbose:
        stages = ", ".join(f"{stage} {value:.3f} s" for stage, value in result.seconds.items())
        click.echo(stages, err=True)


def write_files(result: Result, output: Path | None, *others: tuple[Callable[[Result, Path], None], Path | None]
                ) -> int:
    """Writes what is asked for of a result that is printed already, and gives the exit code."""
    try:
        if output is not None:
            write_whole(output, to_json(result_document(result)))
        for write, path in others:
            if path is not None:
                write(result, path)
    except MrdslError as failure:
        print_diagnostics(failure.diagnostics, {})
        return failure.exit_code
    return exit_code(result)


def fail(failure: MrdslError, loaded: Loaded, as_json: bool, output: Path | None, parsed: dict[str, float]) -> int:
    """Reports that there is no result, in the form that was asked for, and gives the exit code."""
    document = to_json(failure_document(failure.diagnostics, parsed, loaded.spec))
    if as_json:
        click.echo(document, nl=False)
    else:
        print_diagnostics(failure.diagnostics, loaded.texts)
    if output is not None:
        write_whole(output, document)
    return failure.exit_code


def draw(result: Result, path: Path) -> None:
    """Writes the plan's Gantt chart, or says that it has none."""
    from mrdsl.drawing import gantt

    bars = result.plan.bars() if result.plan is not None else ()
    if not bars:
        click.echo(f"no Gantt chart: a {result.problem} plan has nothing to draw", err=True)
        return
    write_whole(path, gantt(bars, result.title))


def draw_graph(result: Result, path: Path) -> None:
    """Writes the plan drawn as a graph, or says that it is none."""
    drawn = result.plan.graph(result.title) if result.plan is not None else ""
    if not drawn:
        click.echo(f"no graph: a {result.problem} plan has no order of tasks to draw", err=True)
        return
    write_whole(path, drawn)
