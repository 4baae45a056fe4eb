"""``solve with METHOD { options }``: what a method takes, and what a spec's options come to."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.result import Limits
from mrdsl.solving.declaration import SolverFile
from mrdsl.spec.options import LIMIT_OF_OPTION, LIMITS, METHOD_OPTIONS
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import Method
from mrdsl.spec.validation import item_mistake


def options_taken(declared: SolverFile | None, family: str) -> Mapping[str, Item]:
    """The options of a method in a family: those of every method, and the parameters of a pipeline's steps."""
    if declared is None or not declared.is_pipeline:
        return METHOD_OPTIONS
    own = {name: _item_of(name, default) for name, default in declared.parameters(family).items()}
    return MappingProxyType({**{name: item for name, item in METHOD_OPTIONS.items() if name != "formulation"}, **own})


def _item_of(name: str, default: Any) -> Item:
    """A step's parameter as an item: its kind is that of its default."""
    doc = f"a parameter of the method's steps, {default} by default"
    if isinstance(default, bool):
        return Item("choice", doc, choices=("yes", "no"))
    if isinstance(default, int | float):
        return Item("quantity", doc, at_least=0.0, whole=isinstance(default, int))
    return Item("name", doc)


def options_given(declared: SolverFile, family: str, method: Method, limits: Limits) -> tuple[Limits, dict[str, Any]]:
    """What a spec says of a method, as limits (those that are given come first) and as parameters of its steps.

    An option that is None is left open. Raises MrdslError: unknown-option, and for values that a step does not take.
    """
    own, known = declared.parameters(family), options_taken(declared, family)
    parameters: dict[str, Any] = {}
    problems: list[Diagnostic] = []
    for name, value in method.options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = (f"did you mean {near[0]}? " if near else "") + f"{declared.name} knows: {', '.join(known)}"
            problems.append(_told(method, name, "unknown-option", f"{declared.name} has no option `{name}`", hint))
        elif value is None:
            continue
        elif name in LIMIT_OF_OPTION:
            limit = LIMIT_OF_OPTION[name]
            if getattr(limits, limit) is None:
                changed: dict[str, Any] = {limit: int(value) if LIMITS[limit].whole else float(value)}
                limits = replace(limits, **changed)
        elif name in own:
            value = ("no", "yes")[value] if isinstance(value, bool) and isinstance(own[name], bool) else value
            mistake = item_mistake(name, known[name], value) if isinstance(own[name], int | float | str) else None
            if mistake is not None:
                problems.append(_told(method, name, *mistake))
            else:
                parameters[name] = _like(own[name], value)
    if problems:
        raise MrdslError(problems)
    return limits, parameters


def _told(method: Method, name: str, code: str, message: str, hint: str) -> Diagnostic:
    told = error(code, message, method.spans.get(name, method.span), hint)
    return replace(told, path=f"method.options[{name!r}]")


def _like(default: Any, value: Any) -> Any:
    """An option's value in the form of the step's default: whole numbers as int, yes and no as bool."""
    if isinstance(default, bool):
        return value == "yes"
    return type(default)(value) if isinstance(default, int | float) else value
