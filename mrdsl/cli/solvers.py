"""``mrdsl solvers``: which there are, what each can do, where it is found, and the line that installs it."""

from __future__ import annotations

from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, SOLVER_FAILED, WRONG_INPUT, print_diagnostics
from mrdsl.cli.outputs import say, say_wrapped
from mrdsl.core.diagnostics import Diagnostic


@click.command()
@click.argument("name", required=False)
@click.option("--check", "try_out", is_flag=True, help="Solve a tiny problem of each kind with each installed solver.")
@shared.as_json
@shared.solver_folder
def solvers(name: str | None, try_out: bool, as_json: bool) -> int:
    """List the solvers and pipelines, or describe NAME."""
    from mrdsl.planning.solver_inventory import entries
    from mrdsl.reporting.document import to_json

    listed, problems = entries(name, try_out)
    if as_json:
        say(to_json({"format": 1, "solvers": listed}), nl=False)
    else:
        for line in _text(listed, name is not None).splitlines():
            say_wrapped(line, 0 if line.startswith(" ") else SUMMARY)
        print_diagnostics(problems, {})
    return _exit_code(listed, problems)


def _exit_code(listed: list[dict[str, Any]], problems: tuple[Diagnostic, ...]) -> int:
    if problems:
        return WRONG_INPUT
    complaints = [entry for entry in listed if entry["complaints"]]
    return SOLVER_FAILED if complaints else PLAN


SUMMARY = 42
"""Columns before the summary of a solver."""


def _text(listed: list[dict[str, Any]], everything: bool) -> str:
    lines = []
    for entry in listed:
        state = entry["version"] or "yes" if entry["installed"] else "not installed"
        lines.append(f"{entry['name']:<24} {state:<16} {entry['summary']}")
        if entry["kind"] == "solver":
            offers = ", ".join(entry["offers"]) or "no more"
            lines.append(f"{'':<24} solves {', '.join(entry['solves'])}; offers {offers}")
        else:
            lines.append(f"{'':<24} serves {', '.join(entry['serves'])}")
        if entry["installed"] and entry["kind"] == "solver":
            lines.append(f"{'':<24} found at {entry['where']}")
        if not entry["installed"] or everything:
            installing = f"install with: {entry['install']}" if entry["install"] else "comes with mrdsl"
            lines.append(f"{'':<24} {installing}")
        if entry["origin"] != "shipped" or everything:
            lines.append(f"{'':<24} declared in {entry['source']} ({entry['origin']})")
        for known in entry["distrust"] if everything else ():
            given = ", ".join(f"{name} {value}" for name, value in known["options"].items())
            lines.append(f"{'':<24} version {known['versions']} is not trusted: {known['reason']}; it gets {given}")
        if entry["checked"]:
            verdict = "passes" if not entry["complaints"] else "fails some of"
            lines.append(f"{'':<24} {verdict}: {', '.join(entry['checked'])}")
        lines.extend(f"{'':<24} ! {complaint}" for complaint in entry["complaints"])
    return "".join(f"{line}\n" for line in lines)
