"""Expressions over a plan's quantities: ``let``, objectives and ``subject to``, with dimensions checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeGuard

from mrdsl.contracts.family import Family, QuantityKind, kind_words
from mrdsl.contracts.plan_expressions import LINEAR, SECOND, arguments_of
from mrdsl.core import budgets, units
from mrdsl.core.diagnostics import Related, did_you_mean, nearest
from mrdsl.core.units import Dimension
from mrdsl.language import tree
from mrdsl.language.evaluate import bound, finite, fixed_value, note_currency
from mrdsl.language.formatting import inline_text, value_text
from mrdsl.language.items import word_param
from mrdsl.language.scope import MistakeError, Scope, Value
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity, is_within, terms_of
from mrdsl.spec.spec import Constraint, Goal, Let

Built = tuple[Expression, Dimension]


class PlanExpressions:
    """Builds expressions over the plan from the syntax tree.

    ``own`` are the quantities that ``let`` has named above, ``below`` the names of those that it has not yet.
    """

    def __init__(
        self,
        family: Family,
        facts: Any,
        scope: Scope,
        own: Mapping[str, Built | None],
        below: Collection[str] = (),
    ) -> None:
        self.family, self.facts, self.scope, self.own, self.below = family, facts, scope, own, below
        self.known = {quantity.name: quantity for quantity in family.quantities}
        self.former = {quantity.was: quantity.name for quantity in family.quantities if quantity.was}
        self._members: dict[str, dict[str, None]] = {}

    def build(self, node: Any) -> Built:
        """Return the expression and its dimension. Raises MistakeError with the diagnostic."""
        built = self._build(node)
        if not is_within(built[0], budgets.EXPRESSION_PARTS, budgets.EXPRESSION_DEPTH):
            message = (
                f"this comes to more than {budgets.EXPRESSION_PARTS} quantities, numbers and signs, "
                f"or to more than {budgets.EXPRESSION_DEPTH} operations inside one another"
            )
            raise self.scope.mistake("too-large", message, node, "write it in fewer steps")
        return built

    def _build(self, node: Any) -> Built:
        if not self._mentions_plan(node):
            unknown = next((token for token in tree.names_in(node) if self._is_unknown(token)), None)
            if unknown is not None:
                called = isinstance(node, tree.Call) and str(node.function) not in ("min", "max")
                raise self._unknown(node.function if called else unknown)
            value = fixed_value(node, self.scope, "a number beside a plan's quantities")
            return self._constant(value.number, value.dimension)
        match node:
            case tree.Name(token) if str(token) in self.own:
                return self._named(str(token))
            case tree.Name(token):
                return self._quantity(str(token), (), node)
            case tree.Call(function, arguments, _) if str(function) in self.known or str(function) in self.former:
                name = self.scope.current_word(self.former, str(function), function)
                return self._quantity(name, arguments, node)
            case tree.Group(_, inner, _):
                return self._build(inner)
            case tree.Signed(sign, operand):
                inner, dimension = self._build(operand)
                return (inner if sign == "+" else Operation("neg", (inner,))), dimension
            case tree.Sum(parts):
                return self._sum(parts)
            case tree.Product(parts):
                return self._product(parts)
            case tree.Call(function, arguments, _) if str(function) in ("min", "max"):
                return self._extreme(str(function), arguments)
            case tree.Call(function):
                raise self._unknown(function)
        raise self.scope.mistake(
            "wrong-value", "a quantity of the plan is not allowed here", node, "use + - * / min max"
        )

    def _mentions_plan(self, node: Any) -> bool:
        match node:
            case tree.Name(token):
                return (str(token) in self.known or str(token) in self.own) and token not in self.scope.parameter_names
            case tree.Call(function, arguments, _):
                named = str(function) in self.known or str(function) in self.former
                return named or any(map(self._mentions_plan, arguments))
            case tree.Group(_, inner, _) | tree.Signed(_, inner):
                return self._mentions_plan(inner)
            case tree.Sum(parts) | tree.Product(parts):
                return any(self._mentions_plan(part) for part in parts[::2])
            case tree.List(_, items, _):
                return any(map(self._mentions_plan, items))
        return False

    def _named(self, name: str) -> Built:
        built = self.own[name]
        if built is None:
            raise MistakeError(None)
        return built

    def _is_unknown(self, token: Any) -> bool:
        known = self.scope.parameter_names
        return token not in known and token not in units.UNITS and token not in units.OTHER_NAMES

    def _unknown(self, token: Any) -> MistakeError:
        name, node = str(token), tree.Name(token)
        if name in self.below:
            message, hint = f"`{name}` is defined below", "a `let` uses those above it: move that line up"
            return self.scope.mistake("unknown-name", message, node, hint)
        names = (*self.known, *self.own, *self.scope.parameter_names)
        hint = did_you_mean(name, names, "quantities and params: ") if self.known else "remove it"
        plan = kind_words(self.family.name)
        message = f"{plan} plan has no {f'quantity `{name}`' if self.known else 'quantities for `subject to` or `let`'}"
        return self.scope.mistake("unknown-name", message, node, hint)

    def _quantity(self, name: str, arguments: Sequence[Any], node: Any) -> Built:
        kind = self.known[name]
        dimension = units.KINDS[kind.kind].dimension
        if not arguments and not kind.needs_argument:
            return PlanQuantity(name), dimension
        if not kind.takes_argument:
            raise self.scope.mistake("wrong-arguments", f"`{name}` takes no argument", node, f"write `{name}`")
        members = self._members_of(kind)
        two = bool(kind.per)
        if not 1 <= len(arguments) <= 1 + two or not all(isinstance(each, tree.Name | tree.Text) for each in arguments):
            example, many = next(iter(members), "x"), "one name or two" if two else "one name"
            raise self.scope.mistake("wrong-arguments", f"`{name}` requires {many}", node, f"write `{name}({example})`")
        argument = SECOND.join(map(self._word, arguments))
        unusable = self.facts is None and kind.over and argument not in kind.words
        if unusable or argument in self.scope.report.dropped:
            raise MistakeError(None)
        if argument not in members:
            raise self.scope.mistake(
                "unknown-name",
                f"there is no `{argument}` among the {kind.over or 'arguments of `' + name + '`'}",
                arguments[0],
                did_you_mean(argument, members, f"{kind.over or 'arguments'}: "),
            )
        return PlanQuantity(name, argument), dimension

    def _word(self, node: Any) -> str:
        param = word_param(node, self.scope)
        return tree.word_text(node.token) if param is None else str(param.text)

    def _members_of(self, kind: QuantityKind) -> Mapping[str, None]:
        """Return the valid arguments of a quantity, in order."""
        if kind.name not in self._members:
            self._members[kind.name] = arguments_of(kind, self.facts)
        return self._members[kind.name]

    def _sum(self, parts: tuple[Any, ...]) -> Built:
        hint = "both sides of a sum must have the same dimension: multiply one by a price"
        built, kind = self._of_one_kind(parts[::2], "cannot add {} to {}", hint)
        total = built[0]
        for sign, run in groupby(zip(parts[1::2], built[1:], strict=True), key=lambda each: str(each[0])):
            total = Operation(sign, (total, *(term for _, term in run)))
        return total, kind

    def _of_one_kind(self, nodes: Sequence[Any], message: str, hint: str) -> tuple[list[Expression], Dimension]:
        """Return expressions of one kind, and the kind; a plain number takes the kind of a count next to it."""
        built = [self._build(node) for node in nodes]
        kind = next((each for _, each in built if each != units.NUMBER), units.NUMBER)
        for (_, other), node in zip(built, nodes, strict=True):
            if not units.fits(other, kind):
                said = message.format(units.describe(other), units.describe(kind))
                raise self.scope.mistake("wrong-unit", said, node, hint)
        return [part for part, _ in built], kind

    def _product(self, parts: tuple[Any, ...]) -> Built:
        """Return a product; units bind to numbers first, and after a quantity of the plan a unit is an ordinary
        factor.
        """
        operands, signs = self._bind_units(parts)
        total = operands[0][0]
        for sign, (factor, node) in zip(signs, operands[1:], strict=True):
            total = self._times(sign, total, factor, node)
        return total

    def _bind_units(self, parts: tuple[Any, ...]) -> tuple[list[tuple[Built, Any]], list[str]]:
        """Return the operands of a product, each with its node, and the signs between them."""
        operands, signs = [(self._build(parts[0]), parts[0])], []
        for sign, node in zip(map(str, parts[1::2]), parts[2::2], strict=True):
            (before, dimension), number = operands[-1]
            unit = self._unit(node, isinstance(before, Constant) and sign == "/")
            if unit is not None and isinstance(before, Constant):
                value = finite(bound(Value(before.value, dimension), sign, unit), node, self.scope)
                operands[-1] = self._constant(value.number, value.dimension), number
                continue
            built = self._build(node) if unit is None else self._constant(unit.factor, unit.dimension)
            operands.append((built, node))
            signs.append(sign)
        return operands, signs

    def _unit(self, node: Any, divides_number: bool) -> units.Unit | None:
        """Return the unit that a bare name after ``*`` or ``/`` means, or None.

        A name that is a quantity of the plan too, such as ``vms``, is a unit only after a number and a ``/``.
        """
        if not isinstance(node, tree.Name) or node.token in self.scope.parameter_names:
            return None
        unit = units.UNITS.get(node.token)
        if unit is None or (self._mentions_plan(node) and not divides_number):
            return None
        note_currency(unit, node.token, self.scope)
        return unit

    def _times(self, sign: str, left: Built, right: Built, node: Any) -> Built:
        """Return a product, which of two constants is one."""
        first, second = left[0], right[0]
        dimension = (units.multiply if sign == "*" else units.divide)(left[1], right[1])
        if sign == "/" and isinstance(second, Constant) and not second.value:
            raise self.scope.mistake("division-by-zero", "this divides by zero", node, "the divisor must not be 0")
        if not (isinstance(first, Constant) and isinstance(second, Constant)):
            return Operation(sign, (first, second)), dimension
        value = first.value * second.value if sign == "*" else first.value / second.value
        return self._constant(finite(Value(value, dimension), node, self.scope).number, dimension)

    def _extreme(self, function: str, arguments: Sequence[Any]) -> Built:
        """Return the least or the greatest of quantities of one kind."""
        hint = f"the arguments of `{function}` must have the same dimension"
        built, kind = self._of_one_kind(arguments, "cannot compare {} with {}", hint)
        return Operation(function, tuple(built)), kind

    def _constant(self, value: float, dimension: Dimension) -> Built:
        return Constant(
            value, units.si_unit(dimension, self.scope.report.currency or units.DEFAULT_CURRENCY)
        ), dimension


WORD = "let"


def is_let(statement: Any) -> TypeGuard[tree.Assignment]:
    """Return True if a statement is ``let NAME = ...``."""
    return isinstance(statement, tree.Assignment) and len(statement.words) == 2 and statement.words[0] == WORD


class OwnQuantities:
    """Quantities of ``let`` in the order of the spec, which ``builder`` knows for comparisons and objectives.

    Each can use those above it. A wrong one is reported once, without errors for its uses.
    """

    def __init__(self, statements: Sequence[tree.Assignment], family: Family, facts: Any, scope: Scope) -> None:
        self.scope = scope
        self._own: dict[str, Built | None] = {}
        self._below = dict.fromkeys(str(statement.words[1]) for statement in statements)
        self._nodes: dict[str, tree.Assignment] = {}
        self.builder = PlanExpressions(family, facts, scope, self._own, self._below)
        for statement in statements:
            try:
                self._define(statement)
            except MistakeError as mistake:
                scope.report.add(mistake.diagnostic)

    @property
    def lets(self) -> tuple[Let, ...]:
        """Those that are right."""
        return tuple(
            Let(name, built[0], _unit(built, self.scope), self.scope.span(self._nodes[name]))
            for name, built in self._own.items()
            if built is not None
        )

    def _define(self, statement: tree.Assignment) -> None:
        token = statement.words[1]
        name = str(token)
        self._require_free(token)
        self._nodes[name] = statement
        try:
            built = self.builder.build(statement.value)
        except MistakeError:
            self._own[name] = None
            raise
        if isinstance(built[0], Constant):
            raise self.scope.mistake(
                "wrong-statement",
                f"`{name}` does not use any quantity of the plan",
                statement.value,
                f"write `param {name} = ...` for a number, or name a quantity: {_known(self.builder)}",
            )
        self._own[name] = built

    def _require_free(self, token: Any) -> None:
        name, scope = str(token), self.scope
        if token.type == "STRING":
            message = "the name of a user-defined quantity is not quoted"
            raise scope.mistake("wrong-statement", message, token, "write `let total = ...`")
        taken = next((said for said, names in self._taken() if name in names), "")
        if taken:
            hint = f"rename it, such as `my_{name}`"
            raise scope.mistake("reserved-name", f"`let {name}` has the name of {taken}", token, hint)
        if name in self._nodes:
            first = Related("first defined here", scope.span(self._nodes[name].words[1]))
            message = f"the quantity `{name}` is defined twice"
            raise scope.mistake("duplicate", message, token, "give each its own name", first)

    def _taken(self) -> Sequence[tuple[str, Any]]:
        return (
            ("a unit", units.UNITS),
            ("a quantity that the plan has", self.builder.known),
            ("a param", self.scope.parameter_names),
        )


def resolve_goal(block: tree.Block | tree.Goal, family: Family, own: OwnQuantities) -> Goal:
    """Return the objective of ``minimize cost``, or of an expression over quantities of the plan and of ``let``.

    Raises MistakeError for all others.
    """
    scope, words = own.scope, [tree.word_text(word) for word in block.words]
    known = [f"{goal.sense} {goal.quantity}" for goal in family.goals]
    written = inline_text(block)
    if written in known:
        return Goal(words[0], words[1], scope.span(block))
    node = _asked(block, words, family, own)
    if node is not None and words[0] in LINEAR and any(each.other_goals for each in family.formulations):
        return _own_goal(words[0], value_text(node), node, block, own)
    asked = (f"{sense} {name}" for sense in LINEAR for name in (*own.builder.own, *own.builder.known))
    alone = {name for name, kind in own.builder.known.items() if not kind.needs_argument}
    free = {*own.builder.own, *alone} - {goal.quantity for goal in family.goals}
    takes = any(each.other_goals for each in family.formulations)
    others = [each for each in asked if takes and each.split()[1] in free]
    raise scope.mistake(
        "unknown-goal",
        f"{kind_words(family.name)} problem cannot `{written}`",
        block,
        did_you_mean(written, known if nearest(written, known) else (*known, *others), "goals: "),
    )


def _asked(block: tree.Block | tree.Goal, words: Sequence[str], family: Family, own: OwnQuantities) -> Any:
    """Return the expression of an objective, or a quantity that is not an objective of the family, or None."""
    if isinstance(block, tree.Goal):
        return block.value
    if block.statements is not None or block.indexed is not None or block.more:
        return None
    if block.call is not None:
        return block.call if len(words) == 1 else None
    if len(words) != 2 or words[1] in {goal.quantity for goal in family.goals}:
        return None
    known = words[1] in own.builder.own or words[1] in own.builder.known
    return tree.Name(block.words[1]) if known else None


def _own_goal(sense: str, name: str, node: Any, block: tree.Block | tree.Goal, own: OwnQuantities) -> Goal:
    built = own.builder.build(node)
    if isinstance(built[0], Constant):
        raise own.scope.mistake(
            "wrong-statement", "this objective contains no quantity of the plan", node, _known(own.builder)
        )
    try:
        terms_of(built[0])
    except ValueError as reason:
        hint = "an objective adds quantities that are multiplied by numbers"
        raise own.scope.mistake("wrong-statement", f"this goal is not linear: {reason}", node, hint) from None
    return Goal(sense, name, own.scope.span(block), built[0], _unit(built, own.scope))


def _unit(built: Built, scope: Scope) -> str:
    return units.si_unit(built[1], scope.report.currency or units.DEFAULT_CURRENCY)


def _known(builder: PlanExpressions) -> str:
    return ", ".join(builder.known) or "this family has none"


def resolve_constraints(block: tree.Block, builder: PlanExpressions) -> tuple[Constraint, ...]:
    """Return the constraints of one ``subject to`` block; wrong ones are reported and left out."""
    constraints = []
    for statement in block.statements or ():
        try:
            constraints.append(_constraint(statement, builder))
        except MistakeError as mistake:
            builder.scope.report.add(mistake.diagnostic)
    return tuple(constraints)


def _constraint(statement: Any, builder: PlanExpressions) -> Constraint:
    scope = builder.scope
    left_node, comparison, right_node = _sides(statement, scope)
    left, left_dimension = builder.build(left_node)
    right, right_dimension = builder.build(right_node)
    if not (units.fits(left_dimension, right_dimension) or units.fits(right_dimension, left_dimension)):
        raise scope.mistake(
            "wrong-unit",
            f"cannot compare {units.describe(left_dimension)} with {units.describe(right_dimension)}",
            statement,
            "both sides must have the same dimension",
        )
    if isinstance(left, Constant) and isinstance(right, Constant):
        raise scope.mistake(
            "wrong-statement",
            "this comparison contains no quantity of the plan",
            statement,
            did_you_mean("", (*builder.known, *builder.own), "quantities: "),
        )
    return Constraint(left, comparison, right, inline_text(statement), scope.span(statement))


def _sides(statement: Any, scope: Scope) -> tuple[Any, str, Any]:
    match statement:
        case tree.Comparison(left, operator, right):
            return left, "=" if operator == "==" else operator, right
        case tree.Assignment((word,), value) if not isinstance(value, tree.Interval):
            return tree.Name(word), "=", value
        case _:
            raise scope.mistake(
                "wrong-statement",
                "`subject to` holds comparisons",
                tree.first_token(statement),
                f"write `cost <= 100 {scope.report.currency or units.DEFAULT_CURRENCY}`",
            )
