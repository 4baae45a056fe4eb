"""Commands on solvers and plug-ins, and on specs to start from: `solvers`, `check-plugin` and `new`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, SOLVER_FAILED, WRONG_INPUT, print_diagnostics
from mrdsl.cli.outputs import OutputFile, Outputs, say, say_file, say_wrapped
from mrdsl.core.diagnostics import Diagnostic, MrdslError, did_you_mean, one_error
from mrdsl.core.reading import is_standard_output
from mrdsl.families import family_names, reference_text, summary

if TYPE_CHECKING:
    from mrdsl.solving.declaration import SolverFile


@click.command()
@click.argument("name", required=False)
@click.option("--check", "try_out", is_flag=True, help="Solve a tiny problem of each kind with each installed solver.")
@shared.as_json
@shared.solver_folder
def solvers(name: str | None, try_out: bool, as_json: bool) -> int:
    """List the solvers and pipelines, or describe NAME."""
    from mrdsl.reporting.document import to_json

    listed, problems = entries(name, try_out)
    if as_json:
        say(to_json({"format": 1, "solvers": listed}), nl=False)
    else:
        for line in _text(listed, name is not None).splitlines():
            say_wrapped(line, 0 if line.startswith(" ") else SUMMARY)
        print_diagnostics(problems, {})
    return _exit_code(listed, problems)


def entries(name: str | None = None, try_out: bool = False) -> tuple[list[dict[str, Any]], tuple[Diagnostic, ...]]:
    """Return one entry per solver or pipeline, solvers first, and the diagnostics of the files that cannot be read.

    With ``try_out`` every installed solver solves the cases of each kind in its file, and models of the families
    of these kinds. Raises MrdslError if ``name`` is unknown.
    """
    from mrdsl.solving import registry

    problems: list[Diagnostic] = []
    declared: list[SolverFile] = []
    for known in [name] if name is not None else registry.names():
        try:
            declared.append(registry.find(known))
        except MrdslError as mistake:
            if name is not None:
                raise
            problems.extend(mistake.diagnostics)
    declared.sort(key=lambda solver: solver.is_pipeline)
    return [_entry(solver, try_out) for solver in declared], tuple(problems)


def _entry(solver: SolverFile, try_out: bool) -> dict[str, Any]:
    from mrdsl.solving import registry

    place = registry.where(solver)
    checked, complaints = _try_out(solver) if try_out and place and not solver.is_pipeline else ([], [])
    return {
        "name": solver.name,
        "kind": solver.kind,
        "title": solver.title or solver.name,
        "summary": solver.summary,
        "installed": place is not None,
        "version": registry.version(solver) if place else None,
        "where": place,
        "solves": list(solver.solves),
        "offers": list(solver.offers),
        "serves": list(solver.pipelines),
        "install": solver.install,
        "homepage": solver.homepage,
        "source": solver.source,
        "origin": solver.origin,
        "distrust": [
            {"versions": d.versions, "kinds": list(d.kinds), "reason": d.reason, "options": dict(d.options)}
            for d in solver.distrust
        ],
        "checked": checked,
        "complaints": complaints,
    }


def _try_out(solver: SolverFile) -> tuple[list[str], list[str]]:
    from mrdsl.planning import solver_contract as contract

    cases = [case for case in contract.CASES if case.kind in solver.solves]
    told = [text for case in cases for text in contract.complaints(solver, case)]
    real = [case for case in contract.real_models() if case.kind in solver.solves]
    told += [text for case in real for text in contract.complaints_of_real(solver, case)]
    return list(dict.fromkeys([*(case.kind for case in cases), *(case.family for case in real)])), told


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


@click.command("check-plugin")
@click.argument("folder", type=click.Path(path_type=Path))
@shared.as_json
def check_plugin(folder: Path, as_json: bool) -> int:
    """Run the solvers, pipelines and families that FOLDER declares on real models, and report their faults.

    The code in FOLDER is run: check what you trust.
    """
    from mrdsl.extending import check_plugin as checked
    from mrdsl.reporting.diagnostics import as_document
    from mrdsl.reporting.document import to_json

    report = checked(folder)
    if as_json:
        tried = [
            {"what": one.what, "complaints": [as_document(each) for each in one.complaints]} for one in report.checked
        ]
        say(to_json({"format": 1, "passes": report.passes, "checked": tried}), nl=False)
    else:
        say(str(report), nl=False)
        print_diagnostics(report.complaints, {})
    return PLAN if report.passes else SOLVER_FAILED


@click.command()
@click.argument("family", required=False)
@click.option(
    "--catalogue", "vms", type=click.Path(path_type=Path), metavar="FILE", help="Catalogue of VM types for the spec."
)
@click.option(
    "--class-table",
    "classes",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV file of classes for the spec.",
)
@click.option("--logs", multiple=True, metavar="PATH", help="Logs whose jobs are the classes of the spec. Repeatable.")
@click.option("-o", "--output", type=OutputFile(), help="Output file; - prints the spec.")
@shared.force
@shared.solver_folder
def new(
    family: str | None,
    vms: Path | None,
    classes: Path | None,
    logs: tuple[str, ...],
    output: Path | None,
    force: bool,
) -> None:
    """Print a commented spec of a problem FAMILY.

    With your own files, print a spec that reads them, and report what it lacks. On a terminal, ask for the files; an
    empty answer leaves one out. Without arguments, list the families.
    """
    if family is None:
        for known in family_names():
            say_wrapped(f"{known}: {summary(known)}")
        return
    text = _reference(family)
    if not (vms or classes or logs) and asks():
        vms, classes, logs = _answers(family)
    if vms or classes or logs:
        _own_spec(family, output, force, vms, classes, logs)
    else:
        _write(text, output, force)


def asks() -> bool:
    """Return True if a user can answer: the command is on a terminal, and its output is not kept in a file."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _answers(family: str) -> tuple[Path | None, Path | None, tuple[str, ...]]:
    """Ask for the files that a spec of a family can read: VM types, classes, or logs in place of classes."""
    from mrdsl.api.own_specs import reads

    known = reads(family)
    vms = _answer("Catalogue of VM types (file)") if "vm" in known else ""
    classes = _answer("CSV table of classes (file)") if "class" in known else ""
    logs = _answer("Logs of jobs (file or folder)") if "logs" in known and not classes else ""
    return Path(vms) if vms else None, Path(classes) if classes else None, (logs,) if logs else ()


