"""The parser's tables from one run to the next: as data that is read, never as objects that are revived.

The file is JSON behind its own digest. It is used only where it and its folder belong to the user and nobody else may
write to them; else the tables are built anew, which takes a fifth of a second.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.regular_files import UnreadableError, read_bytes
from mrdsl.core.resources import cache_folder

KEPT = 8
"""Grammars whose tables are kept: of several installations of one user none has those of another built anew."""
FORMAT = 1
_LARGEST = 16 << 20
_OPTIONS = frozenset({"parser", "lexer", "start", "maybe_placeholders"})


def cached(grammar: str, builder: Any, options: Mapping[str, Any]) -> Lark:
    """The parser of a grammar, from its kept tables where they are of this very grammar and this version of Lark."""
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
    """The file of the tables with a key."""
    return f"parser-{key[:16]}.json"


def _folder() -> Path | None:
    """The cache folder, made for the user alone; None where there is none that can be trusted."""
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if is_own(os.stat(folder, follow_symlinks=False)) and os.access(folder, os.W_OK) else None
    except (OSError, ValueError, RuntimeError):
        return None


def is_own(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user, and nobody else may write to it."""
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
    kept = {name: value for name, value in data["options"].items() if name in _OPTIONS}
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
