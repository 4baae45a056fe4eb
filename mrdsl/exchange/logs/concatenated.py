"""JSON objects one behind the other, as Rumen and SLS write them, taken out of a stream one at a time.

A small scanner finds where each object ends, so that a file of any size needs the memory of its largest object only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mrdsl.exchange.logs.expanding import Piece
from mrdsl.exchange.logs.formats import Pieces
from mrdsl.exchange.logs.telling import Telling

LARGEST = 512 * 2**20
_LONGEST_STRAY = 2**16
_BETWEEN = b" \t\r\n\x0b\x0c\x00,\xef\xbb\xbf"
_OPENING = re.compile(rb"[{\[]")
_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([{}\[\]])', re.DOTALL)
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


def objects(chunks: Pieces, source: str, telling: Telling) -> Iterator[tuple[int, Any]]:
    """Each object with the line that it starts on; lists at the top are taken apart. What is broken is told."""
    scanner = _Scanner()
    for chunk in chunks:
        for start, text in scanner.feed(chunk):
            _tell(scanner.strays, source, telling)
            yield from _parsed(start, text, source, telling)
        _tell(scanner.strays, source, telling)
        if len(scanner.held) > LARGEST:
            telling.fail("broken-log", f"one object is larger than {LARGEST:,} bytes", source, scanner.line)
            return
    scanner.end()
    _tell(scanner.strays, source, telling)
    if scanner.depth:
        telling.warn("cut-log", "the last object is cut", source, scanner.line, "what came before it is used")


def _tell(strays: list[int], source: str, telling: Telling) -> None:
    for line in strays:
        telling.warn("broken-log", "this text is in no object", source, line, "the objects around it are used")
    strays.clear()


def _parsed(line: int, text: bytes, source: str, telling: Telling) -> Iterator[tuple[int, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as cause:
        telling.warn("broken-log", f"this object is no JSON: {cause}", source, line)
        return
    for each in document if isinstance(document, list) else [document]:
        yield line, each


class _Scanner:
    """Where top-level objects begin and end; strings and escapes are respected.

    ``held`` begins with the object that is open, on ``line``. ``strays`` are the lines of texts outside of all objects,
    but for what may stand between them.
    """

    def __init__(self) -> None:
        self.held = bytearray()
        self.position = 0
        self.depth = 0
        self.in_string = False
        self.line = 1
        self.strays: list[int] = []
        self._within_stray = False

    def feed(self, chunk: Piece) -> Iterator[tuple[int, bytes]]:
        self.held += chunk
        while (at := self._next_bracket()) is not None:
            self.position = at + 1
            if self.held[at] in b"{[":
                if self.depth == 0:
                    self._outside(at)
                    self._within_stray = False
                self.depth += 1
                continue
            self.depth -= 1
            if self.depth == 0:
                yield self.line, bytes(self.held[: self.position])
                self._drop(self.position)
        if not self.depth and len(self.held) > _LONGEST_STRAY:
            self._outside(len(self.held))

    def end(self) -> None:
        """Nothing follows."""
        if not self.depth:
            self._outside(len(self.held))

    def _outside(self, upto: int) -> None:
        """Forgets what lies before and in no object."""
        text = bytes(self.held[:upto])
        if stray := text.strip(_BETWEEN):
            if not self._within_stray:
                self.strays.append(self.line + text.count(b"\n", 0, text.index(stray)))
            self._within_stray = True
        self._drop(upto)

    def _next_bracket(self) -> int | None:
        """Where the next bracket outside strings is that opens, or closes what is open; None behind the last one."""
        if self.depth == 0:
            found = _OPENING.search(self.held, self.position)
        else:
            if self.in_string:
                self._to_the_end_of_the_string()
            found = None if self.in_string else _BRACKET.match(self.held, self.position)
        if found is not None:
            return found.end() - 1
        if self.depth > 0 and not self.in_string:
            self._to_the_last_string()
        elif self.depth == 0:
            self.position = len(self.held)
        return None

    def _to_the_end_of_the_string(self) -> None:
        """Behind the quote that ends the string; where there is none yet, so far that no escape is cut."""
        found = _IN_STRING.match(self.held, self.position)
        assert found is not None, "it may be empty"
        self.position = found.end()
        if self.held[self.position : self.position + 1] == b'"':
            self.position += 1
            self.in_string = False

    def _to_the_last_string(self) -> None:
        """Behind what holds no bracket outside strings: to the end, or into the string that has no end yet."""
        while (quote := self.held.find(b'"', self.position)) >= 0:
            self.position, self.in_string = quote + 1, True
            self._to_the_end_of_the_string()
            if self.in_string:
                return
        self.position = len(self.held)

    def _drop(self, upto: int) -> None:
        """Forgets what lies before."""
        self.line += self.held.count(b"\n", 0, upto)
        del self.held[:upto]
        self.position -= upto
