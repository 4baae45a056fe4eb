"""docs/reference/api.md is made from the code: ``python -m tests.api.test_api_page`` prints it anew."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import mrdsl

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api.md"
HEAD = """# The API

All public names of `mrdsl`, made from the code. Numbers are SI: seconds, bytes, joules, watts, the spec's currency.
Importing the package loads neither Pyomo nor a solver; each name is loaded when it is first used.

"""
_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Attributes):")
_ROLE = re.compile(r":(?:func|class|meth|mod):`~?(?:mrdsl\.)?([^`]+)`")


class _Written(str):
    """An annotation that shows as it was written."""

    def __repr__(self) -> str:
        return str(self)


def page() -> str:
    """The whole page."""
    names = [name for name in mrdsl.__all__ if not name.startswith("_")]
    functions = [name for name in names if inspect.isroutine(getattr(mrdsl, name))]
    classes = [name for name in names if name not in functions]
    parts = ["## Functions\n", *map(_function, functions), "## Classes\n", *map(_class, classes)]
    return HEAD + "\n".join(parts)


def _function(name: str) -> str:
    of = getattr(mrdsl, name)
    word = "async " if inspect.iscoroutinefunction(of) else ""
    return f"### {name}\n\n`{word}{name}{_signature(of)}`\n\n{_text(of)}\n"


def _class(name: str) -> str:
    of = getattr(mrdsl, name)
    lines = [f"### {name}\n", _text(of), ""]
    if isinstance(of, enum.EnumMeta):
        lines += [f"- `{each.name}` = `{each.value}`" for each in of]  # type: ignore[var-annotated]
    elif dataclasses.is_dataclass(of):
        lines += [f"- `{each.name}: {each.type}`" for each in dataclasses.fields(of) if not each.name.startswith("_")]
    lines += [f"- `{called}`: {_first(member)}" for called, member in _members(of)]
    return "\n".join([*lines, ""])


def _members(of: Any) -> Iterator[tuple[str, Any]]:
    for name, member in vars(of).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property | cached_property):
            yield name, member
        elif inspect.isroutine(member) or isinstance(member, classmethod):
            plain = member.__func__ if isinstance(member, classmethod) else member
            yield f"{name}{_signature(plain)}", plain


def _signature(of: Any) -> str:
    signature = inspect.signature(of)
    kept = [
        each.replace(annotation=_Written(each.annotation))
        for each in signature.parameters.values()
        if each.name not in ("self", "cls")
    ]
    back = signature.return_annotation
    gives = back if back is inspect.Signature.empty else _Written(back)
    return str(signature.replace(parameters=kept, return_annotation=gives))


def _text(of: Any) -> str:
    return _ROLE.sub(r"`\1`", "\n".join(_as_markdown(inspect.cleandoc(of.__doc__ or "")))).replace("``", "`")


def _as_markdown(text: str) -> Iterator[str]:
    """The lines of a docstring; sections of Google style become bold words and lists."""
    section = ""
    for line in text.splitlines():
        if _SECTION.fullmatch(line):
            section = line.removesuffix(":")
            yield from (f"**{section}**", "")
        elif section and line.startswith("    ") and not line.startswith("     "):
            name, colon, words = line.strip().partition(": ")
            named = section != "Returns" and colon and " " not in name
            yield f"- `{name}`: {words}" if named else f"- {line.strip()}"
        elif section and line.startswith("     "):
            yield f"  {line.strip()}"
        else:
            section = section if line.strip() else ""
            yield line


def _first(of: Any) -> str:
    return " ".join(_text(of).split("\n\n")[0].split())


def test_the_page_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "print it anew: python -m tests.api.test_api_page"


def test_every_public_name_says_what_it_is() -> None:
    lacking = [name for name in mrdsl.__all__ if not name.startswith("_") and not getattr(mrdsl, name).__doc__]
    assert lacking == []


def test_every_function_documents_its_arguments() -> None:
    functions = [name for name in mrdsl.__all__ if inspect.isroutine(getattr(mrdsl, name))]
    assert functions
    for name in functions:
        of = getattr(mrdsl, name)
        section = inspect.cleandoc(of.__doc__).partition("Args:\n")[2].partition("\n\n")[0]
        assert re.findall(r"^    (\w+): ", section, re.MULTILINE) == list(inspect.signature(of).parameters), name


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
