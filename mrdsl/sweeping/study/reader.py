"""A study file, read with all its mistakes: each with its place, its reason, and what to write instead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as File
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import MrdslError, Span, did_you_mean, in_order, nearest, one_error, shortened
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits
from mrdsl.core.toml_text import Path, Read, TomlError, TomlReader, TomlText, read_toml, shown
from mrdsl.exchange.text import decode
from mrdsl.spec.declared import LIMITS, SEED, python_number_mistake
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import METHOD_NAME, METHOD_NAME_RULE
from mrdsl.sweeping.cells import Axis, axis_of, seeds_of
from mrdsl.sweeping.study.declaration import BEST, BOUND, STATISTICS, Design, Method, Pivot, Profile, Study, names_of
from mrdsl.sweeping.study.planned import unknown_column_mistakes
from mrdsl.sweeping.study.tables import GOAL


def read_study(file: File) -> Study:
    """Return the study in a file. Raises MrdslError ``unreadable-file``, or ``bad-study-file`` with all of its
    mistakes.
    """
    name = str(file)
    try:
        text, problem = decode(read_bytes(file, budgets.STUDY_BYTES, own_descriptors=True))
    except UnreadableError as refused:
        text, problem = None, str(refused)
    if text is None:
        raise one_error("unreadable-file", f"`{name}` cannot be read: {problem}", Span(name, 1, 1, 1, 1))
    return study_of(text, name)


def study_of(text: str, name: str) -> Study:
    """Return the study in a text; ``name`` is its file's. Raises MrdslError ``bad-study-file`` with all of its
    mistakes.
    """
    try:
        toml = read_toml(text, name)
    except TomlError as mistake:
        hint = "put strings in quotes and runs under `[[runs]]`; docs/reference/study-file.md has an example"
        raise one_error("bad-study-file", f"invalid TOML: {mistake}", mistake.span, hint) from None
    return _Reader(toml).study()


class _Reader(TomlReader):
    """Reader of one study file."""

    def __init__(self, toml: TomlText) -> None:
        super().__init__("bad-study-file", toml)
        self.text = toml
        self.runs_are_sound = True

    def study(self) -> Study:
        found = self.table(
            (),
            self.text.data,
            {
                "title": self.words,
                "about": self.words,
                "runs": self._designs,
                "tables": lambda path, value: self.tables(path, value, self._pivot),
                "profiles": lambda path, value: self.tables(path, value, self._profile),
            },
        )
        designs = found.get("runs", ())
        if not designs and not self.mistakes:
            self.wrong((), "the study has no runs", 'write `[[runs]]`, and under it `specs = ["night.mrspec"]`')
        parts = (*found.get("tables", ()), *found.get("profiles", ()))
        for part in parts:
            self._known_runs(part, [design.name for design in designs if design.name])
        self.mistakes += unknown_column_mistakes(parts, designs, self.text) if designs and self.runs_are_sound else ()
        self._one_meaning(designs)
        if self.mistakes:
            raise MrdslError(in_order(self.mistakes))
        title = found.get("title") or File(self.text.name).stem
        return Study(title, found.get("about", ""), designs, found.get("tables"), found.get("profiles"), self.text)

    def _known_runs(self, part: Pivot | Profile, names: Sequence[str]) -> None:
        if part.runs and part.runs not in names:
            hint = did_you_mean(part.runs, names, "runs: ") or "give `[[runs]]` a `name`"
            self.wrong((*part.path, "runs"), f"unknown runs `{part.runs}`", hint)

    def _one_meaning(self, designs: Sequence[Design]) -> None:
        """Check that the name of a method means the same method in all runs."""
        known: dict[str, Method] = {}
        for design in designs:
            for method in design.methods:
                if replace(known.setdefault(method.label, method), name="") != replace(method, name=""):
                    hint = 'give one of them another name: `{ solver = "highs", name = "..." }`'
                    self.wrong((*design.path, "methods"), f"two methods have the name `{method.label}`", hint)
        named: dict[str, tuple[str, Limits]] = {}
        for who, name in names_of(designs).items():
            if named.setdefault(name, who) != who:
                place = next(each.path for each in designs if who[0] in [method.label for method in each.methods])
                hint = "one gets this name from its limits; give the other another name"
                self.wrong((*place, "methods"), f"two methods have the name `{name}`", hint)

    def _designs(self, path: Path, value: Any) -> tuple[Design, ...]:
        before = len(self.mistakes)
        found = self.tables(path, value, self._design)
        self.runs_are_sound = len(self.mistakes) == before
        return found

    def _design(self, path: Path, value: Any) -> Design | None:
        found = self.table(
            path,
            value,
            {
                "name": self.words,
                "specs": self._texts,
                "methods": self._methods,
                "params": self._params,
                "seeds": self._seeds,
                "limits": self._limits,
            },
        )
        if "specs" not in value and nearest("specs", value) is None:
            self.wrong(path, "these runs have no specs", 'write `specs = ["night.mrspec", "folder"]`', key=True)
        return Design(**found, path=path) if found.get("specs") else None

    def _texts(self, path: Path, value: Any) -> tuple[str, ...] | None:
        found = [self.words(place, each) for place, each in self.listed(path, value, '["..."]')]
        return tuple(dict.fromkeys(each for each in found if each is not None)) or None

    def _methods(self, path: Path, value: Any) -> tuple[Method, ...] | None:
        listed = self.listed(path, value, '["highs", "direct"]')
        found = [self._method(place, each) for place, each in listed]
        methods = tuple(each for each in found if each is not None)
        for (place, _), each in zip(listed, found, strict=True):
            if each is not None:
                self._no_word(place, each)
        labels = [each.label for each in methods]
        for number, label in enumerate(labels):
            if label in labels[:number]:
                hint = 'give one of them another name: `{ solver = "highs", name = "..." }`'
                self.wrong(listed[number][0], f"two methods have the name `{label}`", hint)
        return methods or None

    def _method(self, path: Path, value: Any) -> Method | None:
        if isinstance(value, str):
            solver = self._solver(path, value)
            return None if solver is None else Method(solver)
        if not isinstance(value, Mapping):
            hint = 'write `"highs"`, or `{ solver = "highs", formulation = "P2", relax = true, name = "..." }`'
            self.wrong(path, f"a method must be text or a table, got {shown(value)}", hint)
            return None
        words, yes = (
            dict.fromkeys(("formulation", "name"), self.words),
            dict.fromkeys(("relax", "optional"), self.flag),
        )
        return Method(**self.table(path, value, {"solver": self._solver, **words, **yes}))

    def _no_word(self, path: Path, method: Method) -> None:
        """Check that the name of a method is not a word with a meaning in ``above``."""
        if method.label in (BEST, BOUND):
            message = f"a method cannot have the name `{method.label}`, which has a meaning in `above`"
            self.wrong(path, message, 'give it another name: `{ solver = "highs", name = "..." }`')

    def _solver(self, path: Path, value: Any) -> str | None:
        if isinstance(value, str) and METHOD_NAME.fullmatch(value):
            return value
        self.wrong(path, f"the name of a solver must be text, got {shown(value)}", METHOD_NAME_RULE)
        return None

    def _params(self, path: Path, value: Any) -> tuple[Axis, ...] | None:
        if not isinstance(value, Mapping):
            hint = 'write `params = { scale = [1, 2], deadline = "10 min:20 min:5 min" }`'
            self.wrong(path, f"`params` must be a table, got {shown(value)}", hint)
            return None
        found = [self._axis((*path, name), name, given) for name, given in value.items()]
        return tuple(axis for axis in found if axis is not None)

    def _axis(self, path: Path, name: str, given: Any) -> Axis | None:
        listed = given if isinstance(given, list) else [given]
        if not listed or not all(_is_plain(each) for each in listed):
            hint = 'write numbers or texts, as for `-D`: `[1, 2]`, `["10 min", "20 min"]`, `"0.8:1.4:0.1"`'
            self.wrong(path, f"the values of `{shortened(name)}` must be numbers or texts, at least one", hint)
            return None
        texts = [each if isinstance(each, str) else repr(each) for each in listed]
        try:
            return axis_of(name, texts[0] if len(texts) == 1 else texts)
        except MrdslError as mistake:
            told = mistake.diagnostics[0]
            self.wrong(path, told.message.replace("--over ", ""), told.hint.replace("--over ", ""))
            return None

    def _seeds(self, path: Path, value: Any) -> tuple[int, ...] | None:
        listed = [value] if _is_whole(value) else value
        whole = isinstance(listed, list) and listed and all(_is_whole(each) for each in listed)
        try:
            if not whole and not isinstance(listed, str):
                raise ValueError
            seeds = seeds_of(listed)
            if max(seeds) > (SEED.at_most or math.inf):
                raise ValueError
        except (MrdslError, ValueError):
            hint = 'write `seeds = "1..10"` or `seeds = [1, 2, 7]`, whole numbers below 2^32'
            self.wrong(path, f"`seeds` must list whole numbers, got {shown(value)}", hint)
            return None
        return seeds

    def _limits(self, path: Path, value: Any) -> tuple[Limits, ...] | None:
        known = {name: self._limit(name, item) for name, item in LIMITS.items()}
        listed = self.listed(path, value, '{ time = "10 s" }')
        found = [Limits(**self.table(place, each, known)) for place, each in listed]
        return tuple(dict.fromkeys(found)) or None

    def _limit(self, name: str, item: Item) -> Read:
        example = {"time": 'time = "10 s"', "gap": 'gap = "0.1%"', "within": 'within = "1%"'}.get(name, f"{name} = 1")

        def read(path: Path, value: Any) -> float | None:
            number = value
            if isinstance(value, str):
                from mrdsl.language.items import item_from_text

                try:
                    number = item_from_text(name, item, value, "")
                except MrdslError as refused:
                    self.wrong(path, refused.diagnostics[0].message, f"write `{example}`")
                    return None
            mistake = python_number_mistake(name, item, number)
            if mistake is not None or isinstance(value, bool):
                message = mistake.message if mistake is not None else f"invalid value for `{name}`: {shown(value)}"
                self.wrong(path, message, f"write `{example}`")
                return None
            return int(number) if item.whole else float(number)

        return read

    def _share(self, path: Path, value: Any) -> float | None:
        found: float | None = self._limit(str(path[-1]), LIMITS["gap"])(path, value)
        return found

    def _pivot(self, path: Path, value: Any) -> Pivot | None:
        known = dict.fromkeys(("title", "rows", "columns", "value", "above", "share_of", "runs"), self.words)
        found = self.table(
            path, value, {**known, "statistic": self.some_of(STATISTICS, "statistic"), "chart": self.flag}
        )
        if "value" not in value:
            self.wrong(
                path,
                "this table has no value",
                'write `value = "value"`, the goal\'s, or a column of the runs',
                key=True,
            )
        above_bound = found.get("above") == BOUND and "value" in found
        if above_bound and (found["value"] != GOAL or "share_of" in found):
            what = "a share" if "share_of" in found else f"`{found['value']}`"
            hint = 'write `value = "value"` without `share_of`, or `above = "best"`'
            self.wrong((*path, "above"), f"a bound applies to the objective, not to {what}", hint)
        return Pivot(**found, path=path) if "value" in found else None

    def _profile(self, path: Path, value: Any) -> Profile | None:
        words = dict.fromkeys(("title", "measure", "runs"), self.words)
        found = self.table(path, value, {**words, "within": self._share})
        if "measure" not in value:
            hint = 'write `measure = "cpu_seconds"` or `measure = "value"`, or another column of the runs'
            self.wrong(path, "this profile has no measure", hint, key=True)
        return Profile(**found, path=path) if "measure" in found else None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or _is_whole(value)


def study_files() -> Mapping[str, File]:
    """Return the study files of mrdsl by name, family by family."""
    return {path.stem: path for path in sorted(resource("models").glob("*/*.toml"))}


def shipped_studies() -> Mapping[str, Study]:
    """Return the shipped studies by name."""
    return {name: read_study(path) for name, path in study_files().items()}


def study_file(given: str) -> File:
    """Return the file that a user names: itself, or the shipped one of that name. Raises MrdslError
    ``missing-file``.
    """
    known = study_files()
    if METHOD_NAME.fullmatch(given) and not File(given).is_file():
        if given in known:
            return known[given]
        hint = did_you_mean(given, known, "shipped studies: ")
        raise one_error("missing-file", f"there is no study file `{given}`", None, hint)
    return File(given)


def filled_folder(given: str) -> File | None:
    """Return the folder whose tables are wanted, None for a study to be run: a shipped one goes on in a folder of its
    name.
    """
    return File(given) if File(given).is_dir() and given not in study_files() else None
