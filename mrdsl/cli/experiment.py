"""``mrdsl experiment``: studies that one command repeats."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import StoppedError, print_diagnostics
from mrdsl.cli.outputs import OutputFile, Outputs, command_line, refuse_folder
from mrdsl.contracts.family import Experiment
from mrdsl.core.diagnostics import MrdslError, Severity, error
from mrdsl.core.suggestions import did_you_mean
from mrdsl.families import family, family_names


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for plots and tables; default NAME.")
@click.option("--report", type=OutputFile(), help="Write a report of the study, too: a file that ends in .html or .md.")
@shared.force
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Change one of the study's options.")
def experiment(
    name: str | None, output: Path | None, report: Path | None, force: bool, settings: tuple[str, ...]
) -> None:
    """Run the study NAME, or list all studies."""
    known = {study.name: study for kind in family_names() for study in _studies(kind)}
    if name is None:
        for study in known.values():
            click.echo(f"{study.name}: {study.doc}")
            for option, (default, doc) in study.options.items():
                click.echo(f"    --set {option}={default}: {doc}")
        return
    if name not in known:
        raise MrdslError(
            [error("unknown-experiment", f"there is no study `{name}`", None, did_you_mean(name, known, "studies: "))]
        )
    from mrdsl import api
    from mrdsl.core.writer import claimed, overwriting
    from mrdsl.planning.studies import run_study
    from mrdsl.reporting.chart_files import collected
    from mrdsl.reporting.charts.rendering import require
    from mrdsl.reporting.study_report import study_report
    from mrdsl.reporting.text import print_tables
    from mrdsl.reporting.written import check_ending, written

    study = known[name]
    folder = output or Path(name)
    options = _options(study, settings)
    refuse_folder(folder, force=force, inputs=[Path(value) for value in options.values() if isinstance(value, str)])
    if study.draws:
        require()
    if report is not None:
        check_ending(report)
    outputs = Outputs({"--report": report}, force)
    outputs.check()
    tables = []
    with claimed(folder), overwriting(force), collected() as charts, _stopped_as_a_whole():
        for table in run_study(study, folder, api, options):
            click.echo(print_tables([table]))
            tables.append(table)
    if report is not None:
        found = study_report(study.name, study.doc, charts, tables, options, command_line())
        outputs.write("--report", written(found, report))


@contextmanager
def _stopped_as_a_whole() -> Iterator[None]:
    """While it lasts, Ctrl-C ends the study, not the solve that runs; who called has its own handler back."""
    before = signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame: object) -> None:
    raise StoppedError


def _studies(kind: str) -> tuple[Experiment, ...]:
    try:
        named = family(kind)
    except MrdslError as broken:
        print_diagnostics([replace(named, severity=Severity.WARNING) for named in broken.diagnostics], {})
        return ()
    return named.experiments if named is not None else ()


def _options(study: Experiment, settings: tuple[str, ...]) -> dict[str, Any]:
    values = {option: default for option, (default, _) in study.options.items()}
    for setting in settings:
        option, _, text = setting.partition("=")
        if option not in values:
            raise MrdslError(
                [
                    error(
                        "wrong-option",
                        f"the study `{study.name}` has no option `{option}`",
                        None,
                        did_you_mean(option, values, "options: ") or "it has none",
                    )
                ]
            )
        default = values[option]
        try:
            values[option] = text if default is None or isinstance(default, str) else type(default)(text)
        except ValueError:
            raise MrdslError(
                [
                    error(
                        "wrong-option",
                        f"`{text}` is no value for `{option}`",
                        None,
                        f"write it like `--set {option}={default}`",
                    )
                ]
            ) from None
    return values
