"""``mrdsl export``: a plan as files that other programs take over."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import diagnostics_exit_code, print_briefly, print_diagnostics
from mrdsl.cli.inputs import open_input, solve_command
from mrdsl.cli.outputs import Outputs, say, say_file, say_wrapped, terminal_width
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, one_error
from mrdsl.core.output_names import is_standard_output
from mrdsl.core.result import Limits
from mrdsl.exchange.registry import STARTS, TARGETS, names
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
