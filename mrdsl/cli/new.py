"""``mrdsl new``: a commented spec to start from, or a folder of a plug-in that runs."""

from __future__ import annotations

from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.output_file import OutputFile
from mrdsl.cli.outputs import Outputs
from mrdsl.cli.printing import say, say_file
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import is_standard_output
from mrdsl.core.suggestions import did_you_mean
from mrdsl.families import KITS, family_names, reference_text, summary


@click.command()
@click.argument("kind", metavar="FAMILY|KIND", required=False)
@click.argument("name", required=False)
@click.option("-o", "--output", type=OutputFile(), help="Write to a file, or a plug-in to a folder; - prints a spec.")
@shared.force
@shared.solver_folder
def new(kind: str | None, name: str | None, output: Path | None, force: bool) -> None:
    """Print a commented spec of a problem FAMILY, or write a folder NAME that holds a plug-in of a KIND and runs.

    Without arguments, list the families and the kinds.
    """
    if kind is None:
        for known in family_names():
            say(f"{known}: {summary(known)}")
        for known, what in KITS.items():
            say(f"{known} NAME: a folder to begin with: {what}")
    elif kind in KITS:
        _plugin(kind, name, output, force)
    elif name is not None:
        hint = did_you_mean(kind, list(KITS), "kinds of plug-ins: ")
        raise MrdslError([error("wrong-option", f"`{kind} {name}`: there is no plug-in of that kind", None, hint)])
    else:
        _spec(kind, output, force)


def _spec(family: str, output: Path | None, force: bool) -> None:
    text = reference_text(family)
    if text is None:
        names = family_names()
        raise MrdslError(
            [
                error(
                    "unknown-problem",
                    f"there is no problem kind `{family}`"
                    if family not in names
                    else f"`{family}` has no spec to start from",
                    None,
                    did_you_mean(family, [*(name for name in names if name != family), *KITS], "kinds: "),
                )
            ]
        )
    outputs = Outputs({"-o": output}, force)
    outputs.check()
    if output is None:
        say_file(text)
    outputs.write("-o", text)


def _plugin(kind: str, name: str | None, output: Path | None, force: bool) -> None:
    from mrdsl.core.output_folders import refuse_folder
    from mrdsl.extending.kits import kit, write

    if name is None:
        raise MrdslError([error("wrong-option", f"a {kind} needs a name", None, f"write `mrdsl new {kind} NAME`")])
    files = kit(kind, name)
    folder = Path(name) if output is None else output
    if is_standard_output(folder):
        raise MrdslError([error("wrong-option", "`-o -`: a plug-in is a folder", None, "name a folder")])
    refuse_folder(folder, force=force)
    write(files, folder, force=force)
    say(f"wrote {folder}: {', '.join(files)}", err=True)
    say(f"try it with: mrdsl check-plugin {folder}", err=True)
