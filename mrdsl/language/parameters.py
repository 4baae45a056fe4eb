"""``param NAME = expression`` or a word: overridden from the command line or a file; statements that appear once."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeGuard

from mrdsl.contracts.family import Family
from mrdsl.core import units
from mrdsl.core.diagnostics import MrdslError, Related, chained, did_you_mean, error, is_printable, shortened
from mrdsl.language import tree
from mrdsl.language.block_context import BlockContext
from mrdsl.language.blocks import ItemSpans
from mrdsl.language.evaluate import evaluate, require_printable
from mrdsl.language.items import convert
from mrdsl.language.parsing import parse_expression
from mrdsl.language.scope import AUTO, MistakeError, Report, Scope, Value, Word
from mrdsl.spec.declared import METHOD_OPTIONS as OPTIONS
from mrdsl.spec.declared import python_number_mistake
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import METHOD_NAME, METHOD_NAME_RULE, Method

WORD = "param"
_NUMBER = Item("quantity", "a param")


def is_param(statement: Any) -> TypeGuard[tree.Assignment]:
    """Return True if a statement is ``param NAME = ...``."""
    return isinstance(statement, tree.Assignment) and len(statement.words) == 2 and statement.words[0] == WORD


def _path(name: str) -> str:
    """Return the place of a value that was given from outside."""
    return f"parameters[{name!r}]"


def _is_number(given: str | Value) -> bool:
    """Return True if a value from outside is an expression and no single word."""
    node = parse_expression(given) if isinstance(given, str) else given
    return node is not None and not isinstance(node, tree.Name | tree.Text)


class Parameters:
    """The params of a spec, evaluated at first use: they can be in any order and refer to each other."""

    def __init__(self, report: Report) -> None:
        self._nodes: dict[str, tree.Assignment] = {}
        self.scope = Scope(report, self.value, self._nodes.keys())
        self._overrides: dict[str, str | Value] = {}
        self._values: dict[str, Value | None] = {}
        self._running: dict[str, None] = {}

    @property
    def names(self) -> KeysView[str]:
        return self._nodes.keys()

    def define(self, statement: tree.Assignment) -> None:
        """Take one ``param`` statement."""
        name_token = statement.words[1]
        name = str(name_token)
        report = self.scope.report
        if name_token.type == "STRING":
            report.add(
                error(
                    "wrong-statement",
                    "a param's name is not quoted",
                    self.scope.span(name_token),
                    "write `param peak = 1.0`",
                )
            )
        elif name in units.UNITS:
            report.add(
                error(
                    "reserved-name",
                    f"the param `{name}` has the name of a unit",
                    self.scope.span(name_token),
                    f"rename it, such as `{name}_value`",
                )
            )
        elif name in self._nodes:
            report.add(
                error(
                    "duplicate",
                    f"the param `{name}` is defined twice",
                    self.scope.span(name_token),
                    "give each its own name",
                    Related("first defined here", self.scope.span(self._nodes[name].words[1])),
                )
            )
        else:
            self._nodes[name] = statement

    def statement(self, name: str) -> tree.Assignment:
        """Return the statement that defines a param."""
        return self._nodes[name]

    def override(self, values: Mapping[str, Any]) -> None:
        """Replace params by values from outside: numbers, or expressions and words as text."""
        report = self.scope.report
        for name, given in values.items():
            if name not in self._nodes:
                hint = did_you_mean(name, self.names, "params: ") or f"add `param {name} = ...` to the spec"
                report.add(
                    replace(error("unknown-param", f"the spec has no param `{name}`", None, hint), path=_path(name))
                )
                continue
            mistake = None if isinstance(given, str) else python_number_mistake(name, _NUMBER, given)
            if mistake is not None:
                report.add(replace(error(mistake.code, mistake.message, None, mistake.hint), path=_path(name)))
                continue
            self._overrides[name] = given if isinstance(given, str) else Value(float(given), units.NUMBER)

    def value(self, name: str) -> Value | None:
        """Return the value of a param, or None if it could not be computed, which was reported."""
        if name not in self._values:
            if name in self._running:
                self._report_cycle(name)
                return None
            self._settle(name)
        return self._values[name]

    def _settle(self, name: str) -> None:
        """Works out a param after those that it mentions, one by one, so that no chain of them is too long."""
        waiting = [name]
        while waiting:
            current = waiting[-1]
            if current in self._values:
                waiting.pop()
            elif current in self._running:
                self._values[current] = self._evaluate(current)
                del self._running[current]
                waiting.pop()
            else:
                self._running[current] = None
                mentioned = dict.fromkeys(str(token) for token in self._mentioned(current))
                waiting += [
                    n for n in mentioned if n in self._nodes and n not in self._values and n not in self._running
                ]

    def _mentioned(self, name: str) -> Iterator[Any]:
        yield from tree.names_in(self._nodes[name].value)
        given = self._overrides.get(name)
        yield from tree.names_in(parse_expression(given) if isinstance(given, str) else None)

    def evaluate_all(self) -> dict[str, float | str]:
        """Return every param's value, a number in SI or a word, for the record; mistakes are reported."""
        values = {name: self.value(name) for name in self.names}
        return {
            name: value.number.text if isinstance(value.number, Word) else float(value.number)
            for name, value in values.items()
            if value is not None
        }

    def _evaluate(self, name: str) -> Value | None:
        report = self.scope.report
        node = self._nodes[name].value
        try:
            default = self._word(name, node) or evaluate(node, self.scope)
            if not isinstance(default.number, float | Word):
                raise self.scope.mistake(
                    "random-value", f"the param `{name}` cannot be random", node, "write one value"
                )
        except MistakeError as mistake:
            report.add(mistake.diagnostic)
            return None
        given = self._overrides.get(name)
        if given is None:
            return default
        if isinstance(given, str) and given.strip() == AUTO:
            return Value(Word(AUTO, self.scope.span(node)), units.NUMBER)
        if isinstance(default.number, Word) and not (default.number.text == AUTO and _is_number(given)):
            return self._other_word(name, given, default.number.text)
        return self._overridden(name, given, default)

    def _word(self, name: str, node: Any) -> Value | None:
        """Return the word that a bare name or a text means, as a value, or None for other nodes.

        The name of another param means the word of that param. Raises MistakeError if that is broken.
        """
        if isinstance(node, tree.Text):
            require_printable(node.token, self.scope)
        elif not isinstance(node, tree.Name):
            return None
        elif node.token in units.UNITS:
            hint = f'write its number before it, or quote a word: `param {name} = "{node.token}"`'
            raise self.scope.mistake("unit-without-number", f"the unit `{node.token}` has no number", node, hint)
        elif node.token in self._nodes:
            value = self.value(str(node.token))
            return value if value is not None and isinstance(value.number, Word) else None
        return Value(Word(tree.word_text(node.token), self.scope.span(self._nodes[name])), units.NUMBER)

    def _other_word(self, name: str, given: str | Value, default: str) -> Value | None:
        """Return a word from outside: a bare name or a text as in a spec, and any other text as it is."""
        text, node = "", None
        if isinstance(given, str):
            text, node = given.strip(), parse_expression(given)
        if not text or not is_printable(text):
            told = error(
                "wrong-value",
                f"the param `{name}` is a word, but the value given is "
                + ("a number" if isinstance(given, Value) else "empty"),
                self.scope.span(self._nodes[name]),
                f"give a word, such as `{default}`",
            )
            self.scope.report.add(replace(told, path=_path(name)))
            return None
        if isinstance(node, tree.Name) and node.token in self._nodes:
            value = self.value(str(node.token))
            if value is None or isinstance(value.number, Word):
                return value
        word = node.value if isinstance(node, tree.Text) else text
        return Value(Word(word, self.scope.span(self._nodes[name])), units.NUMBER)

    def _overridden(self, name: str, given: str | Value, default: Value) -> Value | None:
        report = self.scope.report
        inner = Report(currency=report.currency, currency_span=report.currency_span)
        node = parse_expression(given) if isinstance(given, str) else None
        if isinstance(given, str) and node is None:
            told = error(
                "wrong-value",
                f"`{shortened(given)}` is not a value for the param `{name}`",
                None,
                "give a number such as `1.1`, or a quantity such as `15 min`",
            )
            report.add(replace(told, path=_path(name)))
            return None
        try:
            value = given if isinstance(given, Value) else evaluate(node, Scope(inner, self.value, self._nodes.keys()))
        except MistakeError as mistake:
            text = mistake.diagnostic.message if mistake.diagnostic else "it uses an invalid param"
            hint = mistake.diagnostic.hint if mistake.diagnostic else ""
            told = error("wrong-value", f"the value given for the param `{name}`: {text}", None, hint)
            report.add(replace(told, path=_path(name)))
            return None
        if not isinstance(value.number, float):
            told = error("random-value", f"the param `{name}` cannot be random", None, "give one value")
            report.add(replace(told, path=_path(name)))
            return None
        if value.dimension != default.dimension and not isinstance(default.number, Word):
            report.add(
                error(
                    "wrong-unit",
                    f"the param `{name}` is {units.describe(default.dimension)}, but the value given "
                    f"is {units.describe(value.dimension)}",
                    self.scope.span(self._nodes[name]),
                    "give it in the same kind of unit",
                )
            )
            return None
        return value

    def _report_cycle(self, name: str) -> None:
        running = list(self._running)
        cycle = chained([*running[running.index(name) :], name])
        self.scope.report.add(
            error(
                "param-cycle",
                f"the param `{name}` is defined in terms of itself: {cycle}",
                self.scope.span(self._nodes[name]),
                "break the cycle with a number",
            )
        )


