"""`mrdsl compare` shows plans side by side; `mrdsl diff` lists the steps from one plan to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, TO_DO, diagnostics_exit_code, print_briefly
from mrdsl.cli.inputs import open_input, solve_command
from mrdsl.cli.outputs import Outputs, say, say_tables, say_wrapped
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, number_of, one_error
from mrdsl.core.reading import is_json_object
from mrdsl.core.result import Limits, Result


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
    from mrdsl.core.status import value_text
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
