"""Functions that are imported when they are first called: what a declaration names without loading it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Lazy:
    """The value `name` of a module, which is imported when the value is called or looked at.

    `inspect.signature` and `inspect.unwrap` see the function itself.
    """

    module: str
    name: str

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        found: Callable[..., Any] = named(self.module, self.name)
        return found

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.__wrapped__(*arguments, **options)


def lazy(module: str, name: str) -> Any:
    """Name a function of a module without importing it.

    Args:
        module: Dotted name of the module.
        name: Name of the function in it.

    Returns:
        A callable that imports the module when it is called. Any, since the module is not known to the type checker:
        a test resolves every one and compares its parameters.
    """
    return Lazy(module, name)


def lazily(package: str) -> Callable[[str, str], Any]:
    """Return :func:`lazy` for the modules of a package: `lazily("mrdsl.families.joint")("verify", "measure")`."""
    return lambda module, name: Lazy(f"{package}.{module}", name)


def named(module: str, name: str) -> Any:
    """Import a module and return its value of that name. Raises ImportError or AttributeError if it is missing."""
    return getattr(import_module(module), name)


def function_named(reference: str) -> Callable[..., Any]:
    """Import the function behind ``"package.module:name"``. Raises ImportError or AttributeError if it is missing."""
    module, _, name = reference.partition(":")
    function: Callable[..., Any] = named(module, name)
    return function