def _answer(question: str) -> str:
    answer: str = click.prompt(f"{question}, empty for none", default="", show_default=False, err=True)
    return answer.strip()


def _own_spec(
    family: str, output: Path | None, force: bool, vms: Path | None, classes: Path | None, logs: tuple[str, ...]
) -> None:
    from mrdsl.api.own_specs import own_spec
    from mrdsl.cli.boundary import print_diagnostics
    from mrdsl.language.loading import load_text

    Outputs({"-o": output}, force).check(vms, classes)
    folder = Path.cwd() if output is None or is_standard_output(output) else output.parent
    text = own_spec(family, folder, vms, classes, logs)
    _write(text, output, force)
    found = load_text(text, folder=folder, outside=True)
    print_diagnostics(found.diagnostics, found.texts)


def _write(text: str, output: Path | None, force: bool) -> None:
    outputs = Outputs({"-o": output}, force)
    outputs.check()
    if output is None:
        say_file(text)
    outputs.write("-o", text)


def _reference(family: str) -> str:
    text = reference_text(family)
    if text is None:
        names = family_names()
        raise one_error(
            "unknown-problem",
            f"unknown problem kind `{family}`"
            if family not in names
            else f"problem kind `{family}` has no reference spec",
            None,
            did_you_mean(family, [name for name in names if name != family], "kinds: "),
        )
    return text
