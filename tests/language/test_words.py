"""Params that are words, semantics 9: a spec with them is the spec with the words themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.language.loading import load_text
from mrdsl.language.updating import Updater
from mrdsl.spec.spec import Spec

MODELS = Path(__file__).resolve().parents[2] / "models"
SCHEDULE = """problem schedule
horizon = 1 h
seed = 1
vm m { slots { map = 1, reduce = 1 }, on_demand { price = 0.07 USD/h }, spot { price = 0.02 USD/h }, billing = 1 h }
class query { rate = 10/h, map { tasks = 2, avg = 8 s, max = 12 s }, deadline = 60 s }
policy { algorithm = ALGORITHM, instances = INSTANCES }
minimize cost
"""
CAPACITY = """problem capacity
vm m5 { on_demand { price = 0.192 USD/h } }
class upper { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }, jobs = 4..6,
  deadline = 10 min, penalty = 20 USD }
minimize cost
subject to { admitted(WHICH) >= 5 }
solve with scip { formulation = FORM }
"""


def read(text: str, **given: object) -> Spec:
    loaded = load_text(text, given, name="words.mrspec")
    assert loaded.spec is not None, loaded.diagnostics
    return loaded.spec


def with_words(text: str, **words: str) -> str:
    for place, word in words.items():
        text = text.replace(place, word)
    return text


@pytest.mark.parametrize("algorithm", ["ndasa", "mdasa", "ep_edf", "ev_edf", "frugal"])
def test_a_word_that_is_given_is_the_word_that_is_written(algorithm: str) -> None:
    text = (
        with_words(SCHEDULE, ALGORITHM="policy", INSTANCES="market") + "param policy = mdasa\nparam market = hybrid\n"
    )
    written = read(with_words(SCHEDULE, ALGORITHM=algorithm, INSTANCES="hybrid"))
    for given in (algorithm, f'"{algorithm}"', f" {algorithm} "):
        found = read(text, policy=given)
        assert found.facts == written.facts
        assert found.parameters == {"policy": algorithm, "market": "hybrid"}


def test_words_stand_for_one_another_in_any_order() -> None:
    text = with_words(SCHEDULE, ALGORITHM="a", INSTANCES="spot") + 'param a = b\nparam b = c\nparam c = "ndasa"\n'
    assert read(text).facts.policy.algorithm == "ndasa"
    assert read(text, c="frugal").facts.policy.algorithm == "frugal"
    assert read(text + "param other = mdasa\n", a="other").facts.policy.algorithm == "mdasa"
    codes = [one.code for one in load_text(text.replace('"ndasa"', "a")).diagnostics]
    assert codes == ["param-cycle"]


def test_names_quantities_and_options_take_words() -> None:
    params = "param who = upper\nparam form = P1\n"
    text = with_words(CAPACITY, WHICH="who", FORM="form") + params
    written = read(with_words(CAPACITY, WHICH="upper", FORM="P1"))
    found = read(text)
    assert (found.constraints[0].left, found.method, found.facts) == (
        written.constraints[0].left,
        written.method,
        written.facts,
    )
    deadline = (MODELS / "deadline" / "reference.mrspec").read_text(encoding="utf-8")
    assert read(deadline.replace("[r1, r2]", "[last, r2]") + "param last = r1\n").facts == read(deadline).facts


def test_auto_is_a_word_and_changes_places_with_numbers() -> None:
    reference = (MODELS / "hybrid" / "reference.mrspec").read_text(encoding="utf-8")
    text = reference.replace("V                 = 2 ", "V = weight")
    assert text != reference
    for default, given, weight in (
        ("auto", {}, None),
        ("auto", {"weight": 12}, 12.0),
        ("auto", {"weight": "3 * 4"}, 12.0),
        ("2", {"weight": "auto"}, None),
        ("2", {}, 2.0),
    ):
        found = read(f"{text}param weight = {default}\n", **given).facts.control
        assert found is not None
        assert weight == found.V
    wrong = load_text(text.replace("acceptance        = 95%", "acceptance = weight") + "param weight = auto\n")
    assert [one.code for one in wrong.diagnostics] == ["wrong-value"]


def test_a_number_takes_no_word_its_place() -> None:
    """A param that is a number was no word before there were words, and a text in quotes never is a param."""
    number = with_words(SCHEDULE, ALGORITHM="mdasa", INSTANCES="spot") + "param mdasa = 3\n"
    assert read(number).facts.policy.algorithm == "mdasa"
    quoted = with_words(SCHEDULE, ALGORITHM='"mdasa"', INSTANCES="spot") + "param mdasa = ndasa\n"
    assert read(quoted).facts.policy.algorithm == "mdasa"
    assert read(quoted.replace('"mdasa"', "mdasa")).facts.policy.algorithm == "ndasa"


def test_updates_of_words_are_readings_of_the_text() -> None:
    text = with_words(SCHEDULE, ALGORITHM="policy", INSTANCES="spot") + "param policy = mdasa\n"
    updater = Updater(text, "words.mrspec", Path(), None, {})
    assert updater.local
    for word in ("ndasa", "frugal"):
        assert updater.update({"policy": word}).facts == read(text, policy=word).facts
    with pytest.raises(MrdslError, match="ndsa"):
        updater.update({"policy": "ndsa"})


def test_python_gives_words_as_texts_and_prints_what_they_stand_for() -> None:
    text = with_words(SCHEDULE, ALGORITHM="policy", INSTANCES="spot") + "param policy = mdasa\n"
    spec = mrdsl.loads(text, {"policy": "ev_edf"})
    assert "algorithm = ev_edf" in mrdsl.dumps(spec)
    assert mrdsl.loads(mrdsl.dumps(spec)).facts == spec.facts
    with pytest.raises(MrdslError) as caught:
        mrdsl.loads(text, {"policy": 3})
    assert [one.code for one in caught.value.diagnostics] == ["wrong-value"]
