"""``mrdsl export``: a plan as files that other programs take over."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.check import exit_code as diagnostics_exit_code
from mrdsl.cli.inputs import open_input
from mrdsl.cli.outputs import Outputs, refuse_folder
from mrdsl.cli.printing import say
from mrdsl.cli.solve import exit_code
from mrdsl.contracts.family import Export, Family, kind_words
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import is_standard_output
from mrdsl.core.suggestions import did_you_mean
from mrdsl.families import family as find_family


@click.command()
@shared.spec_options
@click.argument("form")
@shared.solver
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=".",
    help="The folder to write into, made where it is missing; - prints a plan of one file.",
)
@shared.force
def export(form: str, solver: str, output: Path, force: bool, **options: Any) -> int:
    """Solve the spec in FILE, or take the saved plan in it, and write it as FORM, such as `yarn`."""
    from mrdsl.planning.solve_spec import solve as run
    from mrdsl.solving.interruption import kept

    refuse_folder(output)
    opened = open_input(options["file"], options)
    loaded = opened.loaded
    if loaded.spec is None:
        print_diagnostics(loaded.diagnostics, loaded.texts)
        return diagnostics_exit_code(loaded.diagnostics)
    family = find_family(loaded.spec.problem)
    assert family is not None
    writer = _writer(family, form)
    if opened.plan is not None:
        result = opened.plan
    else:
        with kept():
            result = run(loaded.spec, solver)
    print_diagnostics(result.diagnostics, loaded.texts)
    if result.plan is not None:
        inputs = (options["file"], options["data"], *loaded.files)
        _write(_files(writer, loaded.spec, result.plan), output, force, inputs)
    return exit_code(result)


def _write(files: dict[str, str], folder: Path, force: bool, inputs: Iterable[Path | None]) -> None:
    """All files or none, into a folder that is made where it is missing; one file to standard output where asked."""
    from mrdsl.core.writer import Together, make_folder

    if is_standard_output(folder):
        if len(files) > 1:
            raise MrdslError(
                [
                    error(
                        "wrong-option",
                        f"the plan has {len(files)} files: {', '.join(files)}",
                        None,
                        "name a folder for them",
                    )
                ]
            )
        say(next(iter(files.values())), nl=False)
        return
    make_folder(folder)
    Outputs({name: folder / name for name in files}, force).check(*inputs)
    with Together(force=force) as together:
        for name, text in files.items():
            with together.text(folder / name) as stream:
                stream.write(text)
    for name in files:
        say(str(folder / name))


def _files(writer: Export, spec: Any, plan: Any) -> dict[str, str]:
    try:
        return dict(writer.write(spec, plan))
    except ValueError as problem:
        raise MrdslError(
            [
                error(
                    "nothing-to-export",
                    f"the plan has no {writer.name} form: {problem}",
                    spec.span,
                    "`mrdsl solve` shows the plan",
                )
            ]
        ) from None


def _writer(family: Family, form: str) -> Export:
    for writer in family.exports:
        if writer.name == form:
            return writer
    known = [writer.name for writer in family.exports]
    plan = f"{kind_words(family.name)} plan"
    hint = did_you_mean(form, known, "forms: ") or f"{plan} is written by `mrdsl solve --json` only"
    raise MrdslError([error("unknown-form", f"{plan} cannot be written as `{form}`", None, hint)])
