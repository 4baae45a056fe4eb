"""``mrdsl predict``: from logs to the times of their jobs on other numbers of slots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.outputs import OutputFile, Outputs, say, say_tables
from mrdsl.cli.progress import bytes_read
from mrdsl.core.diagnostics import one_error
from mrdsl.spec.declared import SEED

if TYPE_CHECKING:
    from mrdsl.families.capacity.facts import VmType


@click.command()
@click.argument("paths", nargs=-1, metavar="LOGS...")
@click.option("--slots", metavar="K,...", help="Numbers of slots; default: a quarter to four times those in the logs.")
@click.option("--executors", metavar="N,...", help="Numbers of executors of the size in the logs.")
@click.option("--deadline", callback=shared.seconds, metavar="T", help="Find the fewest slots whose mean meets T.")
@click.option("--catalogue", type=click.Path(path_type=Path), help="VM types, to compare costs.")
@click.option("--by", default="name", show_default=True, help="Group jobs by name, queue, user, tasks or a pattern.")
@click.option("--seed", type=shared.Count(SEED), default=0, show_default=True, help="Seed of the intervals.")
@click.option("--spec", type=OutputFile(), help="Write the jobs as a spec of bounds.")
@click.option("--plot", type=OutputFile(), help="Draw the times by slots (.svg, .png, .html).")
@click.option("--allow-outside", is_flag=True, help="Follow links that lead outside the log folders.")
@shared.as_json
@shared.json_file
@shared.force
def predict(
    paths: tuple[str, ...],
    slots: str | None,
    executors: str | None,
    deadline: float | None,
    catalogue: Path | None,
    by: str,
    seed: int,
    spec: Path | None,
    plot: Path | None,
    allow_outside: bool,
    as_json: bool,
    output: Path | None,
    force: bool,
) -> int:
    """Predict the times of the jobs in LOGS on other numbers of slots, from the tasks of their runs."""
    from mrdsl.api import predict as run
    from mrdsl.api import profile, vm_types
    from mrdsl.reporting.document import to_json

    outputs = Outputs({"-o": output, "--spec": spec, "--plot": plot}, force, as_json)
    outputs.check(*(Path(path) for path in paths if path != "-" and Path(path).is_file()), catalogue)
    if not paths:
        hint = "for example, `mrdsl predict logs/ --slots 4,8,16`"
        raise one_error("no-logs", "`predict` needs at least one log file or folder", None, hint)
    counts = {"--slots": _counts("--slots", slots), "--executors": _counts("--executors", executors)}
    if plot is not None:
        from mrdsl.reporting.report_files import check_form

        check_form(plot)
    vms: tuple[VmType, ...] = ()
    if catalogue is not None:
        from mrdsl.api.own_specs import catalogue_reader
        from mrdsl.families.capacity.facts import CapacityFacts

        vms = vm_types(catalogue, "require { cores >= 1 }", reader=catalogue_reader(catalogue, CapacityFacts) or None)
    profiles = profile(paths, by=by, seed=seed, allow_outside=allow_outside, watch=bytes_read)
    print_diagnostics(profiles.diagnostics, {})
    found = run(
        profiles, slots=counts["--slots"], executors=counts["--executors"], deadline=deadline, vms=vms, seed=seed
    )
    if spec is not None:
        outputs.write("--spec", profiles.to_mrspec("bounds"))
    if plot is not None:
        from mrdsl.reporting.report_files import write_chart

        write_chart(plot, found.charts[0], force=force)
    if outputs.to_standard_output is None:
        outputs.write("-o", to_json(found.document()))
    if as_json or (output is not None and outputs.to_standard_output == "-o"):
        say(to_json(found.document()), nl=False)
    elif outputs.to_standard_output is None:
        say_tables(found.readable())
    return 0


def _counts(option: str, text: str | None) -> tuple[int, ...]:
    """Return whole numbers that commas separate. Raises MrdslError."""
    found = [] if text is None else [part.strip() for part in text.split(",")]
    wrong = next((part for part in found if not part.isascii() or not part.isdecimal() or len(part) > 9), None)
    if wrong is not None or text == "":
        message = f"`{option}` must be whole numbers, got `{wrong or ''}`"
        raise one_error("wrong-option", message, None, f"for example, `{option} 4,8,16`")
    return tuple(map(int, found))
