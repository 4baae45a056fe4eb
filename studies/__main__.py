"""`python -m studies`: list or run the reproductions of the papers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import StoppedError
from mrdsl.cli.boundary import run as run_command
from mrdsl.cli.outputs import OutputFile, Outputs, command_line, say
from mrdsl.core.tables import print_tables
from mrdsl.core.writer import claimed, overwriting, refuse_folder
from mrdsl.reporting.charts.rendering import require
from mrdsl.reporting.report_files import check_ending, collected, written
from studies.cases import mapper_for, on_dask
from studies.catalogue import STUDIES
from studies.running import run_study, settled, study_named
from studies.study_files import study_report


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for plots and tables; default NAME.")
@click.option("--report", type=OutputFile(), help="Also write a report, .html or .md.")
@shared.force
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Change one of the study's options.")
@shared.processes
@shared.executor
@click.option("--dask", metavar="HOST:PORT", hidden=True, help="Another way to write --executor dask://HOST:PORT.")
def studies(
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
        for each in STUDIES.values():
            say(f"{each.name}: {each.doc}")
            for option, (default, doc) in each.options.items():
                say(f"    --set {option}={default}: {doc}")
        return
    study = study_named(name)
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
        for table in run_study(study, folder, options, mapper):
            say(print_tables([table]))
            tables.append(table)
    if report is not None:
        found = study_report(study.name, study.doc, charts, tables, options, command_line())
        outputs.write("--report", written(found, report))


def _by_name(settings: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, _, value in (setting.partition("=") for setting in settings)}


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


if __name__ == "__main__":
    sys.exit(run_command(studies))
