"""Requests to solvers, which are sent to other processes, and the functions that answer them."""

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

    A linear model is in ``program``, a nonlinear one in the AMPL file ``nl`` (with the names of the columns in a
    ``.col`` file next to it), and one for a solver that Pyomo calls in ``model``, with the name of the solver in
    ``factory`` and a folder for temporary files in ``folder``. ``options`` have the solver's own names and include the
    limits. ``start`` is a point to start from; ``want_duals`` requests shadow prices. ``beside`` are further programs,
    solved one after another, whose replies are ``beside`` the first one's; only the embedded solver takes them, and the
    time limit is for all together.
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
    """The function of ``[worker] call``: it runs in its own process and can report incumbents.

    ``report(values, value, bound)`` can be called any number of times; its last call survives if the process has to be
    ended.
    """

    def __call__(self, request: Request, report: Callable[[Array, float, float | None], None]) -> Reply: ...
