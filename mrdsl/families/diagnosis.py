"""All diagnostics of a spec before it is solved, for specs from a text or built in Python."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mrdsl.contracts.family import Family, QuantityKind, kind_words
from mrdsl.contracts.plan_expressions import (
    arguments_of,
    expression_mistake,
    is_own,
    let_mistake,
    own_goal_mistake,
    serving,
)
from mrdsl.core import units
from mrdsl.core.diagnostics import Diagnostic, MrdslError, described, error, has_errors, one_error, warning
from mrdsl.families import family as family_named
from mrdsl.families import family_names
from mrdsl.formulas.profiles import implausible_prices
from mrdsl.spec.columns import Columns, names_of
from mrdsl.spec.declared import METHOD_OPTIONS, SEED, Mistake, python_number_mistake
from mrdsl.spec.schema import Block, declarations
from mrdsl.spec.spec import Constraint, Goal, Method, Spec, requested_places
from mrdsl.spec.validation import item_mistake, name_mistake, validate

_SHOWN = 10
COMPARISONS = ("<=", ">=", "=")


def find_family(spec: Spec) -> Family:
    """Return the family that the spec names, for the spec's objective if it has one.

    Raises MrdslError: ``unknown-problem``, or ``wrong-value`` for an argument that is not a spec, such as its path.
    """
    if not isinstance(spec, Spec):
        shown = repr(spec) if isinstance(spec, str | Path) else f"of type {type(spec).__name__}"
        hint = (
            "read a file with mrdsl.load(PATH), a text with mrdsl.loads(TEXT), a saved plan with mrdsl.load_plan(PATH)"
        )
        raise one_error("wrong-value", f"a spec, or a result, is asked for, and this is {shown}", None, hint)
    family = family_named(spec.problem) if isinstance(spec.problem, str) else None
    if family is None:
        hint = "there are: " + ", ".join(family_names())
        message = f"there is no problem kind `{spec.problem}`"
        raise MrdslError([replace(error("unknown-problem", message, spec.span, hint), path="problem")])
    return serving(family, spec.goal) if isinstance(spec.goal, Goal) and is_own(spec.goal) else family


def diagnose(spec: Spec) -> tuple[Diagnostic, ...]:
    """Return every diagnostic of a spec: its schema, then its family's checks, then infeasible constraints.

    Diagnostics found when the spec was read are reused while its facts are the same. Raises MrdslError for an unknown
    problem kind.
    """
    family = find_family(spec)
    broken = schema_mistakes(spec, family)
    if broken:
        return broken
    known = spec.known_diagnostics
    if known is not None:
        return known
    diagnostics = (*family.check(spec), *implausible_prices(spec), *_look_alikes(spec))
    return diagnostics if has_errors(diagnostics) else (*diagnostics, *family.impossible(spec))


_LATIN = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеосрхуіјѕԁһӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧοɑɡı", "ABESIJKMHOPCTXYaeocpxyijsdhlABEZHIKMNOPTYXoagi"
)


def _look_alikes(spec: Spec) -> Iterator[Diagnostic]:
    """Yield a warning for each name that looks like another one of its kind, such as with a Cyrillic letter."""
    kinds: list[tuple[str, Sequence[str], Any]] = [
        ("param", tuple(spec.parameters), None),
        ("let", [let.name for let in spec.lets], spec.lets),
    ]
    nodes = [spec.facts]
    for node in nodes:
        for field, declared in declarations(type(node)).items():
            value = getattr(node, field)
            if isinstance(declared, Block) and declared.repeated and value is not None:
                kinds.append((declared.word, names_of(value), value))
                nodes += value if not spec.text.isascii() and not isinstance(value, Columns) else ()
    for word, names, blocks in kinds:
        first: dict[str, str] = {}
        numbered = hasattr(names, "base")  # the names of one generator, which differ in their numbers only
        for index, name in enumerate(() if numbered or "".join(names).isascii() else names):
            seen = unicodedata.normalize("NFKC", name).translate(_LATIN)
            other = first.setdefault("".join(each for each in seen if unicodedata.category(each) != "Cf"), name)
            if other != name:
                told = ascii(next(each for each in other + name if not each.isascii()))[1:-1]
                hint = f"write both with the same letters, or rename one; one has the character {told}"
                span = blocks[index].span if blocks is not None else spec.span
                yield warning("look-alike-names", f"`{word} {name}` looks like another one, `{other}`", span, hint)


def schema_mistakes(spec: Spec, family: Family) -> tuple[Diagnostic, ...]:
    """Return the violations of the declarations: of the input data, and of the parts that every spec has."""
    mistakes = (*_header_mistakes(spec, family), *validate(spec.facts, family.facts, spec.currency))
    return mistakes or tuple(_unknown_members(spec, family))


def _header_mistakes(spec: Spec, family: Family) -> Iterator[Diagnostic]:
    for key, mistake in (
        ("title", name_mistake("title", spec.title)),
        ("seed", None if spec.seed is None else python_number_mistake("seed", SEED, spec.seed)),
        ("currency", _currency_mistake(spec.currency)),
        ("goal", _goal_mistake(spec.goal, family)),
    ):
        if mistake is not None:
            yield _told(mistake, key, getattr(spec.goal, "span", None) if key == "goal" else None)
    yield from _method_mistakes(spec.method)
    quantities = {quantity.name: quantity for quantity in family.quantities}
    for name, values in (("lets", spec.lets), ("constraints", spec.constraints)):
        if not isinstance(values, tuple | list):
            yield _told(Mistake("wrong-value", f"the {name} are {described(values)}", "give a tuple"), name)
            return
    for index, let in enumerate(spec.lets):
        wrong = let_mistake(let, quantities, family, [each.name for each in spec.lets[:index]])
        if wrong is not None:
            yield _told(wrong, f"lets[{index}]", getattr(let, "span", None))
    for index, constraint in enumerate(spec.constraints):
        mistake = _constraint_mistake(constraint, quantities, family)
        if mistake is not None:
            yield _told(mistake, f"constraints[{index}]", getattr(constraint, "span", None))


def _unknown_members(spec: Spec, family: Family) -> Iterator[Diagnostic]:
    """Yield members of plan quantities, such as ``admitted(sort)``, that are not blocks of the input data."""
    over = {quantity.name: quantity for quantity in family.quantities if quantity.takes_argument}
    known: dict[str, frozenset[str]] = {}
    for path, span, quantity in requested_places(spec):
        kind = over.get(quantity.name)
        if kind is None or not (quantity.argument or kind.needs_argument):
            continue
        field = kind.over or f"arguments of `{kind.name}`"
        if kind.name not in known:
            known[kind.name] = frozenset(arguments_of(kind, spec.facts))
        members = known[kind.name]
        if quantity.argument not in members:
            message = f"there is no `{quantity.argument}` among the {field}"
            hint = f"{field}: " + ", ".join(sorted(members)[:_SHOWN])
            yield _told(Mistake("unknown-name", message, hint), path, span)


def _told(mistake: Mistake, path: str, span: Any = None) -> Diagnostic:
    return replace(error(mistake.code, mistake.message, span, mistake.hint), path=path)


def _currency_mistake(currency: Any) -> Mistake | None:
    if isinstance(currency, str) and currency in units.CURRENCIES:
        return None
    hint = "one of " + ", ".join(units.CURRENCIES)
    return Mistake("unknown-unit", f"there is no currency {described(currency)}", hint)


def _goal_mistake(goal: Any, family: Family) -> Mistake | None:
    if goal is None:
        return None
    known = [f"{kind.sense} {kind.quantity}" for kind in family.goals]
    if isinstance(goal, Goal) and goal.expression is not None:
        return own_goal_mistake(goal, family)
    if isinstance(goal, Goal) and f"{goal.sense} {goal.quantity}" in known:
        return None
    shown = f"`{goal.sense} {goal.quantity}`" if isinstance(goal, Goal) else f"have {described(goal)} as its goal"
    return Mistake("unknown-goal", f"{kind_words(family.name)} problem cannot {shown}", "goals: " + ", ".join(known))


def _method_mistakes(method: Any) -> Iterator[Diagnostic]:
    if method is None:
        return
    if not isinstance(method, Method) or not isinstance(method.name, str) or not isinstance(method.options, Mapping):
        mistake = Mistake("wrong-value", f"the method is {described(method)}", "give Method(name, options)")
        yield _told(mistake, "method")
        return
    for key, value in method.options.items():
        item = METHOD_OPTIONS.get(key)
        wrong = None if item is None or value is None else item_mistake(key, item, value)
        if wrong is not None:
            yield _told(wrong, f"method.options[{key!r}]", method.spans.get(key, method.span))


def _constraint_mistake(constraint: Any, quantities: Mapping[str, QuantityKind], family: Family) -> Mistake | None:
    comparison = constraint.comparison if isinstance(constraint, Constraint) else None
    if not isinstance(comparison, str) or comparison not in COMPARISONS:
        return Mistake(
            "wrong-statement",
            f"{described(constraint)} is not a comparison of quantities",
            "give Constraint(left, comparison, right) with one of " + ", ".join(COMPARISONS),
        )
    return expression_mistake(constraint.left, quantities, family) or (
        expression_mistake(constraint.right, quantities, family)
    )