def report_repeats(
    found: Sequence[tree.Block | tree.Goal] | Sequence[tree.Assignment],
    message: str,
    hint: str,
    scope: Scope,
    first: str = "the first one is here",
) -> None:
    """Report every statement after the first one, with the first one's place."""
    for again in found[1:]:
        related = Related(first, scope.span(found[0].words[0]))
        scope.report.add(error("duplicate", message, scope.span(again.words[0]), hint, related))


def options_of(method: str, family: str) -> Mapping[str, Item]:
    """Return the options of ``solve with METHOD`` in a family: the common ones and those in the method's file.

    Both ``check`` and ``solve`` use this list. The registry rejects methods without a file.
    """
    from mrdsl.solving import registry
    from mrdsl.solving.pipelines import options_taken

    try:
        declared = registry.find(method) if method != "auto" else None
    except MrdslError:
        return OPTIONS
    return options_taken(declared, family)


def resolve_method(blocks: Sequence[tree.Block], family: Family, context: BlockContext) -> Method | None:
    """Return the method that the spec names, or None; the registry checks that it exists."""
    scope = context.scope
    report_repeats(blocks, "a spec is solved with one method", "keep one of them", scope)
    if not blocks:
        return None
    block = blocks[0]
    if len(block.words) != 3:
        scope.report.add(
            error(
                "wrong-statement",
                "`solve with` requires one method name",
                scope.span(block.words[0]),
                "write `solve with highs { time_limit = 10 s }`; quote a name with a hyphen",
            )
        )
        return None
    written_name = tree.word_text(block.words[2])
    name = written_name.replace("_", "-")
    if not METHOD_NAME.fullmatch(name):
        scope.report.add(
            error(
                "unknown-solver",
                f"`{written_name}` is not a valid solver name",
                scope.span(block.words[2]),
                METHOD_NAME_RULE,
            )
        )
        return None
    options: dict[str, Any] = {}
    written: dict[str, Any] = {}
    known = options_of(name, family.name) if block.statements else OPTIONS
    for statement in block.statements or ():
        _option(statement, context, known, options, written)
    _check_formulation(family, options, written, scope)
    return Method(name, MappingProxyType(options), tree.header_span(block), ItemSpans(written))


