"""A solver's faults are told as its own, with file and line; the kit's solver is broken in one place each time."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.extending import check_plugin, named
from tests.extending.plugins import kit, write

SPEC = Path(__file__).resolve().parents[2] / "models" / "capacity" / "quickstart.mrspec"
FAULTS: dict[str, tuple[str, str, str, str]] = {
    # what is wrong: the text, what stands there instead, the message, the text of the line told ("" for none)
    "it raises": ("    shape = (", "    shape = 1 / 0, (", "ZeroDivisionError: division by zero", "1 / 0"),
    "it gives no reply": ("    program = request.program", "    return 5", "it answered with garbage (int)", ""),
    "it ends Python": ("    program = request.program", "    raise SystemExit(0)", "SystemExit: 0", "raise SystemExit"),
    "it imports what is not there": (
        "from scipy.sparse import",
        "from scipy.sparsest import",
        "cannot be loaded: the solver `broken` failed with ModuleNotFoundError",
        "from scipy.sparsest",
    ),
    "it is no Python": ("ENDS = {", "ENDS = {{{", "SyntaxError", "ENDS = {{{"),
    "its optimum is none": ("np.asarray(found.x)", "np.asarray(found.x) * 0.5", "violates", ""),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_line(fault: str, tmp_path: Path) -> None:
    text, instead, message, line = FAULTS[fault]
    write(kit("solver", "broken"), tmp_path)
    path = tmp_path / "broken" / "solve.py"
    before = path.read_text(encoding="utf-8")
    assert text in before
    path.write_text(before.replace(text, instead, 1), encoding="utf-8")
    with named(tmp_path):
        result = mrdsl.solve(mrdsl.load(SPEC), "broken")
    assert result.plan is None
    told = " ".join(each.message for each in result.diagnostics)
    assert message in told
    assert "broken" in told
    if line:
        number = next(i for i, each in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if line in each)
        assert f"{path}:{number}" in told
    assert not check_plugin(tmp_path).passes


READER = """summary = "a reader that fails"
solves = ["LP", "MILP"]
install = "it is there"
[command]
program = "cp"
arguments = ["{model}", "{solution}"]
reads = "reader:read"
"""


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("return text.nothing", "AttributeError: 'str' object has no attribute 'nothing', in reader `reader:read`", 2),
        ("return None", "returned a NoneType instead of a Reply, in reader `reader:read`", 1),
        ("raise ValueError('no number')", "cp answered with garbage: no number", 0),
    ],
)
def test_a_reader_of_ones_own_is_told(body: str, message: str, line: int, tmp_path: Path) -> None:
    """What a reader raises of a broken text is the program's fault; all else is the reader's."""
    (tmp_path / "reader.py").write_text(f"def read(text, printed):\n    {body}\n", encoding="utf-8")
    (tmp_path / "copies.toml").write_text(READER, encoding="utf-8")
    with named(tmp_path):
        try:
            told = mrdsl.solve(mrdsl.load(SPEC), "copies").diagnostics
        except mrdsl.PluginError as fault:
            told = fault.diagnostics
    assert message in " ".join(each.message for each in told)
    if line:
        (found,) = told
        assert found.span is not None
        assert (Path(found.span.file).name, found.span.line) == ("reader.py", line)


def test_a_project_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    write(kit("solver", "open"), tmp_path)
    (tmp_path / "pyproject.toml").chmod(0o666)
    with pytest.raises(mrdsl.MrdslError, match="can be written by others"):
        check_plugin(tmp_path)
