"""``solve with METHOD { options }``: what ``check`` passes ``solve`` takes, and what it takes has its effect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.families import family as find_family
from mrdsl.language.loading import load_text
from mrdsl.language.parameters import OPTIONS, options_of
from mrdsl.language.printing import print_spec
from mrdsl.planning.choice import choose
from mrdsl.solving import registry
from mrdsl.spec.declared import LIMIT_OF_OPTION, LIMITS, METHOD_OPTIONS
from mrdsl.spec.schema import Item

QUICKSTART = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
SPECS = {
    name: (resource("models") / name / "reference.mrspec").read_text(encoding="utf-8")
    for name in ("capacity", "energy", "deadline", "makespan", "hybrid", "schedule", "bounds", "joint", "timetable")
}


def written(item: Item) -> str:
    """A value that the option takes."""
    if item.form == "choice":
        return item.choices[-1]
    if item.form == "name":
        return "energy"
    return {"time": "7 s", "share": "1%"}.get(item.kind, "7")


@pytest.mark.parametrize("method", sorted(registry.names()))
def test_check_and_solve_take_the_same_options(method: str) -> None:
    """Every option of every method that is shipped, one by one, for a family that it serves."""
    declared = registry.find(method)
    kind = next((name for name in declared.pipelines if name in SPECS), "capacity")
    family = find_family(kind)
    assert family is not None
    own: Mapping[str, object] = declared.parameters(kind)
    for option, item in options_of(method, kind).items():
        value = family.formulations[0].name if option == "formulation" else written(item)
        if option == "relax":
            value = "no"
        text = f'{SPECS[kind]}\nsolve with "{method}" {{ {option} = "{value}" }}\n'
        if item.form == "quantity":
            text = text.replace(f'"{value}"', value)
        loaded = load_text(text, folder=resource("models") / kind)
        assert loaded.spec is not None, loaded.diagnostics
        choice = choose(loaded.spec, family, "auto", None, False, mrdsl.Limits())
        if option in own:
            default = own[option]
            assert type(choice.parameters[option]) is type(default)


def test_check_refuses_what_solve_would() -> None:
    for method, option in (("direct", "formulation = P0"), ("highs", "states = 100"), ("direct", "sates = 100")):
        found = load_text(f"{QUICKSTART}\nsolve with {method} {{ {option} }}\n").diagnostics
        assert [d.code for d in found if d.severity == "error"] == ["unknown-option"]
    found = load_text(f"{QUICKSTART}\nsolve with scip {{ formulation = P7 }}\n").diagnostics
    assert [d.code for d in found if d.severity == "error"] == ["unknown-formulation"]


@pytest.mark.parametrize("formulation", ["P0", "P0-cone", "P1"])
def test_a_formulation_in_the_spec_is_solved(formulation: str) -> None:
    """Theorems 4.1 and 4.2 of paper 000: P0 and P1 have the value of P2, also for classes without a reduce phase."""
    text = re.sub(r"jobs\s*=\s*\d+\.\.(\d+)", r"jobs = 1..\1", QUICKSTART)
    spec = mrdsl.loads(f'{text}\nwhole = no\nsolve with scip {{ formulation = "{formulation}" }}\n')
    result = mrdsl.solve(spec)
    assert result.formulation == formulation
    other = mrdsl.solve(spec, "highs")
    assert other.formulation == "P2", "the spec speaks of its own method only"
    assert result.objective.value == pytest.approx(other.objective.value, rel=1e-6)


def test_relax_and_limits_in_the_spec_have_their_effect() -> None:
    text = SPECS["capacity"]
    whole, relaxed = mrdsl.loads(text), mrdsl.loads(text + "\nsolve with highs { relax = yes, gap = 0 }\n")
    assert mrdsl.solve(relaxed).objective.value == pytest.approx(
        mrdsl.solve(whole, "highs", relax=True).objective.value
    )
    assert (mrdsl.solve(relaxed).objective.value or 0) < (mrdsl.solve(whole, "highs").objective.value or 0)
    assert mrdsl.compile(relaxed).model.admitted[next(iter(relaxed.facts.classes)).name].is_continuous()


def test_options_of_a_pipeline_are_printed_and_read_again() -> None:
    spec = mrdsl.loads(f"{QUICKSTART}\nsolve with direct {{ states = 100, time_limit = 2 min }}\n")
    assert spec.method is not None
    assert dict(spec.method.options) == {"states": 100, "time_limit": 120.0}
    assert mrdsl.loads(print_spec(spec)).method == spec.method
    assert mrdsl.solve(spec).plan is not None


def test_an_option_of_python_that_is_none() -> None:
    from dataclasses import replace

    spec = replace(mrdsl.loads(QUICKSTART), method=mrdsl.Method("direct", {"sates": 100}))
    with pytest.raises(MrdslError, match="no option `sates`"):
        mrdsl.solve(spec)


def test_every_method_takes_the_common_options() -> None:
    for method in registry.names():
        missing = set(OPTIONS) - set(options_of(method, "capacity"))
        assert missing == ({"formulation"} if registry.find(method).is_pipeline else set())


def test_limits_are_options_and_none_is_required() -> None:
    assert set(LIMITS) == {field.name for field in fields(mrdsl.Limits)} == set(LIMIT_OF_OPTION.values())
    assert set(LIMIT_OF_OPTION) == set(METHOD_OPTIONS) - {"formulation", "relax"}
    assert not any(item.required for item in METHOD_OPTIONS.values())
