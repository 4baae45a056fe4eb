"""Everything that is left behind is written by one module; others write only scratch files of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Table
from mrdsl.core.writer import overwriting
from studies.study_files import written

ROOT = Path(__file__).resolve().parents[2]
WRITER = "core/writer.py"
SCRATCH = {
    "api/catalogues.py": "rows as a table in a temporary folder",
    "solving/backends/program.py": "a solver's files in a temporary folder",
    "solving/checked_answer.py": "a solver's files in a temporary folder",
    "solving/backends/scip.py": "a solver's file in the temporary folder",
    "core/guarded.py": "a folder for temporary files, and a pipe that leads nowhere",
    "core/guard.py": "the end of a killed command's temporary folder",
    "language/given_tables.py": "a table from Python in a temporary folder",
    "core/resources.py": "the data of a zipped package, in a temporary folder",
    "planning/saved_specs.py": "the data that a saved plan brings along, in a temporary folder",
    "planning/spec_again.py": "the data that a saved plan brings along, in a temporary folder",
    "cli/boundary.py": "the null device, where a standard stream is closed",
    "cli/outputs.py": "the null device, where a reader has left",
}
CALLS = {
    "write_text",
    "write_bytes",
    "mkdir",
    "makedirs",
    "rename",
    "replace",
    "mkstemp",
    "mkdtemp",
    "symlink_to",
    "touch",
    "to_csv",
    "savefig",
    "copyfile",
    "rmtree",
    "link",
    "hardlink_to",
    "truncate",
}
OF_MODULES = {"rename", "replace", "link", "truncate"}


def opens_to_write(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in CALLS:
        if name in OF_MODULES:
            return isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") in ("os", "shutil")
        return isinstance(call.func, ast.Attribute) or name not in {"write_text"}
    if name not in ("open", "fdopen"):
        return False
    literals = [
        value.value
        for value in (*call.args, *(k.value for k in call.keywords if k.arg == "mode"))
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]
    flags = ast.unparse(call)
    return (
        any(set(text) & set("wax+") and set(text) <= set("rwaxbt+") for text in literals)
        or "O_WRONLY" in flags
        or "O_RDWR" in flags
    )


def writers() -> Iterator[str]:
    called = re.compile(rf"\b({'|'.join(('open', 'fdopen', *sorted(CALLS)))})\(")
    for path in sorted((ROOT / "mrdsl").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not called.search(text):
            continue
        tree = ast.parse(text)
        if any(isinstance(node, ast.Call) and opens_to_write(node) for node in ast.walk(tree)):
            yield str(path.relative_to(ROOT / "mrdsl"))


def test_no_other_module_writes_files() -> None:
    journal = "sweeping/sweep.py"  # in place, through a descriptor that the writer has locked
    found = set(writers())
    assert WRITER in found
    assert found <= {WRITER, journal, *SCRATCH}


def test_studies_write_over_nothing_by_themselves(tmp_path: Path) -> None:
    """Called from Python they keep what is there, as the command does; ``--force`` reaches them from outside."""
    for path in (ROOT / "mrdsl" / "families").rglob("*.py"):
        assert "force=True" not in path.read_text(encoding="utf-8"), path
    table = Table("a", ("x",), [(1,)])
    written(tmp_path, "a", table)
    with pytest.raises(MrdslError, match="already exists"):
        written(tmp_path, "a", table)
    with overwriting(True):
        written(tmp_path, "a", Table("a", ("x",), [(2,)]))
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == "x\n2\n"
    with overwriting(False), pytest.raises(MrdslError, match="already exists"):
        written(tmp_path, "a", table)
