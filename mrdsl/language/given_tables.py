"""Blocks from a table that a program has at hand: what ``classes from "classes.csv"`` reads, without a file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, has_errors
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.source import Span
from mrdsl.core.suggestions import did_you_mean
from mrdsl.exchange.arrow import Arrow, as_csv
from mrdsl.exchange.mistakes import FormatError
from mrdsl.families import family as find_family
from mrdsl.families import family_names
from mrdsl.language import tree
from mrdsl.language.block_context import NO_SEED, BlockContext
from mrdsl.language.items import Files
from mrdsl.language.parsing import parse
from mrdsl.language.repeated import resolve_repeated
from mrdsl.language.scope import Report, Scope, TooManyMistakesError
from mrdsl.language.vocabulary import vocabulary
from mrdsl.spec.columns import Columns
from mrdsl.spec.schema import Block, Node

_FILE, _BRACES = "table.csv", "<braces>"


def blocks_from(problem: str, word: str, table: Arrow, braces: str, currency: str) -> Sequence[Any]:
    """The blocks of ``WORD from`` a table; diagnostics name its rows, counted from 0, and its columns.

    Raises MrdslError with every diagnostic.
    """
    declared = _declared(problem, word)
    block, statements = _written(word, braces)
    try:
        text, starts = as_csv(table)
    except FormatError as refused:
        hint = "give a frame with named columns of numbers and texts"
        raise MrdslError([error("unreadable-table", f"the table {refused}", None, hint)]) from None
    report = Report(currency=currency)
    with scratch_folder() as folder:
        (folder / _FILE).write_text(text, encoding="utf-8", newline="")
        scope = Scope(tree.FileNames((_BRACES,)), report, lambda _: None)
        context = BlockContext(scope, Files(folder), NO_SEED, "", "", resolve_repeated)
        try:
            found = resolve_repeated(declared.word, declared, [block._replace(statements=statements)], context)
        except TooManyMistakesError:
            found = ()
    if has_errors(report.found):
        raise MrdslError(tuple(_at_rows(report.found, text, starts)))
    if isinstance(found, Columns):
        return Columns(found.node_type, found.names, found.values, partial(_place, word, found.span_at), found.group)
    return found


def _place(word: str, span_at: Callable[[int], Span | None], row: int) -> Span | None:
    """Where a block stands, for what is said of it later: its line, below that of the heads."""
    span = span_at(row)
    return None if span is None else replace(span, file=f"<{word}>")


def _declared(problem: str, word: str) -> Block:
    """The repeated block that a plural names, the outermost of that name."""
    family = find_family(problem)
    if family is None:
        hint = did_you_mean(problem, family_names(), "kinds: ")
        raise MrdslError([error("unknown-problem", f"there is no problem kind `{problem}`", None, hint)])
    waiting: deque[type[Node]] = deque([family.facts])
    known: dict[str, Block] = {}
    while waiting:
        words = vocabulary(waiting.popleft())
        for plural, (_, block) in words.plurals.items():
            if plural not in known:
                known[plural] = block
                waiting.append(block.node)
        waiting.extend(block.node for _, block in words.singles.values())
    if word not in known:
        hint = did_you_mean(word, known, "tables: ")
        raise MrdslError([error("unknown-block", f"no table of {problem} is called `{word}`", None, hint)])
    return known[word]


def _written(word: str, braces: str) -> tuple[tree.Block, tuple[Any, ...]]:
    document, mistakes = parse(f'{word} from "{_FILE}" {{\n{braces}\n}}\n', _BRACES)
    if mistakes:
        raise MrdslError([replace(each, span=None, path="braces") for each in mistakes])
    (block,) = document.statements
    assert isinstance(block, tree.Block)
    return block, block.statements or ()


def _at_rows(found: Sequence[Diagnostic], text: str, starts: Sequence[int]) -> Iterator[Diagnostic]:
    """The diagnostics with a row and a column in place of the line and the column of the text."""
    lines = text.split("\n")
    heads = lines[0].split(",")
    rows = {line: row for row, line in enumerate(starts)}
    for each in found:
        span = each.span
        if span is None or Path(span.file).name != _FILE:
            yield each if span is None else replace(each, span=None, path="braces")
            continue
        whole = span.column == 1 and span.end_column == len(lines[span.line - 1]) + 1 and len(heads) > 1
        column = "" if whole else f"[{heads[lines[span.line - 1][: span.column - 1].count(',')]!r}]"
        row = rows.get(span.line)
        place = f"table{column}" if row is None else f"table{column or '.row'}[{row}]"
        yield replace(each, span=None, path=place, related=())
