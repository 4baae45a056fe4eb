"""No command changes anything besides the outputs that it names: names, bytes, modes, owners, links and times."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mrdsl
from mrdsl.cli import COMMANDS
from mrdsl.core.resources import resource
from mrdsl.planning.solve_spec import build_model
from mrdsl.planning.solver_files import write_model
from tests.solving.outside import run_outside

ROOT = Path(__file__).resolve().parents[2]
MODELS = resource("models")
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")

RUNS: list[tuple[str, int, list[str]]] = [
    ("check q.mrspec joint.mrspec .", 2, []),
    ("new capacity", 0, []),
    ("new capacity -o new.mrspec", 0, ["new.mrspec"]),
    ("check-plugin mine", 0, []),
    ("solve makespan.mrspec --solver by-work --solvers mine", 0, []),
    ("fmt --check q.mrspec", 0, []),
    ("fmt --diff untidy.mrspec", 1, []),
    ("fmt untidy.mrspec q.mrspec", 0, ["untidy.mrspec"]),
    ("explain file-exists", 0, []),
    ("show q.mrspec", 0, []),
    ("show q.mrspec --stage model", 0, []),
    ("solve q.mrspec", 0, []),
    ("solve q.mrspec --solver cbc --json", 0, []),
    ("solve q.mrspec --solver scip", 0, []),
    ("solve q.mrspec -o plan.json", 0, ["plan.json"]),
    ("solve q.mrspec -o link.json --force", 0, ["behind.json"]),
    ("solve q.mrspec -o /dev/null", 0, []),
    ("solve wrong.mrspec", 2, []),
    ("solve makespan.mrspec --gantt chart.svg", 0, ["chart.svg"]),
    ("simulate bounds.mrspec --runs 1 --jobs 2 --trace trace.csv", 0, ["trace.csv"]),
    ("report q.mrspec -o night.html --analysis-time 0", 0, ["night.html"]),
    ("why q.mrspec --no-sensitivity", 0, []),
    ("why saved.json --no-sensitivity", 0, []),
    ("solve saved.json", 0, []),
    ("verify saved.json", 0, []),
    ("schema energy -o schema.json", 0, ["schema.json"]),
    ("diff saved.json q.mrspec", 0, []),
    ("diff makespan.mrspec makespan.mrspec -o none.json", 0, ["none.json"]),
    ("compare q.mrspec q.mrspec -o both.json", 0, ["both.json"]),
    ("export joint.mrspec yarn -o queues", 0, ["queues", "queues/*"]),
    ("compile q.mrspec -o model.lp", 0, ["model.lp", "model.lp.names.json"]),
    ("read q.mrspec --solution none.sol", 2, []),
    ("read q.mrspec --solution solved.cbc.sol", 0, []),
    ("read q.mrspec --solution solved.cbc.sol -o read.json", 0, ["read.json"]),
    ("predict job.jhist", 0, []),
    ("profile job.jhist -o night.mrspec --jobs jobs.csv", 0, ["night.mrspec", "jobs.csv"]),
    ("solvers", 0, []),
    ("sweep q.mrspec --seeds 1..2 -j 1 -o table.csv", 0, ["table.csv"]),
    ("sweep q.mrspec --seeds 1..2 -j 2 -o table.jsonl --plot table.png", 0, ["table.jsonl", "table.png"]),
    ("completion bash", 0, []),
    ("experiment joint-instances -o instances", 2, []),
    ("study night.toml -o study", 2, []),
]
WITHOUT_A_RUN = {"lsp"}


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder to work in, and beside it a home and a temporary folder that belong to the tests."""
    for name in ("work", "home", "temporary"):
        (tmp_path / name).mkdir()
    work = tmp_path / "work"
    shutil.copy(MODELS / "capacity" / "quickstart.mrspec", work / "q.mrspec")
    shutil.copy(MODELS / "logs" / "job_1700000000000_0003.jhist", work / "job.jhist")
    for family in ("bounds", "joint", "makespan"):
        shutil.copy(MODELS / family / "reference.mrspec", work / f"{family}.mrspec")
    (work / "untidy.mrspec").write_text("problem   capacity\n", encoding="utf-8")
    (work / "untidy.mrspec").chmod(0o600)
    shutil.copytree(ROOT / "extensions" / "pipeline", work / "mine")
    (work / "wrong.mrspec").write_text("problem capacity\n}{", encoding="utf-8")
    (work / "saved.json").write_text(mrdsl.solve(mrdsl.load(work / "q.mrspec")).to_json(), encoding="utf-8")
    (work / "behind.json").write_text("{}", encoding="utf-8")
    (work / "link.json").symlink_to("behind.json")
    _, solution = run_outside("cbc", write_model(build_model(mrdsl.load(work / "q.mrspec")), work / "solved.mps")[0])
    assert solution == work / "solved.cbc.sol"
    os.link(work / "q.mrspec", work / "second-name")
    return tmp_path


def ordinary(world: Path) -> list[str]:
    """What makes a command an ordinary user's where the tests run as root: it may read all, and write its own only."""
    program = shutil.which("setpriv")
    if program is None:
        pytest.skip("root becomes an ordinary user by setpriv, which is not here")
    for path in (world, *world.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    return [
        program,
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        "--inh-caps=-all,+dac_read_search",
        "--ambient-caps=-all,+dac_read_search",
        "--bounding-set=-all,+dac_read_search",
    ]


def test_nothing_else_changes(world: Path) -> None:
    before = ordinary(world) if AS_ROOT else []
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(world / "home"),
        "LANG": "C.UTF-8",
        "TMPDIR": str(world / "temporary"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [*before, sys.executable, "-m", "tests.cli.tree_driver"],
        cwd=world / "work",
        text=True,
        input=json.dumps([command.split() for command, _, _ in RUNS]),
        env=environment,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for (command, code, changed), found in zip(RUNS, json.loads(done.stdout), strict=True):
        assert found["code"] == code, (command, found)
        names = [
            name
            for name in found["changed"]
            if not any(name == wanted or (wanted.endswith("/*") and name.startswith(wanted[:-1])) for wanted in changed)
        ]
        assert not names, (command, names)
        assert {wanted for wanted in changed if "*" not in wanted} <= set(found["changed"]), (command, found)
    mode = (world / "work" / "untidy.mrspec").stat().st_mode & 0o777
    assert mode == 0o600
    assert not list((world / "home").rglob("*"))
    assert not list((world / "temporary").rglob("*"))


def test_every_command_is_there() -> None:
    assert {command.split()[0] for command, _, _ in RUNS} | WITHOUT_A_RUN == set(COMMANDS)
