"""Limits of declared items, distributions and options: one reading for texts, tables and Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil, inf, isclose, isfinite, nextafter
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NamedTuple

from mrdsl.core import budgets, units
from mrdsl.core.diagnostics import Diagnostic, MrdslError, described, error
from mrdsl.spec.schema import Item

WHOLE_TOLERANCE = 1e-9
LARGEST_WHOLE = 2**53
"""Largest whole number that floats distinguish from its neighbors."""
WHOLE_REASON = "whole numbers are exact only up to 2^53"
LARGEST = 1e100
"""Numbers of a spec and their results, in SI, go up to this in size: a product of three still is a number."""
LARGEST_REASON = "numbers go up to 1e100"


class Mistake(NamedTuple):
    """A mistake in one value: the code, the message, and the text to write instead."""

    code: str
    message: str
    hint: str


def acceptable(item: Item, number: Any) -> Any:
    """Return True if a number is within the item's limits; for an array, an array of answers."""
    result: Any = number == number
    if item.above is not None:
        result = result & (number > item.above)
    if item.at_least is not None:
        result = result & (number >= item.at_least)
    if item.below is not None:
        result = result & (number < item.below)
    if item.at_most is not None:
        result = result & (number <= item.at_most)
    return result


def within(item: Item, number: float) -> bool:
    """Return True if a number that is written is of a size that every item takes, and within the item's limits."""
    return (
        abs(number) <= LARGEST_WHOLE
        and (item.at_least is None or number >= item.at_least)
        and (item.above is None or number > item.above)
        and (item.at_most is None or number <= item.at_most)
        and (item.below is None or number < item.below)
    )


def closed_limits(item: Item) -> tuple[float, float]:
    """Return the least and the greatest number that :func:`within` accepts."""
    low = max(
        -LARGEST_WHOLE,
        -inf if item.at_least is None else item.at_least,
        -inf if item.above is None else nextafter(item.above, inf),
    )
    high = min(
        LARGEST_WHOLE,
        inf if item.at_most is None else item.at_most,
        inf if item.below is None else nextafter(item.below, -inf),
    )
    return low, high


def limit_words(item: Item, currency: str) -> list[str]:
    """Return each declared limit in words, in the item's own units."""
    named = (("above", item.above), ("at least", item.at_least), ("below", item.below), ("at most", item.at_most))
    return [f"{word} {units.show(limit, item.kind, currency)}" for word, limit in named if limit is not None]


def limits(item: Item, currency: str) -> str:
    """Return the declared limits as one phrase."""
    return " and ".join(limit_words(item, currency))


def number_mistake(key: str, item: Item, number: float, currency: str = units.DEFAULT_CURRENCY) -> Mistake | None:
    """Return the mistake in a number of ``key``: not finite, outside the limits, not whole; None if there is none."""
    if not isfinite(number):
        return Mistake(
            "number-too-large" if number == number else "not-a-number",
            f"`{key}` is {number}, but must be finite",
            "write a finite number",
        )
    if abs(number) > LARGEST:
        return Mistake("number-too-large", f"`{key}` is {number:g}, but {LARGEST_REASON}", "write a smaller number")
    if not acceptable(item, number):
        return out_of_range(key, item, number, currency)
    return whole_mistake(key, number) if item.whole else None


def out_of_range(key: str, item: Item, number: float, currency: str) -> Mistake:
    """Return the mistake of a number outside the declared limits."""
    shown = units.show(float(number), item.kind, currency)
    return Mistake(
        "out-of-range",
        f"`{key}` is {shown}, but must be {limits(item, currency)}",
        f"write {units.KINDS[item.kind].noun} {limits(item, currency)}",
    )


