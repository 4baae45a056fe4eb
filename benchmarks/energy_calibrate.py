"""Writes ``models/energy/NAME-SCALE.mrspec``: the 24 workloads of Nabavinejad et al., Table 3.

The paper prints task numbers, blocks, deadlines and budgets (Table 3), VM types (Table 2) and their numbers (Table 4),
but no task times and no energies. Those are made up here, by these rules:

- A task takes ``lambda * factor(VM type) * (1 + 0.35 * max(0, 1 - memory per slot / memory the task wants))`` seconds;
  a reduce task ``ratio(application)`` times that, with its own memory. Its energy is its time times the power per slot.
- ``lambda``, one number per workload, is calibrated: the largest with which a plan exists at all is found by bisection
  (HiGHS on the counted model), and from there it falls in steps of 5 % until DSPS, MVPS and MSPAN find a plan, since
  the paper says that they always do. So deadline and budget bind, as they do in the paper.

    python benchmarks/energy_calibrate.py                  # writes the models, a few minutes
    python benchmarks/energy_calibrate.py seqcou-large     # only these
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from mrdsl.api import loads, solve
from mrdsl.core.result import Limits, SolutionStatus
from mrdsl.families.energy.models.counted import build
from mrdsl.language.formatting import format_text
from mrdsl.solving.checked_answer import solve_model

SCALES = ("small", "medium", "large")
MEMORY_PENALTY = 0.35


@dataclass(frozen=True)
class Machine:
    """Table 2, Table 4, and three made-up figures: memory per slot follows from Table 2."""

    name: str
    slots: int
    price: str
    memory: float
    factor: float
    watts: float
    available: tuple[int, int, int]


MACHINES = (
    Machine("n1-standard-1", 1, "0.038", 3.75, 1.00, 16.5, (2, 3, 6)),
    Machine("n1-standard-2", 2, "0.076", 3.75, 0.99, 15.6, (2, 1, 2)),
    Machine("n1-standard-4", 4, "0.152", 3.75, 0.97, 14.6, (1, 1, 2)),
    Machine("n1-highmem-2", 2, "0.096", 6.5, 0.98, 14.8, (1, 1, 2)),
    Machine("n1-highcpu-2", 2, "0.058", 0.9, 0.95, 13.4, (1, 1, 2)),
    Machine("n1-highcpu-4", 4, "0.116", 0.9, 0.93, 13.2, (1, 1, 2)),
    Machine("n1-highcpu-8", 8, "0.232", 0.9, 0.94, 15.2, (1, 1, 2)),
    Machine("n1-highcpu-16", 16, "0.464", 0.9, 0.97, 18.5, (1, 1, 2)),
    Machine("g1-small", 1, "0.021", 1.7, 1.75, 9.8, (1, 2, 4)),
)


@dataclass(frozen=True)
class Load:
    """One cell of Table 3: map tasks, reduce tasks, budget in cent, deadline in s."""

    maps: int
    reduces: int
    cents: str
    deadline: int


@dataclass(frozen=True)
class Application:
    """One row of Table 3; made up: intermediate data in %, reduce time over map time, memory wanted in GB."""

    name: str
    title: str
    block: int
    loads: tuple[Load, Load, Load]
    intermediate: int
    ratio: float
    map_memory: float
    reduce_memory: float


APPLICATIONS = (
    Application(
        "adjlist",
        "Adjacency list",
        170,
        (Load(7, 8, "2.5", 300), Load(70, 80, "11.5", 2500), Load(140, 160, "130", 12500)),
        120,
        1.6,
        1.5,
        3.5,
    ),
    Application(
        "classif",
        "Classification",
        256,
        (Load(24, 0, "0.5", 150), Load(120, 0, "6", 600), Load(240, 0, "58.33", 2000)),
        0,
        1.0,
        0.8,
        1.0,
    ),
    Application(
        "hismov",
        "Histogram of movies",
        128,
        (Load(16, 0, "0.1666", 100), Load(240, 0, "3.5", 350), Load(480, 0, "33.33", 2000)),
        0,
        1.0,
        0.8,
        1.0,
    ),
    Application(
        "invind",
        "Inverted index",
        256,
        (Load(17, 2, "0.9", 350), Load(100, 16, "10", 1800), Load(200, 32, "100", 7500)),
        40,
        1.3,
        1.2,
        2.0,
    ),
    Application(
        "raninvind",
        "Ranked inverted index",
        215,
        (Load(13, 10, "2.5", 400), Load(130, 100, "16.66", 2000), Load(260, 200, "200", 9000)),
        100,
        1.4,
        2.5,
        4.0,
    ),
    Application(
        "selfjoin",
        "Self-join",
        205,
        (Load(9, 6, "1.5", 250), Load(135, 90, "10", 1800), Load(270, 180, "135", 13500)),
        90,
        1.2,
        1.5,
        3.0,
    ),
    Application(
        "seqcou",
        "Sequence count",
        256,
        (Load(6, 8, "1", 180), Load(60, 80, "8.33", 600), Load(120, 160, "75", 5000)),
        110,
        1.2,
        2.0,
        3.0,
    ),
    Application(
        "worcou",
        "Word count",
        256,
        (Load(17, 2, "1.5", 350), Load(100, 16, "9.5", 1400), Load(200, 32, "90", 7500)),
        30,
        0.9,
        1.0,
        1.5,
    ),
)


def task(machine: Machine, seconds: float, memory: float) -> str:
    """Time and energy of a task that takes ``seconds`` where nothing slows it down."""
    slower = 1 + MEMORY_PENALTY * max(0.0, 1 - machine.memory / memory)
    time = round(seconds * machine.factor * slower, 1)
    return f"{{ time = {time:g} s, energy = {time * machine.watts:.0f} J }}"


def text(application: Application, scale: str, scaling: float) -> str:
    """The spec of a workload whose undisturbed map task takes ``scaling`` seconds."""
    at = SCALES.index(scale)
    load = application.loads[at]
    wide = max(len(machine.name) for machine in MACHINES) + 2
    vms = "\n".join(
        f"vm {f'{chr(34)}{m.name}{chr(34)}':<{wide}} {{ slots {{ map = {m.slots}, reduce = {m.slots} }}, "
        f"on_demand {{ price = {m.price} USD/h }}, available = {m.available[at]} }}"
        for m in MACHINES
    )
    profiles = "\n".join(_profile(application, machine, load, scaling, wide) for machine in MACHINES)
    shuffled = f"  intermediate = {application.intermediate}%\n" if load.reduces else ""
    return f"""\
