"""Solver files: which one wins, what a mistake in one says, and what is refused before anything is built."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import pytest

import mrdsl
from mrdsl.cli.extending import entries
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.solving import registry
from mrdsl.solving.declaration import declare
from mrdsl.solving.registry import require, version, where
from tests.solving.toy import toy

REFERENCE = resource("models") / "capacity" / "reference.mrspec"
TOY = """kind = "solver"
name = "{name}"
summary = "{summary}"
solves = ["LP"]
install = "pip install toy"
[worker]
call = "no_such_module_at_all:solve"
"""


def write(folder: Path, name: str, summary: str = "a toy") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.toml").write_text(TOY.format(name=name, summary=summary), encoding="utf-8")


def test_the_first_folder_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MRDSL_SOLVERS", "")
    write(tmp_path / "config" / "mrdsl" / "solvers", "toy", "of the user")
    assert registry.find("toy").origin == "user"
    write(tmp_path / "asked", "toy", "asked for")
    monkeypatch.setenv("MRDSL_SOLVERS", f"{tmp_path / 'nowhere'}:{tmp_path / 'asked'}")
    found = registry.find("toy")
    assert (found.origin, found.summary) == ("MRDSL_SOLVERS", "asked for")
    assert found.source == found.foreign_file == str(tmp_path / "asked" / "toy.toml")
    write(tmp_path / "option", "toy", "by option")
    registry.look_in(tmp_path / "option")
    assert registry.find("toy").summary == "by option"
    assert registry.find("glpk").origin == "shipped"
    assert registry.find("glpk").foreign_file is None


@pytest.mark.parametrize("place", ["MRDSL_SOLVERS", "user", "entry point"])
def test_nobody_takes_the_name_of_a_shipped_solver(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path / "asked"))
    if place == "entry point":

        class Point:
            name, value = "highs", "evil:SOLVER"

        monkeypatch.setattr(registry, "_entry_points", lambda: (Point(),))
    else:
        write(tmp_path / "asked" if place == "MRDSL_SOLVERS" else tmp_path / "config" / "mrdsl" / "solvers", "highs")
    with pytest.raises(MrdslError, match="would take the name of the shipped highs"):
        registry.find("highs")
    assert registry.find("glpk").origin == "shipped"


@pytest.mark.parametrize(
    "name",
    [
        "elsewhere/evil",
        "/elsewhere/evil",
        "../evil",
        "..",
        "",
        "a b",
        "evil.toml",
        "\\\\host\\evil",
        "x" * 65,
        "evil\n",
        "-evil",
    ],
)
def test_a_name_is_no_path(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "elsewhere", "evil")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    for wanted in (name, str(tmp_path / "elsewhere" / "evil") if name.startswith("/") else name):
        with pytest.raises(MrdslError) as caught:
            registry.find(wanted)
        assert [d.code for d in caught.value.diagnostics] == ["unknown-solver"]


def test_a_folder_beside_or_above_the_spec_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tmp_path / "deep" / "a.mrspec"
    for folder in (tmp_path, spec.parent):
        write(folder / ".mrdsl" / "solvers", "planted")
        write(folder / ".mrdsl" / "solvers", "formulas")
    spec.write_text((resource("models") / "bounds" / "reference.mrspec").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(spec.parent)
    assert "planted" not in registry.names()
    assert mrdsl.solve(mrdsl.load(spec)).solver["file"] is None
    with pytest.raises(MrdslError, match="no solver `planted`"):
        mrdsl.solve(mrdsl.load(spec), "planted")


STRANGE = {
    "file for all": ({"file": 0o666}, "it can be written by others"),
    "folder for all": ({"folder": 0o777}, "its folder can be written by others"),
    "sticky folder": ({"folder": 0o1777}, None),
    "private": ({"file": 0o600, "folder": 0o700}, None),
}


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize("case", STRANGE)
def test_what_others_can_write_declares_no_solver(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes, words = STRANGE[case]
    write(tmp_path / "asked", "toy")
    (tmp_path / "asked" / "toy.toml").chmod(modes.get("file", 0o644))
    (tmp_path / "asked").chmod(modes.get("folder", 0o755))
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path / "asked"))
    if words is None:
        assert registry.find("toy").name == "toy"
    else:
        with pytest.raises(MrdslError, match=words):
            registry.find("toy")


@pytest.mark.skipif(os.name != "posix", reason="owners of files")
def test_a_strangers_file_declares_no_solver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "toy")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    if real == 0:
        os.chown(tmp_path / "toy.toml", 4711, 4711)
    with pytest.raises(MrdslError, match="belongs to another user"):
        registry.find("toy")


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_a_pipe_is_no_solver_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "toy.toml")
    with pytest.raises(MrdslError, match="not a regular file"):
        registry.read(tmp_path / "toy.toml", "user")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    with pytest.raises(MrdslError, match="no solver `toy`"):
        registry.find("toy")


def test_a_user_without_a_home_has_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert registry.find("highs").name == "highs"


def test_install_lines_name_what_the_project_declares() -> None:
    """Each line installs a package that the project itself requires, in the version that it requires; never mrdsl."""
    text = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    known = {*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)}
    lines = {s.name: s.install for s in registry.every() if s.install}
    assert {"highs", "glpk", "cbc", "scip"} <= set(lines)
    for name, line in lines.items():
        assert line.removeprefix("pip install ").strip('"') in known, name


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(MrdslError) as caught:
        registry.find("hihgs")
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == ("unknown-solver", "there is no solver `hihgs`")
    assert found.hint.startswith("did you mean `highs`?")


def test_a_missing_solver_says_the_line_that_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "toy")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    with pytest.raises(MrdslError) as caught:
        require(registry.find("toy"))
    assert caught.value.exit_code == 3
    assert caught.value.diagnostics[0].hint == "install it with: pip install toy"


@pytest.mark.parametrize("factory", ["couenne", "no_such_solver"])
def test_a_program_of_pyomos_that_is_missing_is_told(
    factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Pyomo gives an interface that raises RuntimeError for whatever it is asked, and tells of it by a traceback."""
    (tmp_path / "twolines.toml").write_text(f'[pyomo]\nfactory = "{factory}"\n', encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    listed = {each["name"]: each["installed"] for each in entries()[0]}
    assert (listed["twolines"], listed["highs"]) == (False, True)
    with pytest.raises(MrdslError, match="twolines is not installed") as caught:
        mrdsl.solve(mrdsl.load(REFERENCE), "twolines")
    assert [each.code for each in caught.value.diagnostics] == ["missing-solver"]
    assert caplog.text == ""


INSIDE = {"solving": True, "nested.deep": True, "nested.missing": False, "solving.deep": False, "": False}
"""Modules of a package whose own code has a mistake, by whether they are there."""


def test_whether_a_module_is_there_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "brokenpackage"
    (package / "nested").mkdir(parents=True)
    for file in ("__init__.py", "solving.py", "nested/__init__.py", "nested/deep.py"):
        (package / file).write_text("raise SystemExit(1) or\n", encoding="utf-8")
    for number, module in enumerate(INSIDE):
        toml = TOY.replace("no_such_module_at_all", f"brokenpackage.{module}").format(name=f"toy{number}", summary="x")
        (tmp_path / f"toy{number}.toml").write_text(toml, encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    monkeypatch.setattr("sys.path", list(sys.path))
    listed = {each["name"]: each["installed"] for each in entries()[0]}
    assert {module: listed[f"toy{number}"] for number, module in enumerate(INSIDE)} == INSIDE
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.parametrize("name", ["highs", "glpk", "cbc", "scip"])
def test_shipped_solvers_tell_place_and_version(name: str) -> None:
    solver = registry.find(name)
    assert where(solver)
    assert version(solver)
    assert solver.install


def test_programs_are_found_without_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert where(registry.find("glpk"))
    assert where(registry.find("cbc"))


def test_programs_are_found_among_packages_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a virtual environment that sees the system's packages."""
    program = tmp_path / "elsewhere" / "cmeel.prefix" / "bin" / "glpsol"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "nothing"))
    monkeypatch.setattr("sys.path", [str(tmp_path / "elsewhere")])
    assert where(registry.find("glpk")) == str(program)


