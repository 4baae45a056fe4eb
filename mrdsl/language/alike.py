"""Blocks that are written alike: the same words and signs with other names and numbers, found by one expression each.

The first such block is read token by token. The expression made from it is its text, with a slot for its name and for
each number that is a whole value or an end of a range. A slot matches exactly the tokens of the lexer, so a text that
the expression matches has the same tokens of the same kinds. A text that it does not match is read as usual.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

MOST_SHAPES = 8
"""More ways of writing a block than these are not learnt: each block would be held against all of them."""
LONGEST = 4_000
"""Blocks of more characters, such as a DAG with all its tasks, are not learnt from: each is lexed once more for it, and
its expression, with a slot for each number, matches none but blocks of as many tasks."""
_HEAD = re.compile(r"[ \t]*([^\W\d]\w*)[ \t]+[^\W\d]\w*[ \t]*\{")
_GAP = re.compile(r"[ \t\r\f\n]*+")
_BEFORE = frozenset({"=", ".."})
_ENDS = frozenset({"_NEWLINE", "COMMA", "RBRACE"})
_WORDS_OF_HEADERS = "extends|from"


class Shape(NamedTuple):
    """One way of writing a block.

    ``pattern`` matches such a block and the space before it. ``slots`` are its groups, the name first. ``word`` is the
    first word of the block, and the name begins ``lead`` characters after its start.
    """

    word: str
    pattern: re.Pattern[str]
    slots: tuple[str, ...]
    lead: int


class Row(NamedTuple):
    """One block: its shape, its slots, and its first line, which starts at ``line_start``."""

    shape: Shape
    match: re.Match[str]
    line: int
    line_start: int

    @property
    def start(self) -> int:
        """The start of the first word of the block."""
        return self.match.start(1) - self.shape.lead

    @property
    def name(self) -> str:
        """The second word of the block."""
        return self.match[1]


class Position(NamedTuple):
    """A place in a text, its line, and the start of that line."""

    at: int
    line: int
    line_start: int


@dataclass
class Finder:
    """A companion of the lexer that reads stretches of blocks that are written alike.

    ``tokens`` matches the next token, with its kind as the name of the group. ``terminals`` are the expressions of
    kinds. ``found`` maps the end of the block before a stretch to the rows of the stretch.
    """

    tokens: re.Pattern[str]
    terminals: Mapping[str, str]
    found: dict[int, list[Row]] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)
    _word: str = ""
    _start: int = -1

    def opened(self, text: str, line_start: int, brace_end: int) -> None:
        """Note a brace that opens a statement's body; ``WORD NAME {`` at the start of a line may be one of many."""
        head = _HEAD.match(text, line_start)
        if head is not None and head.end() == brace_end:
            self._word, self._start = head[1], head.start(1)
        else:
            self._start = -1

    def closed(self, text: str, at: int, line: int, line_start: int) -> Position:
        """Note that the body is closed, and return the position after the blocks that are written alike."""
        self._learn(text, at)
        rows: list[Row] = []
        end = Position(at, line, line_start)
        while (row := self._next(text, end)) is not None:
            rows.append(row)
            start, stop = row.start, row.match.end()
            breaks = text.count("\n", start, stop)
            line_start = text.rfind("\n", start, stop) + 1 if breaks else row.line_start
            end = Position(stop, row.line + breaks, line_start)
        if rows:
            self.found[at] = rows
        return end

    def _learn(self, text: str, end: int) -> None:
        if self._start < 0 or end - self._start > LONGEST or len(self.shapes) >= MOST_SHAPES:
            return
        gap = _GAP.match(text, end)
        if gap is None or not text.startswith(self._word, gap.end()):
            return
        shape = _shape(text, self._start, end, self.tokens, self.terminals)
        if shape is not None:
            self.shapes.insert(0, shape)

    def _next(self, text: str, place: Position) -> Row | None:
        for index, shape in enumerate(self.shapes):
            match = shape.pattern.match(text, place.at)
            if match is None:
                continue
            if index:
                self.shapes.insert(0, self.shapes.pop(index))
            start = match.start(1) - shape.lead
            breaks = text.count("\n", place.at, start)
            line_start = text.rfind("\n", place.at, start) + 1 if breaks else place.line_start
            return Row(shape, match, place.line + breaks, line_start)
        return None


def _shape(text: str, start: int, end: int, tokens: re.Pattern[str], terminals: Mapping[str, str]) -> Shape | None:
    """Return the shape of the block at a place, or None if its expression does not match it."""
    read = [(match.lastgroup or "", *match.span(match.lastgroup or "")) for match in tokens.finditer(text, start, end)]
    name = read[1]
    slots = [name]
    for i in range(3, len(read) - 2):
        kind, first, last = read[i]
        if kind == "NUMBER" and text[slice(*read[i - 1][1:])] in _BEFORE:
            after = i + 2 if read[i + 1][0] in ("NAME", "PERCENT") else i + 1
            if read[after][0] in _ENDS or text[slice(*read[after][1:])] == "..":
                slots.append((kind, first, last))
    pattern, at, names = [_GAP.pattern], start, []
    for number, (kind, first, last) in enumerate(slots):
        names.append(f"slot{number}")
        unless = "" if number else rf"(?!(?:{_WORDS_OF_HEADERS})\b)"
        pattern.append(re.escape(text[at:first]) + rf"(?P<slot{number}>{unless}(?>{_plain(terminals[kind])}))")
        at = last
    pattern.append(re.escape(text[at:end]))
    word = text[slice(*read[0][1:])]
    shape = Shape(word, re.compile("".join(pattern)), tuple(names), name[1] - start)
    match = shape.pattern.match(text, start)
    return shape if match is not None and match.end() == end else None


def _plain(expression: str) -> str:
    """Return the expression of a terminal without groups, so that the first group of a shape is the name."""
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", expression)
