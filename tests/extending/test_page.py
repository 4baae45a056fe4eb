"""docs/reference/plugins.md names what the code has: placeholders, keys, fields, hooks. All pages run elsewhere."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from mrdsl.contracts import guarded_family
from mrdsl.contracts.family import Family, Formulation
from mrdsl.contracts.pipeline import Draft
from mrdsl.families import ENTRY_POINTS
from mrdsl.families.schedule.methods.policy import DECIDES
from mrdsl.solving import declaration, registry
from mrdsl.solving.backends import program
from tests.extending.plugins import NAMES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "plugins.md").read_text(encoding="utf-8")
DATA = {
    "name",
    "summary",
    "paper",
    "facts",
    "goals",
    "quantities",
    "formulations",
    "method",
    "promises",
    "doc",
    "other_goals",
}
"""What a family or a formulation says besides its hooks."""


def rows(head: str) -> list[list[str]]:
    """The cells of the table whose first line begins so."""
    lines = PAGE.partition(f"\n| {head} |")[2].splitlines()[2:]
    table = []
    for line in lines:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return table


def words(cells: list[list[str]], column: int = 0) -> set[str]:
    """All that stands in backticks in a column."""
    return {word for row in cells for word in re.findall(r"`([^`]+)`", row[column])}


def placeholders_in_code() -> set[str]:
    """Whatever stands in braces in the words that are replaced in a command."""
    tree = ast.parse(Path(str(program.__file__)).read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {text for text in texts if re.fullmatch(r"\{\w+\}", text)}


def test_every_placeholder_is_there_and_no_other() -> None:
    assert placeholders_in_code() >= {"{model}", "{solution}"}
    assert words(rows("placeholder")) == placeholders_in_code()


def test_no_shipped_command_has_another_placeholder() -> None:
    known = placeholders_in_code()
    for path in (ROOT / "solvers").glob("*.toml"):
        assert set(re.findall(r"\{\w+\}", path.read_text(encoding="utf-8"))) <= known, path


def test_every_key_of_a_command_is_there() -> None:
    assert words(rows("key")) >= {field.name for field in fields(declaration.Command)}
    assert {row[0].strip("`") for row in rows("key")} == {field.name for field in fields(declaration.Command)}


def test_every_format_of_a_model_is_there() -> None:
    (writes,) = (row[1] for row in rows("key") if row[0] == "`writes`")
    assert set(re.findall(r"`(\w+)`", writes)) == set(declaration.FORMATS)


def test_every_field_of_a_draft_is_there() -> None:
    assert words(rows("field")) == {field.name for field in fields(Draft)}


def test_every_key_of_a_solver_file_is_there() -> None:
    solver = PAGE.partition("\n## Solver files\n")[2].partition("\n## ")[0]
    own = {field.name for field in fields(declaration.SolverFile)} - {"kind", "source", "origin"}
    told = set(re.findall(r"`\[?(\w+)\]?`", solver))
    assert {name for name in own if name not in ("requires", "pipelines")} - told - {"pyomo"} == set()
    assert set(declaration.OFFERS) <= told
    assert "[pyomo]" in solver


def test_every_key_of_a_pipeline_is_there() -> None:
    pipeline = PAGE.partition("\n## Pipeline files\n")[2].partition("\n## ")[0]
    for field in fields(declaration.Pipeline):
        assert re.search(rf"^{field.name} = ", pipeline, re.MULTILINE), field.name


def test_every_decision_of_a_policy_is_there() -> None:
    assert {word.partition("(")[0] for word in words(rows("method"))} == set(DECIDES)


def test_every_hook_of_a_family_is_there() -> None:
    hooks = {field.name for kind in (Family, Formulation) for field in fields(kind)} - DATA
    named = words(rows("hook")) - DATA - {"subject to"}
    assert named == hooks
    guarded = guarded_family.RETURNS.keys() | guarded_family.OF_FORMULATIONS.keys()
    assert hooks - guarded == {"exports"}  # guarded one by one


def test_kinds_and_groups_are_there() -> None:
    assert words(rows("kind")) == set(NAMES)
    assert words(rows("group of entry points")) == {ENTRY_POINTS, registry.ENTRY_POINTS}


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)", PAGE))))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / "docs" / "reference" / link).exists()
