"""A family from an entry point is one like any other: check, solve, sweep, new, editor, reference, solvers, studies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import mrdsl
from mrdsl.cli import cli
from mrdsl.core.diagnostics import MrdslError
from mrdsl.editor.assist import hover, reference
from mrdsl.editor.completion import complete
from mrdsl.editor.written import Written
from mrdsl.families import SHIPPED, family, family_names
from tests.families.foreign.installing import SHOP, forget, install
from tests.families.foreign.shop import REFERENCE

Run = Callable[..., Result]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The shop's reference spec as a file, with its package installed."""
    install(tmp_path / "site", monkeypatch, SHOP)
    path = tmp_path / "shop.mrspec"
    path.write_text(REFERENCE, encoding="utf-8")
    yield str(path)
    forget()


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with families that are not there, or are none, beside one that takes a shipped name."""
    named = {
        "absent": "tests.families.foreign.no_such_module:FAMILY",
        "number": "math:pi",
        "other": "tests.families.foreign.shop:FAMILY",
        "capacity": "math:pi",
    }
    install(tmp_path / "site", monkeypatch, {"mrdsl.families": named})
    yield
    forget()


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), standalone_mode=False)


def test_it_is_checked_and_solved_by_its_method_and_by_a_solver(spec: str) -> None:
    assert mrdsl.check(spec) == ()
    for solver, formulation in (("auto", None), ("shop-division", None), ("highs", "count"), ("glpk", "count")):
        result = mrdsl.solve(mrdsl.load(spec), solver, formulation=formulation)
        assert result.objective.value == 160.0, (solver, result)  # four servers of 30/s for 100/s
        assert result.termination is mrdsl.Termination.OPTIMAL
    assert mrdsl.solve(mrdsl.load(spec), relax=True).objective.value == pytest.approx(400.0 / 3.0)


def test_subject_to_and_why_speak_of_it(spec: str) -> None:
    path = Path(spec)
    path.write_text(REFERENCE + "subject to { servers >= 5 }\n", encoding="utf-8")
    assert mrdsl.solve(mrdsl.load(spec), "highs", formulation="count").objective.value == 200.0
    path.write_text(REFERENCE + "subject to { servers <= 3 }\n", encoding="utf-8")
    assert mrdsl.solve(mrdsl.load(spec), "highs", formulation="count").termination is mrdsl.Termination.INFEASIBLE
    told = run("why", spec, "--solver", "highs", "--formulation", "count")
    assert told.exception is None
    assert "servers" in told.output


def test_commands_know_it(spec: str, tmp_path: Path) -> None:
    assert "shop: how many servers a shop buys" in run("new").output
    assert run("new", "shop").output == REFERENCE
    assert "160" in run("solve", spec).output
    assert json.loads(run("solve", spec, "--json").output)["plan"] == {"servers": 4}
    assert "serves shop" in run("solvers", "shop-division").output
    assert run("export", spec, "order", "-o", str(tmp_path)).exception is None
    assert (tmp_path / "order.txt").read_text(encoding="utf-8") == "4 servers for spring sale\n"
    assert "servers' worth" in run("why", spec).output


def test_the_editor_and_the_reference_know_it(spec: str) -> None:
    assert "shop" in [found.label for found in complete(Written("problem "), 1, 9)]
    assert hover(Written("problem shop"), 1, 10) == "problem `shop`: how many servers a shop buys"
    inside = 'problem shop "a"\nserver {  }\n'
    assert {"price", "capacity"} <= {found.label for found in complete(Written(inside), 2, 10)}
    assert "## `problem shop`" in reference()
    assert "## `problem shop`" not in reference(SHIPPED)


@pytest.mark.parametrize(
    ("name", "fault"),
    [("absent", "No module named"), ("number", "is no Family"), ("other", "calls itself `shop`")],
)
@pytest.mark.usefixtures("broken")
def test_a_broken_family_is_told_as_its_own_mistake(name: str, fault: str) -> None:
    text = f'problem {name} "a"\n'
    with pytest.raises(MrdslError) as told:
        mrdsl.loads(text)
    (diagnostic,) = told.value.diagnostics
    assert diagnostic.code == "broken-family"
    assert fault in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (1, 9)
    assert complete(Written(text + "\n"), 2, 1) is not None
    failed = run("new", name)
    assert isinstance(failed.exception, MrdslError)
    assert [d.code for d in failed.exception.diagnostics] == ["broken-family"]


@pytest.mark.usefixtures("broken")
def test_listings_go_on_beside_a_broken_family() -> None:
    assert family_names() == (*SHIPPED, "absent", "number", "other")
    assert family("capacity") is not None
    listed = run("new")
    assert listed.exception is None
    assert "the family `absent`" in listed.output
    assert [name for name in family_names() if f"{name}: " in listed.output] == list(family_names())
    assert "number" in [found.label for found in complete(Written("problem "), 1, 9)]
