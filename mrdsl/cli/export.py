"""Files for other programs: `export` of a plan, `show` and `compile` of a spec, `read` of a solution."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, diagnostics_exit_code, print_briefly, print_diagnostics
from mrdsl.cli.options import load_spec, open_input, solve_command
from mrdsl.cli.outputs import OutputFile, Outputs, say, say_file, say_wrapped, terminal_width
from mrdsl.cli.solve import exit_code, print_result, write_files
from mrdsl.core.diagnostics import MrdslError, in_order, one_error
from mrdsl.core.reading import is_standard_output
from mrdsl.core.result import Limits
from mrdsl.exchange.registry import MODELS, SOLUTIONS, STARTS, TARGETS, endings, names
from mrdsl.exchange.registry import names as names_of
from mrdsl.exchange.text import decode
from mrdsl.spec.blocks import Stage
from mrdsl.spec.columns import Columns
from mrdsl.spec.schema import Item

CORES = Item("quantity", "cores that tasks may use", at_least=1.0, at_most=4096.0, whole=True)


@click.command(epilog=f"Targets: {', '.join(names((*TARGETS, *STARTS)))}.")
@shared.spec_options
@click.argument("form", metavar="TARGET")
@shared.solver
@shared.time_limit
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=".",
    help="Output file, or folder if there are several files (created if missing); - prints a single file.",
)
@click.option(
    "--master",
    default="",
    metavar="TYPE",
    help="Machine type of the master, which runs no tasks; default: from the spec.",
)
@click.option(
    "--vm", "called", multiple=True, metavar="NAME=TYPE", help="Provider's name of a machine type in the spec."
)
@click.option("--fleets", is_flag=True, help="Use instance fleets: EMR chooses among the plan's types.")
@click.option("--log-uri", default="", metavar="ADDRESS", help="Where EMR writes its logs, such as s3://bucket/logs/.")
@click.option(
    "--spot-strategy",
    default="",
    metavar="STRATEGY",
    help="How EMR chooses among the spot types of a fleet, such as price-capacity-optimized.",
)
@click.option(
    "--candidates",
    type=shared.Whole(),
    default=0,
    metavar="N",
    help="Further spot types of the spec that a fleet of EMR may use, up to 29.",
)
@click.option(
    "--capacity-reservation",
    default="",
    metavar="WHICH",
    help="Capacity reservations that a fleet of EMR uses first: open, none, or the ARN of a resource group.",
)
@click.option("--cores", type=shared.Count(CORES), metavar="N", help="Cores for tasks on a VM type without `cores`.")
@click.option(
    "--memory",
    callback=shared.data,
    metavar="SIZE",
    help="Memory for tasks on a VM type without `memory`, such as '16 GiB'.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Print what changes against a spark-defaults.conf, and why.",
)
@shared.force
def export(
    form: str,
    solver: str,
    time_limit: float | None,
    output: Path,
    master: str,
    cores: float | None,
    memory: float | None,
    fleets: bool,
    log_uri: str,
    spot_strategy: str,
    candidates: int,
    capacity_reservation: str,
    against: Path | None,
    called: tuple[str, ...],
    force: bool,
    **options: Any,
) -> int:
    """Solve the spec in FILE, or take the saved plan in it, and write it as TARGET, such as `emr`."""
    from mrdsl.exchange.targets.deployment import Wishes
    from mrdsl.planning.exporting import changes, named_types, writer_of
    from mrdsl.planning.solve_spec import solve as run
    from mrdsl.solving.processes import kept

    strategies = spot_strategy, candidates, capacity_reservation
    wishes = Wishes(master, named_types(called), cores, memory, fleets, log_uri, *strategies)
    from mrdsl.core.writer import refuse_folder

    refuse_folder(output.parent if output.is_file() else output)
    opened = open_input(options["file"], options)
    loaded = opened.loaded
    if loaded.spec is None:
        print_diagnostics(loaded.diagnostics, loaded.texts)
        return diagnostics_exit_code(loaded.diagnostics)
    write = writer_of(loaded.spec, form)
    now = None if against is None else _settings_in(against)
    if opened.plan is not None:
        result = opened.plan
    else:
        with kept():
            result = run(loaded.spec, solver, limits=Limits(time=time_limit))
    print_briefly(result.diagnostics, loaded.texts, solve_command(options))
    if result.plan is not None:
        exported = write(loaded.spec, result.plan, wishes)
        inputs = (options["file"], options["data"], *loaded.files)
        changed = None if now is None else changes(exported, now)
        _write(exported.files, output, force, inputs)
        for note in exported.notes:
            say_wrapped(f"not exported: {note}", err=True)
        if result.today is not None:
            from mrdsl.core.tables import table_text

            shown = next(each for each in result.tables() if each.title == result.today.table().title)
            say(table_text(shown, terminal_width(sys.stderr)), nl=False, err=True)
        if changed is not None:
            from mrdsl.core.tables import table_text

            say(table_text(changed, terminal_width(sys.stderr)), nl=False, err=True)
        print_diagnostics(exported.diagnostics, loaded.texts)
    return exit_code(result)


def _settings_in(path: Path) -> dict[str, str]:
    """Return the settings in a file of Spark. Raises MrdslError."""
    from mrdsl.core.reading import UnreadableError, read_bytes
    from mrdsl.exchange.markup import read_spark_settings
    from mrdsl.exchange.text import FormatError

    try:
        return read_spark_settings(read_bytes(path).decode("utf-8", errors="replace"))
    except FormatError as wrong:
        raise MrdslError([wrong.diagnostic("wrong-value", str(path), "`{path}`: {reason}")]) from None
    except UnreadableError as wrong:
        raise one_error("unreadable-file", f"`{path}` cannot be read: {wrong}") from None


def _write(files: Mapping[str, str], output: Path, force: bool, inputs: Iterable[Path | None]) -> None:
    """Write all files or none, or one file to standard output on request."""
    from mrdsl.core.writer import Together

    if is_standard_output(output):
        if len(files) > 1:
            message = f"the export has {len(files)} files: {', '.join(files)}"
            raise one_error("wrong-option", message, None, "pass a folder with `-o`")
        say_file(next(iter(files.values())))
        return
    places = _places(files, output)
    with Together(force=force) as together:
        for folder in {place.parent for place in places.values()}:
            together.folder(folder)
        Outputs(dict(places), force).check(*inputs)
        for name, text in files.items():
            with together.text(places[name]) as stream:
                stream.write(text)
    for place in places.values():
        say(str(place))


def _places(files: Mapping[str, str], output: Path) -> dict[str, Path]:
    """Return the path of each file: a single file is ``output`` if that has an extension and is not a folder; otherwise
    it is the folder.

    Raises MrdslError if several files would go into a folder with the name of one of them.
    """
    first = next(iter(files))
    if output.is_dir() or not output.suffix:
        return {name: output / name for name in files}
    if len(files) == 1:
        return {first: output}
    if output.suffix == Path(first).suffix:
        message = f"`{output}` is a file, but the export has {len(files)} files: {', '.join(files)}"
        raise one_error("wrong-option", message, None, "pass a folder with `-o`")
    return {name: output / name for name in files}


@click.command(name="compile")
@shared.spec_options
@shared.model_options
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    required=True,
    help=f"Output file, {', '.join(endings(MODELS))}; FILE.names.json maps its names to lines of the spec. - prints "
    "the model alone.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(names(MODELS)),
    help="Output format (default: from the file extension).",
)
@shared.force
def compile(formulation: str | None, relax: bool, output: Path, form: str | None, force: bool, **options: Any) -> int:
    """Write the model of the spec in FILE, for any solver."""
    from mrdsl.planning.solve_spec import compile_model
    from mrdsl.planning.solver_files import paths_of, write_model

    outputs = Outputs({path.name: path for path in paths_of(output, form)}, force)
    outputs.check(options["file"], options["data"])
    loaded = load_spec(options)
    outputs.check(*loaded.files)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    model = compile_model(loaded.spec, formulation, relax)
    for path in write_model(model, output, loaded.spec, form=form, force=force):
        say(str(path), err=outputs.to_standard_output is not None)
    return PLAN


@click.command()
@shared.spec_options
@click.option("--solution", type=click.Path(path_type=Path), required=True, help="The solver's solution file.")
@click.option(
    "--format",
    "form",
    type=click.Choice(names_of(SOLUTIONS)),
    help="Format of the solution file; default: detected from its contents.",
)
@shared.model_options
@click.option(
    "--names", type=click.Path(path_type=Path), help="The model's names.json; without it, no bound is claimed."
)
@click.option(
    "--gap", callback=shared.share, metavar="G", help="Relative gap that the solver proved, such as 0 or 0.01%."
)
@click.option("--bound", type=shared.Decimal(), help="Bound that the solver proved, in the unit of the objective.")
@shared.as_json
@shared.json_file
@shared.force
def read(
    solution: Path,
    form: str | None,
    formulation: str | None,
    relax: bool,
    names: Path | None,
    gap: float | None,
    bound: float | None,
    as_json: bool,
    output: Path | None,
    force: bool,
    **options: Any,
) -> int:
    """Turn a solution of the compiled model of FILE into its plan, checked like any other."""
    from mrdsl.planning.solver_files import Proof, read_solution

    outputs = Outputs({"-o": output}, force, as_json)
    outputs.check(options["file"], options["data"], solution, names)
    loaded = load_spec(options)
    outputs.check(*loaded.files)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics, diagnostics_exit_code(loaded.diagnostics))
    result = read_solution(loaded.spec, solution, form, formulation, relax, Proof(names, gap, bound))
    result = replace(result, diagnostics=tuple(in_order((*loaded.diagnostics, *result.diagnostics))))
    print_result(result, loaded, outputs, False)
    return write_files(result, outputs, {})


@click.command()
@shared.spec_options
@click.option("--stage", type=click.Choice(["tree", "spec", "model"]), default="spec", show_default=True)
@shared.model_options
def show(stage: str, formulation: str | None, relax: bool, **options: Any) -> int:
    """Show FILE as a syntax tree, as the resolved spec in SI units, or as the Pyomo model."""
    if stage == "tree":
        return _show_tree(options["file"])
    loaded = load_spec(options)
    print_diagnostics(loaded.diagnostics, loaded.texts)
    if loaded.spec is None:
        return diagnostics_exit_code(loaded.diagnostics)
    if stage == "spec":
        say("\n".join(spec_lines(loaded.spec, 0)))
        return 0
    from io import StringIO

    from mrdsl.planning.solve_spec import build_model

    out = StringIO()
    build_model(loaded.spec, formulation, relax).pprint(ostream=out)
    say(out.getvalue(), nl=False)
    return 0


def _show_tree(path: Path) -> int:
    from mrdsl.language.parsing import parse

    try:
        text, problem = decode(path.read_bytes())
    except OSError as failure:
        text, problem = None, failure.strerror or "the system refused it"
    if text is None:
        raise one_error("unreadable-file", f"`{path}` cannot be read: {problem}")
    document, problems = parse(text, str(path))
    print_diagnostics(problems, {str(path): text})
    for statement in document.statements:
        say("\n".join(tree_lines(statement, 0)))
    return diagnostics_exit_code(problems)


def tree_lines(node: Any, depth: int) -> list[str]:
    """Return a syntax tree as indented lines, each node with its place."""
    indent = "  " * depth
    if not isinstance(node, tuple) or not hasattr(node, "_fields"):
        return [f"{indent}{node}"]
    from mrdsl.language.tree import first_token

    first = first_token(node)
    lines = [f"{indent}{type(node).__name__} {first.line}:{first.column}"]
    for part in node:
        parts = part if isinstance(part, tuple) and not hasattr(part, "_fields") else (part,)
        lines += [line for inner in parts if inner is not None for line in tree_lines(inner, depth + 1)]
    return lines


def spec_lines(value: Any, depth: int, name: str = "") -> list[str]:
    """Return a spec as indented lines of its dataclasses, SI values as they are."""
    indent, label = "  " * depth, f"{name} = " if name else ""
    if isinstance(value, Columns):
        lines = [f"{indent}{label}{len(value)} x {value.node_type.__name__}"]
        for path, column in value.values.items():
            blocks = isinstance(column, tuple) and any(is_dataclass(part) for part in column)
            lines += spec_lines(column, depth + 1, path) if blocks else [f"{indent}  {path} = {_brief(column)}"]
        return lines
    if is_dataclass(value) and not isinstance(value, type):
        lines = [f"{indent}{label}{type(value).__name__}"]
        for item in fields(value):
            if item.repr and getattr(value, item.name) not in (None, "", ()):
                lines += spec_lines(getattr(value, item.name), depth + 1, item.name)
        return lines
    if isinstance(value, tuple) and any(is_dataclass(part) for part in value):
        lines = [f"{indent}{label}", *(line for part in value for line in spec_lines(part, depth + 1))]
        if all(isinstance(part, Stage) for part in value):
            from mrdsl.formulas.stages import described

            lines += [f"{indent}  {line}" for line in described(value)]
        return lines
    return [f"{indent}{label}{dict(value) if hasattr(value, 'keys') else value}"]


def _brief(column: Any) -> str:
    if not getattr(column, "ndim", 0):
        return str(column)
    shown = ", ".join(str(part) for part in column[:4].tolist())
    return f"[{shown}{', ...' if len(column) > 4 else ''}]"
