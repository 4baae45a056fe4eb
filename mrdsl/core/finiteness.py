"""No NaN and no infinity leaves in a plan: checked on every result, whoever made it.

A plan whose field may lack numbers says so itself, by ``mrdsl.core.result.lacking``; there NaN means "none".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from math import isfinite
from typing import Any

from mrdsl.core.diagnostics import error
from mrdsl.core.result import LACKS, Plan, Result, Termination

_NUMBERLESS = frozenset((str, int, bool))
"""Types whose values are finite: a list of a hundred thousand names is passed over at once."""


def finite(result: Result, searched: bool = False) -> Result:
    """The result itself, or, where its plan or value holds a NaN or an infinity, an error in place of the plan.

    A bound that is not finite says nothing and is left out. ``searched``: the plan is known to hold neither.
    """
    if result.bound is not None and not isfinite(result.bound):
        result = replace(result, bound=None)
    if result.plan is None:
        return result
    if result.value is not None and not isfinite(result.value):
        place = "its value"
    else:
        place = "" if searched else unfinite(result.plan)
    if not place:
        return result
    told = error(
        "broken-plan",
        f"the plan holds what is no number: {place}",
        None,
        "this is a fault of the solver or of mrdsl: try another solver, and report the spec",
    )
    return Result(Termination.ERROR, diagnostics=(*result.diagnostics, told))


def unfinite(plan: Plan) -> str:
    """The path of the first NaN or infinity in a plan; "" where there is none."""
    return next(_search(plan, ""), "")


def _search(value: Any, path: str, lacks: bool = False) -> Iterator[str]:
    if isinstance(value, float):
        if not (isfinite(value) or (lacks and value != value)):
            yield path
    elif hasattr(value, "dtype"):
        yield from _search_array(value, path, lacks)
    elif is_dataclass(value):
        kind: Any = type(value)
        for name, may_lack in _fields(kind):
            inner = getattr(value, name)
            if not isinstance(inner, str | int):
                yield from _search(inner, f"{path}.{name}" if path else name, may_lack)
    elif isinstance(value, Mapping):
        if _NUMBERLESS.issuperset(map(type, value.values())):
            return
        for key, inner in value.items():
            yield from _search(inner, f"{path}[{key!r}]", lacks)
    elif isinstance(value, list | tuple):
        if _NUMBERLESS.issuperset(map(type, value)):
            return
        for index, inner in enumerate(value):
            if not isinstance(inner, str | int):
                yield from _search(inner, f"{path}[{index}]", lacks)


@cache
def _fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    return tuple((field.name, LACKS in field.metadata) for field in fields(kind))


def _search_array(value: Any, path: str, lacks: bool) -> Iterator[str]:
    import numpy as np

    if value.dtype.kind == "f" and not np.isfinite(value).all():
        wrong = np.isinf(value) if lacks else ~np.isfinite(value)
        if wrong.any():
            yield f"{path}{[int(i) for i in np.argwhere(wrong)[0]]}"
