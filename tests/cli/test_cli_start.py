"""What a command loads before it does anything: help, formatting and a spec to start from come at once."""

from __future__ import annotations

import pytest

from tests.command_lines import run_python

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
    loaded = set(run_python(LOADED, words=words).stderr.split())
    heavy = HEAVY if words[0] != "solve" else {"pyomo", "highspy", "rich"}
    assert not (heavy | unused) & loaded


DRAWN = {
    "mrdsl.core.charts",
    "mrdsl.exchange.result_files",
    "mrdsl.reporting.charts",
    "mrdsl.reporting.report_files",
    "altair",
}
OTHER_COMMANDS = {
    *("mrdsl.explaining", "mrdsl.profiling", "mrdsl.sweeping", "mrdsl.editor", "mrdsl.exchange.logs"),
    *(
        "mrdsl.simulation.engine",
        "mrdsl.simulation.settings",
        "mrdsl.simulation.verdicts",
    ),
    *("mrdsl.core.writer", "mrdsl.reporting.document", "rich", "jinja2"),
}
NEVER = DRAWN | OTHER_COMMANDS
SOLVING = {
    *("mrdsl.planning", "mrdsl.solving", "mrdsl.core.result", "tomllib"),
    "mrdsl.cli.progress",
}
FORMATS = {"mrdsl.exchange.registry"}
ARRAYS = {"numpy", "scipy", "networkx", "pyomo", "highspy"}
MODELS = {"scipy", "networkx", "pyomo", "highspy", "mrdsl.solving.worker"}
PYOMO = {"networkx", "pyomo"}
PACKAGES = {"importlib.metadata", "email"}

UNUSED = {
    "capacity/reference": (FORMATS | ARRAYS, PYOMO | {"scipy"}),
    "bounds/reference": (FORMATS | ARRAYS - {"numpy"}, MODELS | PACKAGES),
    "joint/reference": (FORMATS | ARRAYS - {"numpy"}, MODELS | PACKAGES),
    "energy/reference": (FORMATS | ARRAYS, {"networkx"}),
    "deadline/reference": (ARRAYS - {"numpy"}, MODELS - {"scipy"}),
    "makespan/two-jobs": (FORMATS | ARRAYS, {"networkx", "highspy"}),
    "schedule/small": (ARRAYS, MODELS | PACKAGES),
    "hybrid/reference": (FORMATS | ARRAYS, MODELS | PACKAGES),
}
"""What neither `check` nor `solve` of a small spec of each family loads beside NEVER; what a family uses it takes the
time to load, which numpy does in a fifth of the time of a whole `check`."""
BOTH = """
import sys
from mrdsl.cli import main

for command in ("check", "solve"):
    sys.argv = ["mrdsl", command, PATH]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    print("loaded by", command, *sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("spec", UNUSED)
def test_a_small_spec_loads_what_its_family_uses(spec: str) -> None:
    program = BOTH.replace("PATH", repr(f"models/{spec}.mrspec"))
    lines = [line.split() for line in run_python(program).stderr.splitlines() if line.startswith("loaded by ")]
    loaded = {command: set(modules) for _, _, command, *modules in lines}
    by_check, by_solve = UNUSED[spec]
    assert sorted(loaded["check"] & (NEVER | SOLVING | by_check)) == []
    assert sorted(loaded["solve"] & (NEVER | by_solve)) == []
    assert "mrdsl.planning" in loaded["solve"]
