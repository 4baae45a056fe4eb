"""``spark-defaults.conf``: names and values of Spark's settings, one pair a line, as Java's properties are written."""

from __future__ import annotations

import re

from mrdsl.exchange.mistakes import FormatError

PAIR = re.compile(r"(?P<name>spark\.[\w.-]+)(?:\s*[=:]\s*|\s+)(?P<value>.*)", re.DOTALL)


def read_spark_settings(text: str) -> dict[str, str]:
    """Values by names; of a name that stands twice the last counts. Raises FormatError at a line that is no setting."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        told = line.strip()
        if not told or told[0] in "#!":
            continue
        pair = PAIR.fullmatch(told)
        if pair is None:
            raise FormatError(f"`{told[:60]}` is no setting of Spark", "write `spark.executor.cores 4`", number)
        found[pair["name"]] = pair["value"]
    if not found:
        raise FormatError("it has no setting", "write `spark.executor.cores 4`")
    return found
