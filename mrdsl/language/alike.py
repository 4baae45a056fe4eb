"""Blocks that are written alike: the same words and signs, with other names and numbers, found by one expression each.

The first such block is read token by token; the expression made of it holds its text, with a slot for its name and for
each number that is all of a value, or an end of a range. A slot takes what the lexer takes for a token and gives
nothing back, so that a text which the expression matches falls into the same tokens, of the same kinds; what it does
not match is read as any other text.
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

    ``pattern`` matches such a block and the space before it; ``slots`` are its groups, the name first. ``word`` is the
    block's first word, and the name stands ``lead`` behind its start.
    """

    word: str
    pattern: re.Pattern[str]
    slots: tuple[str, ...]
    lead: int


class Row(NamedTuple):
    """One block: its shape, where its slots are, and the line that it starts on, which starts at ``line_start``."""

    shape: Shape
    match: re.Match[str]
    line: int
    line_start: int

    @property
    def start(self) -> int:
        """Where the block's first word starts."""
        return self.match.start(1) - self.shape.lead

    @property
    def name(self) -> str:
        """The word behind the block's first."""
        return self.match[1]


class Position(NamedTuple):
    """A place in a text, the line that it is on, and where that line starts."""

    at: int
    line: int
    line_start: int


@dataclass
class Finder:
    """Follows a lexer through a text, and takes stretches of blocks that are written alike out of its way.

    ``tokens`` matches the next token, its kind as the name of the group; ``terminals`` are the expressions of kinds.
    ``found`` maps where the block before a stretch ends to the stretch's rows.
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
        """Return notes that the body is closed; gives where the lexer goes on, behind the blocks that are written
        alike.
        """
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
    """Return the shape of the block that stands there; None where its expression would not match it."""
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
    """Return a terminal's expression without groups of its own, so that the first group of a shape is the name."""
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", expression)
