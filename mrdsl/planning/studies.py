"""The studies of the families: which there are, and one of them run into a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mrdsl.contracts.family import Experiment
from mrdsl.contracts.study import Bench, Mapper
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.resources import resource
from mrdsl.core.result import Table
from mrdsl.core.suggestions import did_you_mean
from mrdsl.core.watching import work
from mrdsl.families import family, family_names
from mrdsl.reporting.study_folder import StudyFolder

Tell = Callable[[Iterable[Diagnostic]], None]


def known_studies(tell: Tell = lambda _: None) -> Mapping[str, Experiment]:
    """The studies of all families by name; why a family of somebody else cannot be read is told."""
    found: dict[str, Experiment] = {}
    for kind in family_names():
        try:
            named = family(kind)
        except MrdslError as broken:
            tell(broken.diagnostics)
            continue
        found.update({study.name: study for study in (named.experiments if named is not None else ())})
    return found


def study_files() -> Mapping[str, Path]:
    """The study files that come with mrdsl by name, family by family, beside the models that they run."""
    return {path.stem: path for path in sorted(resource("models").glob("*/*.toml"))}


def study_named(name: str, tell: Tell = lambda _: None) -> Experiment:
    """The study of a name. Raises MrdslError ``unknown-experiment``."""
    known = known_studies(tell)
    if name not in known:
        hint = f"it is a file: mrdsl study {name}" if name in study_files() else did_you_mean(name, known, "studies: ")
        raise MrdslError([error("unknown-experiment", f"there is no study `{name}`", None, hint)])
    return known[name]


def settled(study: Experiment, given: Mapping[str, Any]) -> dict[str, Any]:
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


def run_study(
    study: Experiment, folder: Path, bench: Bench, options: Mapping[str, Any], mapper: Mapper | None = None
) -> Iterator[Table]:
    """Runs a study into a folder that is there, and hands on its tables as they come.

    Each is a CSV file when it is handed on. ``manifest.json`` stands there at the end, also of a run that was stopped,
    which it says. ``mapper`` goes through the cases of a study that goes by them.
    """
    kept = StudyFolder(folder, study.name, study.doc, options)
    complete = False
    try:
        tables = iter(study.run(folder, bench, **options, **({} if mapper is None else {"mapper": mapper})))
        while True:
            with work(f"{study.name}, table {len(kept.tables) + 1}"):
                table = next(tables, None)
            if table is None:
                break
            yield kept.keep(table)
        complete = True
    finally:
        kept.end(complete)
