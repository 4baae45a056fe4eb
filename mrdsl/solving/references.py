"""``"package.module:name"``, as solver files name functions; nothing else in mrdsl refers to code by a string."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from mrdsl.solving.declaration import Pipeline


def function_named(reference: str) -> Callable[..., Any]:
    """The function behind ``"package.module:name"``. Raises ImportError or AttributeError where there is none."""
    module, _, name = reference.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def steps_of(pipeline: Pipeline, given: Mapping[str, Any]) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    """The steps of a pipeline with their parameters; ``given`` replaces those that a step has by that name."""
    return [
        (function_named(step["call"]), {key: given.get(key, value) for key, value in step.items() if key != "call"})
        for step in pipeline.steps
    ]
