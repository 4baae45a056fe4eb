"""Models that every solver must solve: small ones with optima that each docstring shows, and those of families."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

from mrdsl.contracts.family import Needs
from mrdsl.core.answer import Answer
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.families import SHIPPED, family
from mrdsl.language.loading import load_file
from mrdsl.planning.solve_spec import build_model
from mrdsl.solving import registry
from mrdsl.solving.checked_answer import solve_model
from mrdsl.solving.declaration import SolverFile

TOLERANCE = 1e-5
_MOMENT = 2.0
SMALLEST = ("quickstart", "two-jobs", "small", "reference")
"""The names of a family's smallest shipped spec, the first that there is."""


@dataclass(frozen=True)
class Case:
    """A model with a known answer: ``value`` is its optimum, or None if there is none."""

    name: str
    kind: str
    build: Callable[[], Any]
    termination: Termination
    value: float | None = None
    duals: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        return self.name


def small_model(**bounds: tuple[float | None, float | None]) -> Any:
    model = pyo.ConcreteModel()
    for name, (low, high) in bounds.items():
        setattr(model, name, pyo.Var(bounds=(low, high)))
    return model


def corner() -> Any:
    """min 2x + 3y + 10 with x + y >= 4, x <= 3: x = 3, y = 1, 19; one more unit costs 3."""
    model = small_model(x=(0, 3), y=(0, None))
    model.goal = pyo.Objective(expr=2 * model.x + 3 * model.y + 10)
    model.enough = pyo.Constraint(expr=model.x + model.y >= 4)
    return model


def whole() -> Any:
    """max 5x + 4y, 6x + 4y <= 24, x + 2y <= 6: relaxed (3, 1.5) gives 21, whole numbers give 20 at (4, 0)."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.NonNegativeIntegers)
    model.y = pyo.Var(domain=pyo.NonNegativeIntegers)
    model.goal = pyo.Objective(expr=5 * model.x + 4 * model.y, sense=pyo.maximize)
    model.first = pyo.Constraint(expr=6 * model.x + 4 * model.y <= 24)
    model.second = pyo.Constraint(expr=model.x + 2 * model.y <= 6)
    return model


def contradiction(domain: Any) -> Callable[[], Any]:
    """x + y >= 4 and x + y <= 3."""

    def build() -> Any:
        model = pyo.ConcreteModel()
        model.x = pyo.Var(domain=domain, bounds=(0, 10))
        model.y = pyo.Var(bounds=(0, 10))
        model.goal = pyo.Objective(expr=model.x + 2 * model.y)
        model.low = pyo.Constraint(expr=model.x + model.y >= 4)
        model.high = pyo.Constraint(expr=model.x + model.y <= 3)
        return model

    return build


def endless(domain: Any) -> Callable[[], Any]:
    """min y - x with x >= y + 1/2: as small as one likes."""

    def build() -> Any:
        model = pyo.ConcreteModel()
        model.x = pyo.Var(domain=domain)
        model.y = pyo.Var(bounds=(0, None))
        model.goal = pyo.Objective(expr=model.y - model.x)
        model.ahead = pyo.Constraint(expr=model.x >= model.y + 0.5)
        return model

    return build


def cone() -> Any:
    """min s + t with 4/s + 9/t <= 5: s = (2 + 3) 2/5, t = (2 + 3) 3/5, 5."""
    model = small_model(s=(0.1, 100), t=(0.1, 100))
    model.goal = pyo.Objective(expr=model.s + model.t)
    model.time = pyo.Constraint(expr=4 / model.s + 9 / model.t <= 5)
    return model


def whole_cone() -> Any:
    """min s + t, whole, with 4/s + 9/t <= 5: (2, 3) gives 2 + 3 = 5 <= 5."""
    model = pyo.ConcreteModel()
    model.s = pyo.Var(domain=pyo.Integers, bounds=(1, 50))
    model.t = pyo.Var(domain=pyo.Integers, bounds=(1, 50))
    model.goal = pyo.Objective(expr=model.s + model.t)
    model.time = pyo.Constraint(expr=4 / model.s + 9 / model.t <= 5)
    return model


_OPTIMAL, _INFEASIBLE, _UNBOUNDED = Termination.OPTIMAL, Termination.INFEASIBLE, Termination.UNBOUNDED
CASES: tuple[Case, ...] = (
    Case("corner", "LP", corner, _OPTIMAL, 19.0, (("enough", 3.0),)),
    Case("infeasible LP", "LP", contradiction(pyo.Reals), _INFEASIBLE),
    Case("unbounded LP", "LP", endless(pyo.Reals), _UNBOUNDED),
    Case("whole", "MILP", whole, _OPTIMAL, 20.0),
    Case("infeasible MILP", "MILP", contradiction(pyo.Integers), _INFEASIBLE),
    Case("unbounded MILP", "MILP", endless(pyo.Integers), _UNBOUNDED),
    Case("cone", "NLP", cone, _OPTIMAL, 5.0),
    Case("whole cone", "MINLP", whole_cone, _OPTIMAL, 5.0),
)


@dataclass(frozen=True)
class RealModel:
    """A shipped spec's model in one formulation of its family."""

    family: str
    formulation: str
    kind: str
    path: Path

    def __str__(self) -> str:
        return f"{self.family} {self.formulation}"


