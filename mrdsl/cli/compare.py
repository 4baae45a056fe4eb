"""The commands `sweep`, `compare` and `diff`, and pointers for the removed `study` and `experiment`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, STOPPED, TO_DO, diagnostics_exit_code, print_briefly
from mrdsl.cli.options import open_input, parameters, solve_command
from mrdsl.cli.outputs import OutputFile, Outputs, command_line, say, say_tables, say_wrapped
from mrdsl.cli.progress import counting
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, number_of, one_error
from mrdsl.core.reading import is_json_object
from mrdsl.core.result import Limits, Result
from mrdsl.core.watching import watched
from mrdsl.exchange.registry import TABLES, endings


@dataclass(frozen=True)
class Side:
    """One plan of a comparison: a file, and the params that a variant of its spec overrides."""

    file: Path
    defines: tuple[str, ...] = ()

    @property
    def variant(self) -> str:
        return ",".join(self.defines)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME=VALUE[,...]",
    help="A variant of the spec with other params. One is compared with the spec, several with each other. Repeatable.",
)
@shared.overrides
@shared.method_options
@shared.time_limit
@shared.as_json
@shared.json_file
@shared.force
def compare(
    files: tuple[Path, ...], variants: tuple[str, ...], as_json: bool, output: Path | None, force: bool, **options: Any
) -> int:
    """Compare the plans of FILES: specs, which are solved, and saved plans, which are not.

    With --variant one spec is compared with itself under other params.
    """
    from mrdsl.reporting.comparison import compare as put_beside
    from mrdsl.reporting.document import to_json

    sides = _sides(files, variants)
    outputs = Outputs({"-o": output}, force, as_json)
    outputs.check(*files, options["data"])
    results = [plan_of_side(side, spec_options(side, sides, options), outputs) for side in sides]
    try:
        comparison = put_beside(*results, names=names_of(sides))
    except ValueError as problem:
        raise one_error("different-problems", str(problem), None, "compare plans of the same problem kind") from None
    if outputs.to_standard_output is None:
        outputs.write("-o", to_json(comparison.document()))
    if as_json or outputs.to_standard_output is not None:
        say(to_json(comparison.document()), nl=False)
    else:
        say_tables(comparison.tables())
        say()
        for name, result in zip(comparison.names, results, strict=True):
            say_wrapped(f"{name}: {result.status()}".rstrip("\n"))
        if comparison.equal:
            values = "1 value is" if comparison.equal == 1 else f"{comparison.equal:,} values are"
            say(f"{values} equal in {'both' if len(sides) == 2 else 'all'} plans")
    return max(exit_code(result) for result in results)


def _sides(files: Sequence[Path], variants: Sequence[str]) -> list[Side]:
    """Return the plans to compare. Raises MrdslError for a single plan."""
    if not variants:
        if len(files) < 2:
            raise _mistaken(
                f"`compare` needs two plans, and `{files[0]}` is only one",
                "add another file, or a variant: `--variant NAME=VALUE`",
            )
        return [Side(file) for file in files]
    if len(files) > 1:
        raise _mistaken(f"`--variant` requires exactly one spec, got {len(files)}", "pass one spec")
    varied = [Side(files[0], tuple(part.strip() for part in variant.split(","))) for variant in variants]
    return varied if len(varied) > 1 else [Side(files[0]), *varied]


def spec_options(side: Side, sides: Sequence[Side], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options for one of several files: options that change a spec apply to the specs, if there are any."""
    saved = [is_json_object(each.file) for each in sides]
    if all(saved) or not is_json_object(side.file):
        return options
    return {**options, "defines": (), "data": None, "scales": (), "seed": None}


def _mistaken(message: str, hint: str) -> MrdslError:
    return one_error("wrong-option", message, None, hint)


def plan_of_side(side: Side, options: dict[str, Any], outputs: Outputs) -> Result:
    """Return the saved plan, or that of the spec, which is solved. Raises MrdslError where it is wrong."""
    from mrdsl.planning.solve_spec import solve as run

    options = {**options, "file": side.file, "defines": (*options["defines"], *side.defines)}
    opened = open_input(side.file, options)
    loaded = opened.loaded
    outputs.check(*loaded.files)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    if opened.plan is not None:
        return opened.plan
    limits = Limits(time=options["time_limit"])
    result = run(loaded.spec, options["solver"], options["formulation"], options["relax"], limits)
    print_briefly(result.diagnostics, loaded.texts, solve_command(options))
    return result


def names_of(sides: Sequence[Side]) -> list[str]:
    """Return the variants, or the shortest distinct names of the files; equal ones are numbered."""
    short = [side.variant or side.file.stem for side in sides]
    names = short if len(set(short)) == len(short) else [side.variant or str(side.file) for side in sides]
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return numbered


@click.command()
@click.argument("last", type=click.Path(path_type=Path))
@click.argument("now", type=click.Path(path_type=Path))
@shared.overrides
@shared.method_options
@shared.time_limit
@click.option("--markdown", is_flag=True, help="Print Markdown, for a comment on a pull request.")
@shared.as_json
@shared.json_file
@shared.force
def diff(last: Path, now: Path, markdown: bool, as_json: bool, output: Path | None, force: bool, **options: Any) -> int:
    """List the changes from the plan LAST to the plan NOW, the smallest first.

    Both are saved plans, or specs, which are solved. Exit code 0 without changes, 5 with some.
    """
    from mrdsl.core.result import value_text
    from mrdsl.core.tables import cell_text
    from mrdsl.planning.difference import diff as find
    from mrdsl.reporting.document import to_json

    if markdown and as_json:
        hint = "remove one of them"
        raise one_error("wrong-option", "`--markdown` and `--json` both set the output", None, hint)
    outputs = Outputs({"-o": output}, force, as_json)
    outputs.check(last, now, options["data"])
    sides = [Side(last), Side(now)]
    results = [plan_of_side(side, spec_options(side, sides, options), outputs) for side in sides]
    if results[1].plan is None:
        message = f"`{now}` has no plan to compare with: it ended as {results[1].termination}"
        raise one_error("no-plan", message, None, f"run `mrdsl why {now}`", exit_code=exit_code(results[1]))
    first, second = names_of(sides)
    found = find(results[0], results[1], (first, second))
    if outputs.to_standard_output is None:
        outputs.write("-o", to_json(found.document()))
    if as_json or outputs.to_standard_output is not None:
        say(to_json(found.document()), nl=False)
    elif markdown:
        say(found.to_markdown(), nl=False)
    else:
        for line in found.lines():
            say_wrapped(line)
        goals = [result.objective for result in results]
        if goals[1].value is not None:
            same = goals[0].value is None or goals[0].period == goals[1].period
            before = cell_text(goals[0].value) if same else value_text(goals[0])
            say_wrapped(f"{goals[1].quantity}: {before} to {value_text(goals[1])}", err=True)
        count = len(found.changes)
        say(number_of(count, "change") if count else "nothing to do", err=True)
        if found.note:
            say_wrapped(found.note, err=True)
    return TO_DO if found.changes else PLAN


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
    from mrdsl.sweeping.cells import MOST_ROWS, Setting, changed_columns, parse_axis, parse_seeds, sweep_table
    from mrdsl.sweeping.sweep import cases_in, check_ending
    from mrdsl.sweeping.sweep import sweep as run

    if plot is not None:
        check_plot(plot)
    Outputs({"--plot": plot}, force).check(file, options["data"], cases)
    if plot is not None and output is None and file.suffix.lower() in endings(TABLES):
        from mrdsl.sweeping.cells import rows_in

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
    from mrdsl.sweeping.cells import sweep_chart, sweep_report

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
