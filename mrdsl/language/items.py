"""Values of single items and of single quantities, checked against their declaration."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from mrdsl.core import units
from mrdsl.core.diagnostics import MrdslError, Related, did_you_mean, one_error, shortened
from mrdsl.core.reading import FOLDER, MISSING, problem_of, reason, shown_name
from mrdsl.core.units import EXAMPLES, parse_clock
from mrdsl.language import tree
from mrdsl.language.evaluate import evaluate, finite, require_printable
from mrdsl.language.parsing import parse_expression
from mrdsl.language.scope import AUTO, MistakeError, Report, Scope, Value, Word
from mrdsl.language.vocabulary import Vocabulary, dash_range, lacking_unit
from mrdsl.spec.declared import (
    LARGEST_WHOLE,
    acceptable,
    advice,
    closed_limits,
    near_whole,
    out_of_range,
    whole_mistake,
)
from mrdsl.spec.declared import limits as declared_limits
from mrdsl.spec.schema import Distribution, Item, Range, Source

_BY_POINT = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")


def convert(key: str, item: Item, node: Any, scope: Scope, files: Files | None = None) -> Any:
    """Return the value of ``key = node``. Raises MistakeError with the diagnostic."""
    match item.form:
        case "quantity" if item.automatic and _is_automatic(node, scope):
            return None
        case "quantity":
            return quantity_value(key, item, node, scope)
        case "range":
            return _range(key, item, node, scope)
        case "distribution":
            return _distribution(key, item, node, scope)
        case "choice":
            return _choice(key, item, node, scope)
        case "text":
            return _text(key, node, scope)
        case "path":
            return _path(key, node, scope, files)
        case "name":
            return _word(key, node, scope)
        case "names":
            return _words(key, node, scope)
        case "moment":
            return _moment(key, item, node, scope)
        case _:
            return _list(key, item, node, scope)


def _is_automatic(node: Any, scope: Scope) -> bool:
    param = word_param(node, scope)
    return isinstance(node, tree.Name) and (str(node.token) if param is None else param.text) == AUTO


def _names_beside(path: Path) -> list[str]:
    """Return the names in the folder of a file that have its extension; none if the folder cannot be read."""
    try:
        with os.scandir(path.parent) as entries:
            return sorted(entry.name for entry in entries if entry.name.endswith(path.suffix))
    except (OSError, ValueError):
        return []


def outside_error(written: str, node: Any, scope: Scope) -> MistakeError:
    """Return the mistake of naming a file outside the spec's folder."""
    return scope.mistake(
        "file-outside",
        f"`{shown_name(written)}` is outside the spec's folder",
        node,
        "move the file into the folder of the spec, or allow it with `--allow-outside`",
    )


class Files:
    """A lookup of the file names of a spec in its folder, and outside it only if that is allowed.

    ``found`` collects every file that a lookup gave.
    """

    def __init__(self, folder: Path, outside: bool = False, found: dict[Path, None] | None = None) -> None:
        self.folder = folder
        self.outside = outside
        self.found: dict[Path, None] = {} if found is None else found

    def shown(self, written: str) -> str:
        """Return the name of a file for messages, relative to the spec."""
        return str(self.folder / written)

    def find(self, written: str, node: Any, scope: Scope) -> Path:
        """Return the file of a name in the spec. Raises MistakeError if it is missing or not allowed."""
        path = self.resolved(written, node, scope)
        if not self.outside and not path.is_relative_to(self.folder.resolve()):
            raise outside_error(written, node, scope)
        problem = problem_of(path)
        if problem == MISSING:
            near = _names_beside(path)
            raise scope.mistake(
                "missing-file",
                f"there is no file `{shown_name(written)}`",
                node,
                did_you_mean(path.name, near, "files there: ") or f"searched in {path.parent}",
            )
        if problem:
            code = "missing-file" if problem == FOLDER else "unreadable-file"
            raise scope.mistake(code, f"`{shown_name(written)}` cannot be read: {problem}", node, "name a regular file")
        self.found[path] = None
        return path

    def resolved(self, written: str, node: Any, scope: Scope) -> Path:
        """Return the absolute path of a name, with links followed. Raises MistakeError if it cannot be a file name."""
        try:
            return (self.folder / written).resolve()
        except (OSError, ValueError, RuntimeError) as failure:  # Path.resolve tells of a circle by RuntimeError
            problem = "its symbolic links form a cycle" if isinstance(failure, RuntimeError) else reason(failure)
            message = f"`{shown_name(written)}` cannot be read: {problem}"
            raise scope.mistake("unreadable-file", message, node, "name a regular file") from None


