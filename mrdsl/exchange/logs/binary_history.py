"""The events of a job history in Avro-Binary: its schema on the second line, then one event behind the other."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from mrdsl.exchange.logs.telling import Telling

LARGEST = 2**30
Events = Iterator[tuple[int, str, Any]]


def binary_events(numbered: Iterator[tuple[int, bytes]], source: str, telling: Telling) -> Events:
    """Each event's place, kind and fields, of the lines behind the first; what is cut or broken is told."""
    try:
        import fastavro
    except ImportError:
        message = "this history is in binary Avro, which the extra `logs` reads"
        telling.fail("missing-extra", message, source, 1, "install the extra `logs`")
        return
    document = _schema(numbered)
    try:
        if takes_no_bytes_for_many(document):
            telling.fail("broken-log", "its schema has lists of things that take no bytes", source, 2)
            return
        schema = fastavro.parse_schema(document)
    except Exception as cause:  # fastavro raises whatever a schema that is none leads it to
        telling.fail("broken-log", f"the second line is no Avro schema: {cause}", source, 2)
        return
    data = _rest(numbered)
    if data is None:
        telling.fail("broken-log", f"its events are more than {LARGEST:,} bytes", source, 3)
        return
    stream, number = io.BytesIO(data), 0
    while stream.tell() < len(data):
        number += 1
        at = stream.tell()
        try:
            event: Any = fastavro.schemaless_reader(stream, schema, None)
            kind, fields = str(event["type"]), dict(event["event"])
        except Exception:
            if data[at:].strip():
                telling.warn("cut-log", f"event {number} is cut or broken; what follows is lost", source, 3)
            return
        if stream.tell() == at:
            telling.warn("broken-log", "its events take no bytes", source, 3)
            return
        yield 2 + number, kind, fields


def _schema(numbered: Iterator[tuple[int, bytes]]) -> Any:
    try:
        return json.loads(next(numbered)[1])
    except (StopIteration, ValueError, RecursionError):
        return None


def _rest(numbered: Iterator[tuple[int, bytes]]) -> bytes | None:
    """What follows the schema, None where it is too much."""
    held = bytearray()
    for _, line in numbered:
        held += line + b"\n"
        if len(held) > LARGEST:
            return None
    return bytes(held[:-1])


def takes_no_bytes_for_many(schema: Any) -> bool:
    """Whether a schema has an array whose items take no bytes, so that a few bytes stand for any number of them."""
    named: dict[str, Any] = {}
    arrays: list[Any] = []
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            if isinstance(node.get("name"), str):
                named.setdefault(node["name"], node)
            if node.get("type") == "array":
                arrays.append(node.get("items"))
            waiting += node.values()
    return any(_takes_no_bytes(items, named, frozenset()) for items in arrays)


def _takes_no_bytes(node: Any, named: dict[str, Any], above: frozenset[str]) -> bool:
    if isinstance(node, str):
        known = named.get(node.rpartition(".")[2], named.get(node))
        if node == "null" or node in above:
            return True
        return known is not None and _takes_no_bytes(known, named, above | {node})
    if not isinstance(node, dict):
        return False
    kind = node.get("type")
    if kind in ("record", "error"):
        fields = node.get("fields")
        return isinstance(fields, list) and all(
            _takes_no_bytes(field.get("type"), named, above) for field in fields if isinstance(field, dict)
        )
    if kind == "fixed":
        return not node.get("size")
    return isinstance(kind, str | dict) and kind != node and _takes_no_bytes(kind, named, above)
