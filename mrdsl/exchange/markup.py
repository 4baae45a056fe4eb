"""XML, YAML and ``spark-defaults.conf``, without a library.

YAML is written in block style, of plain values. ``spark-defaults.conf`` has
one name and value a line, as Java writes properties.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mrdsl.exchange.text import FormatError


def written(root: ET.Element, comments: tuple[str, ...] = ()) -> str:
    """Return the root as a file, below comments of one line each."""
    ET.indent(root)
    told = "".join(f"<!-- {re.sub('-(?=-)', '- ', comment)} -->\n" for comment in comments)
    return '<?xml version="1.0"?>\n' + told + ET.tostring(root, encoding="unicode") + "\n"


def settings(
    properties: Mapping[str, str], comments: tuple[str, ...] = (), notes: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return a file of Hadoop's: names and values in a `<configuration>`, and notes by name."""
    configuration = ET.Element("configuration")
    for name, value in properties.items():
        one = ET.SubElement(configuration, "property")
        ET.SubElement(one, "name").text = name
        ET.SubElement(one, "value").text = value
        if name in notes:
            ET.SubElement(one, "description").text = notes[name]
    return written(configuration, comments)


PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./:@-]*[A-Za-z0-9_./@-]|[A-Za-z]")
"""Words that mean the same with and without quotes, but for those of :data:`WORDS`."""
WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})


def yaml_text(document: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """Return the document below comments, a line each."""
    return "".join(f"{line}\n" for line in (*(f"# {comment}" for comment in comments), *_mapping(document, "")))


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        yield from _entry(f"{indent}{_scalar(key)}:", value, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, indent + "  ")
    elif isinstance(value, list | tuple) and value:
        yield head
        for item in value:
            yield from _item(item, indent)
    elif isinstance(value, str) and "\n" in value:
        yield f"{head} |"
        yield from (f"{indent}  {line}" for line in value.rstrip("\n").split("\n"))
    else:
        yield f"{head} {_scalar(value)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, Mapping) and item:
        first, *rest = _mapping(item, indent + "  ")
        yield f"{indent}- {first[len(indent) + 2 :]}"
        yield from rest
    else:
        yield f"{indent}- {_scalar(item)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    return json.dumps(value, ensure_ascii=True)


PAIR = re.compile(r"(?P<name>spark\.[\w.-]+)(?:\s*[=:]\s*|\s+)(?P<value>.*)", re.DOTALL)


def read_spark_settings(text: str) -> dict[str, str]:
    """Return values by name; the last of repeated names counts. Raises FormatError at a line that is not a setting."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        told = line.strip()
        if not told or told[0] in "#!":
            continue
        pair = PAIR.fullmatch(told)
        if pair is None:
            raise FormatError(f"`{told[:60]}` is not a Spark setting", "write `spark.executor.cores 4`", number)
        found[pair["name"]] = pair["value"]
    if not found:
        raise FormatError("it has no setting", "write `spark.executor.cores 4`")
    return found
