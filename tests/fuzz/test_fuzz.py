"""Whatever is put in: an answer in time, a documented exit code, JSON where it was asked for, no other file changed.

Each part draws from its own seeds. ``MRDSL_FUZZ=60`` makes sixty times as many cases, from further seeds, and
``MRDSL_FUZZ_FOUND=DIR`` keeps what fails; ``corpus/PART-NAME`` holds what was found once and is always run again.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mrdsl.core.resources import resource
from mrdsl.language.formatting import format_text
from mrdsl.language.parsing import parse
from tests.fuzz.making import made, mutated, mutated_bytes, renumbered
from tests.fuzz.messages import answers_to, session
from tests.fuzz.plans import plan
from tests.fuzz.running import budget, faults

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).parent / "corpus"
MODELS = resource("models")
TIMES = int(os.environ.get("MRDSL_FUZZ", "1"))
SPECS = {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(MODELS.glob("*/reference.mrspec"))}
QUICK = (MODELS / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the budget of time is an alarm's")

TABLE = "name,jobs,deadline [s],penalty [USD]\nsort,4..6,600,20\nindex,2..3,900,5\n"
TABLED = """problem capacity
vm m5 { on_demand { price = 0.192 USD/h } }
classes from "t.csv" {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
}
minimize cost
"""

Case = Callable[[bytes, str], list[str]]


def specs(draw: random.Random) -> bytes:
    """Mutants of the shipped models, and texts of the grammar's forms."""
    if draw.random() < 0.4:
        return made(draw).encode()
    text = draw.choice(list(SPECS.values()))
    if draw.random() < 0.15:
        return mutated_bytes(draw, text.encode())
    return mutated(draw, text, list(SPECS.values())).encode()


def checked(data: bytes, name: str) -> list[str]:
    """The checker and the formatter; what the formatter makes is formatted and says the same, as it sees to itself."""
    Path("s.mrspec").write_bytes(data)
    found = faults(["check", "s.mrspec", "--format", "json"]) + faults(["check", "s.mrspec"])
    found += faults(["fmt", "s.mrspec"], ("s.mrspec",))
    text = data.decode("utf-8", "replace")
    with budget():
        once, problems = format_text(text, "s")
    if once is None:
        return [*found, *(["the formatter gives up"] if not parse(text, "s")[1] and problems else [])]
    return [*found, *(["the canonical form is not canonical"] if format_text(once, "s")[0] != once else [])]


def small_specs(draw: random.Random) -> bytes:
    """Small specs that mostly still make sense."""
    text = QUICK if draw.random() < 0.5 else SPECS[draw.choice(sorted(SPECS))]
    return (renumbered(draw, renumbered(draw, text)) if draw.random() < 0.7 else mutated(draw, text)).encode()


def solved(data: bytes, name: str) -> list[str]:
    """A solve with a short limit, and the model as a file."""
    Path("s.mrspec").write_bytes(data)
    found = faults(["solve", "s.mrspec", "--json", "--time-limit", "1", "-o", "out.json"], ("out.json",))
    found += faults(["compile", "s.mrspec", "-o", "m.lp"], ("m.lp", "m.lp.names.json"))
    for left in ("out.json", "m.lp", "m.lp.names.json"):
        Path(left).unlink(missing_ok=True)
    return found


def tables(draw: random.Random) -> bytes:
    """Mutants of a table of classes."""
    return mutated_bytes(draw, TABLE.encode()) if draw.random() < 0.5 else mutated(draw, TABLE).encode()


def tabled(data: bytes, name: str) -> list[str]:
    """A spec whose classes stand in the table."""
    Path("t.csv").write_bytes(data)
    Path("s.mrspec").write_text(TABLED, encoding="utf-8")
    return faults(["check", "s.mrspec"])


def data_files(draw: random.Random) -> bytes:
    """Mutants of a file of params."""
    return mutated_bytes(draw, b'{"peak": 1.5, "jobs": 3, "deadline": "15 min"}')


def with_data(data: bytes, name: str) -> list[str]:
    """The params of a spec from the file, as JSON and as TOML."""
    Path("d.json").write_bytes(data)
    Path("d.toml").write_bytes(data.replace(b":", b"=").strip(b"{}").replace(b",", b"\n"))
    Path("s.mrspec").write_text("problem capacity\nparam peak = 1\n", encoding="utf-8")
    return [fault for file in ("d.json", "d.toml") for fault in faults(["check", "s.mrspec", "--data", file])]


