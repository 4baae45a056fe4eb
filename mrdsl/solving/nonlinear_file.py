"""Models that are not linear: handed over as AMPL's nl file, checked by evaluating their expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

import pyomo.core as pyo
from pyomo.repn import generate_standard_repn

from mrdsl.core.guarded import scratch_folder
from mrdsl.core.linear_program import INTEGRALITY, Array, natural_scale
from mrdsl.exchange.models.naming import plain_names
from mrdsl.solving.arrays import constraints_of, fill_the_unused, hints_of, objective_of

TOLERANCE = 1e-5


@dataclass
class NonlinearModel:
    """A Pyomo model that is written as an nl file; ``variables`` in the file's order once it is written."""

    model: Any
    kind: str
    maximize: bool
    hints: Mapping[str, Mapping[str, Any]]
    variables: list[Any]

    @contextmanager
    def as_file(self) -> Iterator[str]:
        """The path of the nl file, beside it the columns' names x0, x1, … in a .col file."""
        from pyomo.repn.plugins.nl_writer import NLWriter

        with scratch_folder() as folder:
            path = folder / "model.nl"
            with path.open("w", encoding="ascii") as stream:
                information = NLWriter().write(self.model, stream, linear_presolve=False, scale_model=False)
            self.variables = list(information.variables)
            names = "".join(f"{name}\n" for name in plain_names("x", len(self.variables)))
            path.with_suffix(".col").write_text(names, encoding="ascii")
            yield str(path)

    def load_checked(self, values: Array) -> tuple[float, str | None, float | None]:
        """Loads the point and gives the worst relative violation, where it is, and the goal's value.

        A point that violates the model is taken out again, and the value is None.
        """
        before = self._values()
        fill_the_unused(self.model)
        self._load(values.tolist())
        worst, where = self._worst()
        if worst > TOLERANCE:
            self._restore(before)
            return worst, where, None
        self._load([_whole(variable, value) for variable, value in zip(self.variables, values.tolist(), strict=True)])
        if self._worst()[0] > TOLERANCE:
            self._load(values.tolist())
        return worst, where, float(pyo.value(objective_of(self.model)))

    def is_only_fractional(self, values: Array) -> bool:
        """Return True if the point keeps the model, and only its whole numbers are fractions."""
        before = self._values()
        fill_the_unused(self.model)
        self._load(values.tolist())
        worst, relaxed = self._worst()[0], self._worst(relaxed=True)[0]
        self._restore(before)
        return worst > TOLERANCE >= relaxed

    def _values(self) -> list[tuple[Any, Any]]:
        return [(each, each.value) for each in self.model.component_data_objects(pyo.Var, descend_into=True)]

    def _restore(self, before: list[tuple[Any, Any]]) -> None:
        for variable, value in before:
            variable.set_value(value, skip_validation=True)

    def natural_scale(self) -> float:
        """The power of two by which the goal's largest linear coefficient comes to its natural size, as in a linear
        program; where it has none, its constant; 1 where it has neither."""
        found = generate_standard_repn(objective_of(self.model).expr, quadratic=False)
        return natural_scale(max((abs(c) for c in found.linear_coefs), default=0.0) or abs(found.constant))

    def goal_size(self) -> float:
        """The largest term of the goal at the point in the model, the constant included."""
        form = generate_standard_repn(objective_of(self.model).expr, quadratic=False)
        terms = [float(c) * v.value for c, v in zip(form.linear_coefs, form.linear_vars, strict=True)]
        rest = 0.0 if form.nonlinear_expr is None else float(pyo.value(form.nonlinear_expr))
        return float(max(abs(term) for term in (*terms, rest, form.constant)))

    def _load(self, values: list[Any]) -> None:
        for variable, value in zip(self.variables, values, strict=True):
            variable.set_value(value, skip_validation=True)

    def _worst(self, relaxed: bool = False) -> tuple[float, str | None]:
        worst, where = 0.0, None
        for variable in self.variables:
            low, high = variable.bounds
            violation = _beyond(variable.value, low, high)
            if variable.is_integer() and not relaxed:
                violation = max(violation, abs(variable.value - round(variable.value)) * TOLERANCE / INTEGRALITY)
            if violation > worst:
                worst, where = violation, variable.name
        for constraint in constraints_of(self.model):
            low, body, high = constraint.to_bounded_expression(True)
            violation = _beyond(_evaluated(body), low, high)
            if violation > worst:
                worst, where = violation, constraint.name
        return worst, where


def nonlinear_model(model: Any) -> NonlinearModel:
    """The model with its kind: MINLP where an unfixed variable is whole, else NLP."""
    variables = model.component_data_objects(pyo.Var, descend_into=True)
    whole = any(not v.fixed and (v.is_integer() or v.is_binary()) for v in variables)
    return NonlinearModel(
        model=model,
        kind="MINLP" if whole else "NLP",
        maximize=objective_of(model).sense == pyo.maximize,
        hints=hints_of(model),
        variables=[],
    )


def variables_of(model: Any) -> list[Any]:
    """The unfixed variables of a model, in the order of their declaration."""
    return [v for v in model.component_data_objects(pyo.Var, descend_into=True) if not v.fixed]


def _whole(variable: Any, value: float) -> float:
    low, high = variable.bounds
    value = min(max(value, low if low is not None else value), high if high is not None else value)
    return float(round(value)) if variable.is_integer() or variable.is_binary() else value


def _evaluated(body: Any) -> float:
    try:
        return float(pyo.value(body))
    except (ArithmeticError, ValueError):
        return float("nan")


def _beyond(value: float, low: float | None, high: float | None) -> float:
    if not isfinite(value):
        return float("inf")
    beyond = max(low - value if low is not None else 0.0, value - high if high is not None else 0.0)
    return max(0.0, beyond / max(1.0, abs(value), abs(low or 0.0), abs(high or 0.0)))
