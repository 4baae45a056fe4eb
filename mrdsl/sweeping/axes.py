"""What ``--over`` and ``--seeds`` say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import isfinite

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.spec.declared import LARGEST_WHOLE

MOST = 1_000_000
_QUANTITY = re.compile(r"\s*([-+]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*(.*?)\s*")


@dataclass(frozen=True)
class Axis:
    """A parameter and its values, each as one would write it after ``-D``."""

    name: str
    values: tuple[str, ...]

    @property
    def unit(self) -> str | None:
        """The one unit of all values, "" where all are plain numbers; None where some are something else."""
        found = {
            match[2] if (match := _QUANTITY.fullmatch(value)) and isfinite(float(match[1])) else None
            for value in self.values
        }
        return found.pop() if len(found) == 1 else None

    @property
    def head(self) -> str:
        """The column's head: the parameter's name, with the unit that all values have."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    @property
    def shown(self) -> tuple[str | float, ...]:
        """The values as the table has them: numbers, unless they are words or differ in their units."""
        if self.unit is None:
            return self.values
        return tuple(_number(match[1]) for value in self.values if (match := _QUANTITY.fullmatch(value)))


def parse_axis(text: str) -> Axis:
    """``peak=0.8:1.4:0.1`` (the end included), ``scale=1,2``, ``deadline=10 min:20 min:5 min``.

    Raises MrdslError ``wrong-option``.
    """
    name, equals, values = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier() or not values.strip():
        raise _wrong(f"--over {text}", "write it like `--over peak=0.8:1.4:0.1` or `--over scale=1,2`")
    parts = values.split(":")
    if len(parts) == 1:
        listed = [value.strip() for value in values.split(",")]
        if not all(listed):
            raise _wrong(f"--over {text}", "a value between two commas is missing")
        return Axis(name, tuple(dict.fromkeys(listed)))
    if len(parts) != 3:
        raise _wrong(f"--over {text}", "write FIRST:LAST:STEP")
    return Axis(name, _steps(text, parts))


def axis_of(name: str, values: str | Iterable[float | str]) -> Axis:
    """An axis from Python: the values as such, or the text that ``--over`` takes behind the name.

    Raises MrdslError ``wrong-option``.
    """
    if isinstance(values, str):
        return parse_axis(f"{name}={values}")
    listed = tuple(dict.fromkeys(value if isinstance(value, str) else repr(float(value)) for value in values))
    if not name.isidentifier() or not listed:
        raise _wrong(f"{name}: {', '.join(listed)}", "give a param's name and at least one value")
    return Axis(name, tuple(_shortest(value) for value in listed))


def _shortest(value: str) -> str:
    return value.removesuffix(".0")


def _steps(text: str, parts: list[str]) -> tuple[str, ...]:
    matches = [_QUANTITY.fullmatch(part) for part in parts]
    if not all(matches):
        raise _wrong(f"--over {text}", "first, last and step are numbers, each with the same unit or none")
    units = {match[2] for match in matches if match and match[2]}
    try:
        first, last, step = (Decimal(match[1].replace("_", "")) for match in matches if match)
    except InvalidOperation:
        raise _wrong(f"--over {text}", "first, last and step are numbers") from None
    if len(units) > 1:
        raise _wrong(f"--over {text}", f"use one unit, not {' and '.join(sorted(units))}")
    if step == 0 or (last - first) / step < 0:
        raise _wrong(f"--over {text}", "the step leads away from the end")
    if (last - first) / step >= MOST:
        raise _wrong(f"--over {text}", f"these are more than {MOST:,} values")
    count = int((last - first) / step) + 1
    unit = "".join(f" {unit}" for unit in units)
    return tuple(f"{_plain(first + i * step)}{unit}" for i in range(count))


def _number(text: str) -> float:
    """Whole numbers as such, so that they are printed as they were written."""
    value = Decimal(text.replace("_", ""))
    return int(value) if value == value.to_integral_value() and abs(value) <= LARGEST_WHOLE else float(value)


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_seeds(text: str) -> tuple[int, ...]:
    """``1..10`` or ``1,2,7``. Raises MrdslError ``wrong-option``."""
    try:
        if ".." in text:
            first, last = (int(part) for part in text.split(".."))
            seeds = tuple(range(first, last + 1)) if last - first < MOST else ()
        else:
            seeds = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        seeds = ()
    if not seeds or min(seeds) < 0 or len(seeds) > MOST:
        raise _wrong(f"--seeds {text}", "write it like `--seeds 1..10` or `--seeds 1,2,7`")
    return seeds


def seeds_of(seeds: str | Iterable[int]) -> tuple[int, ...]:
    """Seeds from Python, or as the text that ``--seeds`` takes; none for no seeds. Raises MrdslError."""
    if isinstance(seeds, str):
        return parse_seeds(seeds)
    listed = tuple(dict.fromkeys(seeds))
    return parse_seeds(",".join(str(seed) for seed in listed)) if listed else ()


def _wrong(what: str, hint: str) -> MrdslError:
    return MrdslError([error("wrong-option", f"`{what}` is not of the form that is expected", None, hint)])