SHORT = 15
"""Characters of a number that differs from its neighbors whatever its size."""


class PlainNumber(NamedTuple):
    """The reading of an item's number in one unit: its SI value is in ``low`` to ``high``, and the item's field."""

    field: str
    factor: float
    divisor: float
    low: float
    high: float
    whole: bool

    def read(self, text: str) -> float | int | None:
        """Return the SI value of a number, or None if a closer look is needed."""
        number = float(text) / self.divisor if self.divisor else float(text) * self.factor
        if not self.low <= number <= self.high or len(text) > SHORT:
            return None
        if not self.whole:
            return number
        return int(number) if number.is_integer() else None


def plain_number(words: Vocabulary, word: str, unit: str | None, currency: str) -> PlainNumber | None:
    """Return the reading of the most common items, numbers with at most one unit, or None for any other.

    It is kept in ``words.plain``, by these arguments.
    """
    field, item = words.items.get(word, ("", None))
    if item is None or item.form != "quantity":
        return None
    wanted, factor, divisor = units.KINDS[item.kind].dimension, 1.0, 0.0
    if unit is not None:
        known = units.UNITS.get(unit)
        if known is None or known.dimension != wanted or (known.currency and known.currency != currency):
            return None
        factor, divisor = known.factor, units.whole_inverse(known.factor) or 0.0
    elif wanted != units.NUMBER and not units.is_count(wanted):
        return None
    low, high = closed_limits(item)
    found = PlainNumber(field, factor, divisor, low, high, item.whole)
    words.plain[str(word), None if unit is None else str(unit), currency] = found
    return found


def quantity_value(key: str, item: Item, node: Any, scope: Scope) -> Any:
    """Return a number (or array of drawn numbers) in SI, within the item's limits."""
    value = _fitting(key, item, node, scope)
    number = value.number
    if isinstance(number, Distribution):
        raise scope.mistake("random-value", f"`{key}` cannot stay random", node, "write one value")
    check_limits(key, item, number, node, scope)
    if not item.whole:
        return number
    return _whole(key, number, node, scope)


def _fitting(key: str, item: Item, node: Any, scope: Scope) -> Value:
    if isinstance(node, tree.Interval):
        raise scope.mistake(
            "wrong-value", f"`{key}` must be one value, not a range", node, advice(item, scope.report.currency)
        )
    if isinstance(node, tree.Text | tree.List):
        what = "a text" if isinstance(node, tree.Text) else "a list"
        raise scope.mistake(
            "wrong-value",
            f"`{key}` is {units.KINDS[item.kind].noun}, not {what}",
            node,
            advice(item, scope.report.currency),
        )
    value = evaluate(node, scope)
    kind, currency = units.KINDS[item.kind], scope.report.currency
    if scope.base is not None and value.dimension == units.NUMBER and _is_share(node):
        return finite(Value(value.number * scope.base[1].number, scope.base[1].dimension), node, scope)
    if value.dimension != kind.dimension and not units.fits(value.dimension, kind.dimension):
        raise scope.mistake(
            "wrong-unit",
            f"`{key}` must be {kind.noun}, but this is {units.describe(value.dimension)}",
            node,
            lacking_unit(key, item, node, value.dimension, currency) or advice(item, currency),
        )
    return value


def _is_share(part: Any) -> bool:
    """Return True if an expression has a number in % or a name; a number alone may lack its unit by mistake."""
    if isinstance(part, tree.Name) or (isinstance(part, tree.Number) and part.unit == "%"):
        return True
    return isinstance(part, tuple) and any(_is_share(inner) for inner in part)


def check_limits(key: str, item: Item, number: Any, node: Any, scope: Scope) -> None:
    """Raise MistakeError if a value, or a value of an array, is outside the declared limits."""
    if item.above is item.at_least is item.below is item.at_most is None:
        return
    accepted = acceptable(item, number)
    if accepted if isinstance(accepted, bool) else bool(accepted.all()):
        return
    worst = number if isinstance(accepted, bool) else float(number[~accepted][0])
    mistake = out_of_range(key, item, worst, scope.report.currency or units.DEFAULT_CURRENCY)
    hint = dash_range(node) if item.form == "range" else ""
    raise scope.mistake(mistake.code, mistake.message, node, hint or mistake.hint)


