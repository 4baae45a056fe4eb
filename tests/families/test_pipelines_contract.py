"""A heuristic is one function and one solver file: leaving either out fails here, and so does one that does not run."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

import mrdsl
from mrdsl import extending
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.lazy import function_named
from mrdsl.families import SHIPPED
from mrdsl.solving import registry
from mrdsl.solving.declaration import SHIPPED as COMES_WITH_MRDSL
from mrdsl.solving.declaration import Pipeline
from mrdsl.solving.pipelines import steps_of

ROOT = Path(__file__).resolve().parents[2]
FROM_A_FILE = (int, float, str, bool, type(None))


@cache
def pipelines() -> Mapping[tuple[str, str], Pipeline]:
    """Every pipeline that comes with mrdsl, by family and name."""
    return {
        (problem, file.name): pipeline
        for file in registry.every()
        if file.origin == COMES_WITH_MRDSL
        for problem, pipeline in file.pipelines.items()
    }


CASES = sorted(pipelines())
every_pipeline = pytest.mark.parametrize(("problem", "name"), CASES, ids=[" ".join(case) for case in CASES])


def is_step(function: Callable[..., Any]) -> bool:
    """Whether a function takes a draft and else what a solver file can give, and hands a draft on.

    One that takes a function or a family's own object beside the draft serves steps and is none.
    """
    parameters = list(inspect.signature(function).parameters)
    try:
        hints = get_type_hints(function)
    except NameError:
        return False
    if not parameters or hints.get(parameters[0]) is not Draft or hints.get("return") is not Draft:
        return False
    return all(part in FROM_A_FILE for one in parameters[1:] for part in get_args(hints[one]) or [hints[one]])


def modules_of_methods() -> Iterable[ModuleType]:
    for problem in SHIPPED:
        package = import_module(f"mrdsl.families.{problem}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield import_module(found.name)


def public_steps(modules: Iterable[ModuleType]) -> set[str]:
    """The public functions of modules that are steps, as solver files name them."""
    return {
        f"{module.__name__}:{name}"
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_") and is_step(function)
    }


def test_no_step_is_without_a_solver_file_and_no_solver_file_without_its_steps() -> None:
    steps = public_steps(modules_of_methods())
    called = {step["call"] for pipeline in pipelines().values() for step in pipeline.steps}
    assert len(steps) > 20
    assert steps - called == set(), "steps that no solver file names: name them in one, or begin them with _"
    assert called - steps == set(), "solver files name what is no public step of a family's methods"


def test_a_step_that_no_file_names_would_be_seen() -> None:
    module = ModuleType("mrdsl.families.invented.methods")

    def forgotten(draft: Draft, rounds: int = 1) -> Draft:
        return draft

    def no_step(value: int) -> int:
        return value

    def _helper(draft: Draft) -> Draft:
        return draft

    for function in (forgotten, no_step, _helper):
        function.__module__ = module.__name__
        setattr(module, function.__name__, function)
    assert public_steps([module]) == {"mrdsl.families.invented.methods:forgotten"}


@pytest.mark.parametrize("problem", SHIPPED)
def test_the_methods_of_a_family_are_the_pipelines_that_serve_it(problem: str) -> None:
    assert set(registry.methods_of(problem)) == {name for serves, name in pipelines() if serves == problem}


@every_pipeline
def test_every_step_is_the_familys_own_and_takes_its_parameters(problem: str, name: str) -> None:
    for step in pipelines()[problem, name].steps:
        assert function_named(step["call"]).__module__.startswith(f"mrdsl.families.{problem}.")
    assert steps_of(registry.find(name), problem, {})


@cache
def known(problem: str) -> mrdsl.Result:
    return extending.by_the_familys_choice(reference(problem))


def reference(problem: str) -> mrdsl.Spec:
    return mrdsl.load(ROOT / "models" / problem / "reference.mrspec")


@every_pipeline
def test_every_pipeline_gives_a_plan_or_says_why_not(problem: str, name: str) -> None:
    """What `mrdsl check-plugin` asks of a plug-in, on one model of each family."""
    spec = reference(problem)
    assert list(extending.of_run(registry.find(name), problem, spec, lambda _: known(problem))) == []
