"""What tables and profiles ask for, held against what the runs of a file will have: before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.suggestions import did_you_mean
from mrdsl.core.toml_text import TomlText
from mrdsl.sweeping.axes import Axis
from mrdsl.sweeping.study.declaration import BEST, BOUND, Design, Pivot, Profile
from mrdsl.sweeping.study.names import names_of
from mrdsl.sweeping.study.rows import PARAM, PLAN, Rows, column_of, columns, number
from mrdsl.sweeping.study.runs import COLUMNS


def axes_of(designs: Sequence[Design]) -> dict[str, Axis]:
    """Every param with all its values, whatever runs have them: so that a column has one head."""
    values: dict[str, dict[str, None]] = {}
    for design in designs:
        for axis in design.params:
            values.setdefault(axis.name, {}).update(dict.fromkeys(axis.values))
    return {name: Axis(name, tuple(listed)) for name, listed in values.items()}


def asked_mistakes(parts: Sequence[Pivot | Profile], designs: Sequence[Design], text: TomlText) -> list[Diagnostic]:
    """Columns and methods that no run of a part will have. What plans say is known when there are some."""
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
    """Columns of plans that no plan has; where there is no plan at all, nothing is a mistake."""
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
    """The keys that name columns."""
    return ("measure",) if isinstance(part, Profile) else ("rows", "columns", "value", "share_of")


def _is_of_plans(name: str) -> bool:
    return name.startswith(PLAN)


def _no_column(part: Pivot | Profile, key: str, known: Sequence[str], text: TomlText) -> Diagnostic:
    name = getattr(part, key)
    hint = did_you_mean(name, known, "columns: ")
    return error("bad-study-file", f"the runs have no column `{name}`", text.value((*part.path, key)), hint)


def _unknown_method(pivot: Pivot, known: Sequence[str], text: TomlText) -> Iterator[Diagnostic]:
    if pivot.above and pivot.above not in known:
        hint = did_you_mean(pivot.above, known, "methods: ")
        message = f"no method is called `{pivot.above}`"
        yield error("bad-study-file", message, text.value((*pivot.path, "above")), hint)
