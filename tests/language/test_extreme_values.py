"""Every value that may be written or given is a number to plan with or a mistake with a place, in few words."""

from __future__ import annotations

from itertools import product
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from mrdsl.cli.inputs import parameters
from mrdsl.core.diagnostics import MrdslError
from mrdsl.language.evaluate import FUNCTIONS
from mrdsl.language.loading import load_text
from mrdsl.spec.distributions import DISTRIBUTIONS

HEAD = "problem capacity\nseed = 1\nparam n = 1\nvm m5 { on_demand { price = 0.192 USD/h } }\nminimize cost\n"
CLASS = """class a {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }, jobs = 4..6, deadline = 10 min, penalty = 20 USD
}
"""
NUMBERS = (
    "0",
    "1",
    "-1",
    "0.5",
    "1e308",
    "-1e308",
    "1e309",
    "1e-320",
    "1__0",
    "9" * 400,
    "9007199254740993",
    "10%",
    "1e308 min",
    "1e308 PB",
    "1e308 * 10",
    "[1, 2]",
    "[1e308, 1e308]",
    "[]",
    "(1)",
    "uniform(1, 2)",
    "1 h",
    "x",
)
PLACES = (
    "param q = {}",
    "require {{ {} <= 1 }}",
    "seed = {}",
    "solve with highs {{ threads = {} }}",
    "subject to {{ cost <= {} }}",
    "class c[1..{}] {{ deadline = 1 s }}",
    "class c[1..3] {{ deadline = {}, jobs = {} .. {} }}",
    "class c {{ slots {{ map = {}, reduce = 1 }} }}",
)


def told_well(text: str, **given: Any) -> None:
    for found in load_text(text, **given).diagnostics:
        assert found.span is not None or found.path, found
        assert len(found.message) <= 400
        assert len(found.hint) <= 400


@pytest.mark.parametrize("place", PLACES)
def test_numbers_at_the_edge(place: str) -> None:
    for number in NUMBERS:
        told_well(HEAD + place.format(*[number] * 3))


@pytest.mark.parametrize("function", [*FUNCTIONS, *DISTRIBUTIONS, "nosuch"])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_functions_at_the_edge(function: str) -> None:
    few = NUMBERS[:6] + NUMBERS[15:18]
    for count in range(4):
        for chosen in product(few if count < 3 else ("1", "1e308", "[1, 2]", "[1e308, 1e308]"), repeat=count):
            call = f"{function}({', '.join(chosen)})"
            told_well(HEAD + f"param q = {call}\nclass c[1..3] {{ deadline = {call} * 1 s }}")


def test_a_number_of_digits_is_quoted_in_short() -> None:
    found = load_text(HEAD + "class a { deadline = " + "9" * 100_000 + " }\n").diagnostics
    assert "number-too-large" in {d.code for d in found}
    told_well(HEAD + "class a { deadline = " + "9" * 100_000 + " }\n")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (nan, "not-a-number"),
        (inf, "number-too-large"),
        (10**400, "number-too-large"),
        (None, "wrong-value"),
        (True, "wrong-value"),
        ([1], "wrong-value"),
        ("uniform(1, 3)", "random-value"),
        ("x" * 1000, "wrong-value"),
        ("1__0", "wrong-value"),
        ("", "wrong-value"),
        ("1e309", "wrong-value"),
        ("- " * 1000 + "1", "wrong-value"),
        ("n", "param-cycle"),
    ],
)
def test_a_param_is_given_a_number_or_refused(given: Any, code: str) -> None:
    told_well(HEAD + CLASS, parameters={"n": given})
    loaded = load_text(HEAD + CLASS, {"n": given})
    assert code in {d.code for d in loaded.diagnostics}
    assert loaded.spec is None


@pytest.mark.parametrize(
    "content",
    [
        '{"n": NaN}',
        '{"n": Infinity}',
        '{"n": 1' + "0" * 400 + "}",
        '{"n": null}',
        '{"n": 1' + "0" * 5000 + "}",
        '{"n": ' + "[" * 100_000,
        "[1]",
        "\x00",
        "",
    ],
)
def test_a_data_file_holds_numbers_or_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(content)
    try:
        given = parameters((), path)
    except MrdslError as refused:
        told = refused.diagnostics
    else:
        told = load_text(HEAD + CLASS, given).diagnostics
    assert {d.code for d in told} & {"unreadable-file", "wrong-value", "not-a-number", "number-too-large"}
    assert all(len(d.message) <= 400 for d in told)
