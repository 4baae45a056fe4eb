"""Options that several commands share, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mrdsl.cli.outputs import OutputFile
from mrdsl.core import units
from mrdsl.core.arguments import written_number
from mrdsl.core.diagnostics import MrdslError, error, shortened
from mrdsl.spec.declared import LIMITS, SEED, SIMULATION, advice, python_number_mistake
from mrdsl.spec.schema import Item

if TYPE_CHECKING:
    from mrdsl.exchange.registry import PlanWriter

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
