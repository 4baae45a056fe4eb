"""Loading of a Spec from a file or text, and updates when params change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Severity, Span, error, has_errors, in_order, note, number_of
from mrdsl.core.json_text import collection_paused
from mrdsl.core.reading import shown_name
from mrdsl.exchange.text import read_document, within_budget
from mrdsl.families import family as find_family
from mrdsl.families.diagnosis import diagnose
from mrdsl.language import tree
from mrdsl.language.blocks import ItemSpans
from mrdsl.language.items import Files, convert
from mrdsl.language.parameters import Parameters
from mrdsl.language.parsing import parse
from mrdsl.language.requirements import check_requirements
from mrdsl.language.resolving import Importer, Loaded, goals_and_constraints, resolve, sort_statements
from mrdsl.language.scope import MistakeError, Report, Scope, TooManyMistakesError
from mrdsl.spec.declared import DISTRIBUTIONS
from mrdsl.spec.scaling import factors_in
from mrdsl.spec.schema import Block, Item, Node, declarations, mark_valid
from mrdsl.spec.spec import Checked, Spec

TEXT_NAME = "<text>"
_FOLLOW_UPS = frozenset(
    {
        "missing-item",
        "missing-block",
        "unknown-name",
        "missing-problem",
        "unused",
        "shares-do-not-add-up",
        "impossible-quota",
        "no-vm-type",
    }
)
_OF_ITEMS = frozenset({"wrong-unit", "missing-unit", "out-of-range", "reversed-range", "unknown-name"})


def load_file(
    path: str | Path, parameters: Mapping[str, Any] | None = None, *, seed: int | None = None, outside: bool = False
) -> Loaded:
    """Read a spec from a file; a file that cannot be read is a diagnostic too."""
    shown = str(path)
    path = Path(path)
    text, problem = _read(path)
    if text is None:
        return _unreadable(shown, problem)
    return _load(text, shown, path.parent, path, parameters or {}, seed, outside)


def load_text(
    text: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    name: str = TEXT_NAME,
    folder: str | Path = ".",
    seed: int | None = None,
    outside: bool = False,
) -> Loaded:
    """Read a spec from a text; ``folder`` contains its imports and tables."""
    whole, problem = within_budget(text.removeprefix("\ufeff"))
    if whole is None:
        return _unreadable(name, problem)
    return _load(whole, name, Path(folder), None, parameters or {}, seed, outside)


def upgraded(text: str, name: str, folder: Path) -> str:
    """Replace words of earlier releases in the text of a spec, but not in its imports.

    Args:
        text: The spec. It can have errors: words are replaced as far as it can be read.
        name: The name of its file in messages.
        folder: The folder of its imports and tables.

    Returns:
        The text with each former word replaced, and otherwise unchanged.
    """
    found = load_text(text, name=name, folder=folder, outside=True).renamed
    lines = text.split("\n")
    for each in sorted({each for each in found if each.span.file == name}, key=lambda e: (e.span.line, -e.span.column)):
        at, line = each.span.column - 1, lines[each.span.line - 1]
        lines[each.span.line - 1] = line[:at] + line[at:].replace(each.was, each.word, 1)
    return "\n".join(lines)


def _unreadable(shown: str, problem: str) -> Loaded:
    message = f"`{shown_name(shown)}` cannot be read: {problem}"
    return Loaded(None, (error("unreadable-file", message, Span(shown, 1, 1, 1, 1)),), {})


def _read(path: Path) -> tuple[str | None, str]:
    text, problem = read_document(path, own_descriptors=True)
    if text is not None and not text.strip():
        return None, "it is empty"
    if text is not None and text.lstrip().startswith("{"):
        return None, "it is JSON, such as a saved plan, but a spec is required"
    return text, problem


def _load(
    text: str,
    shown: str,
    folder: Path,
    path: Path | None,
    parameters: Mapping[str, Any],
    seed: int | None,
    outside: bool,
) -> Loaded:
    with collection_paused():
        document, syntax = parse(text, shown)
        resolved = resolve(document, folder, path, parameters, seed, outside)
    diagnostics = [*syntax, *_causes(resolved.diagnostics, syntax)]
    spec = resolved.spec
    if spec is not None:
        if not any(factors_in(parameters)):  # products can be out of range
            mark_valid(spec.facts)
        said = diagnose(spec)
        spec = replace(spec, checked=Checked(spec.facts, spec.goal, spec.constraints, spec.lets, spec.seed, said))
        follows = _FOLLOW_UPS if has_errors(diagnostics) else frozenset()
        genuine = _unknown_names(said, resolved.dropped) if _reads_all_names(diagnostics) else []
        diagnostics += [d for d in said if d.code not in follows or d in genuine]
    diagnostics = _first(in_order(diagnostics))
    usable = not has_errors(d for d in diagnostics if not d.impossible)
    return replace(resolved, spec=spec if usable else None, diagnostics=tuple(diagnostics))


def _reads_all_names(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return True if all errors are those of single items, so that the names of all blocks are known."""
    return all(d.code in _OF_ITEMS for d in diagnostics if d.severity is Severity.ERROR)


