"""YARN's ``capacity-scheduler.xml``, read back into its tree of queues."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from mrdsl.exchange.mistakes import FormatError
from mrdsl.exchange.queue_tree import ROOT, Queue
from mrdsl.exchange.xml_text import settings_of

PREFIX = "yarn.scheduler.capacity."


def read_capacity_scheduler(text: str) -> Queue:
    """The tree below ``root``. Raises FormatError where the text is no such file."""
    values = settings_of(text)
    if f"{PREFIX}{ROOT}.queues" not in values:
        raise FormatError(f"it names no queues below {ROOT}")
    return _queue(ROOT, ROOT, values)


def _queue(path: str, name: str, values: Mapping[str, str]) -> Queue:
    below = values.get(f"{PREFIX}{path}.queues", "")
    names = [child.strip() for child in below.split(",") if child.strip()]
    limit = values.get(f"{PREFIX}{path}.user-limit-factor")
    return Queue(
        name=name,
        capacity=_decimal(path, "capacity", values),
        maximum=_decimal(path, "maximum-capacity", values),
        children=tuple(_queue(f"{path}.{child}", child, values) for child in names),
        user_limit=None if limit is None else int(limit),
    )


def _decimal(path: str, item: str, values: Mapping[str, str]) -> Decimal:
    """A share in percent; 100 where it is left out, as for the root and for maximums."""
    written = values.get(f"{PREFIX}{path}.{item}")
    if written is None:
        if item == "capacity" and path != ROOT:
            raise FormatError(f"the queue {path} has no capacity")
        return Decimal(100)
    try:
        return Decimal(written)
    except InvalidOperation:
        raise FormatError(f"the {item} of {path} is `{written}`, not a number") from None
