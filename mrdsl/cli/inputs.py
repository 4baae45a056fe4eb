"""Options that several commands share, and the reading of specs, params and limits."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mrdsl.core import budgets, units
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.regular_files import UnreadableError, read_bytes
from mrdsl.language.evaluate import MistakeError, Report, Scope, evaluate
from mrdsl.language.loading import Loaded, load_file
from mrdsl.language.parsing import parse_expression
from mrdsl.language.tree import FileNames

F = TypeVar("F", bound=Callable[..., Any])


def spec_options(command: F) -> F:
    """``FILE``, ``-D``, ``--data``, ``--seed`` and ``--allow-outside``."""
    for option in reversed(
        (
            click.argument("file", type=click.Path(path_type=Path)),
            click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="Override a param."),
            click.option("--data", type=click.Path(path_type=Path), help="Override params from a TOML or JSON file."),
            click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Override the spec's seed."),
            click.option("--allow-outside", is_flag=True, help="Let the spec read files outside its folder."),
        )
    ):
        command = option(command)
    return command


def solver_folder(command: F) -> F:
    """``--solvers DIR``: solver files of one's own, which are looked at nowhere else but where the user says so."""
    return click.option(
        "--solvers",
        "_solvers",
        metavar="DIR",
        expose_value=False,
        callback=_look_in,
        is_eager=True,
        help="A folder of solver files of your own.",
    )(command)


def _look_in(_: click.Context, __: click.Parameter, folder: str | None) -> None:
    if folder is not None:
        from mrdsl.solving.registry import look_in

        look_in(folder)


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
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
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
    if not isinstance(found, dict) or not all(_is_plain(value) for value in found.values()):
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
    return found


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def seconds(_: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A time limit: seconds, or a time with its unit."""
    return _measure(value, units.TIME, parameter, '`10` (seconds) or `"2 min"`')


def share(_: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A relative gap: ``0.001`` or ``0.1%``."""
    return _measure(value, units.NUMBER, parameter, "`0.001` or `0.1%`")


def _measure(text: str | None, dimension: units.Dimension, parameter: click.Parameter, example: str) -> float | None:
    if text is None:
        return None
    node = parse_expression(text)
    try:
        value = evaluate(node, Scope(FileNames(("",)), Report(), lambda _: None)) if node is not None else None
    except MistakeError:
        value = None
    number = value.number if value is not None else None
    if value is None or value.dimension not in (dimension, units.NUMBER) or not isinstance(number, float) or number < 0:
        raise click.BadParameter(f"write {example}", param=parameter)
    return number
