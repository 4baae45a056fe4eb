"""Inputs of commands: specs, folders of specs, and saved plans."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.cli.boundary import print_diagnostics
from mrdsl.core import budgets
from mrdsl.core.diagnostics import Span, one_error
from mrdsl.core.reading import UnreadableError, is_json_object, read_bytes, walked
from mrdsl.spec.scaling import SCALE

if TYPE_CHECKING:
    from mrdsl.core.result import Result
    from mrdsl.language.resolving import Loaded


SUFFIX = ".mrspec"


def specs_below(files: Iterable[Path]) -> Iterable[Path]:
    """Yield the files themselves, and for a folder every spec below it, in order.

    Raises MrdslError ``no-specs`` for a folder without specs.
    """
    for path in files:
        below = sorted(_below(path)) if path.is_dir() else [path]
        if not below:
            hint = f"name a folder with `*{SUFFIX}` files, or the files"
            raise one_error("no-specs", f"the folder `{path}` contains no specs", None, hint)
        yield from below


def _below(folder: Path) -> Iterator[Path]:
    """Yield the specs below a folder, and folders that cannot be read."""
    unread: list[Path] = []
    for home, _, names in walked(str(folder), lambda cause: unread.append(Path(cause.filename)), links=False):
        yield from (Path(home, name) for name in names if name.endswith(SUFFIX))
    yield from unread


STANDARD_INPUT, STANDARD_INPUT_NAME = Path("-"), "<stdin>"


@dataclass(frozen=True)
class Opened:
    """The input of a command: a spec, and its plan if the file is a saved one."""

    loaded: Loaded
    plan: Result | None = None


def open_input(file: Path, options: Mapping[str, Any], *, own_seed: bool = False) -> Opened:
    """Return the spec of a command, or a saved plan verified against its spec; ``options`` override params of a spec.

    ``own_seed``: the seed is one of the command, which a saved plan can have too. Raises MrdslError for a file that is
    not a plan, or not one of its spec. Other diagnostics are printed.
    """
    text = standard_input() if file == STANDARD_INPUT else None
    if not is_json_object(file) and not (text or "").lstrip().startswith("{"):
        return Opened(_load(file, options) if text is None else _load_text(text, options))
    from mrdsl.families.diagnosis import diagnose
    from mrdsl.language.resolving import Loaded
    from mrdsl.planning.verified_plans import open_plan, open_text

    refuse_overrides(file, {**options, "seed": None} if own_seed else options)
    verified = open_plan(file) if text is None else open_text(text, STANDARD_INPUT_NAME)
    result = verified.require()
    print_diagnostics(verified.found, {})
    spec = result.spec if options.get("seed") is None else replace(result.spec, seed=options["seed"])
    texts = {spec.file: spec.text} if spec.text else {}
    return Opened(Loaded(spec, diagnose(spec), texts, (file,)), result)


def standard_input() -> str:
    """Return all of the standard input, as ``-`` in the place of a file means it. Raises MrdslError."""
    data = sys.stdin.buffer.read(budgets.PLAN_BYTES + 1)
    problem = f"it is larger than {budgets.PLAN_BYTES >> 20} MB" if len(data) > budgets.PLAN_BYTES else ""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text, problem = "", "it is not UTF-8 text"
    if not problem and not text.strip():
        problem = "it is empty"
    if problem:
        message = f"`{STANDARD_INPUT_NAME}` cannot be read: {problem}"
        raise one_error("unreadable-file", message, Span(STANDARD_INPUT_NAME, 1, 1, 1, 1))
    return text


def refuse_overrides(file: Path, options: Mapping[str, Any]) -> None:
    """Raise MrdslError for an option that would change the spec of a saved plan."""
    overrides = {
        "-D": options.get("defines"),
        "--data": options.get("data"),
        "--scale": options.get("scales"),
        "--seed": options.get("seed"),
    }
    for option, given in overrides.items():
        if given or given == 0:
            message = f"`{option}` changes a spec, but `{file}` is a saved plan, whose spec is fixed"
            raise one_error("wrong-option", message, None, "pass the spec file instead")


def load_spec(options: Mapping[str, Any]) -> Loaded:
    """Return the spec of a command, or that in a saved plan, with its overrides."""
    return open_input(options["file"], options).loaded


def _load(file: Path, options: Mapping[str, Any]) -> Loaded:
    from mrdsl.language.loading import load_file

    return load_file(file, parameters(options), seed=options["seed"], outside=options["allow_outside"])


def _load_text(text: str, options: Mapping[str, Any]) -> Loaded:
    """Return the spec in standard input, whose files are relative to the current folder."""
    from mrdsl.language.loading import load_text

    outside = options["allow_outside"]
    return load_text(text, parameters(options), name=STANDARD_INPUT_NAME, seed=options["seed"], outside=outside)


def parameters(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides of a data file, then those of ``-D`` and ``--scale``. Raises MrdslError."""
    values = _from_file(options["data"]) if options["data"] is not None else {}
    values |= _pairs("-D", options["defines"], "NAME=VALUE", "-D peak=1.1")
    scales = _pairs("--scale", options["scales"], "NAME=FACTOR", "--scale tasks.time=1.3")
    return values | {f"{SCALE}{name}": value for name, value in scales.items()}


def _pairs(option: str, given: Iterable[str], form: str, example: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for define in given:
        name, equals, value = define.partition("=")
        if not equals or not name.strip():
            message = f"`{option} {define}` must have the form {form}"
            raise one_error("wrong-option", message, None, f"for example, `{example}`")
        name, value = name.strip(), value.strip()
        if name in values:
            hint = f"keep one of them: `{option} {name}={values[name]}` or `{option} {name}={value}`"
            raise one_error("wrong-option", f"`{option} {name}` is passed twice", None, hint)
        values[name] = value
    return values


def solve_command(options: Mapping[str, Any]) -> str:
    """Return the command that solves the same spec, or prints the same plan, and its warnings in full."""
    words = ["mrdsl", "solve", str(options["file"])]
    for option, name in (("-D", "defines"), ("--data", "data"), ("--scale", "scales"), ("--seed", "seed")):
        given = options[name]
        for value in given if isinstance(given, tuple) else () if given is None else (given,):
            words += [option, str(value)]
    return shlex.join([*words, *(["--allow-outside"] if options["allow_outside"] else [])])


def _from_file(path: Path) -> dict[str, Any]:
    from mrdsl.core.json_text import json_value
    from mrdsl.core.toml_text import TomlError, read_toml

    try:
        text = read_bytes(path, budgets.PARAMETER_BYTES, own_descriptors=True).decode("utf-8-sig")
        values = json_value(text) if path.suffix == ".json" else read_toml(text, str(path)).data
    except RecursionError:
        raise one_error(
            "wrong-value", f"`{path}` is nested too deeply", None, "write one param per line, such as `peak = 1.1`"
        ) from None
    except (UnreadableError, ValueError, TomlError) as problem:
        raise one_error(
            "unreadable-file", f"`{path}` cannot be read: {problem}", None, "pass a TOML or JSON file of `name = value`"
        ) from None
    if not isinstance(values, dict) or not all(_is_plain(value) for value in values.values()):
        raise one_error(
            "wrong-value",
            f"`{path}` must contain only names and values",
            None,
            'write one param per line, such as `peak = 1.1` or `deadline = "15 min"`',
        )
    return values


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
