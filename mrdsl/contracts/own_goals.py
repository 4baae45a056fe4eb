"""Goals of one's own, ``minimize cost + 80 USD/t * carbon``: put in the place of the goal that a model was made for.

A family's model sees its own goal, and the other one as an :class:`Aim` among the comparisons: so it is built with
every quantity that the goal names, exact in the direction in which the goal pulls, and without what holds for its own
goal alone. :func:`mrdsl.contracts.subject_to.add_to_model` then changes the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

from mrdsl.contracts.family import Family, Formulation, GoalKind
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.kept_values import kept
from mrdsl.core.tables import Table
from mrdsl.spec.expression import Constant, evaluate, value_of
from mrdsl.spec.linear import terms_of
from mrdsl.spec.spec import Constraint, Goal, Spec


@dataclass(frozen=True)
class Aim(Constraint):
    """A goal of one's own as models see it: ``left``, compared so that every plan keeps it."""

    @property
    def maximizes(self) -> bool:
        return self.comparison == ">="


def aim_of(spec: Spec) -> Aim | None:
    """The goal of one's own of a spec as a model sees it, None where it has none."""
    return next((each for each in spec.constraints if isinstance(each, Aim)), None)


def put_in_place(model: Any, aim: Aim) -> None:
    """Makes the aim the model's objective, over ``model.plan_quantities``. Raises ValueError where that has no such."""
    import pyomo.core as pyo

    value = evaluate(aim.left, offered_by(getattr(model, "plan_quantities", {})))
    if not isinstance(value, int | float) and not hasattr(value, "is_expression_type"):
        raise ValueError("a share of the VMs is a quotient of what is planned: it is no part of a linear goal")
    for own in list(model.component_data_objects(pyo.Objective, active=True)):
        own.deactivate()
    model.fixed_part = 0.0
    model.own_goal = pyo.Objective(expr=value, sense=pyo.maximize if aim.maximizes else pyo.minimize)


def offered_by(offered: Any) -> Callable[[str, str], Any]:
    """What a model offers of a quantity, by its name and argument; a ValueError where it does not."""

    def quantity(name: str, argument: str) -> Any:
        try:
            return offered[(name, argument)]
        except KeyError:
            shown = f"{name}({argument})" if argument else name
            raise ValueError(f"this formulation does not offer {shown} to `subject to`, or as a goal") from None

    return quantity


def worth(spec: Spec, quantity: Callable[[str, str], float], otherwise: float) -> float:
    """What a plan is worth by the aim of a spec, over its quantities; ``otherwise`` where the spec has no aim."""
    aim = aim_of(spec)
    return otherwise if aim is None else value_of(aim.left, quantity)


def is_own(goal: Goal | None) -> bool:
    """Whether a goal is an expression of the spec's own."""
    return goal is not None and goal.expression is not None


def serving(family: Family, goal: Goal) -> Family:
    """The family for a spec with that goal of one's own: it measures plans by it, and its models pursue it."""
    value = goal.expression
    assert value is not None
    quantity = family.quantity
    able = [each for each in family.formulations if each.other_goals]
    posed = [_posing(each, family) for each in able]
    unable = [_refusing(each, family, able) for each in family.formulations if not each.other_goals]
    choose, first = family.choose, able[0] if able else None
    return replace(
        family,
        goals=(GoalKind(goal.sense, goal.quantity, goal.unit, "a goal of the spec's own"),),
        formulations=(*posed, *unable),
        measure=None if quantity is None else lambda spec, plan: _value(value, quantity, spec, plan),
        why=None if quantity is None else lambda spec, result: _why(goal, spec, quantity, result.plan),
        choose=None if choose is None else lambda spec, *how: choose(_posed(spec, family, first), *how),
    )


def _value(expression: Any, quantity: Callable[..., float], spec: Spec, plan: Any) -> float:
    return value_of(expression, partial(quantity, spec, plan))


def _why(goal: Goal, spec: Spec, quantity: Callable[..., float], plan: Any) -> tuple[Table, ...]:
    """What each quantity of the plan adds to the goal; what the family says of its own goal holds for this one not."""
    return () if plan is None else (_terms(goal, spec, quantity, plan),)


def _terms(goal: Goal, spec: Spec, quantity: Callable[..., float], plan: Any) -> Table:
    assert goal.expression is not None
    form = terms_of(goal.expression)
    rows: list[tuple[str, float | None, float]] = [
        (f"{name}({argument})" if argument else name, value, factor * value)
        for (name, argument), factor in form.factors.items()
        for value in (quantity(spec, plan, name, argument),)
    ]
    rows += [("a fixed part", None, form.constant)] if form.constant else []
    adds = f"adds [{goal.unit}]" if goal.unit else "adds"
    return Table(f"What {goal.quantity} is made of", ("quantity", "the plan has, in SI", adds), rows)


def _posed(spec: Spec, family: Family, formulation: Formulation | None) -> Spec:
    """The spec as the formulation's model sees it, one for all that asks."""
    if formulation is None or not is_own(spec.goal):
        return spec
    return kept(spec, f"_posed_{formulation.name}", lambda: _with_aim(spec, family, formulation))


def _with_aim(spec: Spec, family: Family, formulation: Formulation) -> Spec:
    goal = spec.goal
    assert goal is not None
    assert goal.expression is not None
    kind = next(kind for kind in family.goals if kind.quantity == formulation.other_goals)
    comparison, limit = ("<=", inf) if goal.sense == "minimize" else (">=", -inf)
    aim = Aim(goal.expression, comparison, Constant(limit), f"{goal.sense} {goal.quantity}", goal.span)
    return replace(spec, goal=Goal(kind.sense, kind.quantity), constraints=(*spec.constraints, aim))


def _posing(formulation: Formulation, family: Family) -> Formulation:
    """The formulation with hooks that see the goal as an aim, and without what knows the family's goal alone."""

    def of(hook: Callable[..., Any] | None) -> Any:
        return None if hook is None else lambda spec, *rest: hook(_posed(spec, family, formulation), *rest)

    def built(build: Callable[..., Any] | None) -> Any:
        return None if build is None else lambda spec, relax: _built(build, _posed(spec, family, formulation), relax)

    return replace(
        formulation,
        needs=of(formulation.needs),
        build=built(formulation.build),
        decode=of(formulation.decode),
        run=of(formulation.run),
        refine=of(formulation.refine),
        compiled=built(formulation.compiled),
        arrays=None,
        known=None,
    )


def _built(build: Callable[..., Any], spec: Spec, relax: bool) -> Any:
    model, aim = build(spec, relax), aim_of(spec)
    assert aim is not None
    try:
        put_in_place(model, aim)
    except ValueError as cause:
        raise MrdslError([error("unable-solver", str(cause), aim.span)]) from None
    return model


def _refusing(formulation: Formulation, family: Family, able: list[Formulation]) -> Formulation:
    """The formulation with hooks that say why it does not take the goal."""

    def refuse(spec: Spec, *_: Any) -> Any:
        message = f"the formulation {formulation.name} holds for the goals of {family.name} alone, not for one's own"
        names = ", ".join(each.name for each in able)
        hint = f"take the formulation {names}" if able else "name a goal of the family"
        raise MrdslError([error("unable-solver", message, getattr(spec.goal, "span", None), hint)])

    return replace(
        formulation,
        build=refuse if formulation.build is not None else None,
        run=refuse if formulation.run is not None else None,
        compiled=refuse if formulation.compiled is not None else None,
        arrays=None,
        known=None,
    )