def test_every_shipped_file_can_be_read() -> None:
    assert {"highs", "glpk", "cbc", "scip"} <= {found.name for found in registry.every()}


MISTAKES = {
    "kind": ({"kind": "sovler"}, "unknown kind `sovler`"),
    "unknown key": ({"colour": "red"}, "unknown key `colour`"),
    "unknown key inside": ({"worker": {"call": "a:b", "speed": 3}}, "unknown key `speed` in `worker`"),
    "missing inside": ({"worker": {}}, "missing key `call` in `worker`"),
    "a number for a text": ({"worker": {"call": 3}}, "`worker.call` must be text"),
    "no such kind of model": ({"solves": ["LP", "QP"]}, "unknown kind of model `QP`"),
    "no such gift": ({"offers": ["coffee"]}, "unknown offer `coffee`"),
    "no such limit": ({"limits": {"tmie": "x"}}, "unknown key `tmie` in `limits`"),
    "two ways": ({"pyomo": {"factory": "x"}}, "exactly one of"),
    "no install line": ({"install": ""}, "`install` must be text"),
    "steps of a solver": ({"pipelines": {}}, "unknown key `pipelines`"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_a_file_is_named(case: str) -> None:
    good = toy(worker={"call": "a:b"})
    changes, words = MISTAKES[case]
    assert declare(good, "toy.toml", "test").name == "toy"
    with pytest.raises(MrdslError, match=words):
        declare({**good, **changes}, "toy.toml", "test")


def test_all_mistakes_of_a_file_come_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(TOY.format(name="toy", summary="s").replace("call", "cal") + "speed = 1\n", encoding="utf-8")
    with pytest.raises(MrdslError) as caught:
        registry.read(path, "test")
    places = [(d.span.line, d.span.column) for d in caught.value.diagnostics if d.span]
    assert len(caught.value.diagnostics) == 3
    assert places == [(6, 2), (7, 1), (8, 1)]


@pytest.mark.parametrize("text", ["kind = ", "\x00", "kind = 3"])
def test_a_file_that_is_no_toml_is_one_message(text: str, tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MrdslError) as caught:
        registry.read(path, "test")
    assert [d.code for d in caught.value.diagnostics] == ["bad-solver-file"]


def test_a_wrong_file_name_is_told(tmp_path: Path) -> None:
    write(tmp_path, "toy")
    (tmp_path / "toy.toml").rename(tmp_path / "other.toml")
    with pytest.raises(MrdslError, match="declares the name `toy`"):
        registry.read(tmp_path / "other.toml", "test")


def test_an_entry_point_may_be_a_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name, value = "toy", "toypackage:SOLVER"

        def load(self) -> object:
            return toy(worker={"call": "a:b"})

    monkeypatch.setattr(registry, "_entry_points", lambda: (Point(),))
    assert registry.find("toy").origin == "entry point"
    assert "toy" in registry.names()
