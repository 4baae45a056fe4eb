"""Runs of a study in order: specs found and checked, requested tables checked, every combination once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, MrdslError, did_you_mean, error, in_order
from mrdsl.core.reading import FOLDER, problem_of, shown_name
from mrdsl.core.result import Limits
from mrdsl.core.toml_text import Path as Place
from mrdsl.core.toml_text import TomlText
from mrdsl.core.version import __version__
from mrdsl.language.loading import load_file
from mrdsl.language.resolving import Loaded
from mrdsl.solving.declaration import SolverFile
from mrdsl.spec.spec import Spec
from mrdsl.sweeping.cells import Axis
from mrdsl.sweeping.study.declaration import BEST, BOUND, Design, Method, Names, Pivot, Profile, Study, names_of
from mrdsl.sweeping.study.runs import COLUMNS, Sources, StudyRun
from mrdsl.sweeping.study.tables import PARAM, PLAN, Rows, column_of, columns, number


def axes_of(designs: Sequence[Design]) -> dict[str, Axis]:
    """Return every param with all its values, whatever runs have them: so that a column has one head."""
    values: dict[str, dict[str, None]] = {}
    for design in designs:
        for axis in design.params:
            values.setdefault(axis.name, {}).update(dict.fromkeys(axis.values))
    return {name: Axis(name, tuple(listed)) for name, listed in values.items()}


def unknown_column_mistakes(
    parts: Sequence[Pivot | Profile], designs: Sequence[Design], text: TomlText
) -> list[Diagnostic]:
    """Return columns and methods that no run of a part will have. The columns of plans are known only after
    some runs.
    """
    axes, names = axes_of(designs), names_of(designs)
    found: list[Diagnostic] = []
    for part in parts:
        own = [design for design in designs if part.runs in ("", design.name)]
        params = dict.fromkeys(PARAM + axes[axis.name].head for design in own for axis in design.params)
        named = ("runs",) if any(design.name for design in own) else ()
        found += _unknown_columns(part, (*named, *COLUMNS, *params), text)
        if isinstance(part, Pivot) and own:
            methods = dict.fromkeys(
                names[method.label, limits] for design in own for limits in design.limits for method in design.methods
            )
            found += _unknown_method(part, (*methods, BEST, BOUND), text)
    return found


def plan_mistakes(parts: Sequence[Pivot | Profile], rows: Rows, text: TomlText) -> list[Diagnostic]:
    """Return columns of plans that no plan has; empty if there is no plan at all."""
    known = columns(rows)
    if not any(number(row.get(name)) is not None for name in known if name.startswith(PLAN) for row in rows):
        return []
    asked = ((part, key, getattr(part, key)) for part in parts for key in _keys(part))
    return [_no_column(part, key, known, text) for part, key, name in asked if _is_of_plans(name) and name not in known]


def _unknown_columns(part: Pivot | Profile, known: Sequence[str], text: TomlText) -> Iterator[Diagnostic]:
    for key in _keys(part):
        name = getattr(part, key)
        is_known = name in known if isinstance(part, Profile) else column_of(name, known) is not None
        if name and not _is_of_plans(name) and not is_known:
            yield _no_column(part, key, known, text)


def _keys(part: Pivot | Profile) -> tuple[str, ...]:
    """Return the keys that name columns."""
    return ("measure",) if isinstance(part, Profile) else ("rows", "columns", "value", "share_of")


def _is_of_plans(name: str) -> bool:
    return name.startswith(PLAN)


def _no_column(part: Pivot | Profile, key: str, known: Sequence[str], text: TomlText) -> Diagnostic:
    name = getattr(part, key)
    hint = did_you_mean(name, known, "columns: ")
    return error("bad-study-file", f"unknown column `{name}`", text.value((*part.path, key)), hint)


def _unknown_method(pivot: Pivot, known: Sequence[str], text: TomlText) -> Iterator[Diagnostic]:
    if pivot.above and pivot.above not in known:
        hint = did_you_mean(pivot.above, known, "methods: ")
        message = f"unknown method `{pivot.above}`"
        yield error("bad-study-file", message, text.value((*pivot.path, "above")), hint)


ENDING = ".mrspec"
PATTERN = "*?["
MISSING = 3
"""The exit code of what is not installed."""


@dataclass(frozen=True)
class Planned:
    """All runs of a study, some of which may have the same key; ``inputs`` are the files that they read."""

    runs: tuple[StudyRun, ...]
    inputs: tuple[Path, ...]
    left_out: tuple[str, ...] = ()
    """The optional methods that are not installed."""


def planned(study: Study, folder: Path, outside: bool = False) -> Planned:
    """Return the runs of a study whose file lies in ``folder``; files outside are read only with ``outside``.

    Raises MrdslError with every mistake: missing or wrong specs, params that a spec does not have, methods that do not
    exist or cannot solve a spec, and more runs than ``budgets.STUDY_RUNS``.
    """
    return _Planner(study, folder, outside).plan()


@dataclass
class _Planner:
    study: Study
    folder: Path
    outside: bool
    mistakes: list[Diagnostic] = field(default_factory=list)
    inputs: dict[Path, None] = field(default_factory=dict)
    problems: dict[Path, str] = field(default_factory=dict)
    sources: dict[tuple[Place, Path], Sources] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)

    def plan(self) -> Planned:
        found = [(design, self._files(design)) for design in self.study.designs]
        self._end()
        self._count(found)
        axes, names = axes_of(self.study.designs), names_of(self.study.designs)
        checked = [
            (design, [(name, file, self._checked(design, file)) for name, file in files]) for design, files in found
        ]
        self._end()
        runs: dict[tuple[str, ...], StudyRun] = {}
        for design, files in checked:
            for name, file, digests in files:
                for run in self._runs(design, name, file, digests, axes, names):
                    runs.setdefault((run.key, run.spec, run.name, run.runs), replace(run, number=len(runs) + 1))
        return Planned(tuple(runs.values()), tuple(self.inputs), tuple(self.left_out))

    def _end(self) -> None:
        if self.mistakes:
            raise MrdslError(in_order(self.mistakes))

    def _report(self, code: str, place: Place, message: str, hint: str = "", *, key: bool = False) -> None:
        text = self.study.text
        self.mistakes.append(error(code, message, text.key(place) if key else text.value(place), hint))

    def _count(self, found: Sequence[tuple[Design, Sequence[Any]]]) -> None:
        total = sum(
            len(files) * len(one.methods) * len(one.limits) * max(len(one.seeds), 1)
            * prod(len(axis.values) for axis in one.params)
            for one, files in found
        )  # fmt: skip
        if total > budgets.STUDY_RUNS:
            message = f"the study has {total:,} runs, more than the limit of {budgets.STUDY_RUNS:,}"
            self._report("too-many-runs", found[0][0].path, message, "split it into several studies", key=True)
            self._end()

    def _files(self, design: Design) -> list[tuple[str, Path]]:
        """Return the spec files of some runs with their names in the study, those of a folder in the order of their
        names.
        """
        found: dict[Path, str] = {}
        given = self._given(design, "specs")
        for written in design.specs:
            number = given.index(written) if isinstance(given, list) and written in given else None
            place = (*design.path, "specs") if number is None else (*design.path, "specs", number)
            for name, path in self._named(written, place):
                found.setdefault(path, name)
        return [(name, path) for path, name in found.items()]

    def _named(self, written: str, place: Place) -> Iterator[tuple[str, Path]]:
        try:
            path = self.folder / written
            real = path.resolve()
            inside = self.outside or real.is_relative_to(self.folder.resolve())
        except (OSError, ValueError, RuntimeError):
            self._report("missing-file", place, f"`{shown_name(written)}` is not a valid file name", "name a spec")
            return
        if not inside:
            message = f"`{shown_name(written)}` lies outside the study's folder"
            self._report("file-outside", place, message, "move it into the study's folder, or pass `--allow-outside`")
            return
        pattern = path.name if any(sign in path.name for sign in PATTERN) else ""
        around = path.parent if pattern else path
        problem = problem_of(around)
        if problem == FOLDER:
            inner = self._of_folder(around, pattern)
            if not inner:
                what = (
                    f"no file matches `{shown_name(written)}`"
                    if pattern
                    else f"`{shown_name(written)}` contains no spec"
                )
                self._report("missing-file", place, what, f"specs end in {ENDING}")
            yield from ((self._name(each), each) for each in inner)
        elif problem or pattern:
            near = did_you_mean(path.name, [each.name for each in self._of_folder(path.parent, "")], "specs there: ")
            message = f"`{shown_name(written)}` cannot be read: {problem or 'its folder does not exist'}"
            self._report("missing-file", place, message, near or f"looked in {path.parent}")
        else:
            yield self._name(path), path

    def _of_folder(self, folder: Path, pattern: str) -> list[Path]:
        try:
            names = sorted(each.name for each in folder.iterdir() if each.suffix == ENDING)
        except OSError:
            return []
        paths = [folder / name for name in names if not pattern or fnmatchcase(name, pattern)]
        root = self.folder.resolve()
        return [path for path in paths if self.outside or _is_within(path, root)]

    def _name(self, path: Path) -> str:
        """Return a spec in the study's folder by its way from there, however that was written; any other as it was."""
        path = path.parent.resolve() / path.name if ".." in path.parts or path.is_absolute() else path
        inside = next((each for each in (self.folder, self.folder.resolve()) if path.is_relative_to(each)), None)
        return path.as_posix() if inside is None else path.relative_to(inside).as_posix()

    def _checked(self, design: Design, file: Path) -> dict[Method, str]:
        """Return a digest for each method of the runs of a spec, without the parts that differ between runs; mistakes
        are noted.

        Every value of a param that is more than a number is tried, with the first value of the others.
        """
        first = {axis.name: axis.values[0] for axis in design.params}
        loaded = self._loaded(design, file, first)
        if loaded is None or loaded.spec is None:
            return {}
        self.problems[file] = loaded.spec.problem
        files = dict.fromkeys(loaded.files)
        for axis in design.params:
            for value in axis.values[1:] if axis.unit is None else ():
                other = self._loaded(design, file, {**first, axis.name: value})
                files.update(dict.fromkeys(other.files if other is not None else ()))
        self.inputs.update(dict.fromkeys((file, *files)))
        self.sources[design.path, file] = sources = Sources.of((file, *sorted(files)))
        return {
            method: hashlib.sha256(f"{sources.digest} {who}".encode()).hexdigest()
            for number, method in enumerate(design.methods)
            if (who := self._who(design, number, loaded.spec)) is not None
        }

    def _loaded(self, design: Design, file: Path, params: Mapping[str, str]) -> Loaded | None:
        seed = design.seeds[0] if design.seeds else None
        loaded = load_file(file, params, seed=seed, outside=self.outside)
        if loaded.spec is None:
            self.mistakes += [self._placed(each, design) for each in loaded.diagnostics if each.severity == "error"]
            return None
        return loaded

    def _placed(self, mistake: Diagnostic, design: Design) -> Diagnostic:
        """Return a mistake of a param that was given, with its place in the study."""
        name = next((each.name for each in design.params if mistake.path == f"parameters[{each.name!r}]"), None)
        if mistake.span is not None or name is None:
            return mistake
        return replace(mistake, span=self.study.text.value((*design.path, "params", name)), path="")

    def _who(self, design: Design, number: int, spec: Spec) -> str | None:
        """Return the solver of a method for a spec, with versions, or None if it cannot solve the spec, which
        is noted.
        """
        from mrdsl.families.diagnosis import find_family
        from mrdsl.planning.choice import choose
        from mrdsl.solving.registry import require, version

        method, several = design.methods[number], isinstance(self._given(design, "methods"), list)
        place: Place = (*design.path, "methods", number) if several else (*design.path, "methods")
        try:
            family = find_family(spec)
            choice = choose(spec, family, method.solver, method.formulation, method.relax, Limits())
            if choice.solver is not None:
                require(choice.solver)
        except MrdslError as mistake:
            if method.optional and mistake.exit_code == MISSING:
                self.left_out[method.label] = None
                return None
            for each in mistake.diagnostics:
                self.mistakes.append(replace(each, span=each.span or self.study.text.value(place)))
            return None
        asked = [method.solver, method.formulation, method.relax]
        return json.dumps([asked, _declared(choice.solver), choice.solver and version(choice.solver), __version__])

    def _given(self, design: Design, key: str) -> Any:
        return self.study.text.data["runs"][design.path[-1]].get(key)

    def _runs(
        self,
        design: Design,
        name: str,
        file: Path,
        digests: Mapping[Method, str],
        axes: Mapping[str, Axis],
        names: Names,
    ) -> Iterator[StudyRun]:
        """Methods run fastest, then limits, seeds, and params from the last to the first."""
        shown = {axis.name: dict(zip(axis.values, axis.shown, strict=True)) for axis in axes.values()}
        params_of, problem = [axis.name for axis in design.params], self.problems[file]
        sources = self.sources[design.path, file]
        for values in product(*(axis.values for axis in design.params)):
            params = dict(zip(params_of, values, strict=True))
            cells = {PARAM + axes[each].head: shown[each][value] for each, value in params.items()}
            for seed, limits, method in product(design.seeds or (None,), design.limits, digests):
                told = json.dumps([digests[method], params, seed, asdict(limits)], sort_keys=True)
                key = hashlib.sha256(told.encode()).hexdigest()[:32]
                yield StudyRun(
                    0,
                    key,
                    str(file),
                    name,
                    problem,
                    names[method.label, limits],
                    method,
                    params,
                    cells,
                    seed,
                    limits,
                    self.outside,
                    design.name,
                    sources,
                )


def _is_within(path: Path, root: Path) -> bool:
    """Return True if a file lies below a folder; a link to itself is inside, and reported when it is read."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return True


def _declared(solver: SolverFile | None) -> str:
    """Return the contents of a solver's file in short, independent of its path."""
    return "" if solver is None else hashlib.sha256(repr(replace(solver, source="", origin="")).encode()).hexdigest()