def solver_files(draw: random.Random) -> bytes:
    """Mutants of the shipped solver files."""
    files = sorted(resource("solvers").glob("*.toml"))
    text = draw.choice(files).read_text(encoding="utf-8")
    return mutated(draw, text).encode() if draw.random() < 0.7 else mutated_bytes(draw, text.encode())


def declared(data: bytes, name: str) -> list[str]:
    """A solver of the user's own."""
    folder = Path("solvers")
    folder.mkdir(exist_ok=True)
    (folder / "own.toml").write_bytes(data)
    return faults(["solvers", "own", "--json"])


def solutions(draw: random.Random) -> bytes:
    """Mutants of a solution, as four solvers write it."""
    texts = (
        "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 12.5\n# Columns 2\nvms.m5 3\nx 1\n",
        "Optimal - objective value 12.50000000\n      0 vms.m5  3  0\n      1 x 1 0\n",
        "solution status: optimal solution found\nobjective value:  12.5\nvms.m5  3 \t(obj:1)\n",
        "c Status:     INTEGER OPTIMAL\ns mip 3 3 o 12.5\ni 1 0\nj 1 3\nj 2 1\ne o f\n",
    )
    text = draw.choice(texts)
    return mutated_bytes(draw, text.encode()) if draw.random() < 0.4 else mutated(draw, text, texts).encode()


def read_back(data: bytes, name: str) -> list[str]:
    """The solution of a spec that it does not fit."""
    Path("x.sol").write_bytes(data)
    Path("s.mrspec").write_text(QUICK, encoding="utf-8")
    return faults(["read", "s.mrspec", "--solution", "x.sol", "--json"])


def messages(draw: random.Random) -> bytes:
    """What a client says to the editor's server."""
    return session(draw, QUICK)


def served(data: bytes, name: str) -> list[str]:
    """A session from its beginning to its end."""
    pytest.importorskip("pygls", reason="the extra `lsp` is not installed")
    return answers_to(data)


def plans(draw: random.Random) -> bytes:
    """Saved plans, changed as JSON or as bytes."""
    data = plan(draw)
    return mutated_bytes(draw, data) if draw.random() < 0.1 else data


def taken_up(data: bytes, name: str) -> list[str]:
    """A plan that is read back: what it says of itself, why it is so, and what leads to it from another."""
    Path("p.json").write_bytes(data)
    Path("s.mrspec").write_text(QUICK, encoding="utf-8")
    commands = (["verify", "p.json", "--json"], ["why", "p.json", "--no-sensitivity"], ["compare", "p.json", "p.json"])
    return [fault for command in commands for fault in faults(command)]


PARTS: dict[str, tuple[Callable[[random.Random], bytes], Case, int]] = {
    "specs": (specs, checked, 150),
    "solves": (small_specs, solved, 12),
    "tables": (tables, tabled, 100),
    "data": (data_files, with_data, 60),
    "solvers": (solver_files, declared, 60),
    "solutions": (solutions, read_back, 50),
    "messages": (messages, served, 25),
    "plans": (plans, taken_up, 60),
}


@pytest.fixture(autouse=True)
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path / "solvers"))
    for path in MODELS.glob("*/*.csv"):
        if path.stat().st_size < 20_000:
            shutil.copy(path, tmp_path / path.name)


@pytest.mark.parametrize("part", PARTS)
def test_whatever_is_put_in(part: str) -> None:
    draw_case, case, count = PARTS[part]
    broken = {}
    for number in range(count * TIMES):
        data = draw_case(random.Random(f"{part} {number}"))
        found = case(data, f"{part} {number}")
        if found:
            broken[number] = (found, data)
            if folder := os.environ.get("MRDSL_FUZZ_FOUND"):
                Path(folder, f"{part}-{number}").write_bytes(data)
                Path(folder, f"{part}-{number}.txt").write_text("\n".join(found), encoding="utf-8")
    assert not broken, "\n\n".join(f"{number}: {found}\n{data!r}" for number, (found, data) in list(broken.items())[:5])


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*-*")), ids=lambda path: path.name)
def test_what_was_found_once(path: Path) -> None:
    _, case, _ = PARTS[path.name.partition("-")[0]]
    assert not case(path.read_bytes(), path.name)
