"""Lazy values: functions imported on their first call, cached properties, parts by name, and hooks of upper layers.

``Result.to_json`` and ``Spec.from_json`` are methods of lower layers, and a Spec accepts ``price="0.192 USD/h"``.
Importing ``mrdsl`` registers the functions that answer them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, TypeVar

from mrdsl.core.diagnostics import did_you_mean


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
    """Import the function that ``"package.module:name"`` names. Raises ImportError or AttributeError if it is
    missing.
    """
    module, _, name = reference.partition(":")
    function: Callable[..., Any] = named(module, name)
    return function


T = TypeVar("T")


def kept(owner: object, name: str, make: Callable[[], T]) -> T:
    """Return the value of ``make``, cached in ``owner`` like a ``functools.cached_property`` of its class.

    It is for layers above ``owner``, whose modules it does not import. The value must not be changed.
    """
    values = vars(owner)
    if name not in values:
        values[name] = make()
    value: T = values[name]
    return value


V = TypeVar("V", covariant=True)


class ByName(Mapping[str, V]):
    """``plan.classes["clicks"]``: values by name in the spec's order; ``at`` makes the value at a place."""

    def __init__(self, names: Sequence[str], at: Callable[[int], V]) -> None:
        self._names, self._at = names, at

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._names)}

    def __getitem__(self, name: str) -> V:
        try:
            return self._at(self._places[name])
        except KeyError:
            raise KeyError(f"{name!r}; {did_you_mean(str(name), self._names, 'there are: ')}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._names)})"


def place_of(names: Sequence[str], name: str) -> int:
    """Return the position of a name. Raises KeyError, with the nearest name."""
    return ByName(names, lambda place: place)[name]


class Form(Protocol):
    """Writes a value as text, and reads it back.

    Names of files in the text are relative to ``folder`` if it is given; ``name`` is the text's own file.
    """

    def write(self, value: Any, folder: str | None = None) -> str: ...

    def read(self, text: str, name: str) -> Any: ...


class QuantityReader(Protocol):
    """Gives the value of an item from its name, its declaration, a text and the spec's currency; raises MrdslError.

    The last argument is the number of which the item may be a share.
    """

    def __call__(self, key: str, item: Any, text: str, currency: str, base: float | None = None, /) -> Any: ...


class SpecWriter(Protocol):
    """A writer of specs as text; raises MrdslError for invalid specs."""

    def __call__(self, spec: Any, /) -> str: ...


_FORMS: dict[str, Callable[[], Any]] = {}


def register(kind: str, form: Callable[[], Any]) -> None:
    """Let ``form`` answer for a kind: ``result``, ``spec``, ``text``, ``quantity``, ``chart`` or ``charts``.

    It is called when it is first needed.
    """
    _FORMS[kind] = form


def of_results() -> Form:
    """Return the form of results."""
    form: Form = _FORMS["result"]()
    return form


def of_specs() -> Form:
    """Return the form of specs."""
    form: Form = _FORMS["spec"]()
    return form


def of_charts() -> Callable[[Any], Any]:
    """Return the function that draws a chart with Altair."""
    draw: Callable[[Any], Any] = _FORMS["chart"]()
    return draw


def of_pictures() -> Callable[[Any], Sequence[Any]]:
    """Return the function that gives the charts of a result."""
    charts: Callable[[Any], Sequence[Any]] = _FORMS["charts"]()
    return charts


def of_texts() -> SpecWriter:
    """Return the writer of specs as text."""
    writer: SpecWriter = _FORMS["text"]()
    return writer


def of_quantities() -> QuantityReader:
    """Return the reader of quantities in texts."""
    reader: QuantityReader = _FORMS["quantity"]()
    return reader
