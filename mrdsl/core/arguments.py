"""Arguments of public functions and methods, checked against their annotations before anything else happens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, iscoroutinefunction, signature
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, TypeVar

from mrdsl.core.diagnostics import MrdslError, described, error, printable, shortened

Function = TypeVar("Function", bound=Callable[..., Any])


def written_number(text: str) -> float:
    """Return the number that a text writes in ASCII; float also reads other digits, and underscores. Raises
    ValueError.
    """
    if not text.isascii() or "_" in text:
        raise ValueError(f"`{text}` is not a number")
    return float(text)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


_KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "None": ("None", lambda value: value is None),
        "str": ("text", lambda value: isinstance(value, str)),
        "Path": ("a path", lambda value: isinstance(value, os.PathLike)),
        "bool": ("True or False", lambda value: isinstance(value, bool)),
        "int": ("a whole number", lambda value: _is_number(value) and value == value // 1),
        "float": ("a number", _is_number),
        "Callable": ("a function", callable),
        "Watch": ("a function", callable),
        "Parameters": ("a mapping from names", _is_mapping),
        "Mapping": ("a mapping from names", _is_mapping),
        "Sequence": ("a list", lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes)),
        "Iterable": ("a list", lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes)),
        "Arrow": ("a table", lambda value: hasattr(value, "__arrow_c_stream__")),
        "tuple": ("a pair", lambda value: isinstance(value, tuple | list)),
        "type": ("a class", lambda value: isinstance(value, type)),
    }
)
"""By the name in an annotation: the kind in words, and whether a value is of it."""
_HINTS = MappingProxyType(
    {
        "Spec": "read a file with mrdsl.load(PATH), a text with mrdsl.loads(TEXT), "
        "a saved plan with mrdsl.load_plan(PATH)"
    }
)
_OPEN = ("Any", "Values")
"""Annotations that only the function itself can check."""


def checked(function: Function) -> Function:
    """Check the arguments of an API function against its annotations.

    Args:
        function: Function of the API.

    Returns:
        The function, which raises MrdslError `wrong-value` with the name, the expected and the actual type.
    """
    taken = signature(function)
    if iscoroutinefunction(function):

        @wraps(function)
        async def acall(*values: Any, **named: Any) -> Any:
            _require(function.__qualname__, taken, values, named)
            return await function(*values, **named)

        return acall  # type: ignore[return-value]

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        _require(function.__qualname__, taken, values, named)
        return function(*values, **named)

    return call  # type: ignore[return-value]


def _require(name: str, taken: Signature, values: Any, named: Any) -> None:
    wrong = []
    try:
        bound = taken.bind(*values, **named)
    except TypeError as failure:
        raise TypeError(f"{name}() {failure}") from None
    for argument, value in bound.arguments.items():
        parameter = taken.parameters[argument]
        for expected, shown in _mistakes(parameter, value):
            hint = next((hint for kind, hint in _HINTS.items() if kind in _heads(str(parameter.annotation))), "")
            if argument == "spec" and expected == "text or a path" and type(value).__name__ == "Spec":
                hint = 'save it with `Path("a.mrspec").write_text(mrdsl.dumps(spec))`, and pass that path'
            message = f"`{name}`: `{argument}` must be {expected}, got {shown}"
            wrong.append(replace(error("wrong-value", message, None, hint), path=argument))
    if wrong:
        raise MrdslError(wrong)


def _mistakes(parameter: Parameter, value: Any) -> Iterable[tuple[str, str]]:
    several = parameter.kind is Parameter.VAR_POSITIONAL
    if parameter.kind is Parameter.VAR_KEYWORD or parameter.annotation is Parameter.empty:
        return
    for each in value if several else (value,):
        expected = _expected(str(parameter.annotation), each)
        if expected:
            yield expected, _shown(each)


def _expected(annotation: str, value: Any) -> str:
    """Return the kinds that an annotation names, in words; "" if the value is of one of them, or cannot be checked
    here.
    """
    names = [part.strip() for part in _parts(annotation)]
    heads = _heads(annotation)
    if any(head in _OPEN for head in heads):
        return ""
    for name, head in zip(names, heads, strict=True):
        if _is_one(value, head) and not (head == "Sequence" and _wrong_elements(name, value)):
            return ""
    inner = next((_inner(name) for name, head in zip(names, heads, strict=True) if head == "Sequence"), "")
    words = [_KINDS[head][0] if head in _KINDS else f"a {head}" for head in heads]
    return " or ".join(dict.fromkeys(words)) + (f" of {' or '.join(_words(inner))}" if inner else "")


def _heads(annotation: str) -> list[str]:
    return [part.strip().partition("[")[0] for part in _parts(annotation)]


def _is_one(value: Any, head: str) -> bool:
    if head in _KINDS:
        return _KINDS[head][1](value)
    return any(kind.__name__ == head for kind in type(value).__mro__)


def _words(annotation: str) -> list[str]:
    return [_KINDS[part.strip()][0] for part in _parts(annotation) if part.strip() in _KINDS]


def _inner(name: str) -> str:
    return name.partition("[")[2].removesuffix("]")


def _wrong_elements(name: str, value: Iterable[Any]) -> bool:
    inner = _inner(name)
    return bool(inner) and any(_expected(inner, each) for each in value)


def _parts(annotation: str) -> list[str]:
    """Return the alternatives of ``A | B[C | D]``: split at the bars outside of brackets."""
    parts, depth = [""], 0
    for character in annotation:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{printable(shortened(value))}"'
    if isinstance(value, Integral) and not _is_number(value) and not isinstance(value, bool):
        return "a number beyond 1.8e308"
    return described(value)
