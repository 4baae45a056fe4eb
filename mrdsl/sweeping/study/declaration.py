"""Declarations of a study file as frozen values, and the names of its methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mrdsl.core.result import Limits
from mrdsl.core.toml_text import Path, TomlText
from mrdsl.sweeping.cells import Axis

STATISTICS = ("mean", "median", "min", "max", "sum", "count")
"""Statistics for several runs in one cell of a table."""
BEST, BOUND = "best", "bound"
"""References that values can be relative to, in addition to methods."""


@dataclass(frozen=True)
class Method:
    """A method: a solver or pipeline, its formulation, the relaxation; ``name`` is its name in tables.

    An ``optional`` one is left out if it is not installed.
    """

    solver: str = "auto"
    formulation: str | None = None
    relax: bool = False
    name: str = ""
    optional: bool = field(default=False, compare=False)

    @property
    def label(self) -> str:
        """The name, or a description of the method."""
        parts = (self.solver, self.formulation or "", "relaxed" if self.relax else "")
        return self.name or " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Design:
    """``[[runs]]``: every combination of its lists. ``specs`` are files and folders as written.

    Tables and profiles can select its runs by its ``name``.
    """

    specs: tuple[str, ...]
    methods: tuple[Method, ...] = (Method(),)
    params: tuple[Axis, ...] = ()
    seeds: tuple[int, ...] = ()
    limits: tuple[Limits, ...] = (Limits(),)
    name: str = ""
    path: Path = ("runs", 0)


@dataclass(frozen=True)
class Pivot:
    """``[[tables]]``: a value in rows and columns, each cell the runs' ``statistic``; of several, each is a column.

    ``above`` names a method: values are then percent above its own on the same spec, params and seed; ``best`` is the
    best value there, ``bound`` the best proven bound. ``share_of`` names a column: values are percent of it. ``runs``
    are those of one name. ``chart`` draws it, too.
    """

    value: str
    rows: str = "spec"
    columns: str = "method"
    statistic: tuple[str, ...] = ("mean",)
    above: str = ""
    share_of: str = ""
    runs: str = ""
    title: str = ""
    chart: bool = True
    path: Path = ("tables", 0)


@dataclass(frozen=True)
class Profile:
    """``[[profiles]]``: the share of instances on which a method's measure is within a factor of the best one (Dolan
    and Moré 2002).

    A run counts as solved if it ended by itself; with ``within`` only if its objective is also that near to the best
    one known of its instance.
    """

    measure: str
    within: float | None = None
    runs: str = ""
    title: str = ""
    path: Path = ("profiles", 0)


@dataclass(frozen=True)
class Study:
    """A whole file. ``text`` knows the places of all that is in it."""

    title: str
    about: str
    designs: tuple[Design, ...]
    tables: tuple[Pivot, ...] | None
    profiles: tuple[Profile, ...] | None
    text: TomlText = field(compare=False, repr=False)


FORMS = {
    "time": "{:.15g} s",
    "gap": "gap {:.15g}",
    "nodes": "{:d} nodes",
    "threads": "{:d} threads",
    "seed": "seed {:d}",
}
"""Limits in the name of a method that has several: ``10 s, gap 0.01``."""
Names = Mapping[tuple[str, Limits], str]


def names_of(designs: Iterable[Design]) -> Names:
    """Return the name of every label with its limits: the label alone, unless the study has several limits for it."""
    limits: dict[str, dict[Limits, None]] = {}
    for design in designs:
        for method in design.methods:
            limits.setdefault(method.label, {}).update(dict.fromkeys(design.limits))
    return {
        (label, each): label if len(own) == 1 else f"{label} ({_short(each)})"
        for label, own in limits.items()
        for each in own
    }


def _short(limits: Limits) -> str:
    given = [form.format(value) for name, form in FORMS.items() if (value := getattr(limits, name)) is not None]
    return ", ".join(given) or "no limit"
