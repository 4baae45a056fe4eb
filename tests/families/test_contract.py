"""What every family promises the rest of mrdsl, of the shipped ones and of one from an entry point.

A new family is held by these tests as soon as it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import mrdsl
from mrdsl.contracts.family import Family, GoalKind, Promise, hooks_in
from mrdsl.core.result import Plan
from mrdsl.families import SHIPPED, family
from tests.families import contract
from tests.families.foreign.installing import SHOP, forget, install

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = (*SHIPPED, "shop")
SMALLER = {"schedule": "small.mrspec", "hybrid": "bursts.mrspec"}
ONCE = {"makespan", "deadline", "energy", "timetable"}
"""Families whose plans are run once in every run: they refuse `jobs`."""
SIMULATED = contract.check_saved_simulation


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install(tmp_path / "site", monkeypatch, SHOP)
    yield
    forget()


@cache
def reference_result(name: str) -> tuple[mrdsl.Spec, mrdsl.Result]:
    """A family's reference spec, and its result by the family's own choice."""
    return contract.reference_result(_family(name), ROOT / "models" / name)


def _words(promise: Callable[..., object]) -> str:
    return promise.__name__


@pytest.mark.parametrize("promise", contract.DECLARES, ids=_words)
@pytest.mark.parametrize("name", FAMILIES)
def test_it_declares_what_it_should(name: str, promise: contract.Declares) -> None:
    assert contract.held(_family(name), promise).complaints == ()


@pytest.mark.parametrize("promise", [each for each in contract.OF_ITS_REFERENCE if each is not SIMULATED], ids=_words)
@pytest.mark.parametrize("name", FAMILIES)
def test_its_reference_spec_does_what_it_should(name: str, promise: contract.OfReference) -> None:
    assert contract.held(_family(name), promise, *reference_result(name)).complaints == ()


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_simulation_saw_is_saved_and_read_back(name: str) -> None:
    """Of a smaller spec where the reference takes long."""
    if _family(name).simulate or _family(name).simulate_plan:
        spec = mrdsl.load(ROOT / "models" / name / SMALLER.get(name, "reference.mrspec"))
        assert list(contract.simulated_twice(spec, None if name in ONCE else 3)) == []


BROKEN: dict[str, tuple[contract.Declares, dict[str, Any], str]] = {
    "no summary": (contract.check_declaration, {"summary": ""}, "`summary` and `paper`"),
    "a unit that is none": (
        contract.its_goals_have_a_unit,
        {"goals": (GoalKind("minimize", "cost", "florins", "what it costs"),)},
        "the unknown unit 'florins'",
    ),
    "a quantity without a hook": (contract.it_lacks_nothing, {"quantity": None}, "names quantities, but has no"),
    "a hook without a quantity": (
        contract.its_quantities_have_a_kind_and_blocks,
        {"quantities": ()},
        "has the hook `quantity`",
    ),
    "no goal": (contract.it_lacks_nothing, {"goals": ()}, "it names no goal"),
    "no way to be solved": (contract.it_lacks_nothing, {"formulations": ()}, "neither a formulation nor a method"),
    "targets of no clusters": (contract.it_lacks_nothing, {"targets": lambda: ()}, "`targets`, but no `deployments`"),
    "a promise of nothing": (
        contract.check_promised_numbers,
        {"promises": (Promise("server.speed", 1),)},
        "server.speed is not a quantity of the facts",
    ),
    "a hook of another form": (
        contract.check_hook_signatures,
        {"measure": lambda spec: 0.0},
        "`measure` does not take 2 values",
    ),
    "a method that is not there": (contract.check_own_method, {"method": "greedy"}, "not a heuristic for"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_a_family_does_not_keep_is_found(fault: str) -> None:
    promise, changes, words = BROKEN[fault]
    (told,) = contract.held(replace(_family("shop"), **changes), promise).complaints
    assert words in told.message
    assert "the family `shop`" in told.message


def test_hooks_are_found_by_files_of_the_familys_own_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lanes"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "why.py").write_text("def why(spec, result):\n    return (spec,)\n", encoding="utf-8")
    (folder / "verify.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    (folder / "plan.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    hooks = hooks_in("lanes", quantity="why")
    assert set(hooks) == {"why", "verify", "measure", "plans", "quantity"}
    assert hooks["why"]("a spec", None) == ("a spec",)
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        hooks["verify"]()
    for name in ("plans", "quantity"):
        with pytest.raises(AttributeError, match=name):
            hooks[name]()


def test_exports_have_names_of_their_own() -> None:
    for name in FAMILIES:
        targets = _family(name).targets
        exports = [own.name for own in _family(name).exports]
        exports += [target.name for target in (targets() if targets is not None else ())]
        assert (_family(name).deployments is not None) == (targets is not None)
        assert len(exports) == len(set(exports))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_family_has_its_places(name: str) -> None:
    assert (ROOT / "models" / name / "reference.mrspec").is_file()
    page = ROOT / "docs" / "concepts" / "families" / f"{name}.md"
    assert page.is_file(), f"write {page.relative_to(ROOT)}"
    assert f"problem {name}" in page.read_text(encoding="utf-8")
    assert list((ROOT / "tests" / "families" / name).glob("test_*.py"))
    assert _family(name).reference is None, "a shipped family's reference spec lies in models/"


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


def _family(name: str) -> Family:
    found = family(name)
    assert found is not None
    return found