def whole_mistake(key: str, number: float) -> Mistake | None:
    """Return the mistake of a number that is not whole, or None."""
    if abs(number) > LARGEST_WHOLE:
        return Mistake(
            "number-too-large",
            f"`{key}` is {number:g}, but {WHOLE_REASON}",
            "write a smaller number",
        )
    if not isclose(number, round(number), rel_tol=WHOLE_TOLERANCE, abs_tol=WHOLE_TOLERANCE):
        return Mistake(
            "not-whole", f"`{key}` is {number:g}, but must be a whole number", f"write `{key} = {ceil(number)}`"
        )
    return None


def near_whole(numbers: Any) -> Any:
    """Of an array, which numbers are whole but for the noise that :func:`whole_mistake` overlooks."""
    size = abs(numbers)
    return abs(numbers - numbers.round()) <= WHOLE_TOLERANCE * size.clip(1.0)


def python_number_mistake(key: str, item: Item, value: Any, currency: str = units.DEFAULT_CURRENCY) -> Mistake | None:
    """Return the :func:`number_mistake` of any Python object, which can be of another type; a whole number is an
    ``int``.
    """
    if type(value) is (int if item.whole else float) and within(item, value):
        return None
    if not isinstance(value, Real) or isinstance(value, bool):
        return Mistake(
            "wrong-value",
            f"`{key}` is {units.KINDS[item.kind].noun}, not {described(value)}",
            f"give a number{_in_si(item, currency)}",
        )
    try:
        number = float(value)
    except OverflowError:
        return Mistake("number-too-large", f"`{key}` is too large for a number", "give a smaller number")
    mistake = number_mistake(key, item, number, currency)
    if mistake is not None:
        return mistake
    if isinstance(value, Integral):
        return whole_mistake(key, int(value))
    if item.whole:
        return Mistake("not-whole", f"`{key}` is the float {number:g}, but must be an int", f"give {round(number)}")
    return None


def advice(item: Item, currency: str = "") -> str:
    """Describe the values that an item of numbers takes, with an example of its kind where it has a unit."""
    kind = units.KINDS[item.kind]
    if kind.dimension == units.NUMBER or units.is_count(kind.dimension):
        return f"write {kind.noun}"
    return f"write {kind.noun} with its unit, such as `{kind.example(currency)}`"


def _in_si(item: Item, currency: str) -> str:
    unit = units.KINDS[item.kind].si.format(currency=currency)
    return f" in {unit}" if unit else ""


DISTRIBUTIONS = {"uniform": 2, "uniform_int": 2, "normal": 2, "exponential": 1, "poisson": 1, "choice": 1, "mixture": 3}
"""Function names that give a random value, with the number of their parameters."""

LISTS = ("choice", "mixture")
"""Those whose parameters are lists."""

LARGEST_MEAN = 1e15
"""The largest mean of a number of events: beyond it the count no longer fits a whole number that is exact."""


def problem_of(name: str, numbers: list[Any]) -> str:
    """Return the mistake in the parameters of a distribution, in words, or "". Lists are tuples."""
    match name:
        case "uniform" | "uniform_int":
            if numbers[0] > numbers[1]:
                return "the lower end is above the upper end"
            if name == "uniform_int" and any(number != int(number) for number in numbers):
                return "both ends are whole numbers"
            if name == "uniform_int" and max(map(abs, numbers)) > LARGEST_MEAN:
                return "an end is too large for a whole number"
            if numbers[1] - numbers[0] > 1.7e308:
                return "its ends are too far apart"
        case "normal":
            return "the standard deviation is negative" if numbers[1] < 0 else ""
        case "exponential":
            return "the mean is not positive" if numbers[0] <= 0 else ""
        case "poisson":
            if numbers[0] > LARGEST_MEAN:
                return "the mean is too large to draw a whole number"
            return "the mean is negative" if numbers[0] < 0 else ""
        case "mixture":
            return _problem_of_mixture(*numbers)
    return ""


