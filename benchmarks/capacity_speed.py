"""Speed and memory of the capacity family against hand-written peers: python benchmarks/capacity_speed.py [PART ...]

Parts: start, text, table, memory, large (about 10 minutes). Without any: all but large.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from capacity_data import PRICES, write
from measure import Case, Measured, compare, machine, show

HERE = Path(__file__).resolve().parent
PEERS = HERE / "capacity_peers"
PYTHON = sys.executable
MRDSL = [PYTHON, "-m", "mrdsl"]
# bytecode is kept, as it is for an installed package; the first, untimed run writes it
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(PEERS)]),
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "",
}


def mrdsl(name: str, *arguments: str) -> Case:
    return Case(name, [*MRDSL, *arguments], environment=ENVIRONMENT)


def peer(name: str, script: str, folder: Path, reserved: int, *options: str) -> Case:
    numbers = (str(PRICES["on_demand"]), str(PRICES["reserved"]), str(reserved))
    extra = {"CBC": found} if (found := shutil.which("cbc", path=_path())) else {}
    return Case(
        name,
        [PYTHON, str(PEERS / script), str(folder / "plain.csv"), *numbers, *options],
        environment=ENVIRONMENT | extra,
    )


def pulp(folder: Path, reserved: int) -> list[Case]:
    """The peer in PuLP, where that is installed."""
    return [peer("PuLP + CBC", "plain_pulp.py", folder, reserved)] if find_spec("pulp") else []


def mathprog(folder: Path) -> Case:
    program = shutil.which("glpsol", path=_path())
    return Case(
        "GNU MathProg, glpsol",
        [program or "glpsol", "-m", str(PEERS / "plain.mod"), "-d", str(folder / "plain.dat"), "--mipgap", "1e-6"],
    )


def start(folder: Path) -> None:
    """Cold start of check on the quickstart; at most 0.25 s where importing lark takes 0.07 s."""
    quickstart = HERE.parent / "models" / "capacity" / "quickstart.mrspec"
    report(
        "Cold start of check",
        compare(
            [
                Case("python -c 'import lark'", [PYTHON, "-c", "import lark"]),
                mrdsl("mrdsl check quickstart", "check", str(quickstart)),
            ],
            runs=9,
        ),
        "python -c 'import lark'",
    )


def text(folder: Path) -> None:
    """1,000 classes from text through HiGHS; at most 2 times plain Pyomo reading CSV."""
    reserved = write(folder, 1000)
    report(
        "1,000 classes, text through HiGHS, whole plans",
        compare(
            [
                peer("plain Pyomo + HiGHS, from CSV", "plain_pyomo.py", folder, reserved),
                mrdsl("mrdsl, text, HiGHS", "solve", str(folder / "text.mrspec"), "--solver", "highs"),
                mrdsl("mrdsl, table, HiGHS", "solve", str(folder / "table.mrspec"), "--solver", "highs"),
                mrdsl("mrdsl, text, direct", "solve", str(folder / "text.mrspec"), "--solver", "direct"),
                peer("highspy + numpy", "arrays.py", folder, reserved),
                *pulp(folder, reserved),
                mathprog(folder),
            ]
        ),
        "plain Pyomo + HiGHS, from CSV",
    )


def table(folder: Path) -> None:
    """From a table through direct; at most 2.5 times the numpy greedy."""
    for count, ratio in ((10_000, 2), (100_000, 5)):
        reserved = write(folder, count)
        report(
            f"{count:,} classes, table through direct (PuLP at least {ratio} times slower)",
            compare(
                [
                    peer("numpy greedy", "greedy.py", folder, reserved),
                    mrdsl("mrdsl, table, direct", "solve", str(folder / "table.mrspec"), "--solver", "direct"),
                    *pulp(folder, reserved),
                ]
            ),
            "numpy greedy",
        )


def memory(folder: Path) -> None:
    """Peak memory at 10,000 classes through HiGHS; at most 1.5 times plain Pyomo."""
    reserved = write(folder, 10_000)
    report(
        "10,000 classes, table through HiGHS, time and memory",
        compare(
            [
                peer("plain Pyomo + HiGHS", "plain_pyomo.py", folder, reserved),
                mrdsl("mrdsl, table, HiGHS", "solve", str(folder / "table.mrspec"), "--solver", "highs"),
                peer("highspy + numpy", "arrays.py", folder, reserved),
            ],
            memory=True,
        ),
        "plain Pyomo + HiGHS",
    )


def large(folder: Path) -> None:
    """HiGHS on 100,000 classes, with its presolve and with the model's hint to leave it out."""
    reserved = write(folder, 100_000)
    report(
        "100,000 classes through HiGHS",
        compare(
            [
                peer("highspy + numpy, presolve off", "arrays.py", folder, reserved, "presolve=off"),
                mrdsl("mrdsl, table, HiGHS (hint)", "solve", str(folder / "table.mrspec"), "--solver", "highs"),
                peer("highspy + numpy, presolve on", "arrays.py", folder, reserved),
            ],
            runs=1,
        ),
        "highspy + numpy, presolve off",
    )


def report(title: str, measured: list[Measured], against: str) -> None:
    """Prints the table, and refuses to where the costs that the cases found differ by more than 1e-4."""
    costs = {m.name: float(found[-1]) for m in measured if (found := re.findall(r"cost:? ([0-9.e+]+)", m.output))}
    if costs and max(costs.values()) > min(costs.values()) * (1 + 1e-4):
        raise SystemExit(f"{title}: the costs differ: {costs}")
    print(f"\n**{title}**\n\n{show(measured, against)}\n")
    if costs:
        print("costs: " + ", ".join(f"{name} {cost:.10g}" for name, cost in costs.items()), flush=True)


def _path() -> str:
    return os.pathsep.join([str(Path(PYTHON).parent), os.environ.get("PATH", "")])


PARTS = {"start": start, "text": text, "table": table, "memory": memory, "large": large}

if __name__ == "__main__":
    print(machine())
    for part in sys.argv[1:] or [name for name in PARTS if name != "large"]:
        with tempfile.TemporaryDirectory() as place:
            PARTS[part](Path(place))
