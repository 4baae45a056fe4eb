"""What a spec becomes: `show` prints its stages, `compile` writes its model, `read` turns a solution into a plan."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, diagnostics_exit_code, print_diagnostics
from mrdsl.cli.inputs import load_spec
from mrdsl.cli.outputs import OutputFile, Outputs, say
from mrdsl.cli.solve import print_result, write_files
from mrdsl.core.diagnostics import MrdslError, in_order, one_error
from mrdsl.exchange.registry import MODELS, SOLUTIONS, endings, names
from mrdsl.exchange.registry import names as names_of
from mrdsl.exchange.text import decode
from mrdsl.spec.blocks import Stage
from mrdsl.spec.columns import Columns


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
