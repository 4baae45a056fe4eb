"""Runs a study into a folder: options, tables and manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mrdsl.core.diagnostics import MrdslError, did_you_mean, error
from mrdsl.core.result import Table
from mrdsl.core.watching import work
from mrdsl.core.writer import claimed, overwriting
from studies.cases import Mapper, mapper_for
from studies.catalogue import STUDIES, Study
from studies.study_files import StudyFolder


def study_named(name: str) -> Study:
    """Return the study of a name, with `_` or `-`. Raises MrdslError ``unknown-experiment`` if there is none."""
    name = name if name in STUDIES else name.replace("_", "-")
    if name not in STUDIES:
        hint = did_you_mean(name, STUDIES, "studies: ")
        raise MrdslError([error("unknown-experiment", f"there is no study `{name}`", None, hint)])
    return STUDIES[name]


def settled(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a study with what is given, as values or as texts. Raises MrdslError ``wrong-option``."""
    values = {option: default for option, (default, _) in study.options.items()}
    for option, value in given.items():
        if option not in values:
            message = f"the study `{study.name}` has no option `{option}`"
            hint = did_you_mean(option, values, "options: ") or "it has none"
            raise MrdslError([error("wrong-option", message, None, hint)])
        default = values[option]
        try:
            values[option] = value if default is None or isinstance(default, str) else type(default)(value)
        except (TypeError, ValueError):
            hint = f"write it like `--set {option}={default}`"
            raise MrdslError([error("wrong-option", f"`{value}` is no value for `{option}`", None, hint)]) from None
    return values


def reproduce(
    name: str,
    output: str | Path | None = None,
    *,
    force: bool = False,
    processes: int | None = None,
    executor: str = "processes",
    **options: Any,
) -> tuple[Table, ...]:
    """Run a study into a folder and return its tables.

    Args:
        name: Name of the study.
        output: Folder for plots and tables; by default the name.
        force: True to overwrite what the folder holds.
        processes: Number of processes that share the cases of a study that goes `by_cases`.
        executor: `"processes"`, or `"dask://HOST:PORT"`.
        options: Options of the study, as `python -m studies` lists them.

    Returns:
        The tables in order.

    Raises:
        MrdslError: The study or an option is unknown, or the study has no cases to share.
    """
    study = study_named(name)
    values = settled(study, options)
    mapper = mapper_for(study, processes, executor)
    folder = Path(output or name)
    with claimed(folder), overwriting(force):
        return tuple(run_study(study, folder, values, mapper))


def run_study(study: Study, folder: Path, options: Mapping[str, Any], mapper: Mapper | None = None) -> Iterator[Table]:
    """Runs a study into a folder that is there, and hands on its tables as they come.

    Each is a CSV file when it is handed on. ``manifest.json`` stands there at the end, also of a run that was stopped,
    which it says. ``mapper`` goes through the cases of a study that goes by them.
    """
    kept = StudyFolder(folder, study.name, study.doc, options)
    complete = False
    try:
        tables = iter(study.run(folder, **options, **({} if mapper is None else {"mapper": mapper})))
        while True:
            with work(f"{study.name}, table {len(kept.tables) + 1}"):
                table = next(tables, None)
            if table is None:
                break
            yield kept.keep(table)
        complete = True
    finally:
        kept.end(complete)
