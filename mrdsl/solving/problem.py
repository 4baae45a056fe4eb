"""A compiled spec that is changed and solved again, without doing again what did not change."""

from __future__ import annotations

from typing import Any

from mrdsl.outcome import Limits, Result
from mrdsl.solving.run import build_model, solve
from mrdsl.spec.spec import Spec


class Problem:
    """A spec with its Pyomo model, as ``mrdsl.compile`` gives it."""

    def __init__(self, spec: Spec, *, formulation: str | None = None, relax: bool = False) -> None:
        self.spec = spec
        self.formulation = formulation
        self.relax = relax
        self._model: Any = None

    @property
    def model(self) -> Any:
        """The Pyomo model, built when it is first asked for."""
        if self._model is None:
            self._model = build_model(self.spec, self.formulation, self.relax)
        return self._model

    def solve(self, solver: str = "auto", limits: Limits | None = None) -> Result:
        """Solves the spec as it is now."""
        return solve(self.spec, solver, self.formulation, self.relax, limits)
