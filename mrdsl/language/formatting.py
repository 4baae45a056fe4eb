"""The canonical form of a text: two spaces of indent, one statement a line, `=` and `{` aligned in groups.

A block on one line stays on one line if it fits. Comments stay in their places. One blank line separates groups of
lines that had at least one between them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, NamedTuple

from mrdsl.core import units
from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.core.json_text import collection_paused
from mrdsl.language import tree
from mrdsl.language.parsing import parse
from mrdsl.language.tree import Token

WIDTH = 140
INDENT = "  "


class Line(NamedTuple):
    """One line to be: ``left`` and ``right`` are aligned around ``joint`` (``=`` or ``{``) among neighbours."""

    depth: int
    left: str
    joint: str = ""
    right: str = ""
    comment: str = ""
    blank_before: bool = False
    fixed: bool = False


def format_text(text: str, file: str) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """Return the canonical form of a text, or None and the diagnostics that prevent it.

    The new text is parsed again. If its tree or its comments differ from those of the old text, the result is None with
    the diagnostic ``internal``.
    """
    with collection_paused():
        document, problems = parse(text, file)
        if problems:
            return None, problems
        layout = _Layout(text, document.comments)
        lines = [*layout.statements(document.statements, 0, 0), *layout.comments_before(inf, 0)]
        if lines:
            lines[0] = lines[0]._replace(blank_before=False)
        made = "".join(f"{line}\n" for line in _align(lines))
        same = _says_the_same(document, made, file)
    if not same:
        hint = "this is a bug in mrdsl, not an error in the spec; the file is unchanged, please report it"
        return None, (
            error("internal", "the canonical form would change the meaning of the text", Span(file, 1, 1, 1, 1), hint),
        )
    return made, ()


def _says_the_same(document: tree.Document, made: str, file: str) -> bool:
    again, problems = parse(made, file)
    return (
        not problems
        and again.statements == document.statements
        and list(_kinds(again.statements)) == list(_kinds(document.statements))
        and [each.rstrip() for each in again.comments] == [each.rstrip() for each in document.comments]
    )


def _kinds(statements: Sequence[Any]) -> Iterator[type]:
    """Yield the class of each statement; that of a value follows from its tokens, which are compared."""
    for statement in statements:
        yield statement.__class__
        if statement.__class__ is tree.Block:
            yield from _kinds(statement.statements or ())


class _Layout:
    """Walks statements and comments together in the order of the text; ``waiting`` are the comments still to come."""

    def __init__(self, text: str, notes: Sequence[Token]) -> None:
        self.text = text
        self.waiting = deque(notes)
        self.comment_line = notes[0].line if notes else inf
        self.last_line = 0

    def statements(self, body: Sequence[Any], depth: int, start: int, closing: int = 0) -> Iterator[Line]:
        """Yield the lines of a body; ``start`` is the line of its opening brace, after which no blank line is kept."""
        self.last_line = start or self.last_line
        first = True
        starts = [*(tree.first_token(statement).line for statement in body), closing]
        for statement, line, follows in zip(body, starts, starts[1:], strict=False):
            for comment in self.comments_before(line, depth):
                yield comment._replace(blank_before=comment.blank_before and not (first and start))
                first = False
            blank = line - self.last_line > 1 and not (first and start)
            last = tree.last_token(statement).line
            shares_line = follows == last
            for number, made in enumerate(self._statement(statement, depth, line, last, shares_line)):
                yield made._replace(blank_before=blank) if number == 0 and blank else made
            first = False

    def comments_before(self, line: float, depth: int) -> Iterator[Line]:
        """Yield the comments before a line, each on a separate line."""
        while self.comment_line < line:
            at = int(self.comment_line)
            blank, self.last_line = at - self.last_line > 1, at
            yield Line(depth, self._take_comment(), blank_before=blank, fixed=True)

    def _statement(self, statement: Any, depth: int, first: int, last: int, shares_line: bool) -> Iterator[Line]:
        if isinstance(statement, tree.Block) and statement.statements is not None:
            yield from self._block(statement, depth, first, last, shares_line)
            return
        text = self._with_inner_comments(tree.first_token(statement), tree.last_token(statement))
        self.last_line = last
        if text:
            yield from self._verbatim(text, depth)
            yield Line(0, text[-1], comment=self._trailing(last, shares_line), fixed=True)
            return
        comment = self._trailing(last, shares_line)
        if isinstance(statement, tree.Assignment):
            left = " ".join(statement.words)
            yield Line(depth, left, "=", value_text(statement.value), comment)
        elif isinstance(statement, tree.Comparison):
            yield Line(depth, comparison_text(statement), comment=comment)
        else:
            yield Line(depth, inline_text(statement), comment=comment)

    def _block(self, block: tree.Block, depth: int, first: int, last: int, shares_line: bool) -> Iterator[Line]:
        header = header_text(block)
        if first == last:
            inner = inline_body(block)
            if len(INDENT) * depth + len(header) + len(inner) + 3 <= WIDTH:
                self.last_line = last
                yield Line(depth, header, "{", inner, self._trailing(last, shares_line))
                return
        body = block.statements or ()
        opening = block.open.line if block.open is not None else first
        closing = block.close.line if block.close is not None else last
        text = self._with_inner_comments(tree.first_token(block), block.open or tree.first_token(block))
        next_line = tree.first_token(body[0]).line if body else closing
        comment = self._trailing(opening, next_line == opening)
        if text:
            yield from self._verbatim(text, depth)
            yield Line(0, text[-1], comment=comment, fixed=True)
        else:
            yield Line(depth, f"{header} {{", comment=comment, fixed=True)
        yield from self.statements(body, depth + 1, opening, closing)
        yield from self.comments_before(closing, depth + 1)
        self.last_line = closing
        yield Line(depth, "}", comment=self._trailing(closing, shares_line), fixed=True)

    def _with_inner_comments(self, first: Token, last: Token) -> list[str]:
        """Return the lines from one token to another as they are written if a comment is between them, or none."""
        if not self.waiting or not first.start_pos < self.waiting[0].start_pos < last.end_pos:
            return []
        while self.waiting and self.waiting[0].start_pos < last.end_pos:
            self._take_comment()
        return [line.rstrip() for line in self.text[first.start_pos : last.end_pos].split("\n")]

    def _take_comment(self) -> str:
        """Return the next comment; ``comment_line`` is then the line of the one after it."""
        taken = self.waiting.popleft().rstrip()
        self.comment_line = self.waiting[0].line if self.waiting else inf
        return taken

    def _verbatim(self, text: Sequence[str], depth: int) -> Iterator[Line]:
        """Yield all lines but the last."""
        for number, line in enumerate(text[:-1]):
            yield Line(0 if number else depth, line, fixed=True)

    def _trailing(self, line: int, shares_line: bool) -> str:
        """Return the comment at the end of a line, unless another statement on that line is nearer to it."""
        return "" if shares_line or self.comment_line != line else self._take_comment()


def header_text(block: tree.Block) -> str:
    """Return a block's words, index and call."""
    parts = [" ".join(block.words)]
    if block.indexed is not None:
        parts[0] += f"[{value_text(block.indexed.low)}..{value_text(block.indexed.high)}]"
    parts += block.more
    if block.call is not None:
        parts.append(value_text(block.call))
    return " ".join(parts)


def inline_body(block: tree.Block) -> str:
    """Return the text between the braces of a block on one line, with the closing brace."""
    inner = ", ".join(inline_text(statement) for statement in block.statements or ())
    return f"{inner} }}" if inner else "}"


def inline_text(statement: Any) -> str:
    """Return a statement on one line."""
    if isinstance(statement, tree.Assignment):
        return f"{' '.join(statement.words)} = {value_text(statement.value)}"
    if isinstance(statement, tree.Comparison):
        return comparison_text(statement)
    if isinstance(statement, tree.Goal):
        return f"{statement.words[0]} {value_text(statement.value)}"
    if statement.statements is None:
        return header_text(statement)
    return f"{header_text(statement)} {{ {inline_body(statement)}".replace("{ }", "{}")


def comparison_text(comparison: tree.Comparison) -> str:
    """``left <= right``."""
    return f"{value_text(comparison.left)} {comparison.operator} {value_text(comparison.right)}"


def value_text(node: Any) -> str:
    """Return a value in its canonical form."""
    match node:
        case tree.Number(token, unit):
            return str(token) if unit is None else f"{token}%" if unit == "%" else f"{token} {unit}"
        case tree.Name(token) | tree.Text(token) | tree.Clock(token):
            return str(token)
        case tree.Call(function, arguments, _):
            return f"{function}({', '.join(map(value_text, arguments))})"
        case tree.List(_, items, _):
            return f"[{', '.join(map(value_text, items))}]"
        case tree.Group(_, inner, _):
            return f"({value_text(inner)})"
        case tree.Signed(sign, operand):
            return f"{sign}{value_text(operand)}"
        case tree.Interval(low, high):
            tight = all(isinstance(end, tree.Number) and end.unit is None for end in (low, high))
            return f"{value_text(low)}{'..' if tight else ' .. '}{value_text(high)}"
        case tree.Sum(parts):
            return " ".join(value_text(part) if i % 2 == 0 else str(part) for i, part in enumerate(parts))
        case tree.Product(parts):
            return _product_text(parts)
    raise TypeError(f"no value: {node!r}")


def _product_text(parts: tuple[Any, ...]) -> str:
    """Return a product, with no space around the slash of a unit: ``0.8 * 1200/s``."""
    text = value_text(parts[0])
    tight = isinstance(parts[0], tree.Number)
    for sign, part in zip(parts[1::2], parts[2::2], strict=True):
        is_unit = isinstance(part, tree.Name) and part.token in units.UNITS
        if tight and sign == "/" and is_unit:
            text += f"/{value_text(part)}"
        else:
            text += f" {sign} {value_text(part)}"
            tight = isinstance(part, tree.Number)
    return text


def _align(lines: Sequence[Line]) -> Iterator[str]:
    """Pads neighbours of one kind to a common joint, and their comments to a common column."""
    joined = [_joined(line, width) for line, width in zip(lines, _left_widths(lines), strict=True)]
    for line, text, width in zip(lines, joined, _comment_columns(lines, joined), strict=True):
        if line.blank_before:
            yield ""
        yield f"{text.ljust(width)}  {line.comment}" if line.comment and text.strip() else text + line.comment


def _joined(line: Line, width: int) -> str:
    indent = INDENT * line.depth
    if not line.joint:
        return indent + line.left
    right = line.right if line.right != "}" or line.joint != "{" else "}"
    glue = "" if line.joint == "{" and right == "}" else " "
    return f"{indent}{line.left.ljust(width)} {line.joint}{glue}{right}"


def _left_widths(lines: Sequence[Line]) -> list[int]:
    widths = [0] * len(lines)
    for group in _groups(lines, lambda a, b: a.joint == b.joint != "" and a.depth == b.depth and not b.blank_before):
        widest = max(len(lines[i].left) for i in group)
        for i in group:
            widths[i] = widest
    return widths


def _comment_columns(lines: Sequence[Line], joined: Sequence[str]) -> list[int]:
    widths = [0] * len(lines)
    for group in _groups(lines, lambda a, b: not (a.fixed or b.fixed or b.blank_before)):
        commented = [len(joined[i]) for i in group if lines[i].comment]
        for i in group:
            widths[i] = max(commented, default=0)
    return widths


def _groups(lines: Sequence[Line], together: Any) -> Iterator[list[int]]:
    group: list[int] = []
    for index, line in enumerate(lines):
        if group and not together(lines[group[-1]], line):
            yield group
            group = []
        group.append(index)
    if group:
        yield group
