"""Every value that may be written or given is a number to plan with or a mistake with a place, in few words."""

from __future__ import annotations

from itertools import product
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.cli.options import parameters
from mrdsl.core import budgets
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import result_text
from mrdsl.language.evaluate import FUNCTIONS
from mrdsl.language.loading import load_text
from mrdsl.spec.declared import DISTRIBUTIONS

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
@pytest.mark.filterwarnings("error:overflow:RuntimeWarning")
def test_functions_at_the_edge(function: str) -> None:
    few = NUMBERS[:6] + NUMBERS[15:18]
    for count in range(4):
        for chosen in product(few if count < 3 else ("1", "1e308", "[1, 2]", "[1e308, 1e308]"), repeat=count):
            call = f"{function}({', '.join(chosen)})"
            told_well(HEAD + f"param q = {call}\nclass c[1..3] {{ deadline = {call} * 1 s }}")


WHOLE = ("9007199254740993", "9_007_199_254_740_993", "10000000000000000000000")
WRITTEN = {
    "an item": HEAD + CLASS.replace("20 USD", "NUMBER USD"),
    "cents": HEAD + CLASS.replace("20 USD", "NUMBER cent"),
    "a count": HEAD + CLASS.replace("4..6", "NUMBER..NUMBER"),
    "a param": HEAD.replace("n = 1", "n = NUMBER") + CLASS,
    "a sum": HEAD + CLASS.replace("20 USD", "(1 + NUMBER) * 1 USD"),
    "a constant": HEAD + CLASS + "subject to { vms <= NUMBER }",
}


def filled(place: str, number: str) -> str:
    return WRITTEN[place].replace("NUMBER", number)


@pytest.mark.parametrize("number", WHOLE)
@pytest.mark.parametrize("place", WRITTEN)
def test_whole_numbers_are_exact_or_refused(place: str, number: str) -> None:
    """What is written is what is calculated with: 2^53 + 1 would be 2^53."""
    found = load_text(filled(place, number)).diagnostics
    assert [d.code for d in found if d.severity == "error"] == ["number-too-large"]
    assert found[0].span is not None
    assert found[0].hint.startswith("write it as")


@pytest.mark.parametrize("place", WRITTEN)
def test_exact_whole_numbers_and_decimal_ones_pass(place: str) -> None:
    for number in ("9007199254740992", "9.1e15", "12345678901234567.5"):
        if place != "a count" or number == "9007199254740992":
            assert not [d for d in load_text(filled(place, number)).diagnostics if d.severity == "error"], number


@pytest.mark.parametrize("place", [place for place in WRITTEN if place != "a count"])
def test_numbers_go_up_to_1e100(place: str) -> None:
    for number, code in (("1e98", set()), ("1e103", {"number-too-large"})):
        assert {d.code for d in load_text(filled(place, number)).diagnostics if d.severity == "error"} == code


def test_products_are_within_the_same_size() -> None:
    for written, sound in (("1e60 * 1e39", True), ("1e60 * 1e60", False), ("1e60 * 1e60 / 1e100", False)):
        loaded = load_text(HEAD.replace("n = 1", f"n = {written}") + CLASS)
        assert (loaded.spec is not None) == sound


def test_tables_and_python_have_the_same_size(tmp_path: Path) -> None:
    text = HEAD + CLASS.replace("class a {", 'classes from "t.csv" {').replace("penalty = 20 USD", "")
    for cell, code in (("1e99", set()), ("1e101", {"number-too-large"}), ("-1e101", {"number-too-large"})):
        (tmp_path / "t.csv").write_text(f"name,penalty [USD]\nb,{cell}\n", encoding="utf-8")
        found = {d.code for d in load_text(text, folder=tmp_path).diagnostics if d.severity == "error"}
        assert found - {"out-of-range"} == code
    for value, code in ((1e99, set()), (1e101, {"number-too-large"}), (2**53 + 1, {"number-too-large"})):
        assert {d.code for d in load_text(HEAD + CLASS, {"n": value}).diagnostics if d.severity == "error"} == code


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
        given = parameters({"defines": (), "data": path, "scales": ()})
    except MrdslError as refused:
        told = refused.diagnostics
    else:
        told = load_text(HEAD + CLASS, given).diagnostics
    assert {d.code for d in told} & {"unreadable-file", "wrong-value", "not-a-number", "number-too-large"}
    assert all(len(d.message) <= 400 for d in told)


def extending(bases: dict[str, str]) -> str:
    blocks = "".join(f"class {name} extends {base} {{ }}\n" for name, base in bases.items())
    return f"problem capacity\nvm m5 {{ on_demand {{ price = 0.192 USD/h }} }}\n{blocks}minimize cost\n"


@pytest.mark.parametrize("blocks", [65, 66, 200, 3000])
def test_a_chain_of_blocks_that_is_too_deep_is_one_short_message(blocks: int) -> None:
    chain = {f"a{number}": f"a{number - 1}" for number in range(1, blocks)}
    base = "class a0 { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }\n"
    whole = extending(chain).replace("minimize", base + "jobs = 2..2, deadline = 10 min, penalty = 20 USD }\nminimize")
    found = [each for each in load_text(whole).diagnostics if each.severity == "error"]
    assert [each.code for each in found] == ([] if blocks <= budgets.EXTENDS_DEPTH + 1 else ["nested-too-deeply"])


@pytest.mark.parametrize(("blocks", "code"), [(1, "cycle"), (2, "cycle"), (9, "cycle"), (60, "cycle"), (3000, "deep")])
def test_a_cycle_of_blocks_is_one_short_message(blocks: int, code: str) -> None:
    """Of a cycle, of a block that leads into it, and of a second cycle: a message for each cycle."""
    names = [f"{'x' * 50}{number}" for number in range(blocks)]
    cycle = {name: names[(number + 1) % blocks] for number, name in enumerate(names)}
    found = load_text(extending({**cycle, "into": names[0]})).diagnostics
    assert [each.code for each in found] == ["extends-cycle" if code == "cycle" else "nested-too-deeply"]
    assert len(found[0].message) < 600
    found = load_text(extending({**cycle, "other": "other"})).diagnostics
    assert len(found) == 2


@pytest.mark.parametrize("length", [2, 12, 13, 3000])
def test_a_cycle_of_params_is_one_short_message(length: int) -> None:
    params = "".join(f"param p{n} = p{(n + 1) % length}\n" for n in range(length))
    (told,) = load_text(HEAD + params + CLASS).diagnostics
    assert told.code == "param-cycle"
    assert len(told.message) < 200
    assert "p0 -> p1" in told.message


def test_a_title_of_megabytes_is_shown_in_short() -> None:
    spec = mrdsl.loads(f'problem capacity "{"x" * 2_000_000}"\n{BODY}')
    result = mrdsl.solve(spec)
    assert result.title == "x" * 2_000_000
    assert len(result_text(result)) < 10_000


def test_a_name_of_many_characters_is_shown_in_short() -> None:
    result = mrdsl.solve(mrdsl.loads(HEAD + CLASS.replace("class a", f"class {'x' * 200_000}")))
    assert len(result_text(result)) < 10_000
    assert "x" * 200_000 in result.to_json()


BODY = """vm m5 { on_demand { price = 0.192 USD/h } }
class a { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 2..2, deadline = 10 min, penalty = 20 USD }
minimize cost
"""
