"""What every family promises the rest of mrdsl, of the shipped ones and of one from an entry point.

A new family is held by these tests as soon as it is named.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from textwrap import dedent
from typing import Any

import pytest

import mrdsl
from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import has_errors
from mrdsl.core.result import Plan, Table
from mrdsl.core.units import KINDS, UNITS
from mrdsl.families import SHIPPED, family, reference_text
from mrdsl.language.loading import load_text
from mrdsl.planning.saved_plans import read_saved
from mrdsl.planning.solve_spec import violations
from mrdsl.planning.verified_plans import verify
from mrdsl.reporting.document import result_document, to_json
from mrdsl.reporting.text import print_tables
from mrdsl.solving import registry
from mrdsl.spec.schema import Block, Item, Node, declarations
from tests.families.foreign.installing import SHOP, forget, install

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = (*SHIPPED, "shop")
NUMBERS = {
    "check": 1,
    "impossible": 1,
    "infeasible": 2,
    "choose": 3,
    "verify": 3,
    "measure": 2,
    "quantity": 4,
    "why": 2,
    "simulate": 4,
    "simulate_plan": 3,
    "reference": 0,
    "plans": 0,
    "operated": 2,
    "deployments": 2,
}
SMALLER = {"schedule": "small.mrspec", "hybrid": "bursts.mrspec"}
OF_FORMULATIONS = {"needs": 2, "build": 2, "decode": 3, "run": 4, "known": 2}


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install(tmp_path / "site", monkeypatch, SHOP)
    yield
    forget()


@pytest.fixture(params=FAMILIES)
def declared(request: pytest.FixtureRequest) -> Family:
    found = family(request.param)
    assert found is not None
    assert found.name == request.param
    return found


@cache
def reference_result(name: str) -> tuple[mrdsl.Spec, mrdsl.Result]:
    """A family's reference spec, and its result by the family's own choice."""
    text = reference_text(name)
    assert text is not None
    spec = mrdsl.loads(text, folder=ROOT / "models" / name)
    return spec, mrdsl.solve(spec)


def behind(hook: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a hook of ``hooks.py`` imports and calls; a hook that does its own work is itself."""
    function = ast.parse(dedent(inspect.getsource(hook))).body[0]
    last = function.body[-1] if isinstance(function, ast.FunctionDef) else None
    called = last.value.func if isinstance(last, ast.Return) and isinstance(last.value, ast.Call) else None
    for node in ast.walk(function) if isinstance(called, ast.Name) else ():
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if isinstance(called, ast.Name) and (alias.asname or alias.name) == called.id:
                found: Callable[..., Any] = getattr(import_module(str(node.module)), alias.name)
                return found
    return hook


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many values by position."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True


def test_it_says_what_it_is(declared: Family) -> None:
    assert declared.summary
    assert declared.paper
    assert issubclass(declared.facts, Node)
    assert declared.goals
    assert declared.formulations or declared.method


def test_goals_have_a_unit(declared: Family) -> None:
    assert len({(goal.sense, goal.quantity) for goal in declared.goals}) == len(declared.goals)
    for goal in declared.goals:
        assert goal.sense in ("minimize", "maximize", "estimate")
        assert goal.unit in ("", "currency") or goal.unit in UNITS
        assert goal.doc


def test_quantities_have_a_kind_and_blocks(declared: Family) -> None:
    assert (declared.quantity is None) == (not declared.quantities)
    assert len({quantity.name for quantity in declared.quantities}) == len(declared.quantities)
    fields = declarations(declared.facts)
    for quantity in declared.quantities:
        assert quantity.kind in KINDS
        assert quantity.doc
        block = fields.get(quantity.over)
        listed = isinstance(getattr(declared.facts, quantity.over or "name", None), property)
        assert not quantity.over or listed or (isinstance(block, Block) and block.repeated), quantity.over


def test_promises_are_numbers_of_the_facts(declared: Family) -> None:
    for promise in declared.promises:
        assert promise.direction in (1, -1)
        node, item = declared.facts, None
        *words, last = promise.path.split(".")
        if last in ("low", "high"):
            *words, last = words
        for word in words:
            block = declarations(node)[word]
            assert isinstance(block, Block), promise.path
            node = block.node
        item = declarations(node)[last]
        assert isinstance(item, Item), promise.path
        assert item.form == ("range" if promise.path.endswith((".low", ".high")) else "quantity"), promise.path


def test_formulations_are_a_model_or_a_run(declared: Family) -> None:
    assert len({formulation.name for formulation in declared.formulations}) == len(declared.formulations)
    for formulation in declared.formulations:
        assert formulation.doc
        assert formulation.run or (formulation.build and formulation.decode), formulation.name
        assert (formulation.build is None) == (formulation.decode is None), formulation.name


def test_hooks_take_what_they_are_called_with(declared: Family) -> None:
    hooks = {name: (getattr(declared, name), count) for name, count in NUMBERS.items()}
    for formulation in declared.formulations:
        for name, count in OF_FORMULATIONS.items():
            hooks[f"{formulation.name}.{name}"] = (getattr(formulation, name), count)
    for export in declared.exports:
        hooks[export.name] = (export.write, 2)
    for name, (hook, count) in hooks.items():
        if hook is None:
            continue
        assert inspect.isfunction(hook), f"{name} is no function"
        assert takes(hook, count), f"{name} does not take {count} values"
        assert takes(behind(hook), count), f"what {name} calls does not take {count} values"


