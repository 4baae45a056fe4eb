"""The Spec: the value that the language produces and an embedding program builds."""

from __future__ import annotations

import copyreg
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mrdsl.core import lazy
from mrdsl.core.arguments import checked as _checked
from mrdsl.core.diagnostics import Diagnostic, Span
from mrdsl.core.tables import Readable
from mrdsl.spec import validation
from mrdsl.spec.expression import Constant, Expression, Operation, PlanQuantity, quantities_in
from mrdsl.spec.schema import is_marked_valid


@dataclass(frozen=True)
class Goal:
    """``minimize cost``: the sense (``minimize``, ``maximize``, ``estimate``) and the name of the quantity.

    A user-defined objective, ``minimize total``, has an ``expression`` that is linear in quantities of the plan, and
    the SI ``unit`` of its values; ``quantity`` is then its name.
    """

    sense: str
    quantity: str
    span: Span | None = field(default=None, compare=False, repr=False)
    expression: Expression | None = None
    unit: str = ""


@dataclass(frozen=True)
class Constraint:
    """One comparison of ``subject to``: ``left comparison right``; with ``<=``, ``>=`` or ``=`` (also ``==``)."""

    left: Expression
    comparison: str
    right: Expression
    text: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.comparison, str) and self.comparison == "==":
            object.__setattr__(self, "comparison", "=")


@dataclass(frozen=True)
class Aim(Constraint):
    """A user-defined objective as a comparison that every plan meets, which models see."""

    @property
    def maximizes(self) -> bool:
        """Return True if the objective is maximized."""
        return self.comparison == ">="


@dataclass(frozen=True)
class Let:
    """``let name = expression``: a user-defined quantity over those of the plan, in SI; ``unit`` is its SI unit."""

    name: str
    expression: Expression
    unit: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)


def _read_only(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)


copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))  # a Spec crosses to other processes

METHOD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
METHOD_NAME_RULE = "a name has letters, digits, hyphens and underscores only; it cannot be a path"


@dataclass(frozen=True)
class Method:
    """``solve with NAME { options }``; options are SI numbers or words, by name."""

    name: str
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    span: Span | None = field(default=None, compare=False, repr=False)
    spans: Mapping[str, Span] = field(default_factory=lambda: MappingProxyType({}), compare=False, repr=False)


