"""The reading of specs and params."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.spec_files import lasting
from mrdsl.core import budgets
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.regular_files import UnreadableError, read_bytes

if TYPE_CHECKING:
    from mrdsl.core.result import Result
    from mrdsl.language.loading import Loaded
    from mrdsl.planning.saved_plans import Saved

PEEKED = 4096
"""Bytes in which the first sign of a file is looked for."""


@dataclass(frozen=True)
class Opened:
    """What a command was given: a spec, and the plan for it where the file is a saved one."""

    loaded: Loaded
    plan: Result | None = None


def open_input(file: Path, options: Mapping[str, Any]) -> Opened:
    """The spec of a command, or a saved plan with its spec, checked against it; ``options`` override a spec's params.

    Raises MrdslError for a plan that is none, or not one of its spec. What else is to be told of it is printed.
    """
    if not is_saved_plan(file):
        return Opened(_load(file, options))
    from mrdsl.language.loading import Loaded
    from mrdsl.planning.verified_plans import verify

    verified = verify(read_plan(file, options))
    result = verified.require()
    print_diagnostics(verified.found, {})
    spec = result.spec
    known = tuple(d for d in result.diagnostics if d.severity != "error" or d.impossible)
    return Opened(Loaded(spec, known, {spec.file: spec.text} if spec.text else {}, (file,)), result)


def read_plan(file: Path, options: Mapping[str, Any]) -> Saved:
    """A saved plan as it was written. Raises MrdslError, also where an option would change its spec."""
    from mrdsl.planning.saved_plans import read_saved

    for option, given in (
        ("-D", options.get("defines")),
        ("--data", options.get("data")),
        ("--seed", options.get("seed")),
    ):
        if given or given == 0:
            message = f"`{option}` changes a spec, and `{file}` is a saved plan, whose spec is settled"
            raise MrdslError([error("wrong-option", message, None, "give the spec itself")])
    return read_saved(plan_text(file), str(file))


def is_saved_plan(file: Path) -> bool:
    """Whether a file is a saved plan: it begins as a JSON object does, and no spec."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            return False
        with open(file, "rb") as stream:
            return stream.read(PEEKED).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    except (OSError, ValueError):
        return False


def plan_text(file: Path) -> str:
    """The text of a saved plan. Raises MrdslError."""
    try:
        return read_bytes(file, budgets.PLAN_BYTES).decode("utf-8-sig")
    except (UnreadableError, UnicodeDecodeError) as problem:
        reason = str(problem) if isinstance(problem, UnreadableError) else "it is no UTF-8 text"
        raise MrdslError([error("unreadable-file", f"`{file}` cannot be read: {reason}")]) from None


def load_spec(file: Path, defines: tuple[str, ...], data: Path | None, seed: int | None, allow_outside: bool) -> Loaded:
    """The spec of a command, also that in a saved plan, with what overrides it."""
    options = {"defines": defines, "data": data, "seed": seed, "allow_outside": allow_outside}
    return open_input(file, options).loaded


def _load(file: Path, options: Mapping[str, Any]) -> Loaded:
    from mrdsl.language.loading import load_file

    overrides = parameters(options["defines"], options["data"])
    with lasting():
        return load_file(file, overrides, seed=options["seed"], outside=options["allow_outside"])


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
