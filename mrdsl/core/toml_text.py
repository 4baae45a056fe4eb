"""TOML with locations: the data of a file, where its keys and values are, and a reader that collects all mistakes."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Span, did_you_mean, error, is_printable, printable, shortened

Path = tuple[str | int, ...]
"""The way to a value: keys of tables, and numbers (from 0) in arrays."""
_AT = re.compile(r" \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|' + r"'''(?:[^']|'(?!''))*'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'",
    re.DOTALL,
)


_OPAQUE = re.compile(rf"{_STRING.pattern}|#[^\n]*", re.DOTALL)
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{budgets.KEY_PARTS}}}")


class TomlError(Exception):
    """A text that is not TOML: the reason and the place."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.span = span


@dataclass(frozen=True)
class TomlText:
    """`data` as tomllib reads it, and the locations of its keys (table heads among them) and values."""

    data: dict[str, Any]
    text: str
    name: str

    @cached_property
    def places(self) -> tuple[dict[Path, Span], dict[Path, Span]]:
        """The locations of keys and of values, looked up only for a message."""
        scanner = _Scanner(self.text, self.name)
        with suppress(RecursionError):
            scanner.document()
        return scanner.keys, scanner.values

    def key(self, path: Path) -> Span:
        """Return the location of a key; if no key has the path, that of the nearest key or value above it."""
        return self._near(path, *self.places)

    def value(self, path: Path) -> Span:
        """Return the location of a value, or of its key if it is a table with a head."""
        return self._near(path, *reversed(self.places))

    def _near(self, path: Path, *places: dict[Path, Span]) -> Span:
        for length in range(len(path), 0, -1):
            for known in places:
                if path[:length] in known:
                    return known[path[:length]]
        return Span(self.name, 1, 1, 1, 1)


def read_toml(text: str, name: str) -> TomlText:
    """Read a text as TOML; `name` is the file's name. Raise TomlError if it is not TOML."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    long = _LONG_KEY.search(_OPAQUE.sub(_as_letters, text)) if text.count(".") >= budgets.KEY_PARTS else None
    if long is not None:  # tomllib keeps every beginning of a key
        line, column = text.count("\n", 0, long.start()) + 1, long.start() - text.rfind("\n", 0, long.start())
        message = f"a key has more than {budgets.KEY_PARTS} parts"
        raise TomlError(message, Span(name, line, column, line, column + 1))
    try:
        return TomlText(tomllib.loads(text), text, name)
    except RecursionError:
        raise TomlError("it is nested too deeply", Span(name, 1, 1, 1, 1)) from None
    except tomllib.TOMLDecodeError as mistake:
        raise _told(str(mistake), text, name) from None
    except ValueError as mistake:  # a number with more digits than Python reads
        raise TomlError(str(mistake), Span(name, 1, 1, 1, 1)) from None


Read = Callable[[Path, Any], Any]
"""A function from the path of a value, and the value, to what is kept of it: None if it is wrong, after a mistake."""
T = TypeVar("T")


class TomlReader:
    """Reader of the values of one file that collects all mistakes, each with its location.

    Values of an entry point have no text, and so no locations.
    """

    def __init__(self, code: str, toml: TomlText | None) -> None:
        self.code, self.toml = code, toml
        self.mistakes: list[Diagnostic] = []

    def wrong(self, path: Path, message: str, hint: str, *, key: bool = False) -> None:
        """Add a mistake at a value, or at its `key`."""
        place = None if self.toml is None else self.toml.key(path) if key else self.toml.value(path)
        self.mistakes.append(error(self.code, message, place, hint))

    def table(self, path: Path, value: Any, known: Mapping[str, Read]) -> dict[str, Any]:
        """Return the values of a table by their keys, without those that are wrong."""
        if not isinstance(value, Mapping):
            keys = ", ".join(f"`{key}`" for key in known)
            self.wrong(path, f"`{dotted(path)}` must be a table", f"write a table with some of {keys}")
            return {}
        found = {}
        for key, inner in value.items():
            here = (*path, key)
            if key not in known:
                where = f" in `{dotted(path)}`" if path else ""
                message = f"unknown key `{shortened(key)}`{where}"
                self.wrong(here, message, did_you_mean(key, known, "keys: "), key=True)
                continue
            read = known[key](here, inner)
            if read is not None:
                found[key] = read
        return found

    def tables(self, path: Path, value: Any, read: Callable[[Path, Any], T | None]) -> tuple[T, ...]:
        """Return what `read` keeps of each table in a list of tables."""
        if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
            self.wrong(path, f"`{dotted(path)}` must be a list of tables", f"write `[[{path[-1]}]]`", key=True)
            return ()
        found = (read((*path, number), each) for number, each in enumerate(value))
        return tuple(each for each in found if each is not None)

    def listed(self, path: Path, value: Any, example: str) -> list[tuple[Path, Any]]:
        """Return the values of a list with their paths; a value that is not a list counts as a list of one."""
        if not isinstance(value, list):
            return [(path, value)]
        if not value:
            self.wrong(path, f"`{dotted(path)}` is empty", f"write `{path[-1]} = {example}`, or remove it")
        return [((*path, number), each) for number, each in enumerate(value)]

    def words(self, path: Path, value: Any) -> str | None:
        """Return a text that is not blank and can be printed."""
        if isinstance(value, str) and is_printable(value.replace("\n", "")) and value.strip():
            return value.strip()
        hint = 'write `"..."`' if isinstance(path[-1], int) else f'write `{path[-1]} = "..."`'
        self.wrong(path, f"`{dotted(path)}` must be text, got {shown(value)}", hint)
        return None

    def flag(self, path: Path, value: Any) -> bool | None:
        """Return True or False."""
        if isinstance(value, bool):
            return value
        self.wrong(path, f"`{dotted(path)}` must be true or false, got {shown(value)}", f"write `{path[-1]} = true`")
        return None

    def some_of(self, known: Sequence[str], what: str) -> Read:
        """Return a reader of one of the known words or a list of them; `what` is their name in messages."""

        def read(path: Path, value: Any) -> tuple[str, ...] | None:
            found = [(here, self.words(here, each)) for here, each in self.listed(path, value, f'["{known[0]}"]')]
            for here, each in found:
                if each is not None and each not in known:
                    hint = did_you_mean(each, known, f"known {what}s: ")
                    self.wrong(here, f"unknown {what} `{shortened(each)}`", hint)
            return tuple(dict.fromkeys(each for _, each in found if each is not None)) or None

        return read


def dotted(path: Path) -> str:
    """Write a path as `runs[2].limits.time`, counted from 1."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return shortened(text)


def shown(value: Any) -> str:
    """Write a value as messages show it: itself if it is short, else its type."""
    if isinstance(value, str | int | float):
        return f"`{printable(shortened(str(value)))}`"
    return f"a {type(value).__name__}"


def _as_letters(found: re.Match[str]) -> str:
    """Return a string or comment as letters of the same length, on the same lines."""
    return re.sub(r"[^\n]", "_" if found[0][0] != "#" else " ", found[0])


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