@dataclass(frozen=True)
class Checked:
    """The diagnostics of the family's checks, and the parts of the spec that they are for: a changed spec is checked
    anew.
    """

    facts: Any
    goal: Goal | None
    constraints: tuple[Constraint, ...]
    lets: tuple[Let, ...]
    seed: int | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class FileRead:
    """A file that a spec was read from: its absolute path, its size and its time of change at that moment.

    A spec from a saved plan has the hash instead of the time, and in ``place`` the current place of its data.
    """

    path: str
    size: int | None
    changed: int = 0
    sha256: str = ""
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Spec(Readable):
    """A problem in SI units, independent of its text.

    Attributes:
        problem: Name of the family.
        facts: Instance of the family's facts dataclass.
        title: Title.
        goal: Objective; None for the default of the family.
        lets: User-defined quantities for results.
        constraints: Comparisons of `subject to`.
        method: Solver of `solve with`; None for the default.
        seed: Seed of all random numbers.
        currency: Currency of all money.
        parameters: Values of the parameters.
        file: Name of its file.
        text: Its text; empty if it was built in Python.
        given: Parameters that were overridden.
        span: Location of the problem statement.
        spans: Locations of items.
        files: All files that were read.
        checked: Results of the family's checks.
    """

    problem: str
    facts: Any
    title: str = ""
    goal: Goal | None = None
    lets: tuple[Let, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    method: Method | None = None
    seed: int | None = None
    currency: str = "USD"
    parameters: Mapping[str, float | str] = field(default_factory=lambda: MappingProxyType({}))
    file: str = field(default="", compare=False)
    text: str = field(default="", compare=False, repr=False)
    given: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    spans: Mapping[str, Span] = field(default_factory=lambda: MappingProxyType({}), compare=False, repr=False)
    files: tuple[FileRead, ...] = field(default=(), compare=False, repr=False)
    checked: Checked | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Read the quantities that are given as texts (``price="0.192 USD/h"``), in the spec's currency."""
        if not self.text and not is_marked_valid(self.facts):
            object.__setattr__(self, "facts", validation.with_values(self.facts, self.currency))

    def readable(self) -> tuple[str, ...]:
        """Return the text of the spec: as it was loaded, else as :meth:`to_mrspec` writes it."""
        return (self.text or self.to_mrspec(),)

    def to_json(self) -> str:
        """Return the spec as JSON, with the data files that it names. Raises MrdslError for an invalid spec."""
        return lazy.of_specs().write(self)

    def to_mrspec(self) -> str:
        """Return the spec as text, in SI and exact. Raises MrdslError for an invalid spec.

        The text gives an equal spec, except that the values of params, imports, tables and generators are written out,
        and a currency without any amount is left out. Data files have the names that the spec has.
        """
        return lazy.of_texts()(self)

    @classmethod
    @_checked
    def from_json(cls, text: str, name: str = "") -> Spec:
        """Return the spec in a text of :meth:`to_json`; ``name`` is the file's, for messages. Raises MrdslError."""
        found: Spec = lazy.of_specs().read(text, name)
        return found

    @property
    def known_diagnostics(self) -> tuple[Diagnostic, ...] | None:
        """The diagnostics of the family's checks if they were run on these facts, otherwise None."""
        was = self.checked
        if was is None or was.facts is not self.facts or was.constraints is not self.constraints:
            return None
        if was.lets is not self.lets:
            return None
        return was.diagnostics if (was.seed, was.goal) == (self.seed, self.goal) else None


def requested_quantities(spec: Spec) -> Iterator[PlanQuantity]:
    """Yield every quantity of the plan in comparisons, in ``let``, and in a user-defined objective."""
    return (quantity for _, _, quantity in requested_places(spec))


def requested_places(spec: Spec) -> Iterator[tuple[str, Span | None, PlanQuantity]]:
    """Yield the same quantities with the path (``lets[0]``) and place of each mention."""
    for index, constraint in enumerate(spec.constraints):
        for quantity in (*quantities_in(constraint.left), *quantities_in(constraint.right)):
            yield f"constraints[{index}]", constraint.span, quantity
    for index, let in enumerate(spec.lets):
        yield from ((f"lets[{index}]", let.span, quantity) for quantity in quantities_in(let.expression))
    if spec.goal is not None and spec.goal.expression is not None:
        yield from (("goal", spec.goal.span, quantity) for quantity in quantities_in(spec.goal.expression))


_MIRRORED = {"<=": ">=", ">=": "<=", "=": "="}


@dataclass(frozen=True)
class Bound:
    """``quantity(name) comparison value``, in SI; ``name`` is "" if the quantity has no argument."""

    quantity: str
    name: str
    comparison: str
    value: float
    span: Span | None = field(default=None, compare=False, repr=False)


def pieces(constraint: Constraint) -> Iterator[tuple[Expression, Expression, str]]:
    """``max(a, b) <= c`` as ``a <= c`` and ``b <= c``, ``min(a, b) >= c`` alike, and the same with sides swapped."""
    left, right, comparison = constraint.left, constraint.right, constraint.comparison
    lefts = _operands(left, {"<=": "max", ">=": "min"}.get(comparison, ""))
    rights = _operands(right, {"<=": "min", ">=": "max"}.get(comparison, ""))
    yield from ((a, b, comparison) for a in lefts for b in rights)


def bounds_in(constraint: Constraint) -> list[Bound | None]:
    """Return each of the :func:`pieces` as a bound of one quantity by a number, or None for other comparisons."""
    return [_bound(*piece, constraint.span) for piece in pieces(constraint)]


def tightest(spec: Spec) -> dict[tuple[str, str], Bound]:
    """Return the tightest upper bound of each quantity by name and argument: the first of equal ones."""
    found: dict[tuple[str, str], Bound] = {}
    for bound in (each for constraint in spec.constraints for each in bounds_in(constraint)):
        if bound is not None and bound.comparison == "<=":
            known = found.setdefault((bound.quantity, bound.name), bound)
            if bound.value < known.value:
                found[bound.quantity, bound.name] = bound
    return found


def _bound(left: Expression, right: Expression, comparison: str, span: Span | None) -> Bound | None:
    if isinstance(left, Constant):
        left, right, comparison = right, left, _MIRRORED[comparison]
    if isinstance(left, PlanQuantity) and isinstance(right, Constant):
        return Bound(left.name, left.argument, comparison, right.value, span)
    return None


def _operands(expression: Expression, operator: str) -> tuple[Expression, ...]:
    if isinstance(expression, Operation) and expression.operator == operator:
        return expression.operands
    return (expression,)
