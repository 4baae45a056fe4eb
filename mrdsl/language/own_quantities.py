"""``let NAME = expression``, and goals that are such an expression: quantities of one's own over those of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from mrdsl.contracts.asked_of_plans import LINEAR
from mrdsl.contracts.family import Family, kind_words
from mrdsl.core import units
from mrdsl.core.diagnostics import Related
from mrdsl.core.suggestions import did_you_mean, nearest
from mrdsl.language import tree
from mrdsl.language.formatting import inline_text, value_text
from mrdsl.language.plan_expressions import Built, PlanExpressions
from mrdsl.language.scope import MistakeError, Scope
from mrdsl.spec.expression import Constant
from mrdsl.spec.linear import terms_of
from mrdsl.spec.spec import Goal, Let

WORD = "let"


def is_let(statement: Any) -> TypeGuard[tree.Assignment]:
    """Whether a statement is ``let NAME = ...``."""
    return isinstance(statement, tree.Assignment) and len(statement.words) == 2 and statement.words[0] == WORD


class OwnQuantities:
    """What ``let`` names, in the spec's order; ``builder`` knows them too, for comparisons and the goal.

    Each may use those above it. One that is wrong is reported, and what uses it says nothing more.
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
                f"`{name}` names no quantity of the plan",
                statement.value,
                f"write `param {name} = ...` for a number, or name a quantity: {_known(self.builder)}",
            )
        self._own[name] = built

    def _require_free(self, token: Any) -> None:
        name, scope = str(token), self.scope
        if token.type == "STRING":
            message = "the name of a quantity of one's own is not quoted"
            raise scope.mistake("wrong-statement", message, token, "write `let total = ...`")
        taken = next((said for said, names in self._taken() if name in names), "")
        if taken:
            hint = f"rename it, such as `my_{name}`"
            raise scope.mistake("reserved-name", f"`let {name}` bears the name of {taken}", token, hint)
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
    """The goal of ``minimize cost``, or of an expression over quantities of the plan and of one's own.

    Raises MistakeError for any other.
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
    """What a goal asks for: an expression, or a quantity that no goal of the family is about; None for neither."""
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
        raise own.scope.mistake("wrong-statement", "this goal names no quantity of the plan", node, _known(own.builder))
    try:
        terms_of(built[0])
    except ValueError as reason:
        hint = "a goal adds quantities that are multiplied by numbers"
        raise own.scope.mistake("wrong-statement", f"this goal is not linear: {reason}", node, hint) from None
    return Goal(sense, name, own.scope.span(block), built[0], _unit(built, own.scope))


def _unit(built: Built, scope: Scope) -> str:
    return units.si_unit(built[1], scope.report.currency or units.DEFAULT_CURRENCY)


def _known(builder: PlanExpressions) -> str:
    return ", ".join(builder.known) or "this family has none"
