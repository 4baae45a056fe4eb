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
_TOKEN = re.compile(rb'["{}\[\]\\]')


def objects(chunks: Pieces, source: str, telling: Telling) -> Iterator[tuple[int, Any]]:
    """Each object with the line that it starts on; lists at the top are taken apart. What is broken is told."""
    scanner = _Scanner()
    for chunk in chunks:
        for start, text in scanner.feed(chunk):
            yield from _parsed(start, text, source, telling)
        if len(scanner.held) > LARGEST:
            telling.fail("broken-log", f"one object is larger than {LARGEST:,} bytes", source, scanner.line)
            return
    if scanner.held.strip():
        telling.warn("cut-log", "the last object is cut", source, scanner.start_line, "what came before it is used")


def _parsed(line: int, text: bytes, source: str, telling: Telling) -> Iterator[tuple[int, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as cause:
        telling.warn("broken-log", f"this object is no JSON: {cause}", source, line)
        return
    for each in document if isinstance(document, list) else [document]:
        yield line, each


class _Scanner:
    """Where top-level objects begin and end; strings and escapes are respected."""

    def __init__(self) -> None:
        self.held = bytearray()
        self.position = 0
        self.begin: int | None = None
        self.depth = 0
        self.in_string = False
        self.line = 1

    @property
    def start_line(self) -> int:
        """The line on which the object that is open, or else the rest, begins."""
        return self.line + self.held.count(b"\n", 0, self.begin or 0)

    def feed(self, chunk: Piece) -> Iterator[tuple[int, bytes]]:
        self.held += chunk
        while match := _TOKEN.search(self.held, self.position):
            token, at = match[0], match.start()
            if token == b"\\":
                if at + 2 > len(self.held):
                    break
                self.position = at + 2
                continue
            self.position = at + 1
            if token == b'"':
                self.in_string = self.depth > 0 and not self.in_string
            elif not self.in_string and token in b"{[":
                self.begin = at if self.depth == 0 else self.begin
                self.depth += 1
            elif not self.in_string and self.depth > 0:
                self.depth -= 1
                if self.depth == 0:
                    yield self.start_line, bytes(self.held[self.begin : self.position])
                    self._drop(self.position)
        else:
            self.position = len(self.held)
        self._drop(self.begin if self.begin is not None else 0)

    def _drop(self, upto: int) -> None:
        """Forgets what lies before; the open object, if any, begins there."""
        self.line += self.held.count(b"\n", 0, upto)
        del self.held[:upto]
        self.position -= upto
        self.begin = 0 if self.depth > 0 else None
