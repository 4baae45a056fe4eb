"""The API's reference: every public name of ``mrdsl``, from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import mrdsl

HEAD = "Numbers are SI: seconds, bytes, joules, watts, the spec's currency. In code write `mrdsl.NAME`."


def pages() -> Iterator[tuple[str, str]]:
    """A page of functions and one of classes."""
    names = [name for name in mrdsl.__all__ if not name.startswith("_")]
    functions = [name for name in names if inspect.isroutine(getattr(mrdsl, name))]
    yield "reference/functions.md", _page("Functions", functions)
    yield "reference/classes.md", _page("Classes", [name for name in names if name not in functions])


def _page(title: str, names: list[str]) -> str:
    homes = [f"::: {getattr(mrdsl, name).__module__}.{getattr(mrdsl, name).__qualname__}" for name in names]
    return "\n\n".join([f"# {title}", HEAD, *homes, ""])
