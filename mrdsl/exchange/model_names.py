"""Names that every solver accepts: letters, digits, underscores and dots, at most 90 characters, all different."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

LONGEST = 90
_HASH = 8
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.]+")
_LEGAL_START = re.compile(r"(?![eE][0-9])[A-Za-z_]")
_WORDS = frozenset(
    (
        "max",
        "maximum",
        "maximize",
        "maximise",
        "min",
        "minimum",
        "minimize",
        "minimise",
        "subject",
        "such",
        "that",
        "st",
        "free",
        "inf",
        "infinity",
        "bound",
        "bounds",
        "general",
        "generals",
        "gen",
        "integer",
        "integers",
        "int",
        "binary",
        "binaries",
        "bin",
        "semi",
        "sos",
        "sos1",
        "sos2",
        "end",
        "name",
        "rows",
        "columns",
        "rhs",
        "ranges",
        "endata",
        "objsense",
        "obj",
        "goal",
        "to",
        "objective_constant",
    )
)


def plain_names(letter: str, count: int) -> list[str]:
    """``x0, x1, …``: names for files that only programs read."""
    return [f"{letter}{i}" for i in range(count)]


def legal_names(raw: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return readable names in the order of ``raw``: ``admitted[sort]`` becomes ``admitted.sort``.

    A name that is cut, or would repeat an earlier one, gets a hash of the whole original.
    """
    used = {name.lower() for name in taken}
    names = []
    for original in raw:
        name = _legal(original)
        if len(name) > LONGEST or name.lower() in used or name.lower() in _WORDS:
            name = _hashed(name, original, used)
        used.add(name.lower())
        names.append(name)
    return names


def _legal(original: str) -> str:
    name = _ILLEGAL.sub("_", original.replace("[", ".").replace("]", "").replace(",", ".")).strip("_") or "_"
    return name if _LEGAL_START.match(name) else f"_{name}"


def _hashed(name: str, original: str, used: set[str]) -> str:
    for attempt in range(1000):
        digest = hashlib.sha256(f"{original}#{attempt}".encode()).hexdigest()[:_HASH]
        candidate = f"{name[: LONGEST - _HASH - 1]}_{digest}"
        if candidate.lower() not in used:
            return candidate
    raise ValueError(f"no free name for {original!r}")


def number(value: float) -> str:
    """Return a number as every reader takes it: the shortest text that gives the same float, whole numbers without
    point.
    """
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def numbers(values: Sequence[float]) -> list[str]:
    """:func:`number` of each."""
    return [number(value) for value in values]


@dataclass(frozen=True)
class Written:
    """The names in a model file with their Pyomo components; a row can have two names.

    ``sense`` is the sense of the objective in the file if that is not the model's own; ``beside`` has the texts of
    further files by extension.
    """

    columns: Sequence[tuple[str, Any]]
    rows: Sequence[tuple[str, Any]]
    sense: str | None = None
    beside: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
