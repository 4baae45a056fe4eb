"""The one canonical form of a text: two spaces of indent, one statement a line, `=` and `{` aligned in groups.

A block that stood on one line stays on one where it fits; comments stay where they were; groups of lines are kept apart
by one blank line where there was at least one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lark import Token

from mrdsl import units
from mrdsl.diagnostics import Diagnostic
from mrdsl.language import tree
from mrdsl.language.parsing import comments, parse

WIDTH = 140
INDENT = "  "


@dataclass(frozen=True)
class Line:
    """One line to be: ``left`` and ``right`` are aligned around ``joint`` (``=`` or ``{``) among neighbours."""

    depth: int
    left: str
    joint: str = ""
    right: str = ""
    comment: str = ""
    blank_before: bool = False
    fixed: bool = False


def format_text(text: str, file: str) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """The canonical form of a text, or None and the syntax errors that forbid it."""
    document, problems = parse(text, file)
    if problems:
        return None, problems
    layout = _Layout(text, comments(text))
    lines = [*layout.statements(document.statements, 0, 0), *layout.comments_before(None, 0)]
    if lines:
        lines[0] = replace(lines[0], blank_before=False)
    return "".join(f"{line}\n" for line in _align(lines)), ()


class _Layout:
    """Walks statements and comments together in the order of the text."""

    def __init__(self, text: str, found: Sequence[Token]) -> None:
        self.source = text.split("\n")
        self.own_line: list[Token] = []
        self.trailing: dict[int, Token] = {}
        self.last_line = 0
        for comment in found:
            before = self.source[_line(comment) - 1][: (comment.column or 1) - 1]
            if before.strip():
                self.trailing[_line(comment)] = comment
            else:
                self.own_line.append(comment)

    def statements(self, body: Sequence[Any], depth: int, start: int) -> Iterator[Line]:
        """The lines of a body; ``start`` is the line of its opening brace, after which no blank line is kept."""
        self.last_line = start or self.last_line
        first = True
        for position, statement in enumerate(body):
            line = _line(tree.first_token(statement))
            for comment in self.comments_before(line, depth):
                yield replace(comment, blank_before=comment.blank_before and not (first and start))
                first = False
            blank = line - self.last_line > 1 and not (first and start)
            shares_line = position + 1 < len(body) and _line(tree.first_token(body[position + 1])) == _end_line(
                statement
            )
            for number, made in enumerate(self._statement(statement, depth, shares_line)):
                yield replace(made, blank_before=blank) if number == 0 else made
            first = False

    def comments_before(self, line: int | None, depth: int) -> Iterator[Line]:
        """Comments on lines of their own that stand before a line (None: all that are left)."""
        while self.own_line and (line is None or _line(self.own_line[0]) < line):
            comment = self.own_line.pop(0)
            blank = _line(comment) - self.last_line > 1
            self.last_line = _line(comment)
            yield Line(depth, str(comment).rstrip(), blank_before=blank, fixed=True)

    def _statement(self, statement: Any, depth: int, shares_line: bool) -> Iterator[Line]:
        first, last = _line(tree.first_token(statement)), _end_line(statement)
        if isinstance(statement, tree.Block) and statement.statements is not None:
            yield from self._block(statement, depth, first, last, shares_line)
            return
        if self._has_inner_comment(first, last):
            yield from self._verbatim(depth, first, last)
            return
        self.last_line = last
        comment = "" if shares_line else self._take_trailing(last)
        if isinstance(statement, tree.Assignment):
            left = " ".join(statement.words)
            yield Line(depth, left, "=", value_text(statement.value), comment)
        elif isinstance(statement, tree.Comparison):
            yield Line(depth, comparison_text(statement), comment=comment)
        else:
            yield Line(depth, header_text(statement), comment=comment)

    def _block(self, block: tree.Block, depth: int, first: int, last: int, shares_line: bool) -> Iterator[Line]:
        header = header_text(block)
        one_line = first == last
        if one_line:
            inner = inline_body(block)
            if len(INDENT) * depth + len(header) + len(inner) + 3 <= WIDTH:
                self.last_line = last
                comment = "" if shares_line else self._take_trailing(last)
                yield Line(depth, header, "{", inner, comment)
                return
        opening = _line(block.open) if block.open is not None else first
        yield Line(depth, f"{header} {{", comment="" if one_line else self._take_trailing(opening), fixed=True)
        yield from self.statements(block.statements or (), depth + 1, opening)
        closing = _line(block.close) if block.close is not None else last
        yield from self.comments_before(closing, depth + 1)
        self.last_line = closing
        yield Line(depth, "}", comment="" if shares_line else self._take_trailing(closing), fixed=True)

    def _has_inner_comment(self, first: int, last: int) -> bool:
        inner = any(line in self.trailing for line in range(first, last))
        return inner or any(first < _line(comment) < last for comment in self.own_line)

    def _verbatim(self, depth: int, first: int, last: int) -> Iterator[Line]:
        self.own_line = [comment for comment in self.own_line if not first < _line(comment) < last]
        self.last_line = last
        for number in range(first, last + 1):
            self.trailing.pop(number, None)
            source = self.source[number - 1].rstrip()
            yield Line(depth, source.strip(), fixed=True) if number == first else Line(0, source, fixed=True)

    def _take_trailing(self, line: int) -> str:
        comment = self.trailing.pop(line, None)
        return "" if comment is None else str(comment).rstrip()


def _line(token: Token) -> int:
    return token.line or 1


def _end_line(statement: Any) -> int:
    last = tree.last_token(statement)
    return last.end_line or last.line or 1


def header_text(block: tree.Block) -> str:
    """A block's words, index and call."""
    parts = [" ".join(block.words)]
    if block.indexed is not None:
        parts[0] += f"[{value_text(block.indexed.low)}..{value_text(block.indexed.high)}]"
    parts += block.more
    if block.call is not None:
        parts.append(value_text(block.call))
    return " ".join(parts)


def inline_body(block: tree.Block) -> str:
    """What stands between the braces of a block on one line, closing brace included."""
    inner = ", ".join(inline_text(statement) for statement in block.statements or ())
    return f"{inner} }}" if inner else "}"


def inline_text(statement: Any) -> str:
    """A statement on one line."""
    if isinstance(statement, tree.Assignment):
        return f"{' '.join(statement.words)} = {value_text(statement.value)}"
    if isinstance(statement, tree.Comparison):
        return comparison_text(statement)
    if statement.statements is None:
        return header_text(statement)
    return f"{header_text(statement)} {{ {inline_body(statement)}".replace("{ }", "{}")


def comparison_text(comparison: tree.Comparison) -> str:
    """``left <= right``."""
    return f"{value_text(comparison.left)} {comparison.operator} {value_text(comparison.right)}"


def value_text(node: Any) -> str:
    """A value in its canonical form."""
    match node:
        case tree.Number(token, unit):
            return str(token) if unit is None else f"{token}%" if unit == "%" else f"{token} {unit}"
        case tree.Name(token) | tree.Text(token):
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
    """A unit behind a number's slash stays tight: ``0.8 * 1200/s``."""
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
