"""Functions that declare the contents of a block.

The frozen dataclasses of a family's facts *are* its schema: every field is made with one of the functions below. The
resolver, the printer, the editor support and the reference documentation all read their metadata. There is no second
list.

    @dataclass(frozen=True, kw_only=True, repr=False, eq=False)
    class Reserved(Node):
        price: float = quantity("price", "what a reserved VM costs", above=0.0, symbol="rho")
        available: int = quantity("vms", "how many are reserved", at_least=0, whole=True, symbol="r-bar")

Values are SI: seconds, bytes, watts, joules, the spec's currency, and plain numbers for counts and shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from enum import Enum
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar

from mrdsl.core.diagnostics import Span

ITEM_KEY = "mrdsl"


class _Required(Enum):
    """The default of an item that must be written."""

    REQUIRED = "required"


REQUIRED: Any = _Required.REQUIRED
PERCENTILES: Mapping[str, int] = MappingProxyType({f"p{percent}": percent for percent in range(1, 100)})
"""The whole percentiles as the language writes them, and the percent of each."""
_NO_SPANS: Mapping[str, Span] = MappingProxyType({})
BUDGET_HINT: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("budget", "max_cost", "cost"), "limit a quantity of the plan: write `subject to { cost <= 5 USD }`")
)
"""Hints for families whose plans have a cost."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Node:
    """The base of all blocks of a spec: the name (empty for an unnamed block) and the place.

    ``ELSEWHERE`` has words of blocks alike in other families, each with a hint what to write here. ``EXAMPLE`` is a
    short block in braces, for hints, and ``EXAMPLE_BESIDE`` the one if the spec has another field. ``ONE_OF`` are
    groups of words of which a block has at least one.

    ``spans`` maps the name of an item to the place of its line; both are None or empty for a spec built in Python, and
    equality ignores them. Nodes are compared, hashed and shown like other dataclasses, but with methods that all types
    share: making them for each type takes a thirtieth of the start of ``check``. ``repr=False, eq=False`` leaves them
    out; a type can also have its own.
    """

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType({})
    EXAMPLE: ClassVar[str] = "{ ... }"
    EXAMPLE_BESIDE: ClassVar[Mapping[str, str]] = MappingProxyType({})
    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = ()

    name: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)
    spans: Mapping[str, Span] = field(default_factory=lambda: _NO_SPANS, compare=False, repr=False)

    def __init_subclass__(cls, without: Mapping[str, str] = MappingProxyType({})) -> None:
        """Leave out fields of the base, each with a hint what to write in place of its word, or "" for none.

        Such a type declares no further fields, and is not decorated as a dataclass.
        """
        super().__init_subclass__()
        if without:
            kept: Any = cls
            kept.__dataclass_fields__ = {k: f for k, f in kept.__dataclass_fields__.items() if k not in without}
            kept.ELSEWHERE = MappingProxyType(
                {**cls.ELSEWHERE, **{word: hint for word, hint in without.items() if hint}}
            )

    def span_of(self, item: str) -> Span | None:
        """Return the place of an item of this block, or of the block itself if the item was left out."""
        return self.spans.get(item, self.span)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(_compared(self) == _compared(other))

    def __hash__(self) -> int:
        return hash(_compared(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
        return f"{self.__class__.__qualname__}({shown})"


def _compared(node: Any) -> Any:
    """Return the values that take part in a node's equality."""
    kind: Any = node.__class__
    return _getter(kind)(node)


@cache
def _getter(kind: Any) -> Callable[[Any], Any]:
    return attrgetter(*(f.name for f in fields(kind) if f.compare))


@dataclass(frozen=True)
class Range:
    """``lo .. hi``; a single value is the range from itself to itself."""

    low: float
    high: float


@dataclass(frozen=True)
class Distribution:
    """A random value that is drawn while a plan is simulated, such as ``poisson(22)``.

    ``name`` is the function's name in the language; ``parameters`` are in SI, nested tuples for lists.
    """

    name: str
    parameters: tuple[Any, ...]


@dataclass(frozen=True)
class Source:
    """The source of a block's data: ``from "file.csv"`` (reader ``table``) or ``from swim("jobs.tsv")``.

    ``path`` is absolute; ``written`` is the name in the spec.
    """

    reader: str
    path: str
    written: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Item:
    """The declaration of one ``name = value``.

    ``form`` is one of ``quantity``, ``range``, ``choice``, ``text``, ``path``, ``name``, ``names``, ``distribution``,
    ``list``, ``moment``, ``moments``. ``kind`` is the kind of the quantity in ``mrdsl.core.units.KINDS``. An
    ``automatic`` quantity, whose default is None, can also be the word ``auto``: mrdsl computes it. A path can also be
    the value of another item: ``called`` is that item, and the path's own word is the function around the file.
    ``names`` are names of blocks ``of``, if given, or one of ``choices`` alone. A choice with ``percentiles`` can also
    be one of p1 to p99. ``was`` is the former word, which specs and saved plans may still have. ``share_of`` is the
    path of another number of the block, of the same kind: the item can also be a share of it.
    """

    form: str
    doc: str
    kind: str = "number"
    symbol: str = ""
    default: Any = REQUIRED
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    whole: bool = False
    choices: tuple[str, ...] = ()
    automatic: bool = False
    called: str = ""
    of: str = ""
    percentiles: bool = False
    was: str = ""
    share_of: str = ""

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    def is_choice(self, word: str) -> bool:
        """Return True if a choice may be that word."""
        return word in self.choices or (self.percentiles and word in PERCENTILES)

    @property
    def listed(self) -> tuple[str, ...]:
        """The choices as a message lists them, percentiles by an example."""
        return (*self.choices, "p95") if self.percentiles else self.choices


@dataclass(frozen=True)
class Block:
    """The declaration of a nested block: ``word { ... }``, or repeated and named, ``word NAME { ... }``.

    ``sources`` are readers of the data of one block, ``catalogues`` readers of files with many blocks. ``short`` names
    the item that ``word = value`` sets if the other items of the block have their defaults. A repeated block ``of``
    another word has the NAME of such a block and refines it. ``was`` is the former word, which specs and saved plans
    may still have.
    """

    node: type[Node]
    doc: str
    word: str = ""
    plural: str = ""
    repeated: bool = False
    required: bool = False
    sources: tuple[str, ...] = ()
    short: str = ""
    catalogues: tuple[str, ...] = ()
    of: str = ""
    was: str = ""


def quantity(
    kind: str,
    doc: str,
    *,
    default: Any = REQUIRED,
    symbol: str = "",
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    whole: bool = False,
    automatic: bool = False,
    was: str = "",
    share_of: str = "",
) -> Any:
    """Return a number with a unit of the given kind; limits are in SI. ``whole`` gives an int. ``default=None``:
    optional.

    ``automatic``: ``auto`` may be written for None. ``share_of``: a share of that number of the block, as in ``25%``,
    may be written too.
    """
    item = Item("quantity", doc, kind, symbol, default, above, at_least, below, at_most, whole)
    return _item(replace(item, automatic=automatic, was=was, share_of=share_of))


def value_range(
    kind: str,
    doc: str,
    *,
    default: Any = REQUIRED,
    symbol: str = "",
    above: float | None = None,
    at_least: float | None = None,
) -> Any:
    """Declare ``lo .. hi`` as a :class:`Range`; a single value is both ends."""
    return _item(Item("range", doc, kind, symbol, default, above, at_least))


def choice(
    options: Sequence[str], doc: str, *, default: Any = REQUIRED, percentiles: bool = False, was: str = ""
) -> Any:
    """Return one word out of a fixed list, with ``percentiles`` or one of p1 to p99."""
    return _item(Item("choice", doc, default=default, choices=tuple(options), percentiles=percentiles, was=was))


def text(doc: str, *, default: Any = REQUIRED) -> Any:
    """Return a quoted string."""
    return _item(Item("text", doc, default=default))


def path(doc: str, *, default: Any = REQUIRED, called: str = "") -> Any:
    """Declare a quoted file name, relative to the spec; the value is a :class:`Source` and the file exists.

    With ``called = "item"``, ``item = NAME("file")`` means the same as ``NAME = "file"``.
    """
    return _item(Item("path", doc, default=default, called=called))


def reference(doc: str, *, default: Any = REQUIRED) -> Any:
    """Return the name of another block, quoted or bare; the family checks that it exists."""
    return _item(Item("name", doc, default=default))


def references(doc: str, *, default: Any = (), of: str = "", words: Sequence[str] = ()) -> Any:
    """Declare a list of names of other blocks, ``of`` one word, as a tuple of strings; the family checks that they
    exist.

    One of ``words`` can replace the list.
    """
    return _item(Item("names", doc, default=default, choices=tuple(words), of=of))


def quantities(
    kind: str,
    doc: str,
    *,
    default: Any = REQUIRED,
    symbol: str = "",
    above: float | None = None,
    at_least: float | None = None,
) -> Any:
    """Return a list of numbers of one kind, as a tuple of floats."""
    return _item(Item("list", doc, kind, symbol, default, above, at_least))


def moment(doc: str, *, default: Any = REQUIRED) -> Any:
    """Return a point in time: a clock time as its text, ``"22:00"``, or an offset in seconds as a float."""
    return _item(Item("moment", doc, "time", default=default, at_least=0.0))


def moments(doc: str, *, default: Any = REQUIRED) -> Any:
    """Return a list of points in time, as a tuple."""
    return _item(Item("moments", doc, "time", default=default, at_least=0.0))


def distribution(
    kind: str,
    doc: str,
    *,
    default: Any = REQUIRED,
    symbol: str = "",
    above: float | None = None,
    at_least: float | None = None,
) -> Any:
    """Return a number, or a distribution that stays one until it is simulated: float or :class:`Distribution`."""
    return _item(Item("distribution", doc, kind, symbol, default, above, at_least))


def block(
    node: type[Node],
    doc: str,
    *,
    required: bool = False,
    sources: Sequence[str] = (),
    short: str = "",
    was: str = "",
) -> Any:
    """Declare one nested block; the field is the node, or None if it was left out.

    ``sources`` names the readers that ``from`` accepts; such a node type declares a field ``source``. With ``short``,
    ``word = value`` means ``word { short = value }``.
    """
    declared = Block(node, doc, required=required, sources=tuple(sources), short=short, was=was)
    return field(metadata={ITEM_KEY: declared}) if required else field(default=None, metadata={ITEM_KEY: declared})


def blocks(
    node: type[Node],
    word: str,
    doc: str,
    *,
    plural: str = "",
    required: bool = False,
    sources: Sequence[str] = (),
    catalogues: Sequence[str] = (),
    of: str = "",
) -> Any:
    """Repeated named blocks ``word NAME {...}``, ``word NAME[a..b] {...}`` and ``plural from "table.csv"``.

    The field holds a sequence of nodes in spec order: a tuple, or ``Columns`` for tables and generators. ``sources``
    names the readers that ``word NAME from reader("file") {...}`` accepts; such a node type has a field ``source``.
    ``catalogues`` names those of ``plural from reader("file") {...}``, one node for each entry of the file. ``of``:
    NAME is that of a block with this word.
    """
    declared = Block(
        node, doc, word, plural or word + "s", True, required, tuple(sources), catalogues=tuple(catalogues), of=of
    )
    return field(default=(), metadata={ITEM_KEY: declared})


def _item(declared: Item) -> Any:
    if declared.required:
        return field(metadata={ITEM_KEY: declared})
    return field(default=declared.default, metadata={ITEM_KEY: declared})


def declarations(node: type[Node]) -> Mapping[str, Item | Block]:
    """Return the declarations of a node type by field name, in order."""
    key: Any = node
    declared: Mapping[str, Item | Block] = _declarations(key)
    return declared


@cache
def _declarations(node: Any) -> Mapping[str, Item | Block]:
    return MappingProxyType({f.name: f.metadata[ITEM_KEY] for f in _declared_fields(node)})


def _declared_fields(node: type[Node]) -> list[Field[Any]]:
    return [f for f in fields(node) if ITEM_KEY in f.metadata]


_VALID = "_mrdsl_valid"


def mark_valid(facts: Any) -> None:
    """Notes on facts that they keep their declarations, as those that were read from a text do."""
    facts.__dict__[_VALID] = True


def is_marked_valid(facts: Any) -> bool:
    """Return True if facts were found to keep their declarations; they are frozen, and need no second look."""
    return _VALID in getattr(facts, "__dict__", ())
