"""A family in a package of its own, as an installer lays it on Python's path: mrdsl has it wherever it has families.

In a process of its own, which knows it by its entry point alone.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.command_lines import run_python
from tests.extending.plugins import kit, write

ASKED = """
import io, json, sys
from contextlib import redirect_stdout, redirect_stderr
from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from mrdsl.editor.assist import hover
from mrdsl.editor.completion import complete
from mrdsl.editor.assist import reference
from mrdsl.editor.written import Written

def told(*words):
    sys.argv = ["mrdsl", *words]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(cli)
    return [code, out.getvalue(), err.getvalue()]

inside = 'problem streams "a"\\ntopic clicks {  }\\n'
print(json.dumps({
    "listed": told("new"),
    "new": told("new", "streams", "-o", "first.mrspec"),
    "check": told("check", "first.mrspec"),
    "loaded": sorted({"numpy", "pyomo"} & set(sys.modules)),
    "solve": told("solve", "first.mrspec", "-o", "plan.json"),
    "verify": told("verify", "plan.json"),
    "simulate": told("simulate", "first.mrspec", "--runs", "2", "-o", "seen.json"),
    "seen again": told("verify", "seen.json"),
    "why": told("why", "first.mrspec", "--no-sensitivity"),
    "schema": told("schema", "streams"),
    "sweep": told("sweep", "first.mrspec", "--seeds", "1..2", "-j", "1", "-o", "rows.csv"),
    "kinds": [found.label for found in complete(Written("problem "), 1, 9)],
    "items": [found.label for found in complete(Written(inside), 2, 16)],
    "goals": [found.label for found in complete(Written(inside + "minimize "), 3, 10)],
    "hover": hover(Written("problem streams"), 1, 10),
    "reference": reference(),
}))
"""


def install(folder: Path, site: Path) -> None:
    """Lays a package's modules and what it declares where an installer would."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = site / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(head, encoding="utf-8")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / project["name"]).rename(site / project["name"])


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("installed")
    write(kit("family", "streams"), place / "streams")
    install(place / "streams", place / "site")
    found: dict[str, Any] = json.loads(run_python(ASKED, place, [place / "site"]).stdout)
    found["plan.json"] = json.loads((place / "plan.json").read_text(encoding="utf-8"))
    found["rows.csv"] = (place / "rows.csv").read_text(encoding="utf-8")
    return found


COMMANDS = ("listed", "new", "check", "solve", "verify", "simulate", "seen again", "why", "schema", "sweep")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_it(command: str, answers: dict[str, Any]) -> None:
    code, printed, told = answers[command]
    assert code == 0, printed + told
    assert "error[" not in printed + told


def test_to_check_a_spec_of_it_loads_neither_numpy_nor_pyomo(answers: dict[str, Any]) -> None:
    assert answers["loaded"] == []


def test_its_plan_is_the_one_that_one_computes_by_hand(answers: dict[str, Any]) -> None:
    """2100/s and 90/s by executors of 400/s: six and one, at 0.1 USD/h each."""
    document = answers["plan.json"]
    assert document["plan"]["executors"] == {"clicks": 6, "payments": 1}
    assert document["objective"]["value"] == pytest.approx(0.7)
    assert (document["termination"], document["objective"]["bound"]) == ("optimal", pytest.approx(0.7))
    assert answers["rows.csv"].count(",optimal,optimal,") == 2
    assert "kept up" in answers["simulate"][1]


def test_it_is_listed_completed_and_described(answers: dict[str, Any]) -> None:
    assert "streams: how many executors each topic of a stream gets" in answers["listed"][1].splitlines()
    assert "streams" in answers["kinds"]
    assert "rate" in answers["items"]
    assert any("cost" in label for label in answers["goals"])
    assert answers["hover"] == "problem `streams`: how many executors each topic of a stream gets"
    described = answers["reference"].partition("## `problem streams`")[2].partition("\n## ")[0]
    for word in ("topic", "executor", "throughput", "available", "executors"):
        assert f"`{word}" in described, word
    assert '"executors"' in answers["schema"][1]
