"""TOML with places: the content of a file, and the place of each key and value."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from mrdsl.core.diagnostics import Span

Path = tuple[str | int, ...]
"""The way to a value: keys of tables, and numbers (from 0) in arrays."""
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|' + r"'''(?:[^']|'(?!''))*'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'",
    re.DOTALL,
)


class TomlError(Exception):
    """A text that is not TOML: the reason and the place."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.span = span


@dataclass(frozen=True)
class TomlText:
    """``data`` as tomllib gives it; the places of its keys (table heads among them) and of its values."""

    data: dict[str, Any]
    keys: dict[Path, Span]
    values: dict[Path, Span]
    name: str

    def key(self, path: Path) -> Span:
        """Return the place of a key, or of the nearest item above it."""
        return self._near(path, self.keys, self.values)

    def value(self, path: Path) -> Span:
        """Return the place of a value, or of its key if the value is a table of its own."""
        return self._near(path, self.values, self.keys)

    def _near(self, path: Path, *places: dict[Path, Span]) -> Span:
        for length in range(len(path), 0, -1):
            for known in places:
                if path[:length] in known:
                    return known[path[:length]]
        return Span(self.name, 1, 1, 1, 1)


def read_toml(text: str, name: str) -> TomlText:
    """Read a text; ``name`` is its file. Raises TomlError for text that is not TOML."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
        scanner = _Scanner(text, name)
        scanner.document()
    except RecursionError:
        raise TomlError("it is nested too deeply", Span(name, 1, 1, 1, 1)) from None
    except tomllib.TOMLDecodeError as mistake:
        raise _told(str(mistake), text, name) from None
    except ValueError as mistake:  # a number with more digits than Python reads
        raise TomlError(str(mistake), Span(name, 1, 1, 1, 1)) from None
    return TomlText(data, scanner.keys, scanner.values, name)


def _told(message: str, text: str, name: str) -> TomlError:
    found = _AT.search(message)
    reason = message[: found.start()] if found else message
    if found and found[1]:
        line, column = int(found[1]), int(found[2])
    else:
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    return TomlError(reason[:1].lower() + reason[1:], Span(name, line, column, line, column + 1))


class _Scanner:
    """Goes once through a text that is known to be TOML."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name, self.at = text, name, 0
        self.keys: dict[Path, Span] = {}
        self.values: dict[Path, Span] = {}
        self.counts: dict[Path, int] = {}
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def document(self) -> None:
        prefix: Path = ()
        self._skip(_GAP)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                prefix = self._head()
            else:
                self._pair(prefix)
            self._skip(_GAP)

    def _head(self) -> Path:
        double = self.text.startswith("[[", self.at)
        self.at += 2 if double else 1
        parts = self._dotted()
        self.at += 2 if double else 1
        path: Path = ()
        for i, (part, span) in enumerate(parts):
            path = (*path, part)
            self.keys.setdefault(path, span)
            if double and i == len(parts) - 1:
                self.counts[path] = self.counts.get(path, 0) + 1
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
                self.keys.setdefault(path, span)
        return path

    def _pair(self, prefix: Path) -> None:
        path = prefix
        for part, span in self._dotted():
            path = (*path, part)
            self.keys.setdefault(path, span)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _dotted(self) -> list[tuple[str, Span]]:
        parts = []
        while True:
            self._skip(_SPACE)
            start = self.at
            quoted = _STRING.match(self.text, start)
            bare = quoted or _BARE.match(self.text, start)
            assert bare is not None, "tomllib has read it"
            self.at = bare.end()
            key = next(iter(tomllib.loads(f"{bare[0]} = 0"))) if quoted else bare[0]
            parts.append((key, self._span(start, self.at)))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def _value(self, path: Path) -> None:
        start = self.at
        sign = self.text[start]
        if sign == "[":
            self._array(path)
        elif sign == "{":
            self._inline(path)
        else:
            word = _STRING.match(self.text, start) or _SCALAR.match(self.text, start)
            assert word is not None
            self.at = start + len(word[0].rstrip())
        self.values[path] = self._span(start, self.at)

    def _array(self, path: Path) -> None:
        self.at += 1
        self._skip(_GAP)
        number = 0
        while self.text[self.at] != "]":
            self._value((*path, number))
            number += 1
            self._skip(_GAP)
            if self.text[self.at] == ",":
                self.at += 1
                self._skip(_GAP)
        self.at += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        self._skip(_GAP)
        while self.text[self.at] != "}":
            self._pair(path)
            self._skip(_GAP)
            if self.text[self.at] == ",":
                self.at += 1
                self._skip(_GAP)
        self.at += 1

    def _skip(self, what: re.Pattern[str]) -> None:
        found = what.match(self.text, self.at)
        assert found is not None, "it matches nothing too"
        self.at = found.end()

    def _span(self, start: int, end: int) -> Span:
        line, column = self._place(start)
        end_line, end_column = self._place(end)
        return Span(self.name, line, column, end_line, end_column)

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1