def _problem_of_mixture(weights: tuple[float, ...], means: tuple[float, ...], deviations: tuple[float, ...]) -> str:
    if len({len(weights), len(means), len(deviations)}) != 1:
        return "weights, means and deviations are lists of one length"
    if min(weights) < 0 or sum(weights) <= 0:
        return "weights are at least 0 and not all 0"
    if not isfinite(sum(weights)):
        return "the weights are too large to be added up"
    if min(deviations) < 0:
        return "a standard deviation is negative"
    if all(mean <= 0 and deviation == 0 for mean, deviation in zip(means, deviations, strict=True)):
        return "no component can give a positive value"
    return ""


SEED = Item("quantity", "seed of all random values", at_least=0.0, at_most=2.0**32 - 1, whole=True)

METHOD_OPTIONS = MappingProxyType(
    {
        "time_limit": Item("quantity", "when to stop", "time", default=None, above=0.0),
        "gap": Item("quantity", "relative gap at which to stop", "share", default=None, at_least=0.0),
        "node_limit": Item("quantity", "how many nodes to search", default=None, at_least=0.0, whole=True),
        "threads": Item(
            "quantity", "how many threads to use", default=None, at_least=1.0, at_most=budgets.THREADS, whole=True
        ),
        "seed": Item("quantity", "the solver's own seed", default=None, at_least=0.0, whole=True),
        "formulation": Item("name", "which formulation to solve", default=None),
        "relax": Item("choice", "whether whole numbers may be fractions", default=None, choices=("yes", "no")),
    }
)
LIMIT_OF_OPTION = MappingProxyType(
    {"time_limit": "time", "gap": "gap", "node_limit": "nodes", "threads": "threads", "seed": "seed"}
)
"""The option of ``solve with`` for each field of :class:`mrdsl.core.result.Limits`."""

LIMITS = MappingProxyType(
    {
        **{limit: METHOD_OPTIONS[option] for option, limit in LIMIT_OF_OPTION.items()},
        # No time at all is a limit that a caller may reach, not one that a spec states.
        "time": replace(METHOD_OPTIONS["time_limit"], above=None, at_least=0.0),
    }
)
"""The fields of :class:`mrdsl.core.result.Limits`."""

SIMULATION = MappingProxyType(
    {
        "runs": Item("quantity", "independent runs", at_least=1.0, at_most=budgets.RUNS, whole=True),
        "jobs": Item(
            "quantity", "completed jobs per user in each run", at_least=2.0, at_most=budgets.SIMULATED_JOBS, whole=True
        ),
        "processes": Item(
            "quantity", "processes that runs are shared among", at_least=1.0, at_most=budgets.THREADS, whole=True
        ),
        "seed": SEED,
        "slowstart": Item(
            "quantity", "part of the map tasks after which reduces may start", "share", at_least=0.0, at_most=1.0
        ),
        "stragglers": Item("quantity", "part of the attempts that take long", "share", at_least=0.0, at_most=1.0),
        "factor": Item("quantity", "how many times as long they take", at_least=1.0),
        "lose": Item("quantity", "machines of every class that go after the warm-up", at_least=0.0, whole=True),
        "burst": Item("quantity", "jobs that come with each arrival", at_least=1.0, whole=True),
    }
)


def option_mistakes(declared: Mapping[str, Item], given: Mapping[str, Any], prefix: str = "") -> Iterator[Diagnostic]:
    """Yield the mistakes in numbers given in Python; None is the default. ``prefix`` begins each path."""
    for key, item in declared.items():
        value = given.get(key)
        if value is None or item.form != "quantity":
            continue
        mistake = python_number_mistake(key, item, value)
        if mistake is not None:
            yield replace(error(mistake.code, mistake.message, None, mistake.hint), path=prefix + key)


def require_options(declared: Mapping[str, Item], given: Mapping[str, Any], prefix: str = "") -> None:
    """Raise MrdslError with :func:`option_mistakes`, if there are any."""
    mistakes = tuple(option_mistakes(declared, given, prefix))
    if mistakes:
        raise MrdslError(mistakes)
