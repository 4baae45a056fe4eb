"""YAML in its block style, of plain values: no library is needed to write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./:@-]*[A-Za-z0-9_./@-]|[A-Za-z]")
"""Words that mean the same with and without quotes, but for those of :data:`WORDS`."""
WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})


def yaml_text(document: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """The document below comments, a line each."""
    return "".join(f"{line}\n" for line in (*(f"# {comment}" for comment in comments), *_mapping(document, "")))


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        yield from _entry(f"{indent}{_scalar(key)}:", value, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, indent + "  ")
    elif isinstance(value, list | tuple) and value:
        yield head
        for item in value:
            yield from _item(item, indent)
    elif isinstance(value, str) and "\n" in value:
        yield f"{head} |"
        yield from (f"{indent}  {line}" for line in value.rstrip("\n").split("\n"))
    else:
        yield f"{head} {_scalar(value)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, Mapping) and item:
        first, *rest = _mapping(item, indent + "  ")
        yield f"{indent}- {first[len(indent) + 2 :]}"
        yield from rest
    else:
        yield f"{indent}- {_scalar(item)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    return json.dumps(value, ensure_ascii=True)
