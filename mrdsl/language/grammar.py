"""Grammar of the language: its parser, the tables cached between runs, and the tree's nodes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import lark
from lark import Lark, Token, Transformer
from lark.grammar import Rule
from lark.lexer import TerminalDef

from mrdsl.core import budgets
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.resources import cache_folder, resource_text
from mrdsl.language import tree

KEPT = 8
"""Grammars whose tables are kept: of several installations of one user none has those of another built anew."""
FORMAT = 1
_LARGEST = 16 << 20
_SAVED_OPTIONS = frozenset({"parser", "lexer", "start", "maybe_placeholders"})


def cached(grammar: str, builder: Any, options: Mapping[str, Any]) -> Lark:
    """Return the parser of a grammar, from its kept tables where they are of this very grammar and this version of
    Lark.
    """
    key = _key(grammar, options)
    folder = _folder()
    known = _read(folder / name_of(key), key) if folder is not None else None
    if known is not None:
        parser: Any = Lark.__new__(Lark)
        return _as_lark(parser._load(known, transformer=builder))
    built = Lark(grammar, transformer=builder, **options)
    if folder is not None:
        _write(folder, key, built)
    return built


def _as_lark(parser: Any) -> Lark:
    assert isinstance(parser, Lark)
    return parser


def _key(grammar: str, options: Mapping[str, Any]) -> str:
    parts: list[Any] = [FORMAT, lark.__version__, sys.version_info[:2], sorted(options.items()), grammar]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def name_of(key: str) -> str:
    """Return the file of the tables with a key."""
    return f"parser-{key[:16]}.json"


def _folder() -> Path | None:
    """Return the cache folder, made for the user alone, or None if there is no folder to trust."""
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if is_own(os.stat(folder, follow_symlinks=False)) and os.access(folder, os.W_OK) else None
    except (OSError, ValueError, RuntimeError):
        return None


def is_own(status: os.stat_result) -> bool:
    """Return True if a file or folder belongs to the user, and no other user can write to it."""
    if not hasattr(os, "geteuid"):
        return True
    writable_by_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.geteuid() and not writable_by_others


def _read(path: Path, key: str) -> Any:
    try:
        if not is_own(os.stat(path, follow_symlinks=False)):
            return None
        data = read_bytes(path, _LARGEST)
    except (OSError, UnreadableError):
        return None
    head, _, body = data.partition(b"\n")
    if head.decode("ascii", "replace") != f"{key} {hashlib.sha256(body).hexdigest()}":
        return None
    return json.loads(body, object_hook=_decoded)


def _write(folder: Path, key: str, parser: Any) -> None:
    from mrdsl.core.writer import write_text

    data, memo = parser.memo_serialize([TerminalDef, Rule])
    kept = {name: value for name, value in data["options"].items() if name in _SAVED_OPTIONS}
    body = json.dumps(_encoded({"data": {**data, "options": kept}, "memo": memo}), separators=(",", ":"))
    head = f"{key} {hashlib.sha256(body.encode()).hexdigest()}\n"
    with contextlib.suppress(MrdslError, OSError):
        write_text(folder / name_of(key), head + body, force=True)
        os.chmod(folder / name_of(key), 0o600)
        for old in sorted(folder.glob(name_of("*")), key=lambda path: path.stat().st_mtime_ns)[:-KEPT]:
            old.unlink()


def _encoded(value: Any) -> Any:
    """JSON has names for keys only: a mapping from numbers becomes its pairs."""
    if isinstance(value, dict):
        if value and all(isinstance(key, int) for key in value):
            return {"#": [[key, _encoded(inner)] for key, inner in value.items()]}
        return {key: _encoded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(inner) for inner in value]
    return value


def _decoded(stored: dict[str, Any]) -> Any:
    return dict(stored["#"]) if stored.keys() == {"#"} else stored


MAX_NESTING = budgets.NESTING


class TreeBuilder(Transformer):  # type: ignore[type-arg]
    """Builds the nodes while the parser runs; no Lark tree is ever made."""

    def word(self, children: list[Any]) -> Any:
        return children[0]

    def number(self, children: list[Any]) -> Any:
        return tree.Number(children[0], None)

    def quantity(self, children: list[Any]) -> Any:
        return tree.Number(children[0], children[1])

    share = quantity

    def name(self, children: list[Any]) -> Any:
        return tree.Name(children[0])

    def clock(self, children: list[Any]) -> Any:
        return tree.Clock(children[0])

    def string(self, children: list[Any]) -> Any:
        return tree.Text(children[0])

    def call(self, children: list[Any]) -> Any:
        return tree.Call(children[0], tuple(children[2:-1]), children[-1])

    def listing(self, children: list[Any]) -> Any:
        return tree.List(children[0], tuple(children[1:-1]), children[-1])

    def group(self, children: list[Any]) -> Any:
        return tree.Group(children[0], children[1], children[2])

    def signed(self, children: list[Any]) -> Any:
        return tree.Signed(children[0], children[1])

    def total(self, children: list[Any]) -> Any:
        return tree.Sum(tuple(children))

    def product(self, children: list[Any]) -> Any:
        return tree.Product(tuple(children))

    def interval(self, children: list[Any]) -> Any:
        return tree.Interval(children[0], children[1])

    def index(self, children: list[Any]) -> Any:
        return tree.Index(children[0], children[1], children[2], children[3])

    def comparison(self, children: list[Any]) -> Any:
        return tree.Comparison(children[0], str(children[1]), children[2])

    def equation(self, children: list[Any]) -> Any:
        return tree.Comparison(children[0], "==", children[1])

    def assignment(self, children: list[Any]) -> Any:
        return tree.Assignment(tuple(children[:-1]), children[-1])

    def goal(self, children: list[Any]) -> Any:
        return tree.Goal((children[0],), children[1])

    def directive(self, children: list[Any]) -> Any:
        return _block(children, None, None, None)

    def braced(self, children: list[Any]) -> Any:
        opening = next(i for i, child in enumerate(children) if child.__class__ is Token and child.type == "LBRACE")
        return _block(children[:opening], children[opening], tuple(children[opening + 1 : -1]), children[-1])

    def document(self, children: list[Any]) -> Any:
        return tuple(children)


def _block(header: list[Any], opening: Any, statements: Any, closing: Any) -> tree.Block:
    call = index = None
    if header[-1].__class__ is tree.Call:
        call = header[-1]
        header = header[:-1]
    for position, part in enumerate(header):
        if part.__class__ is tree.Index:
            index = part
            return tree.Block(
                tuple(header[:position]), index, tuple(header[position + 1 :]), call, opening, statements, closing
            )
    return tree.Block(tuple(header), None, (), call, opening, statements, closing)


_OPTIONS = {"parser": "lalr", "lexer": "basic", "start": ["document", "expression"], "maybe_placeholders": False}


@cache
def grammar() -> Lark:
    """Return the parser, built from ``grammar/mrspec.lark``; its tables are kept in the user's cache folder."""
    return cached(resource_text("grammar/mrspec.lark"), TreeBuilder(), _OPTIONS)
