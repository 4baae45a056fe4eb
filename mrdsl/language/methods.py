"""Statements that appear once: ``solve with METHOD { options }``, problem, objective and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import MrdslError, Related, did_you_mean, error
from mrdsl.language import tree
from mrdsl.language.block_context import BlockContext
from mrdsl.language.blocks import ItemSpans
from mrdsl.language.items import convert
from mrdsl.language.scope import MistakeError, Scope
from mrdsl.spec.declared import METHOD_OPTIONS as OPTIONS
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import METHOD_NAME, METHOD_NAME_RULE, Method


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
    from mrdsl.solving.references import options_taken

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
