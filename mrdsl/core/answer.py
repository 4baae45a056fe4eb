"""A solver's answer to one Pyomo model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mrdsl.core.result import SolutionStatus, Termination


@dataclass(frozen=True)
class Answer:
    """What a solver said of a model; its incumbent, if any, has been loaded into the model's variables.

    ``value`` is the incumbent's objective as the solver computed it and ``bound`` the solver's proven bound, both
    None where there is none. ``duals`` maps constraint names to shadow prices (LPs only). ``message`` is for people:
    what the solver printed where it failed. ``doubts`` say which of its claims were withdrawn and why. ``size`` is that
    of the goal's largest term, to which tolerances are relative where the goal is a small difference of large terms.
    """

    termination: Termination
    solution: SolutionStatus
    value: float | None = None
    bound: float | None = None
    solver: str = ""
    version: str | None = None
    message: str = ""
    duals: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    size: float = 0.0
