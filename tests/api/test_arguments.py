"""Arguments of wrong types: each function of the API names the argument, what it may be and what it is."""

from __future__ import annotations

import asyncio
import inspect
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.planning.solver_files import CompiledModel
from mrdsl.profiling.profiles import Profiles

SPEC = mrdsl.load("models/capacity/quickstart.mrspec")
GOOD: dict[str, Any] = {
    "spec": SPEC,
    "path": "models/capacity/quickstart.mrspec",
    "text": "1 h",
    "plan": SPEC,
    "last": SPEC,
    "now": SPEC,
    "paths": ["models/logs"],
    "solution": "missing.sol",
    "file": "missing.toml",
    "share": 0.5,
}
FUNCTIONS = [name for name in mrdsl.__all__ if inspect.isfunction(getattr(mrdsl, name)) and name != "experiments"]
WRONG = {"str": 3, "bool": "yes", "int": "x", "float": "x", "Path": 3, "Limits": 5, "Result": 5, "Event": 5}
WRONG |= {"type": 3, "dict": 5}
WRONG |= {"Callable": 5, "Mapping": 5, "Parameters": {1: 2}, "Sequence": 5, "tuple": 5, "WhatIf": 5, "Watch": 5}
HUGE = 10**400


def arguments() -> list[tuple[str, str, Any]]:
    """Every argument whose annotation says its type, with a value of none of the types in it."""
    found = []
    for name in FUNCTIONS:
        for argument in inspect.signature(getattr(mrdsl, name)).parameters.values():
            heads = [part.strip().partition("[")[0] for part in str(argument.annotation).split("|")]
            if argument.kind is inspect.Parameter.VAR_KEYWORD or heads[0] not in (*WRONG, "Spec"):
                continue
            wrong = WRONG.get(heads[0], 3)
            found.append((name, argument.name, 3 if "Path" in heads else wrong))
            if heads[0] in ("int", "float"):
                found.append((name, argument.name, HUGE))
    return found


def called(name: str, given_arguments: dict[str, Any]) -> Any:
    function = getattr(mrdsl, name)
    parameters = inspect.signature(function).parameters
    values = {each: GOOD.get(each, "x") for each, one in parameters.items() if one.default is inspect.Parameter.empty}
    if name == "sweep":
        values["spec"] = GOOD["path"]
    values.update(given_arguments)
    several = [each for each, one in parameters.items() if one.kind is inspect.Parameter.VAR_POSITIONAL]
    several += [each for each, one in parameters.items() if one.kind is inspect.Parameter.VAR_KEYWORD]
    positional = [given_arguments[each] for each in several if each in given_arguments]
    done = function(*positional, **{each: value for each, value in values.items() if each not in several})
    return asyncio.run(done) if inspect.iscoroutine(done) else done


@pytest.mark.parametrize(("name", "argument", "wrong"), arguments(), ids=lambda value: str(value)[:9])
def test_a_wrong_type_is_an_error_that_names_the_argument(name: str, argument: str, wrong: Any) -> None:
    with pytest.raises(MrdslError) as caught:
        called(name, {argument: wrong})
    told = caught.value.diagnostics[0]
    assert told.code in ("wrong-value", "number-too-large")
    annotation = str(inspect.signature(getattr(mrdsl, name)).parameters[argument].annotation)
    if not annotation.startswith("Spec"):
        messages = " ".join(each.message for each in caught.value.diagnostics)
        assert f"`{name}`: `{argument}` must be " in messages
        assert ", got " in messages


def methods() -> list[tuple[str, str, Any]]:
    """Every argument of a method of an object that the API gives, with a value of none of its types."""
    found = []
    for name, (owner, names) in METHODS.items():
        for method in names:
            for argument in list(inspect.signature(getattr(owner, method)).parameters.values()):
                head = str(argument.annotation).partition("|")[0].partition("[")[0].strip()
                if argument.name != "self" and argument.kind is not inspect.Parameter.VAR_KEYWORD:
                    found.append((name, f"{method}.{argument.name}", WRONG.get(head, 3)))
    return found


