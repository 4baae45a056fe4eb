"""What a command loads before it does anything: help, formatting and a spec to start from come at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADED = "import sys; from mrdsl.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
HEAVY = {"numpy", "scipy", "networkx", "pyomo", "highspy", "mrdsl.solving.registry", "rich"}
SPEC = "models/capacity/reference.mrspec"


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--help"], {"lark", "mrdsl.language", "mrdsl.core.writer"}),
        (["new", "capacity"], {"lark", "mrdsl.language", "mrdsl.core.writer", "mrdsl.families.capacity"}),
        (["fmt", "--check", SPEC], {"mrdsl.families", "mrdsl.language.resolving", "mrdsl.core.writer"}),
        (
            ["solve", "models/bounds/reference.mrspec"],
            {"mrdsl.simulation.engine", "mrdsl.profiling", "mrdsl.explaining"},
        ),
        (["check", SPEC], {"mrdsl.core.writer", "mrdsl.reporting.document", "mrdsl.cli.solve"}),
    ],
    ids=lambda part: part[0] if isinstance(part, list) else "",
)
def test_a_command_loads_what_it_needs(words: list[str], unused: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    heavy = HEAVY if words[0] != "solve" else {"pyomo", "highspy", "rich"}
    assert not (heavy | unused) & set(done.stderr.split())