def limits(item: Item, scope: Scope) -> str:
    """Return the declared limits in words."""
    return declared_limits(item, scope.report.currency or units.DEFAULT_CURRENCY)


def shown(number: float, item: Item, scope: Scope) -> str:
    """Return a value in the item's own units."""
    return units.show(float(number), item.kind, scope.report.currency or units.DEFAULT_CURRENCY)


def _whole(key: str, number: Any, node: Any, scope: Scope) -> Any:
    if hasattr(number, "dtype"):
        rounded = number.round()
        wrong = ~near_whole(number) | (abs(number) > LARGEST_WHOLE)
        mistake = whole_mistake(key, float(number[wrong][0])) if wrong.any() else None
        if mistake is not None:
            raise scope.mistake(mistake.code, mistake.message, node, mistake.hint)
        return rounded
    mistake = whole_mistake(key, number)
    if mistake is not None:
        hint = thousands_by_point(key, node) or mistake.hint
        raise scope.mistake(mistake.code, mistake.message, node, hint)
    return round(number)


def thousands_by_point(key: str, node: Any) -> str:
    """For a number such as `1.200` in the place of a whole one: what to write; empty for any other."""
    text = str(node.token) if isinstance(node, tree.Number) else ""
    if not _BY_POINT.fullmatch(text):
        return ""
    return (
        f"write `{key} = {text.replace('.', '')}` if the point separates thousands, else `{key} = {ceil(float(text))}`"
    )


def _range(key: str, item: Item, node: Any, scope: Scope) -> Range:
    if isinstance(node, tree.Interval):
        low = quantity_value(key, item, node.low, scope)
        high = quantity_value(key, item, node.high, scope)
        if bool((low > high).any() if hasattr(low > high, "any") else low > high):
            raise scope.mistake(
                "reversed-range",
                f"the range of `{key}` is reversed: {_ends(low, high, item, scope)}",
                node,
                "write the lower end first: `lo .. hi`",
            )
        return Range(low, high)
    value = quantity_value(key, item, node, scope)
    return Range(value, value)


def _ends(low: Any, high: Any, item: Item, scope: Scope) -> str:
    if hasattr(low, "dtype") or hasattr(high, "dtype"):
        return "in at least one row the lower end is above the upper end"
    return f"{shown(low, item, scope)} is above {shown(high, item, scope)}"


def _distribution(key: str, item: Item, node: Any, scope: Scope) -> Any:
    value = _fitting(key, item, node, scope._replace(draws=None))
    if isinstance(value.number, Distribution):
        return value.number
    check_limits(key, item, value.number, node, scope)
    return value.number


def _choice(key: str, item: Item, node: Any, scope: Scope) -> str:
    word = _word(key, node, scope)
    if not item.is_choice(word):
        param = word_param(node, scope)
        raise scope.mistake(
            "unknown-choice",
            f"`{key}` cannot be `{shortened(word)}`" + ("" if param is None else ", the word of this param"),
            node,
            _choices_near(word, item),
            *(() if param is None else (Related("it is defined here", param.span),)),
        )
    return word


def _choices_near(word: str, item: Item) -> str:
    """Return the hint for a word that is not one of the choices."""
    if item.percentiles and re.fullmatch(r"[pP][0-9]+([._][0-9]+)?", word):
        return "percentiles are whole, p1 to p99; a finer promise is on_time(CLASS) >= 99.9 % under `subject to`"
    return did_you_mean(word, item.listed, "one of ")


def word_param(node: Any, scope: Scope) -> Word | None:
    """Return the word that a bare name of a param means, or None if it is not a param with a word.

    Raises MistakeError if the param is broken, which was reported.
    """
    if not isinstance(node, tree.Name) or node.token not in scope.parameter_names:
        return None
    value = scope.parameter(str(node.token))
    if value is None:
        raise MistakeError(None)
    return value.number if isinstance(value.number, Word) else None