# {application.title}, {scale}: Nabavinejad et al., Table 3, on the machines of Tables 2 and 4.
#
# The paper prints no task times and energies. Those below are made up: {scaling:g} s for a map task that nothing slows
# down, longer where a VM type has less memory per slot than the task wants, and power per slot by type. The one number
# is calibrated so that deadline and budget bind as in the paper; benchmarks/energy_calibrate.py says how, and wrote
# this file. Network speed, io_power and intermediate are made up too.
problem energy "{application.title}, {scale}"

param deadline = {load.deadline} s
param budget = {load.cents} cent
param speed = 1 Gbit/s

{vms}

network {{ speed = speed, io_power = 20 W }}

job {application.name} {{
  map    {{ tasks = {load.maps}, block = {application.block} MB }}
  reduce {{ tasks = {load.reduces} }}
{shuffled}  deadline = deadline
  budget   = budget
{profiles}
}}

minimize energy
"""


def _profile(application: Application, machine: Machine, load: Load, scaling: float, wide: int) -> str:
    name = f'"{machine.name}"'
    maps = task(machine, scaling, application.map_memory)
    reduces = task(machine, scaling * application.ratio, application.reduce_memory)
    return f"  on {name:<{wide}} {{ map {maps}{f', reduce {reduces}' if load.reduces else ''} }}"


def exists(application: Application, scale: str, scaling: float) -> bool:
    """Whether there is a plan at all, by HiGHS."""
    model = build(loads(text(application, scale, scaling)))
    return solve_model(model, "highs", Limits(time=60.0, gap=1.0)).solution is not SolutionStatus.NONE


def finds(method: str, application: Application, scale: str, scaling: float) -> bool:
    """Whether a method finds a plan."""
    return solve(loads(text(application, scale, scaling)), solver=method).solution is not SolutionStatus.NONE


def calibrated(application: Application, scale: str) -> float:
    """The scaling that the module's docstring describes, s."""
    load = application.loads[SCALES.index(scale)]
    low, high = 0.1, 2.0 * float(load.cents) / 100 * 3600 / 0.029 / (load.maps + application.ratio * load.reduces)
    while high > 1.005 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if exists(application, scale, middle) else (low, middle)
    for percent in range(100, 0, -5):
        scaling = float(f"{low * percent / 100:.3g}")
        if all(finds(method, application, scale, scaling) for method in ("dsps", "mvps", "mspan")):
            print(f"{application.name} {scale}: {scaling:g} s, {percent} % of the largest", flush=True)
            return scaling
    raise SystemExit(f"no scaling for {application.name} {scale}")


def main(names: list[str]) -> None:
    """Writes the files of these names, without any names all 24."""
    folder = Path(__file__).parent.parent / "models" / "energy"
    for scale in SCALES:
        for application in APPLICATIONS:
            name = f"{application.name}-{scale}"
            if not names or name in names:
                path = folder / f"{name}.mrspec"
                made, _ = format_text(text(application, scale, calibrated(application, scale)), path.name)
                assert made is not None
                path.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
