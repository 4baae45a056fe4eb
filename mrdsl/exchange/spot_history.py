"""Recorded spot prices, as ``aws ec2 describe-spot-price-history`` prints them: JSON, newest first, by zone.

A price holds from its timestamp until the next record of the same zone, instance type and product: a step function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from mrdsl.core.arguments import written_number
from mrdsl.core.diagnostics import Diagnostic, Span, error, warning
from mrdsl.core.json_text import json_value
from mrdsl.core.units import HOUR

LONGEST_GAP = 24 * HOUR
COMMAND = "aws ec2 describe-spot-price-history --instance-types m5.large --output json"


@dataclass(frozen=True, slots=True)
class SpotRecord:
    """One record: seconds since 1970 in UTC, price of one VM per second."""

    time: float
    price: float
    zone: str
    instance_type: str
    product: str


@dataclass(frozen=True, slots=True)
class PriceSteps:
    """From ``times[i]`` on, in seconds after the first record, a VM costs ``prices[i]`` per second."""

    times: tuple[float, ...]
    prices: tuple[float, ...]


def read_spot_history(path: str | Path, mistakes: list[Diagnostic] | None = None) -> tuple[SpotRecord, ...]:
    """Return all records of a file, in order; wrong ones are left out and reported in ``mistakes``.

    Raises OSError if the file cannot be read.
    """
    problems = mistakes if mistakes is not None else []
    place = Span(str(path), 1, 1, 1, 2)
    try:
        document = json_value(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as cause:
        line = getattr(cause, "lineno", 1)
        column = getattr(cause, "colno", 1)
        problems.append(
            error(
                "broken-history",
                f"this is not JSON: {getattr(cause, 'msg', 'not UTF-8')}",
                Span(str(path), line, column, line, column + 1),
                f"write it with: {COMMAND}",
            )
        )
        return ()
    entries = document.get("SpotPriceHistory") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        problems.append(
            error("broken-history", "there is no list SpotPriceHistory", place, f"write it with: {COMMAND}")
        )
        return ()
    if document.get("NextToken"):
        message = "this is one page of a longer history: it ends with a `NextToken`"
        hint = f"write all pages, without `--max-items` and `--no-paginate`: {COMMAND}"
        problems.append(warning("missing-hours", message, place, hint))
    records = []
    for number, entry in enumerate(entries, 1):
        record = _record(entry)
        if isinstance(record, SpotRecord):
            records.append(record)
        else:
            problems.append(error("broken-history", f"record {number}: {record}", place, "correct the record"))
    return tuple(records)


def price_steps(
    records: Iterable[SpotRecord], zone: str | None = None, instance_type: str | None = None, product: str | None = None
) -> PriceSteps | str:
    """Return the one step function that the filters leave, or the mistake in words."""
    left = list(records)
    for name, wanted in (("instance_type", instance_type), ("product", product), ("zone", zone)):
        there = list(dict.fromkeys(getattr(record, name) for record in left))
        if wanted is None and len(there) > 1:
            return f"there are prices of {', '.join(sorted(there))}: name one as `{name}`"
        if wanted is not None and wanted not in there:
            return f"there is no price of {name} {wanted!r}; there are: {', '.join(sorted(there)) or 'none'}"
        left = [record for record in left if wanted is None or getattr(record, name) == wanted]
    if not left:
        return "the history is empty"
    by_time = {record.time: record.price for record in sorted(left, key=lambda record: record.time)}
    first = next(iter(by_time))
    return PriceSteps(tuple(time - first for time in by_time), tuple(by_time.values()))


def mean_prices(records: Iterable[SpotRecord]) -> dict[str, float]:
    """Return each instance type's price per second: the mean over time in each zone, from its first record to the
    file's last,
    and the mean of its zones. Records are of one product."""
    by_zone: dict[tuple[str, str], dict[float, float]] = {}
    for record in sorted(records, key=lambda record: record.time):
        by_zone.setdefault((record.instance_type, record.zone), {})[record.time] = record.price
    until = max((max(steps) for steps in by_zone.values()), default=0.0)
    found: dict[str, list[float]] = {}
    for (name, _), steps in by_zone.items():
        lengths = [after - before for before, after in pairwise([*steps, until])]
        paid = sum(price * length for price, length in zip(steps.values(), lengths, strict=True))
        found.setdefault(name, []).append(paid / sum(lengths) if sum(lengths) else next(reversed(steps.values())))
    return {name: sum(prices) / len(prices) for name, prices in found.items()}


def gaps(steps: PriceSteps, until: float, path: str) -> Sequence[Diagnostic]:
    """Warnings about hours without a record: EC2 writes a price down at least once a day."""
    warnings = []
    for before, after in zip(steps.times, [*steps.times[1:], until], strict=True):
        if after - before > LONGEST_GAP:
            message = (
                f"no price is recorded for {(after - before) / HOUR:.0f} h, from hour {before / HOUR:.1f} of "
                "the history on; the last one stays"
            )
            warnings.append(
                warning(
                    "missing-hours",
                    message,
                    Span(path, 1, 1, 1, 2),
                    "ask for a history that covers the jobs: --start-time, --end-time",
                )
            )
    return warnings


def _record(entry: Any) -> SpotRecord | str:
    if not isinstance(entry, dict):
        return "not an object"
    lacking = [key for key in ("Timestamp", "SpotPrice") if not isinstance(entry.get(key), str)]
    if lacking:
        return f"{lacking[0]} is missing or no string"
    try:
        time = datetime.fromisoformat(entry["Timestamp"])
    except ValueError:
        return f"Timestamp {entry['Timestamp']!r} is no ISO 8601 time"
    if time.tzinfo is None:
        return f"Timestamp {entry['Timestamp']!r} names no time zone"
    try:
        price = written_number(entry["SpotPrice"])
    except ValueError:
        return f"SpotPrice {entry['SpotPrice']!r} is not a number"
    if not 0.0 < price < float("inf"):
        return f"SpotPrice {entry['SpotPrice']} must be above 0"
    return SpotRecord(
        time.timestamp(),
        price / HOUR,
        str(entry.get("AvailabilityZone", "")),
        str(entry.get("InstanceType", "")),
        str(entry.get("ProductDescription", "")),
    )
