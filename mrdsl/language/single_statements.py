"""Statements that stand once in a spec: the problem, the goal, the method, the seed."""

from __future__ import annotations

from collections.abc import Sequence

from mrdsl.core.diagnostics import Related, error
from mrdsl.language import tree
from mrdsl.language.scope import Scope


def report_repeats(
    found: Sequence[tree.Block | tree.Goal] | Sequence[tree.Assignment],
    message: str,
    hint: str,
    scope: Scope,
    first: str = "the first one is here",
) -> None:
    """Reports every statement after the first one, with the first one's place."""
    for again in found[1:]:
        related = Related(first, scope.span(found[0].words[0]))
        scope.report.add(error("duplicate", message, scope.span(again.words[0]), hint, related))