def _text(key: str, node: Any, scope: Scope) -> str:
    if not isinstance(node, tree.Text):
        raise scope.mistake("wrong-value", f"`{key}` is a text", node, f'write `{key} = "..."`')
    return node.value


def _path(key: str, node: Any, scope: Scope, files: Files | None) -> Source:
    written = _text(key, node, scope)
    path = files.find(written, node, scope) if files is not None else Path(written)
    return Source("table", str(path), written, scope.span(node))


def _word(key: str, node: Any, scope: Scope) -> str:
    if isinstance(node, tree.Name):
        param = word_param(node, scope)
        return str(node.token) if param is None else param.text
    if isinstance(node, tree.Text):
        require_printable(node.token, scope)
        return node.value
    raise scope.mistake(
        "wrong-value", f"`{key}` is a name", node, f"write `{key} = name`; quote a name that is not an identifier"
    )


def _words(key: str, node: Any, scope: Scope) -> tuple[str, ...]:
    if isinstance(node, tree.List):
        return tuple(_word(key, item, scope) for item in node.items)
    return (_word(key, node, scope),)


def _list(key: str, item: Item, node: Any, scope: Scope) -> tuple[float, ...]:
    if not isinstance(node, tree.List):
        raise scope.mistake(
            "wrong-value",
            f"`{key}` is a list",
            node,
            f"write `{key} = [...]`, each value {advice(item, scope.report.currency).removeprefix('write ')}",
        )
    read = _moment if item.form == "moments" else quantity_value
    return tuple(read(key, item, part, scope) for part in node.items)


def _moment(key: str, item: Item, node: Any, scope: Scope) -> Any:
    """Return a clock time as its text, or an offset in seconds."""
    if not isinstance(node, tree.Clock):
        return quantity_value(key, item, node, scope)
    if parse_clock(node.token) is None:
        message = f"`{key}` is {node.token}, which is not a clock time"
        raise scope.mistake("wrong-value", message, node, f"write a time between 00:00 and 23:59:59, {EXAMPLES}")
    return str(node.token)


_EXAMPLES = 'write it as in a spec: "15 min", "0.192 USD/h", "16 GiB", "85%"'
_RANGE = ".."


def quantity(text: str, *, currency: str = "") -> float:
    """Return the SI value of a quantity: ``quantity("0.192 USD/h")`` is 0.192 / 3600, money per second.

    Args:
        text: A number with its unit, as in a spec.
        currency: The only currency allowed; "" for any.

    Returns:
        Seconds, bytes, joules, watts, plain counts and shares; money in the written currency.

    Raises:
        MrdslError: The text is not a quantity.
    """
    try:
        value = evaluate(_tree(text), _scope(currency))
    except MistakeError as mistake:
        raise _alone(mistake) from None
    if not isinstance(value.number, float):
        raise one_error("random-value", f"`{shortened(text)}` is not a single number", None, _EXAMPLES)
    return value.number


def item_from_text(key: str, item: Item, text: str, currency: str, base: float | None = None) -> Any:
    """Return the value of ``key = text`` as a spec in that currency would have it. Raises MrdslError with the
    reason.

    ``base`` is the number of which the item may be a share.
    """
    try:
        scope = _scope(currency)
        if base is not None and item.share_of:
            named = item.share_of.partition(".")[0], Value(base, units.KINDS[item.kind].dimension)
            scope = scope._replace(base=named)
        low, dots, high = text.partition(_RANGE)
        node = tree.Interval(_tree(low), _tree(high)) if dots and item.form == "range" else _tree(text)
        return convert(key, item, node, scope)
    except MistakeError as mistake:
        raise _alone(mistake) from None


def _tree(text: str) -> Any:
    node = parse_expression(text) if isinstance(text, str) else None
    if node is None:
        shown = f"`{shortened(text)}`" if isinstance(text, str) else f"{type(text).__name__}, not a text,"
        raise one_error("wrong-value", f"{shown} is not a quantity", None, _EXAMPLES)
    return node


def _scope(currency: str) -> Scope:
    return Scope(Report(currency=currency), lambda name: None)


def _alone(mistake: MistakeError) -> MrdslError:
    """Return the mistake without its place, which is that of the text alone."""
    assert mistake.diagnostic is not None
    return MrdslError([replace(mistake.diagnostic, span=None, related=())])
