"""Which blocks are open at a place of a text, without parsing it: what is being written seldom parses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mrdsl.language.tree import unquote

_TEXT, _COMMENT = r'"(?:\\.|[^"\\\n])*"?', r"#[^\n]*"
MARKS = re.compile(rf"{_TEXT}|{_COMMENT}|[{{}}()\[\]\n]")
WORDS = re.compile(rf"{_TEXT}|{_COMMENT}|[{{}}()\[\]\n,]|[^\W\d]\w*")
_INDENT = re.compile(r"[ \t]*")
_BLANK = re.compile(r"[ \t\r\f]*(?:#[^\n]*)?(?:\n|\Z)")


@dataclass(frozen=True)
class Opened:
    """A block that is open: the words before its brace, where its inside begins, and how far its line is indented."""

    words: tuple[str, ...]
    start: int
    indent: int


class Scanner:
    """One walk over a text's braces, brackets and words.

    ``guess``: a line that starts no further right than the block that it stands in shows that a brace is missing, as
    the recovering parser has it.
    """

    def __init__(self, text: str, guess: bool = False) -> None:
        self.text, self.guess = text, guess
        self.open: list[Opened] = []
        self.brackets = 0
        self._words: list[str] = []

    def run(self, pattern: re.Pattern[str], end: int | None = None) -> Iterator[int]:
        """Walks to ``end``; gives the place behind each line's end that ends a statement."""
        text, line_start = self.text, 0
        for match in pattern.finditer(text, 0, len(text) if end is None else end):
            mark = match[0]
            if mark == "\n":
                line_start = match.end()
                self._line(line_start)
                if not self.brackets:
                    self._words = []
                    yield line_start
            elif mark in "{}":
                self._brace(mark, match.end(), line_start)
            elif mark in "([":
                self.brackets += 1
            elif mark in ")]":
                self.brackets = max(0, self.brackets - 1)
            elif mark == ",":
                self._words = self._words if self.brackets else []
            elif mark[0] != "#":
                self._words.append(unquote(mark) if mark[0] == '"' else mark)

    def _brace(self, brace: str, end: int, line_start: int) -> None:
        self.brackets = 0
        if brace == "{":
            self.open.append(Opened(tuple(self._words), end, self._indent(line_start)))
        elif self.open:
            self.open.pop()
        self._words = []

    def _line(self, start: int) -> None:
        """A line begins: what it shows to be closed is, where a brace is missing somewhere."""
        if not self.guess or not self.open or _BLANK.match(self.text, start):
            return
        indent = self._indent(start)
        closing = self.text[start + indent] == "}"
        while self.open and not closing and indent <= self.open[-1].indent:
            self.open.pop()
            self.brackets = 0

    def _indent(self, start: int) -> int:
        indent = _INDENT.match(self.text, start)
        return indent.end() - start if indent is not None else 0


def blocks_around(text: str, end: int) -> tuple[Opened, ...]:
    """The blocks that are open at a place, the outermost first."""
    whole = Scanner(text)
    for _ in whole.run(MARKS):
        pass
    scanner = Scanner(text, guess=bool(whole.open))
    for _ in scanner.run(WORDS, end):
        pass
    return tuple(scanner.open)


def first_words(text: str, start: int) -> Iterator[str]:
    """The first word of each statement of a block whose inside begins at ``start``; of the top level at 0."""
    depth = brackets = 0
    first = True
    for match in WORDS.finditer(text, start):
        mark = match[0]
        if mark in "{}":
            depth, brackets, first = depth + (1 if mark == "{" else -1), 0, True
            if depth < 0 < start:
                return
        elif mark in "\n,":
            first = first or not brackets
        elif mark in "([)]":
            brackets = max(0, brackets + (1 if mark in "([" else -1))
        elif mark[0] != "#":
            if first and depth == 0:
                yield unquote(mark) if mark[0] == '"' else mark
            first = False
