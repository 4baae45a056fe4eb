"""The reading of specs and params."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.regular_files import UnreadableError, read_bytes
from mrdsl.language.loading import Loaded, load_file


def load_spec(file: Path, defines: tuple[str, ...], data: Path | None, seed: int | None, allow_outside: bool) -> Loaded:
    """The spec of a command, with what overrides it; it lives as long as the process, so no garbage is sought in it."""
    overrides = parameters(defines, data)
    gc.disable()
    try:
        loaded = load_file(file, overrides, seed=seed, outside=allow_outside)
        gc.freeze()
    finally:
        gc.enable()
    return loaded


def parameters(defines: tuple[str, ...], data: Path | None) -> dict[str, Any]:
    """The overrides of a data file, then those of ``-D``. Raises MrdslError."""
    values = _from_file(data) if data is not None else {}
    for define in defines:
        name, equals, value = define.partition("=")
        if not equals or not name.strip():
            raise MrdslError(
                [
                    error(
                        "wrong-option",
                        f"`-D {define}` is not of the form NAME=VALUE",
                        None,
                        "write it like `-D peak=1.1`",
                    )
                ]
            )
        values[name.strip()] = value.strip()
    return values


def _from_file(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        text = read_bytes(path, budgets.DOCUMENT_BYTES, own_descriptors=True).decode("utf-8-sig")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except RecursionError:
        raise MrdslError(
            [error("wrong-value", f"`{path}` is nested too deeply", None, "write `peak = 1.1`, one param a line")]
        ) from None
    except (UnreadableError, ValueError) as problem:
        raise MrdslError(
            [
                error(
                    "unreadable-file",
                    f"`{path}` cannot be read: {problem}",
                    None,
                    "give a TOML or JSON file of `name = value`",
                )
            ]
        ) from None
    if not isinstance(values, dict) or not all(_is_plain(value) for value in values.values()):
        raise MrdslError(
            [
                error(
                    "wrong-value",
                    f"`{path}` holds more than names and values",
                    None,
                    'write `peak = 1.1` or `deadline = "15 min"`, one param a line',
                )
            ]
        )
    return values


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
