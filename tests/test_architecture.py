"""The house as the code shows it: no circle of modules, lazy imports included, and no code behind a string."""

from __future__ import annotations

import ast
import re
import tomllib

import networkx as nx

from tests.sources import PACKAGE, ROOT, modules


def test_no_circle_of_modules() -> None:
    known = modules()
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, source in known.items():
        for wanted in source.wants(known):
            if wanted in known and wanted != name:
                graph.add_edge(name, wanted)
    knots = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert knots == []


def test_one_module_imports_others_by_name() -> None:
    dynamic = {"import_module", "__import__", "exec", "eval"}
    users = {name for name, source in modules().items() if any(each.name in dynamic for each in source.texts)}
    assert users == {"mrdsl.core.lazy"}


def test_a_solver_is_reached_through_its_backend_only() -> None:
    """So that no solver runs without limits, or takes this process with it when it crashes."""
    solvers = {"highspy", "pyscipopt", "ortools", "gurobipy", "cplex", "xpress", "copt", "mosek"}
    users = {
        name for name, source in modules().items() for wanted in source.wants({}) if wanted.split(".")[0] in solvers
    }
    home = "mrdsl.solving.backends."
    assert {name for name in users if not name.startswith(home)} == {
        "mrdsl.families.makespan.methods.constraint_programming"
    }


def test_every_folder_of_tests_mirrors_a_package() -> None:
    own = {"cross_check", "fuzz", "studies"}
    for folder in (ROOT / "tests").iterdir():
        if folder.is_dir() and (folder / "__init__.py").exists() and folder.name not in own:
            assert (PACKAGE / folder.name).is_dir() or (PACKAGE / f"{folder.name}.py").is_file(), folder


def test_the_page_shows_the_floors_that_the_linter_holds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    floor_of = {name: number for number, layer in enumerate(layers) for name in layer.split(" | ")}
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = re.findall(r"^  (\w+)(?:/X)?  +\S", page.partition("  ───")[2].partition("```")[0], re.MULTILINE)
    assert sorted(shown) == sorted(floor_of)
    assert [floor_of[name] for name in shown] == sorted(floor_of.values())
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= floor_of.keys()


def test_the_walk_names_functions_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\|[^|]+\| `([\w/]+\.py)` \| `(\w+)` \|$", page, re.MULTILINE)
    assert len(steps) > 10
    for path, function in steps:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in names, f"{path} has no function {function}"


def test_every_module_says_what_belongs_there() -> None:
    assert [name for name, source in modules().items() if not source.documented] == []
