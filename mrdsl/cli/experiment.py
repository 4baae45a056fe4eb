"""``mrdsl experiment``: studies that one command repeats."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import StoppedError, print_diagnostics
from mrdsl.cli.output_file import OutputFile
from mrdsl.cli.outputs import Outputs, command_line
from mrdsl.cli.printing import say
from mrdsl.core.diagnostics import Diagnostic, Severity
from mrdsl.core.output_folders import refuse_folder


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for plots and tables; default NAME.")
@click.option("--report", type=OutputFile(), help="Write a report of the study, too: a file that ends in .html or .md.")
@shared.force
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Change one of the study's options.")
@shared.processes
@shared.executor
@click.option("--dask", metavar="HOST:PORT", hidden=True, help="Another way to write --executor dask://HOST:PORT.")
def experiment(
    name: str | None,
    output: Path | None,
    report: Path | None,
    force: bool,
    settings: tuple[str, ...],
    processes: int | None,
    executor: str,
    dask: str | None,
) -> None:
    """Run the study NAME, or list all studies."""
    if name is None:
        from mrdsl.planning.studies import known_studies

        for study in known_studies(_warn).values():
            say(f"{study.name}: {study.doc}")
            for option, (default, doc) in study.options.items():
                say(f"    --set {option}={default}: {doc}")
        return
    from mrdsl import api
    from mrdsl.core.writer import claimed, overwriting
    from mrdsl.planning.studies import run_study, settled, study_named
    from mrdsl.reporting.chart_files import collected
    from mrdsl.reporting.charts.rendering import require
    from mrdsl.reporting.study_report import study_report
    from mrdsl.reporting.text import print_tables
    from mrdsl.reporting.written import check_ending, written
    from mrdsl.sweeping.cases import mapper_for, on_dask

    study = study_named(name, _warn)
    folder = output or Path(name)
    options = settled(study, _by_name(settings))
    mapper = mapper_for(study, processes, on_dask(dask) if dask else executor)
    inputs = [Path(value) for value in options.values() if isinstance(value, str)]
    refuse_folder(folder, force=force, inputs=inputs)
    if study.draws:
        require()
    if report is not None:
        check_ending(report)
    outputs = Outputs({"--report": report}, force)
    outputs.check(*inputs)
    tables = []
    with claimed(folder), overwriting(force), collected() as charts, _stopped_as_a_whole():
        for table in run_study(study, folder, api, options, mapper):
            say(print_tables([table]))
            tables.append(table)
    if report is not None:
        found = study_report(study.name, study.doc, charts, tables, options, command_line())
        outputs.write("--report", written(found, report))


def _by_name(settings: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, _, value in (setting.partition("=") for setting in settings)}


def _warn(diagnostics: Iterable[Diagnostic]) -> None:
    print_diagnostics([replace(each, severity=Severity.WARNING) for each in diagnostics], {})


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
