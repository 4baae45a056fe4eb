"""The schema that `mrdsl schema` prints: what is written follows it, what is changed does not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.families import SHIPPED
from mrdsl.planning.saved_plans import plan_schema
from mrdsl.reporting.document import failure_document, result_document, to_json
from tests.command_lines import run_here

MODELS = Path(str(resource("models")))
OTHERS = ("capacity/stages.mrspec", "capacity/table2_20.mrspec", "hybrid/recorded.mrspec", "joint/S1.mrspec")


@cache
def validator() -> Draft202012Validator:
    schema = plan_schema(SHIPPED)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@cache
def result(path: str) -> mrdsl.Result:
    return mrdsl.solve(mrdsl.load(MODELS / path))


@pytest.mark.parametrize("path", [*(f"{name}/reference.mrspec" for name in SHIPPED), *OTHERS])
def test_what_is_written_follows_the_schema(path: str) -> None:
    validator().validate(json.loads(result(path).to_json()))
    validator().validate(json.loads(to_json(result_document(result(path)))))


def test_what_failed_follows_the_schema() -> None:
    with pytest.raises(mrdsl.MrdslError) as failure:
        mrdsl.loads("problem capacity")
    validator().validate(failure_document(failure.value.diagnostics, {}))


def test_a_simulation_follows_the_schema() -> None:
    for path in ("capacity/reference.mrspec", "hybrid/bursts.mrspec"):
        seen = mrdsl.simulate(mrdsl.load(MODELS / path), runs=2, jobs=3)
        validator().validate(json.loads(seen.to_json()))
        assert mrdsl.Result.from_json(seen.to_json()) == seen


WRONG: dict[str, tuple[tuple[Any, ...], Any]] = {
    "another version": (("format",), 999),
    "another family": (("problem",), "joint"),
    "a text for a number": (("spec", "facts", "classes", 0, "deadline"), "soon"),
    "a number below its limit": (("spec", "facts", "classes", 0, "deadline"), -1.0),
    "an unknown item": (("spec", "facts", "classes", 0, "nonsense"), 1),
    "a word that is no choice": (("spec", "facts", "classes", 0, "guarantee"), "nonsense"),
    "an array of texts": (("state", "admitted"), ["a"]),
    "no plan of the family": (("state", "is"), "JointPlan"),
    "a bound of words": (("objective", "bound"), "low"),
    "an unknown key": (("nonsense",), 1),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_follow_it_is_found(case: str) -> None:
    path, value = WRONG[case]
    document = json.loads(result("capacity/reference.mrspec").to_json())
    inner: Any = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert not validator().is_valid(document)


def test_the_command_prints_it(tmp_path: Path) -> None:
    ran = run_here(("schema", "capacity"), tmp_path)
    assert json.loads(ran.output) == plan_schema(("capacity",))
    assert run_here(("schema", "-o", "plan.schema.json"), tmp_path).exit_code == 0
    assert json.loads((tmp_path / "plan.schema.json").read_text())["$defs"]
    assert run_here(("schema", "no-such"), tmp_path).exit_code == 2
