"""Blocks of a spec from a table of pandas, polars, pyarrow, or whoever else offers Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mrdsl.api.arguments import checked
from mrdsl.core import units
from mrdsl.exchange.arrow import Arrow


@checked
def from_table(
    problem: str, word: str, table: Arrow, braces: str = "", *, currency: str = units.DEFAULT_CURRENCY
) -> Sequence[Any]:
    """The blocks of a table: what ``classes from "classes.csv"`` would be of the same rows, for the facts of a Spec.

    ``word`` is that of the language (``"classes"``, ``"vms"``, ``"jobs"``, ``"tasks"``); the table is any that has
    ``__arrow_c_stream__``, with the columns of such a file (``"deadline [min]"``). ``braces`` is what a spec writes
    behind the name, ``currency`` that of the Spec. Raises MrdslError with every diagnostic, each with its row, counted
    from 0, and its column; ``missing-extra`` where nanoarrow is not installed.

    >>> facts = CapacityFacts(vms=vms, classes=from_table("capacity", "classes", frame))  # doctest: +SKIP
    """
    from mrdsl.language.given_tables import blocks_from

    return blocks_from(problem, word, table, braces, currency)
