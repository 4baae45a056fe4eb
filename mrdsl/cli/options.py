"""Options that several commands share, and their inputs: specs, folders of specs, and saved plans."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mrdsl.cli.boundary import print_diagnostics
from mrdsl.cli.outputs import OutputFile
from mrdsl.core import budgets, units
from mrdsl.core.arguments import written_number
from mrdsl.core.diagnostics import MrdslError, Span, error, one_error, shortened
from mrdsl.core.reading import UnreadableError, is_json_object, read_bytes, walked
from mrdsl.spec.declared import LIMITS, SEED, SIMULATION, advice, python_number_mistake
from mrdsl.spec.scaling import SCALE
from mrdsl.spec.schema import Item

if TYPE_CHECKING:
    from mrdsl.core.result import Result
    from mrdsl.exchange.registry import PlanWriter
    from mrdsl.language.resolving import Loaded


F = TypeVar("F", bound=Callable[..., Any])
PROCESSES = Item("quantity", "parallel processes", at_least=1.0, at_most=1024.0, whole=True)


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return several options as one decorator, in the order in which help lists them."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def seconds(_: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return a time limit: seconds, or a time with its unit."""
    return _measure(value, units.TIME, parameter, '`10` (seconds) or `"2 min"`')


def share(_: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return a relative gap: ``0.001`` or ``0.1%``."""
    return _measure(value, units.NUMBER, parameter, "`0.001` or `0.1%`")


def data(_: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return an amount of data with its unit: ``16 GiB``."""
    if value is not None and value.strip().replace(".", "", 1).isdigit():
        raise click.BadParameter("write `16 GiB`", param=parameter)
    return _measure(value, units.DATA, parameter, "`16 GiB`")


def slow_tasks(_: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, float] | None:
    """Return a share of tasks and how many times as long they take: ``2%:4``."""
    if value is None:
        return None
    parts = [_measure(part, units.NUMBER, parameter, "`2%:4`") for part in value.split(":")]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        raise click.BadParameter(
            "write `2%:4`: a share of the tasks, and how many times as long they take", param=parameter
        )
    return parts[0], parts[1]


def _measure(text: str | None, dimension: units.Dimension, parameter: click.Parameter, example: str) -> float | None:
    if text is None:
        return None
    from mrdsl.language.evaluate import evaluate
    from mrdsl.language.parsing import parse_expression
    from mrdsl.language.scope import MistakeError, Report, Scope

    node = parse_expression(text)
    try:
        value = evaluate(node, Scope(Report(), lambda _: None)) if node is not None else None
    except MistakeError:
        value = None
    number = value.number if value is not None else None
    if value is None or value.dimension not in (dimension, units.NUMBER) or not isinstance(number, float):
        raise click.BadParameter(f"write {example}", param=parameter)
    if number < 0:
        name = parameter.opts[0]
        mistake = error("out-of-range", f"`{name}` is {text}, but must be at least 0", hint=f"write {example}")
        raise MrdslError([replace(mistake, path=name)])
    return number


class Count(click.ParamType):  # type: ignore[type-arg]
    """A whole number within the limits of a declared item, with the same errors as in Python."""

    name = "integer"

    def __init__(self, item: Item) -> None:
        self.item = item

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        name = parameter.opts[0] if parameter is not None else ""
        try:
            number = int(value if str(value).isascii() else "")
        except (TypeError, ValueError):
            self.fail(
                f"`{shortened(str(value))}` is not a whole number; write {advice(self.item)[6:]}", parameter, context
            )
        mistake = python_number_mistake(name, self.item, number)
        if mistake is not None:
            told = error(mistake.code, mistake.message, hint=mistake.hint)
            raise MrdslError([replace(told, path=name)])
        return number


class Whole(click.IntRange):
    """A whole number in ASCII digits, without underscores."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        if isinstance(value, str) and (not value.isascii() or "_" in value):
            self.fail(f"`{shortened(value)}` is not a whole number; write it in digits from 0 to 9", parameter, context)
        return int(super().convert(value, parameter, context))


class Decimal(click.types.FloatParamType):
    """A number in ASCII digits, without underscores."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        try:
            return written_number(value) if isinstance(value, str) else float(value)
        except ValueError:
            self.fail(f"`{shortened(value)}` is not a number; write it in digits from 0 to 9", parameter, context)


def _look_in(_: click.Context, __: click.Parameter, folder: str | None) -> None:
    if folder is not None:
        from mrdsl.solving.registry import look_in

        look_in(folder)


file_argument = click.argument("file", type=click.Path(path_type=Path))
allow_outside = click.option("--allow-outside", is_flag=True, help="Let specs read files outside their folders.")
params = together(
    click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="Override a param."),
    click.option("--data", type=click.Path(path_type=Path), help="Override params from a TOML or JSON file."),
    click.option(
        "--scale",
        "scales",
        multiple=True,
        metavar="NAME=FACTOR",
        help="Multiply numbers of the spec: `tasks.time=1.3`, `deadline=0.9`, `clicks.jobs=2`.",
    ),
)
seed = click.option("--seed", type=Count(SEED), help="Override the seed of the spec.")
overrides = together(params, seed, allow_outside)
spec_options = together(file_argument, overrides)

solver_folder = click.option(
    "--solvers",
    "_solvers",
    metavar="DIR",
    expose_value=False,
    callback=_look_in,
    is_eager=True,
    help="Folder with solver files or a plug-in.",
)
"""The only folder where solver files and plug-ins are searched."""
solver = together(
    click.option("--solver", default="auto", show_default=True, help="Solver or heuristic; see `mrdsl solvers`."),
    solver_folder,
)
model_options = together(
    click.option("--formulation", metavar="P", help="Formulation of the problem."),
    click.option("--relax", is_flag=True, help="Solve the relaxation: allow fractions instead of whole numbers."),
)
method_options = together(solver, model_options)

time_limit = click.option(
    "--time-limit", callback=seconds, metavar="T", help="Stop after T seconds, or a time such as '2 min'."
)
gap = click.option("--gap", callback=share, metavar="G", help="Stop at this relative gap, such as 0.001 or 0.1%.")
nodes = click.option("--nodes", type=Count(LIMITS["nodes"]), help="Stop after N branch-and-bound nodes.")
threads = click.option("--threads", type=Count(LIMITS["threads"]), help="Threads for the solver.")
runs = click.option("--runs", type=Count(SIMULATION["runs"]), help="Independent runs of the plan; default: 10.")
jobs = click.option(
    "--jobs", type=Count(SIMULATION["jobs"]), help="Completed jobs per user in each run; default: as in the spec."
)
processes = click.option(
    "-j",
    "--processes",
    type=Count(PROCESSES),
    help="Parallel processes; default: 1, or one per core for sweeps.",
)
executor = click.option(
    "--executor", default="processes", show_default=True, help="`processes`, or `dask://HOST:PORT`."
)
former_jobs = click.option("--jobs", "former", type=Count(PROCESSES), hidden=True, help="Another name of --processes.")

as_json = click.option("--json", "as_json", is_flag=True, help="Print only one JSON object.")
json_file = click.option("-o", "--output", type=OutputFile(), help="Save the result as JSON; - prints it.")
force = click.option("--force", is_flag=True, help="Overwrite existing files.")
verbose = click.option("--verbose", is_flag=True, help="Print the time of each stage.")


def plan_files(writers: Iterable[PlanWriter]) -> Callable[[F], F]:
    """Return an option per file that may be written of a result, named as its format."""
    return together(*(click.option(f"--{one.name}", type=OutputFile(), help=f"Write {one.doc}.") for one in writers))


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
