"""Blocks from the tables of a program: files, rows, and tables of other libraries such as polars, pyarrow and pandas.

nanoarrow reads the latter through the Arrow PyCapsule interface (``__arrow_c_stream__``), whatever library they come
from. Their values, and those of rows of a program, become the text that mrdsl reads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

from mrdsl.core.csv_text import cell_starts, csv_rows, exact_text
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, did_you_mean, error, has_errors, one_error
from mrdsl.core.guarded import scratch_folder
from mrdsl.exchange.text import FormatError
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


@runtime_checkable
class Arrow(Protocol):
    """An object that offers its rows through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def is_arrow(table: object) -> TypeGuard[Arrow]:
    """Return True if an object offers its rows so."""
    return isinstance(table, Arrow)


def rows_of(table: Arrow) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the heads and the rows of a table as Python values, with None for empty cells.

    pandas offers its frames through Arrow only with pyarrow, so its own iterator is used.
    It reads row by row: nanoarrow 0.9 makes an array of a column alone anew, and fails on long texts of polars. Raises
    MrdslError ``missing-extra`` without nanoarrow, and FormatError for objects that are not tables of named columns.
    """
    if type(table).__module__.partition(".")[0] == "pandas":
        frame: Any = table
        return tuple(map(str, frame.columns)), list(frame.itertuples(index=False, name=None))
    try:
        import nanoarrow
    except ImportError:
        hint = "pip install nanoarrow, or mrdsl with its extra `tables`"
        message = "tables of other libraries need nanoarrow, which is not installed"
        raise one_error("missing-extra", message, None, hint, exit_code=3) from None
    try:
        stream = nanoarrow.ArrayStream(table)
        heads = tuple(str(field.name) for field in stream.schema.fields)
        return heads, list(stream.iter_tuples())
    except (ValueError, TypeError, NotImplementedError, RuntimeError, KeyError, ImportError) as refused:
        raise FormatError(f"its columns cannot be read: {refused}") from None


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> tuple[str, list[int]]:
    """Return rows of Python values as the text of a CSV file for mrdsl itself, and the line on which each of them
    begins.

    A list is written as its words; empty cells, and NaN, which pandas has for them, stay empty.
    """
    cells = [[_cell(value) for value in values] for values in rows]
    line, starts = 1 + sum(head.count("\n") for head in heads), []
    for row in cells:
        starts.append(line + 1)
        line += 1 + sum(cell.count("\n") for cell in row)
    return exact_text(heads, cells), starts


def _cell(value: Any) -> str:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, list | tuple):
        return ";".join(map(_cell, value))
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if isinstance(value, float) and value != value else str(value)


_FILE, _BRACES = "table.csv", "<braces>"


def blocks_from(problem: str, word: str, table: Arrow, braces: str, currency: str) -> Sequence[Any]:
    """Return the blocks of ``WORD from`` a table; diagnostics name its rows, counted from 0, and its columns.

    Raises MrdslError with every diagnostic.
    """
    declared = _declared(problem, word)
    try:
        heads, rows = rows_of(table)
    except FormatError as refused:
        raise MrdslError([_unreadable(str(refused), "give a frame with named columns of numbers and texts")]) from None
    return _of_values(declared, word, heads, rows, braces, currency)


def blocks_of_rows(
    problem: str, word: str, rows: Iterable[Mapping[str, Any]], braces: str, currency: str
) -> Sequence[Any]:
    """Return the blocks of rows that name each column, as :func:`blocks_from` has those of a table."""
    declared = _declared(problem, word)
    given = list(rows)
    if not all(isinstance(row, Mapping) and all(isinstance(head, str) for head in row) for row in given):
        raise MrdslError([_unreadable("has a row that is not a dict of columns", 'write `{"name": "m5", "cores": 4}`')])
    heads = list(dict.fromkeys(head for row in given for head in row))
    return _of_values(declared, word, heads, [[row.get(head) for head in heads] for row in given], braces, currency)


def blocks_of_file(
    problem: str, word: str, path: Path, reader: str | None, braces: str, currency: str
) -> Sequence[Any]:
    """Return the blocks of ``WORD from "FILE"``, or of ``WORD from READER("FILE")``; diagnostics name its lines.

    Raises MrdslError with every diagnostic.
    """
    declared = _declared(problem, word)
    quoted = '"' + path.name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    block = _written(word, quoted if reader is None else f"{reader}({quoted})", braces)
    found, said = _resolved(declared, block, path.parent, currency)
    if has_errors(said):
        raise MrdslError([_at_braces(each, str(path)) for each in said])
    return found


def _of_values(
    declared: Block, word: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], braces: str, currency: str
) -> Sequence[Any]:
    if not heads:
        raise MrdslError([_unreadable("has no columns", "give at least one row with named columns")])
    block = _written(word, f'"{_FILE}"', braces)
    text, starts = as_csv(heads, rows)
    with scratch_folder() as folder:
        (folder / _FILE).write_text(text, encoding="utf-8", newline="")
        found, said = _resolved(declared, block, folder, currency)
    if has_errors(said):
        raise MrdslError(tuple(_at_rows(said, text, starts)))
    if isinstance(found, Columns):
        return Columns(found.node_type, found.names, found.values, partial(_place, word, found.span_at), found.group)
    return found


def _resolved(
    declared: Block, block: tree.Block, folder: Path, currency: str
) -> tuple[Sequence[Any], Sequence[Diagnostic]]:
    report = Report(currency=currency)
    scope = Scope(report, lambda _: None)
    context = BlockContext(scope, Files(folder), NO_SEED, "", "", resolve_repeated)
    try:
        return resolve_repeated(declared.word, declared, [block], context), report.found
    except TooManyMistakesError:
        return (), report.found


def _unreadable(what: str, hint: str) -> Diagnostic:
    return error("unreadable-table", f"the table {what}", None, hint)


def _place(word: str, span_at: Callable[[int], Span | None], row: int) -> Span | None:
    """Return the place of a block for later messages: its line below the heads."""
    span = span_at(row)
    return None if span is None else replace(span, file=f"<{word}>")


def _declared(problem: str, word: str) -> Block:
    """Return the repeated block that a plural names, the outermost of that name."""
    family = find_family(problem)
    if family is None:
        hint = did_you_mean(problem, family_names(), "kinds: ")
        raise one_error("unknown-problem", f"unknown problem kind `{problem}`", None, hint)
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
        raise one_error("unknown-block", f"no table of {problem} is called `{word}`", None, hint)
    return known[word]


def _written(word: str, source: str, braces: str) -> tree.Block:
    """Return the block as a spec would have it, its braces from the second line on."""
    document, mistakes = parse(f"{word} from {source} {{\n{braces}\n}}\n", _BRACES)
    if mistakes:
        raise MrdslError([replace(each, span=None, path="braces") for each in mistakes])
    if len(document.statements) != 1:
        unexpected = error(
            "unexpected-brace", "they close a brace that they do not open", None, "write only the contents"
        )
        raise MrdslError([replace(unexpected, path="braces")])
    (block,) = document.statements
    assert isinstance(block, tree.Block)
    return block._replace(statements=block.statements or ())


def _at_braces(each: Diagnostic, source: str) -> Diagnostic:
    """Return the diagnostic with a word instead of its place in the text of :func:`_written`."""
    if each.span is None or each.span.file != _BRACES:
        return each
    return replace(each, span=None, path="braces" if each.span.line > 1 else source)


def _at_rows(found: Sequence[Diagnostic], text: str, starts: Sequence[int]) -> Iterator[Diagnostic]:
    """Yield the diagnostics with a row and a column in place of the line and the column of the text."""
    lines = text.split("\n")
    _, heads = next(csv_rows(lines[:1]))
    rows = {line: row for row, line in enumerate(starts)}
    for each in found:
        span = each.span
        if span is None or Path(span.file).name != _FILE:
            yield _at_braces(each, "table")
            continue
        whole = span.column == 1 and span.end_column == len(lines[span.line - 1]) + 1 and len(heads) > 1
        before = sum(end < span.column - 1 for _, end in cell_starts(lines[span.line - 1]))
        column = "" if whole else f"[{heads[before]!r}]"
        row = rows.get(span.line)
        place = f"table{column}" if row is None else f"table{column or '.row'}[{row}]"
        yield replace(each, span=None, path=place, related=())