def _check_formulation(family: Family, options: Mapping[str, Any], written: Mapping[str, Any], scope: Scope) -> None:
    name = options.get("formulation")
    known = [formulation.name for formulation in family.formulations]
    if name is not None and name.lower() not in (each.lower() for each in known):
        message = f"{family.name} has no formulation `{name}`"
        context = scope.span(written["formulation"].words[0])
        scope.report.add(error("unknown-formulation", message, context, did_you_mean(name, known, "formulations: ")))


def _option(
    statement: Any, context: BlockContext, known: Mapping[str, Item], options: dict[str, Any], written: dict[str, Any]
) -> None:
    scope = context.scope
    if not isinstance(statement, tree.Assignment):
        scope.report.add(
            error(
                "wrong-statement",
                "a method's options are items",
                scope.span(tree.first_token(statement)),
                "write `time_limit = 10 s`",
            )
        )
        return
    key = tree.word_text(statement.words[0])
    item = known.get(key)
    if item is None:
        scope.report.add(
            error(
                "unknown-option",
                f"`solve with` has no option `{key}`",
                scope.span(statement.words[0]),
                did_you_mean(key, known, "options: "),
            )
        )
        return
    if key in written:
        scope.report.add(
            error(
                "duplicate",
                f"`{key}` is defined twice",
                scope.span(statement.words[0]),
                "keep one of them",
                Related("first written here", scope.span(written[key])),
            )
        )
        return
    written[key] = statement
    try:
        options[key] = convert(key, item, statement.value, scope)
    except MistakeError as mistake:
        scope.report.add(mistake.diagnostic)
