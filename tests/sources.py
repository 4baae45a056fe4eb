"""What the code says of itself, read once for all tests: imports, calls with texts, and what is kept as a message."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "mrdsl"
REPR, VALUE = "\x01", "\x02"
"""What stands in a text for a value that is formatted, with ``!r`` and without."""


@dataclass(frozen=True)
class Texts:
    """The texts within one call, or within what is assigned to one name.

    ``name`` is the function's, or the variable's with ``=`` after it; ``first`` the plain texts that the first text
    argument of a call can be.
    """

    line: int
    name: str
    texts: tuple[str, ...]
    first: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Source:
    """One module; ``imports`` are pairs of a module and a name in it, or an empty one, but for those of types alone."""

    path: Path
    documented: bool
    imports: tuple[tuple[str, str], ...]
    texts: tuple[Texts, ...]

    def wants(self, known: dict[str, Source]) -> Iterator[str]:
        """Yield the modules that it imports, lazy imports included."""
        for module, name in self.imports:
            yield f"{module}.{name}" if f"{module}.{name}" in known else module


@cache
def modules() -> dict[str, Source]:
    """Every module of the package by its name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = _source(path)
    return found


def _source(path: Path) -> Source:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    typing_only = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    imports: list[tuple[str, str]] = []
    texts: list[Texts] = []
    for node in nodes:
        if isinstance(node, ast.Import) and id(node) not in typing_only:
            imports += ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing_only:
            imports += ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call):
            texts.append(Texts(node.lineno, _name(node.func), tuple(_texts(node)), _first(node)))
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            texts += (Texts(node.lineno, f"{name}=", tuple(_texts(node))) for name in names if name in KEPT)
    return Source(path, ast.get_docstring(tree) is not None, tuple(imports), tuple(texts))


KEPT = ("message", "hint")


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _texts(node: ast.AST) -> Iterator[str]:
    parts = list(ast.walk(node))
    inside = {id(part) for text in parts if isinstance(text, ast.JoinedStr) for part in text.values}
    for part in parts:
        if isinstance(part, ast.JoinedStr):
            yield "".join(_shown(value) for value in part.values)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in inside:
            yield part.value


def _shown(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    return REPR if isinstance(part, ast.FormattedValue) and part.conversion == ord("r") else VALUE


def _first(call: ast.Call) -> frozenset[str]:
    for argument in call.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return frozenset({argument.value})
        if isinstance(argument, ast.IfExp):
            branches = (argument.body, argument.orelse)
            values = [each.value for each in branches if isinstance(each, ast.Constant)]
            return frozenset(value for value in values if isinstance(value, str))
    return frozenset()