RESULT = mrdsl.solve(SPEC, "direct")
METHODS: dict[str, tuple[Any, list[str]]] = {
    "Result": (mrdsl.Result, ["from_json", "to_json", "of", "to_dataframe"]),
    "Spec": (mrdsl.Spec, ["from_json"]),
    "CompiledModel": (CompiledModel, ["__init__", "revise", "solve", "result"]),
    "Profiles": (Profiles, ["split", "to_spec", "to_mrspec", "to_schedule"]),
}
OWNERS = {
    "Result": lambda: RESULT,
    "Spec": lambda: SPEC,
    "CompiledModel": lambda: mrdsl.compile(SPEC),
    "Profiles": lambda: mrdsl.profile(["models/logs/job_1700000000000_0001.jhist"]),
}


@pytest.mark.parametrize(("owner", "place", "wrong"), methods(), ids=lambda value: str(value)[:20])
def test_a_method_names_its_argument_too(owner: str, place: str, wrong: Any) -> None:
    name, argument = place.split(".")
    method = getattr(OWNERS[owner](), name)
    needed = {
        each: GOOD.get(each, "x")
        for each, one in inspect.signature(method).parameters.items()
        if one.default is inspect.Parameter.empty and one.kind is not inspect.Parameter.VAR_KEYWORD
    }
    with pytest.raises(MrdslError) as caught:
        method(**{**needed, argument: wrong})
    (told,) = caught.value.diagnostics
    assert (told.code, told.path) == ("wrong-value", argument)
    assert f"{owner}.{name}`: `{argument}` must be " in told.message


def test_a_spec_where_its_file_is_needed_is_saved_first() -> None:
    spec = mrdsl.load("models/capacity/quickstart.mrspec")
    with pytest.raises(MrdslError) as caught:
        called("sweep", {"spec": spec})
    assert "mrdsl.dumps" in caught.value.diagnostics[0].hint


@pytest.mark.parametrize("name", ["load", "load_plan", "verify", "check", "sweep", "check_plugin"])
def test_a_descriptor_is_never_closed(name: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.mrspec"
    file.write_bytes(Path("models/capacity/quickstart.mrspec").read_bytes())
    descriptor = os.open(file, os.O_RDONLY)
    argument = next(iter(inspect.signature(getattr(mrdsl, name)).parameters))
    with pytest.raises(MrdslError, match=f"`{name}`: `{argument}` must be text or a path"):
        called(name, {argument: descriptor})
    assert os.read(descriptor, 1), "it is open, and at its beginning"
    os.close(descriptor)


@pytest.mark.parametrize("limit", ["time", "gap", "nodes", "threads", "seed"])
@pytest.mark.parametrize("value", [HUGE, -HUGE, 10**5000], ids=["huge", "negative", "unprintable"])
@pytest.mark.parametrize("solver", ["auto", "highs", "direct"])
def test_a_limit_beyond_all_numbers_is_an_error(limit: str, value: int, solver: str) -> None:
    with pytest.raises(MrdslError) as caught:
        mrdsl.solve(SPEC, solver, limits=mrdsl.Limits(**{limit: value}))
    (told,) = caught.value.diagnostics
    assert (told.code, told.path) == ("number-too-large", f"limits.{limit}")


@settings(deadline=None)
@given(
    value=st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(10**308, 10**320),
        st.floats(),
        st.text(max_size=5),
        st.binary(max_size=5),
        st.lists(st.integers(), max_size=2),
        st.dictionaries(st.integers(), st.integers(), max_size=2),
    ),
    limit=st.sampled_from(["time", "gap", "nodes", "threads", "seed"]),
)
def test_any_limit_is_used_or_refused(value: Any, limit: str) -> None:
    paths: list[str] = []
    try:
        mrdsl.solve(SPEC, "direct", limits=mrdsl.Limits(**{limit: value}))
    except MrdslError as refused:
        paths = [each.path for each in refused.diagnostics]
    assert paths in ([], [f"limits.{limit}"])
