"""What a solver is asked, as it crosses from one process to another, and the function that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from mrdsl.core.answer import Reply
from mrdsl.core.linear_program import Array, LinearProgram

DEFAULT_GAP = 1e-6


@dataclass(frozen=True)
class Request:
    """One model for one solver.

    A linear model comes as ``program``; one that is not linear as the AMPL file ``nl`` (beside it a ``.col`` file with
    the columns' names); one for a solver that Pyomo itself calls as ``model``, with that solver's name in ``factory``
    and a folder for its temporary files in ``folder``.
    ``options`` are in the solver's own names and hold the limits already. ``start`` is a point to begin with,
    ``want_duals`` asks for shadow prices. ``beside`` are further programs, solved one after another, whose replies come
    ``beside`` the first one's; the embedded solver alone takes them, and a time limit is that of all together.
    """

    program: LinearProgram | None = None
    nl: str | None = None
    model: Any = None
    factory: str = ""
    folder: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    start: Array | None = None
    want_duals: bool = False
    beside: tuple[LinearProgram, ...] = ()


class Solve(Protocol):
    """The function behind ``[worker] call``: it runs in a process of its own and may report incumbents as they come.

    ``report(values, value, bound)`` may be called any number of times; what it said last survives if the process has
    to be ended.
    """

    def __call__(self, request: Request, report: Callable[[Array, float, float | None], None]) -> Reply: ...