def test_a_method_of_its_own_serves_the_family(declared: Family) -> None:
    assert not declared.method or declared.method in registry.methods_of(declared.name)


def test_studies_take_their_options(declared: Family) -> None:
    for experiment in declared.experiments:
        assert experiment.doc
        assert takes(experiment.run, 2)
        assert all(doc for _, doc in experiment.options.values())
        optional = {
            p.name for p in inspect.signature(behind(experiment.run)).parameters.values() if p.default != p.empty
        }
        assert optional == set(experiment.options), experiment.name


def test_studies_and_exports_have_names_of_their_own() -> None:
    studies = [experiment.name for name in FAMILIES for experiment in _family(name).experiments]
    assert len(studies) == len(set(studies))
    for name in FAMILIES:
        exports = [*(own.name for own in _family(name).exports), *(target.name for target in _family(name).targets)]
        assert (_family(name).deployments is not None) == bool(_family(name).targets)
        assert len(exports) == len(set(exports))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_family_has_its_places(name: str) -> None:
    assert (ROOT / "models" / name / "reference.mrspec").is_file()
    page = ROOT / "docs" / "families" / f"{name}.md"
    assert page.is_file(), f"write {page.relative_to(ROOT)}"
    assert f"problem {name}" in page.read_text(encoding="utf-8")
    assert list((ROOT / "tests" / "families" / name).glob("test_*.py"))
    assert _family(name).reference is None, "a shipped family's reference spec lies in models/"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_reference_spec_has_no_mistake(name: str) -> None:
    assert not has_errors(mrdsl.check(reference_result(name)[0]))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_reference_spec_runs_as_printed(name: str, tmp_path: Path) -> None:
    """What ``mrdsl new`` prints is saved anywhere, so it names no file that lies beside it here."""
    text = reference_text(name)
    assert text is not None
    loaded = load_text(text, folder=tmp_path)
    assert loaded.spec is not None, loaded.diagnostics
    assert loaded.files == ()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_plan_of_the_reference_keeps_its_promises(name: str) -> None:
    spec, result = reference_result(name)
    assert result.plan is not None, result.diagnostics
    assert not has_errors(violations(spec, _family(name), result.plan, relax=False))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_value_of_the_reference_is_the_measured_one(name: str) -> None:
    spec, result = reference_result(name)
    measure = _family(name).measure
    assert measure is not None
    measured = measure(spec, result.plan)
    assert (measured is None) == (result.objective.value is None)
    if measured is not None and result.objective.value is not None:
        assert math.isfinite(measured)
        assert result.objective.value == pytest.approx(measured, rel=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_why_speaks_of_the_reference(name: str) -> None:
    why = _family(name).why
    if why is None:
        return
    parts = tuple(why(*reference_result(name)))
    assert parts
    assert all(isinstance(part, Table | str) for part in parts)
    assert print_tables(parts).strip()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_document_of_the_reference_is_finite_json(name: str) -> None:
    _, result = reference_result(name)
    text = to_json(result_document(result))
    assert json.loads(text, parse_constant=pytest.fail)["plan"]
    assert result.plan is not None
    assert result.tables()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_plan_of_the_reference_is_saved_and_read_back(name: str) -> None:
    spec, result = reference_result(name)
    text = result.to_json()
    back = mrdsl.Result.from_json(text)
    assert back == result
    assert back.spec == spec
    assert back.to_json() == text
    assert verify(read_saved(text)).found == ()


ONCE = {"makespan", "deadline", "energy"}
"""Families whose plans are run once in every run: they refuse `jobs`."""


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_simulation_saw_is_saved_and_read_back(name: str) -> None:
    if not (_family(name).simulate or _family(name).simulate_plan):
        return
    path = ROOT / "models" / name / SMALLER.get(name, "reference.mrspec")
    seen = mrdsl.simulate(mrdsl.load(path), runs=2, jobs=None if name in ONCE else 3, seed=1)
    text = seen.to_json()
    assert mrdsl.Result.from_json(text) == seen
    assert verify(read_saved(text)).found == ()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_class_of_plans_can_be_read_back(name: str) -> None:
    package = import_module(f"mrdsl.families.{name}")
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    plans = _family(name).plans
    assert plans is not None
    assert {kind for kind in _below(Plan) if kind.__module__.startswith(f"{package.__name__}.")} == set(plans())


def _below(kind: type[Plan]) -> Iterator[type[Plan]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_operated_has_names_of_its_own(name: str) -> None:
    spec, result = reference_result(name)
    hook = _family(name).operated
    if hook is None:
        return
    found = hook(spec, result.plan)
    places = [(each.action, each.when, each.what, each.unit) for each in found.settings]
    assert len(set(places)) == len(places)
    assert found.settings or found.note


@pytest.mark.parametrize("name", FAMILIES)
def test_specs_and_results_cross_to_other_processes(name: str) -> None:
    spec, result = reference_result(name)
    assert mrdsl.Spec.from_json(spec.to_json()) == spec
    back = mrdsl.Result.from_json(result.to_json())
    assert pickle.loads(pickle.dumps(back)) == result
    assert pickle.loads(pickle.dumps(spec)) == spec


def _family(name: str) -> Family:
    found = family(name)
    assert found is not None
    return found