def real_models() -> tuple[RealModel, ...]:
    """Return one model for each formulation of each family that is a single model, of the family's smallest shipped
    spec.
    """
    found = []
    for name in SHIPPED:
        known = family(name)
        folder = resource("models") / name
        path = next((p for stem in SMALLEST if (p := folder / f"{stem}.mrspec").is_file()), None)
        if known is None or path is None:
            continue
        spec = load_file(path).spec
        for formulation in known.formulations if spec is not None else ():
            assert spec is not None
            if formulation.build and (kind := formulation.needs(spec, False).kind):
                found.append(RealModel(name, formulation.name, kind, path))
    return tuple(found)


def complaints_of_real(solver: SolverFile, case: RealModel) -> tuple[str, ...]:
    """Return the faults of a solver's answer to a family's model: no proof, or another value than the embedded
    solver's.

    A solver that only needs more time is not a fault, nor is a family that cannot write its spec in a formulation (P0
    of paper 000 needs at least one job).
    """
    spec = load_file(case.path).spec
    assert spec is not None, "shipped specs are right"
    try:
        model = build_model(spec, case.formulation)
    except MrdslError:
        return ()
    answer = solve_model(model, solver, Limits(time=_MOMENT), Needs(case.kind))
    if answer.termination is Termination.TIME_LIMIT:
        return ()
    if answer.solution is not SolutionStatus.OPTIMAL or answer.value is None:
        return (f"{case}: it ends with {answer.termination}, {answer.solution} {answer.message}".rstrip(),)
    if case.kind not in ("LP", "MILP") or solver.name == "highs":
        return ()
    wanted = solve_model(build_model(spec, case.formulation), "highs", Limits(time=60.0), Needs(case.kind)).value
    if wanted is not None and abs(answer.value - wanted) > TOLERANCE * max(1.0, abs(wanted)):
        return (f"{case}: it finds {answer.value}, HiGHS {wanted}",)
    return ()


def complaints(solver: str | SolverFile, case: Case) -> tuple[str, ...]:
    """Return all faults of the solver's answer to a case.

    Raises MrdslError if the solver is not installed.
    """
    declared = registry.find(solver) if isinstance(solver, str) else solver
    duals = bool(case.duals) and "duals" in declared.offers
    model = case.build()
    answer = solve_model(model, declared, Limits(time=30.0), Needs(case.kind, duals))
    return tuple(_complaints(case, model, answer, duals))


def _complaints(case: Case, model: Any, answer: Answer, duals: bool) -> Iterator[str]:
    if answer.termination is not case.termination:
        yield f"{case}: it ends with {answer.termination}, not {case.termination} {answer.message}".rstrip()
        return
    if case.value is None:
        if answer.solution is not SolutionStatus.NONE or answer.value is not None:
            yield f"{case}: it has a solution of a problem that has none"
        return
    if answer.solution is not SolutionStatus.OPTIMAL:
        yield f"{case}: its bound {answer.bound} does not prove its value {answer.value}"
    if answer.value is None or abs(answer.value - case.value) > TOLERANCE * max(1.0, abs(case.value)):
        yield f"{case}: it finds {answer.value}, the optimum is {case.value}"
    elif abs(float(pyo.value(model.goal)) - answer.value) > TOLERANCE:
        yield f"{case}: the values in the model give {pyo.value(model.goal)}, not {answer.value}"
    for name, price in case.duals if duals else ():
        if abs(answer.duals.get(name, float("nan")) - price) > TOLERANCE or name not in answer.duals:
            yield f"{case}: the shadow price of {name} is {answer.duals.get(name)}, not {price}"
