"""A spec whose params change again and again: only what mentions a changed param is worked out anew.

Where that cannot be told apart (a param inside a generator, a table, an index, a random value, or a text that was
overlaid by ``extends``), the whole text is resolved again, from the syntax tree that is at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lark import Token

from mrdsl.core.diagnostics import MrdslError, has_errors
from mrdsl.families import family as find_family
from mrdsl.language import tree
from mrdsl.language.blocks import ItemSpans
from mrdsl.language.imports import Importer
from mrdsl.language.items import Files, convert
from mrdsl.language.parameters import Parameters
from mrdsl.language.parsing import parse
from mrdsl.language.requirements import check_requirements
from mrdsl.language.resolving import asked_of_plan, resolve, sort_statements
from mrdsl.language.scope import MistakeError, Report, Scope, TooManyMistakesError
from mrdsl.spec.distributions import DISTRIBUTIONS
from mrdsl.spec.schema import Block, Node, declarations
from mrdsl.spec.spec import Spec


class Updater:
    """The syntax tree of a spec's text, and which items of its facts mention which params."""

    def __init__(
        self, text: str, name: str, folder: Path, path: Path | None, given: Mapping[str, Any], seed: int | None = None
    ) -> None:
        self.folder, self.path, self.given, self.seed, self.outside = folder, path, given, seed, True
        outside = self.outside
        self.document, syntax = parse(text, name)
        if has_errors(syntax):
            raise MrdslError(syntax)
        self.spec = self._resolve_all(given)
        report = Report()
        importer = Importer(Files(folder, outside), report, [name], {name: text})
        statements = importer.expand(self.document.statements, folder, (path.resolve(),) if path is not None else ())
        self.parts = sort_statements(statements)
        self.names = tree.FileNames(tuple(importer.names))
        self.items = _items_with_params(self.spec.facts, frozenset(self.spec.parameters))
        self.local = self._all_is_accounted_for(statements)

    def update(self, parameters: Mapping[str, Any]) -> Spec:
        """The spec with these params besides those given before; raises MrdslError as reading the text would."""
        given = {**self.given, **parameters}
        try:
            spec = self._resolve_touched(given) if self.local else self._resolve_all(given)
        except TooManyMistakesError:
            spec = self._resolve_all(given)
        self.given = given
        return spec

    def _resolve_all(self, parameters: Mapping[str, Any]) -> Spec:
        resolved = resolve(self.document, self.folder, self.path, parameters, self.seed, self.outside)
        if resolved.spec is None or has_errors(resolved.diagnostics):
            raise MrdslError(resolved.diagnostics)
        return resolved.spec

    def _resolve_touched(self, overrides: Mapping[str, Any]) -> Spec:
        report = Report(currency=self.spec.currency)
        parameters = Parameters(self.names, report)
        for statement in self.parts.params:
            parameters.define(statement)
        parameters.override(overrides)
        values = parameters.evaluate_all()
        scope = Scope(self.names, report, parameters.value, parameters.names)
        check_requirements(self.parts.requirements, parameters, scope)
        changed = {identity: _converted(node, keys, scope) for identity, (node, keys) in self.items.items()}
        facts = _rebuilt(self.spec.facts, changed) if not has_errors(report.found) else self.spec.facts
        family = find_family(self.spec.problem)
        assert family is not None
        asked = asked_of_plan(self.parts, family, facts, scope)
        if has_errors(report.found):
            raise MrdslError(report.found)
        return replace(
            self.spec,
            facts=facts,
            **asked,
            parameters=MappingProxyType(values),
            given=MappingProxyType(dict(overrides)),
        )

    def _all_is_accounted_for(self, statements: Sequence[Any]) -> bool:
        """Whether every mention of a param stands in a known item, a param or a comparison."""
        names = frozenset(self.spec.parameters)
        known = {id(keys[key]) for _, keys in self.items.values() for key in keys}
        free = [*self.parts.params, *self.parts.requirements, *self.parts.lets, *self.parts.goals, *self.parts.subject]
        for statement in statements:
            if any(statement is other for other in free):
                continue
            if any(id(place) not in known for place in _mentions(statement, names, None)):
                return False
        return not any(_is_random(statement) for _, keys in self.items.values() for statement in keys.values())


def _converted(node: Node, keys: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    declared = declarations(type(node))
    values = {}
    for key, statement in keys.items():
        item = declared[key]
        assert not isinstance(item, Block)
        try:
            values[key] = convert(key, item, statement.value, scope)
        except MistakeError as mistake:
            scope.report.add(mistake.diagnostic)
    return values


def _rebuilt(node: Any, changed: Mapping[int, Mapping[str, Any]]) -> Any:
    """The same facts with new values, sharing every part that does not change."""
    values = dict(changed.get(id(node), {}))
    for field in fields(node):
        inner = getattr(node, field.name)
        if isinstance(inner, Node):
            new = _rebuilt(inner, changed)
            if new is not inner:
                values[field.name] = new
        elif isinstance(inner, tuple) and inner and isinstance(inner[0], Node):
            many = tuple(_rebuilt(one, changed) for one in inner)
            if any(new is not old for new, old in zip(many, inner, strict=True)):
                values[field.name] = many
    return replace(node, **values) if values else node


def _items_with_params(facts: Any, names: frozenset[str]) -> dict[int, tuple[Node, dict[str, Any]]]:
    """Per node (by identity) its items whose expressions mention a param."""
    items = {}
    for node in _nodes(facts):
        if isinstance(node.spans, ItemSpans):
            keys = {
                key: statement
                for key, statement in node.spans.nodes.items()
                if isinstance(statement, tree.Assignment) and next(_mentions(statement, names, None), None)
            }
            if keys:
                items[id(node)] = (node, keys)
    return items


def _nodes(node: Any) -> Iterator[Node]:
    yield node
    for field in fields(node):
        inner = getattr(node, field.name)
        if isinstance(inner, Node):
            yield from _nodes(inner)
        elif isinstance(inner, tuple):
            for one in inner:
                if isinstance(one, Node):
                    yield from _nodes(one)


def _mentions(part: Any, names: frozenset[str], within: Any) -> Iterator[Any]:
    """The innermost assignment around each mention of a param (the statement itself where there is none)."""
    if isinstance(part, tree.Name):
        if tree.word_text(part.token) in names:
            yield within
    elif isinstance(part, tuple) and not isinstance(part, Token):
        if isinstance(part, tree.Assignment) or within is None:
            within = part
        for inner in part:
            yield from _mentions(inner, names, within)


def _is_random(part: Any) -> bool:
    if isinstance(part, tree.Call) and tree.word_text(part[0]) in DISTRIBUTIONS:
        return True
    return isinstance(part, tuple) and any(_is_random(inner) for inner in part)