def _unknown_names(said: Iterable[Diagnostic], dropped: Iterable[str]) -> list[Diagnostic]:
    """Return the unknown names that are not those of blocks with an error, which were left out."""
    names = "|".join(map(re.escape, dropped))
    unread = re.compile(rf"(?<![\w.-])(?:{names})(?![\w.-])" if names else "(?!)")
    return [d for d in said if d.code == "unknown-name" and not unread.search(d.message)]


def _first(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Return the first diagnostics of a spec with thousands; errors come before warnings if some are left out."""
    if len(diagnostics) <= budgets.DIAGNOSTICS:
        return diagnostics
    diagnostics.sort(key=lambda d: d.severity is not Severity.ERROR)
    told, last = diagnostics[: budgets.DIAGNOSTICS], diagnostics[budgets.DIAGNOSTICS - 1]
    more = f"{number_of(len(diagnostics) - len(told), 'more message')} not shown"
    return [*in_order(told), note("too-many-mistakes", more, last.span, "correct these first, then check again")]


def _causes(diagnostics: Iterable[Diagnostic], syntax: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Leave out diagnostics that follow from a syntax error: on its lines, and of missing items that were not read."""
    lines = {
        (d.span.file, line) for d in syntax if d.span is not None for line in range(d.span.line, d.span.end_line + 1)
    }
    if not lines:
        return list(diagnostics)
    return [
        d
        for d in diagnostics
        if d.code not in _FOLLOW_UPS and (d.span is None or (d.span.file, d.span.line) not in lines)
    ]


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
        importer = Importer(Files(folder, outside), report, {name: text})
        statements = importer.expand(self.document.statements, folder, (path.resolve(),) if path is not None else ())
        self.parts = sort_statements(statements)
        self.items = _items_with_params(self.spec.facts, frozenset(self.spec.parameters))
        self.local = not any(factors_in(given)) and self._all_is_accounted_for(statements)

    def update(self, parameters: Mapping[str, Any]) -> Spec:
        """Return the spec with these params in addition to earlier ones; raises MrdslError as reading the text does."""
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
        parameters = Parameters(report)
        for statement in self.parts.params:
            parameters.define(statement)
        parameters.override(overrides)
        values = parameters.evaluate_all()
        scope = Scope(report, parameters.value, parameters.names)
        check_requirements(self.parts.requirements, parameters, scope)
        changed = {identity: _converted(node, keys, scope) for identity, (node, keys) in self.items.items()}
        facts = _rebuilt(self.spec.facts, changed) if not has_errors(report.found) else self.spec.facts
        family = find_family(self.spec.problem)
        assert family is not None
        asked = goals_and_constraints(self.parts, family, facts, scope)
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
        """Return True if every mention of a param is in a known item, a param or a comparison."""
        names = frozenset(self.spec.parameters)
        known = {id(keys[key]) for _, keys in self.items.values() for key in keys}
        free = [*self.parts.params, *self.parts.requirements, *self.parts.lets, *self.parts.goals, *self.parts.subject]
        for statement in statements:
            if any(statement is other for other in free):
                continue
            if any(id(place) not in known for place in _mentions(statement, names, None)):
                return False
        if any(_has_share(node, self.items) for node in _nodes(self.spec.facts)):
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
    """Return the same facts with new values, sharing every part that does not change."""
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
    """Yield the innermost assignment around each mention of a param, or the statement if there is none."""
    if isinstance(part, tree.Name):
        if tree.word_text(part.token) in names:
            yield within
    elif isinstance(part, tuple):
        if isinstance(part, tree.Assignment) or within is None:
            within = part
        for inner in part:
            yield from _mentions(inner, names, within)


def _has_share(node: Node, items: Mapping[int, Any]) -> bool:
    """Return True if params change an item that may be a share of another number, or the number's block."""
    declared = declarations(type(node))
    for field in node.spans:
        item = declared.get(field)
        if isinstance(item, Item) and item.share_of:
            base = getattr(node, item.share_of.partition(".")[0])
            if id(base) in items or field in items.get(id(node), (None, ()))[1]:
                return True
    return False


def _is_random(part: Any) -> bool:
    if isinstance(part, tree.Call) and tree.word_text(part[0]) in DISTRIBUTIONS:
        return True
    return isinstance(part, tuple) and any(_is_random(inner) for inner in part)
