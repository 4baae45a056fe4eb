"""Commands on logs: `profile`, from a folder of logs to a spec, and `predict`, to the times of jobs on other slots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.outputs import OutputFile, Outputs, say, say_tables
from mrdsl.cli.progress import bytes_read
from mrdsl.core.arguments import written_number
from mrdsl.core.diagnostics import one_error
from mrdsl.spec.declared import SEED

if TYPE_CHECKING:
    from mrdsl.families.capacity.facts import VmType
    from mrdsl.profiling.profiles import Profiles


@click.command()
@click.argument("paths", nargs=-1, metavar="LOGS...", type=click.Path())
@click.option("-o", "--output", type=OutputFile(), help="Output file for the spec; - prints it.")
@click.option(
    "--family",
    help="timetable, capacity, joint, bounds, makespan, energy, schedule; default: timetable if jobs start at "
    "different times, otherwise capacity.",
)
@click.option(
    "--by", default="name", show_default=True, help="Group jobs into classes by name, queue, user, tasks or a pattern."
)
@click.option("--cluster", is_flag=True, help="Group jobs by duration and size (needs scikit-learn).")
@click.option("--classes", type=shared.Whole(), help="Number of clusters; default: chosen from the data.")
@click.option("--max", "longest", default="max", show_default=True, help="Maximum of task times: max or p95.")
@click.option("--sort", default="reduce", show_default=True, help="Phase that includes sort time: reduce or shuffle.")
@click.option("--seed", type=shared.Count(SEED), default=0, show_default=True, help="Seed of the clustering.")
@click.option("--jobs", "job_table", type=OutputFile(), help="Write one row per MapReduce job, as CSV.")
@click.option("--stages", "stage_table", type=OutputFile(), help="Write one row per Spark stage, as CSV.")
@click.option("--profiles", "class_table", type=OutputFile(), help="Write one row per class, as CSV.")
@click.option("--arrivals", "arrival_table", type=OutputFile(), help="Write the jobs as CSV for `arrivals from`.")
@click.option("--samples", type=click.Path(path_type=Path, file_okay=False), help="Folder for recorded task times.")
@click.option("--price", help='Price of one VM, such as "0.20 USD/h".')
@click.option(
    "--on", nargs=2, multiple=True, metavar="TYPE LOGS", help="Logs from another machine type, for `on TYPE`."
)
@click.option(
    "--split",
    "share",
    metavar="SHARE",
    help="Learn from the first SHARE of the time (such as 80%) and predict the rest.",
)
@click.option("--report", "findings", is_flag=True, help="List causes of long runs, with figure, threshold and cost.")
@click.option("--replay", is_flag=True, help="Repeat each Spark run in the engine and compare it with its log.")
@click.option("--allow-outside", is_flag=True, help="Follow links that lead outside the log folders.")
@click.option("--strict", is_flag=True, help="Fail if a log lost events that the others do not determine.")
@shared.force
def profile(
    paths: tuple[str, ...],
    output: Path | None,
    family: str | None,
    by: str,
    cluster: bool,
    classes: int | None,
    longest: str,
    sort: str,
    seed: int,
    job_table: Path | None,
    stage_table: Path | None,
    class_table: Path | None,
    arrival_table: Path | None,
    samples: Path | None,
    price: str | None,
    on: tuple[tuple[str, str], ...],
    share: str | None,
    findings: bool,
    replay: bool,
    allow_outside: bool,
    strict: bool,
    force: bool,
) -> int:
    """Read the job histories, traces and event logs in LOGS and write a spec with their numbers."""
    from mrdsl.api import profile as run
    from mrdsl.profiling.findings import findings_table
    from mrdsl.profiling.replay import replay_table
    from mrdsl.profiling.report import report
    from mrdsl.profiling.split import split_tables

    named = {"-o": output, "--jobs": job_table, "--stages": stage_table, "--profiles": class_table}
    outputs = Outputs({**named, "--arrivals": arrival_table}, force)
    if samples is not None:
        from mrdsl.core.writer import refuse_folder

        refuse_folder(samples)
    outputs.check(*(Path(path) for path in paths if path != "-" and Path(path).is_file()))
    if not paths:
        raise one_error(
            "no-logs",
            "`profile` needs at least one log file or folder",
            None,
            "for example, `mrdsl profile logs/ -o night.mrspec`",
        )
    if output is None and (family is not None or on):
        name = "--family" if family is not None else "--on"
        raise one_error("wrong-option", f"`{name}` requires `-o`", None, f"add `-o night.mrspec`, or remove `{name}`")
    split_at = None if share is None else _share(share)
    options: dict[str, Any] = {
        "by": by,
        "classes": classes,
        "cluster": cluster,
        "seed": seed,
        "longest": longest,
        "sort": sort,
        "allow_outside": allow_outside,
        "strict": strict,
    }
    _check_types(on, cluster or classes is not None)
    profiles = run(paths, **options, price=price, watch=bytes_read)
    others = {name: run([logs], **options, watch=bytes_read) for name, logs in on}
    for read in (profiles, *others.values()):
        print_diagnostics(read.diagnostics, {})
    _write_tables(profiles, outputs)
    if samples is not None:
        _write_samples(profiles, samples, force, paths)
    if output is not None:
        outputs.write("-o", _spec(profiles, family, output, arrival_table, samples, others))
    if outputs.to_standard_output is None:
        shown = [*report(profiles)] if split_at is None else [*split_tables(profiles.split(split_at, seed))]
        if findings or replay:
            shown = [findings_table(profiles.gathered)] if findings else []
            shown += [replay_table(profiles.replay())] if replay else []
        say_tables(shown)
    return 0


def _write_tables(profiles: Profiles, outputs: Outputs) -> None:
    from mrdsl.core.csv_text import csv_text
    from mrdsl.profiling import report as tables

    rows: dict[str, Callable[[], tuple[Sequence[str], Iterable[Sequence[Any]]]]] = {
        "--jobs": lambda: (tables.JOB_COLUMNS, tables.job_rows(profiles.jobs)),
        "--stages": lambda: (tables.STAGE_COLUMNS, tables.stage_rows(profiles.applications)),
        "--profiles": lambda: tables.class_table(profiles.classes),
        "--arrivals": lambda: (tables.ARRIVAL_COLUMNS, tables.arrival_rows(profiles.gathered.jobs)),
    }
    for option, table in rows.items():
        if outputs.files[option] is not None:
            outputs.write(option, csv_text(*table()))


def _write_samples(profiles: Profiles, folder: Path, force: bool, logs: tuple[str, ...]) -> None:
    from mrdsl.core.writer import Together
    from mrdsl.profiling.report import sample_files

    files = sample_files(profiles.gathered)
    with Together(force=force) as together:
        together.folder(folder)
        Outputs({name: folder / name for name in files}, force).check(*(Path(log) for log in logs))
        for name, text in files.items():
            with together.text(folder / name) as stream:
                stream.write(text)


def _check_types(on: Sequence[tuple[str, str]], clustered: bool) -> None:
    """Check that types have distinct names, and that names of classes mean the same in all logs. Raises MrdslError."""

    names = ["machine", *(name for name, _ in on)]
    twice = next((name for name in names if names.count(name) > 1 or name in ("", "one")), None)
    if twice is not None:
        message = f"machine type `{twice}` is already in use"
        hint = "`machine` is the type of LOGS; give each `--on` another name, such as `--on r5 logs-r5/`"
        raise one_error("wrong-option", message, None, hint)
    if on and clustered:
        message = "`--cluster` names the classes differently for each machine type, so it does not work with `--on`"
        raise one_error("wrong-option", message, None, "remove `--cluster` and `--classes`, or `--on`")


def _spec(
    profiles: Profiles,
    family: str | None,
    output: Path,
    arrivals: Path | None,
    samples: Path | None,
    on: Mapping[str, Profiles],
) -> str:

    if not profiles.classes and not profiles.stage_classes:
        message = "no job or application in these logs can be profiled"
        raise one_error("no-classes", message, None, _reasons(profiles))
    try:
        if family != "schedule":
            return profiles.to_mrspec(
                family, samples=None if samples is None else os.path.relpath(samples, output.parent), on=on
            )
        if on:
            raise ValueError(
                "`--family schedule` does not support `--on`: its jobs come from a table without machine types"
            )
        if arrivals is None:
            message, hint = "`--family schedule` requires `--arrivals`", "add `--arrivals jobs.csv`"
            raise one_error("wrong-option", message, None, hint)
        return profiles.to_schedule(os.path.relpath(arrivals, output.parent))
    except ValueError as problem:
        raise one_error("wrong-option", str(problem), None, "write --family capacity") from None


MOST_REASONS = 3
"""Reasons for runs without a profile that an error lists, at most."""


def _reasons(profiles: Profiles) -> str:
    """Return why runs were left out, the most frequent reasons first."""
    from collections import Counter

    reasons = Counter(each.reason for each in profiles.left_out).most_common(MOST_REASONS)
    if not reasons:
        return "take logs of jobs that ran"
    return "left out: " + "; ".join(f"{reason} ({count})" if count > 1 else reason for reason, count in reasons)


def _share(text: str) -> float:
    """Return a part of the time: ``80%`` or ``0.8``."""

    number = text.strip().removesuffix("%")
    try:
        share = written_number(number) / (100.0 if text.strip().endswith("%") else 1.0)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise one_error(
            "wrong-option",
            f"invalid value `{text}` for `--split`: expected a share between 0% and 100%",
            None,
            "for example, `--split 80%`",
        )
    return share


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
