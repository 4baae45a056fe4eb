"""What is offered at each place: ``|`` in a text is the cursor."""

from __future__ import annotations

import pytest

from mrdsl.editor.assist import hover, rename
from mrdsl.editor.completion import complete
from mrdsl.editor.written import Written
from mrdsl.families import family
from mrdsl.language.block_context import TOP_LEVEL_WORDS
from mrdsl.solving import registry

HEAD = """problem joint "two classes"
param load = 1
service web { }
class sort { map { tasks = 3, avg = 2 s } }
class "word count" { map { tasks = 3, avg = 2 s } }
"""


def at_cursor(text: str) -> tuple[Written, int, int]:
    before, _, after = text.partition("|")
    return Written(before + after), before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def offered(text: str) -> list[str]:
    return [one.label for one in complete(*at_cursor(text))]


GOALS = {
    ("bounds", "minimize"): {"slots"},
    ("bounds", "estimate"): {"completion"},
    ("energy", "minimize"): {"energy", "cost", "uptime", "machines"},
    ("deadline", "maximize"): {"slack", "slack_ratio", "min_slack", "delay"},
    ("deadline", "minimize"): {"delay"},
}


@pytest.mark.parametrize(("problem", "sense"), GOALS)
def test_behind_the_sense_stand_the_goals(problem: str, sense: str) -> None:
    assert set(offered(f"problem {problem}\n{sense} |")) == GOALS[problem, sense]


@pytest.mark.parametrize("asked", ["let green = |", "minimize cost + |", "minimize 2 * |", "subject to { |"])
def test_what_is_asked_of_a_plan_holds_quantities_of_ones_own(asked: str) -> None:
    found = offered("problem energy\nparam fee = 3 USD\nlet carbon = 0.4 kg/kWh * energy\n" + asked)
    assert {"carbon", "energy", "machines", "fee", "max"} <= set(found)
    assert "carbon" in offered("problem energy\nlet carbon = 0.4 kg/kWh * energy\nminimize |")
    assert "carbon" not in offered("problem bounds\nlet carbon = 2 * slots\nminimize |")


def test_a_quantity_of_ones_own_is_told_and_renamed() -> None:
    text = "problem energy\nlet carbon = 0.4 kg/kWh * energy\nminimize cost + 80 USD/t * carb|on\n"
    assert hover(*at_cursor(text)) == "quantity of the plan `carbon = 0.4 kg/kWh * energy`"
    assert [span.line for span in rename(*at_cursor(text), "co2")[1]] == [2, 3]
    with pytest.raises(ValueError, match="name of a let"):
        rename(*at_cursor(text), "two words")


def test_behind_extends_stand_blocks_of_the_same_kind() -> None:
    assert offered(HEAD + "class big extends |") == ["sort", "word count"]
    assert offered(HEAD + "service two extends |\n") == ["web"]
    assert [one.insert for one in complete(*at_cursor(HEAD + "class big extends |"))] == ["sort", '"word count"']


def test_behind_solve_with_stand_methods_and_solvers() -> None:
    found = offered("problem makespan\nsolve with |")
    own = family("makespan")
    assert own is not None
    assert set(registry.methods_of(own.name)) <= set(found)
    assert {"highs", "cbc", "glpk"} <= set(found)
    others = set(registry.methods_of("hybrid")) - set(registry.methods_of(own.name))
    assert not others & set(found)
    assert set(found) <= set(registry.names())


@pytest.mark.parametrize("rest", ["", " <= 5 min }", "\n}\nminimize cost\n"])
def test_a_quantity_is_asked_of_blocks(rest: str) -> None:
    assert offered(HEAD + "subject to { admitted(|" + rest) == ["sort", "word count"]
    assert offered(HEAD + "subject to { cost <= 3, response( |" + rest) == ["web"]


@pytest.mark.parametrize("inside", ["\n  |\n}\n", " | }\n", "\n  cost <= 3, |", "\n  |", " load <= |}"])
def test_comparisons_hold_quantities_and_no_blocks(inside: str) -> None:
    found = offered(HEAD + "subject to {" + inside)
    assert {"admitted", "cost", "load", "max"} <= set(found)
    assert not {*TOP_LEVEL_WORDS, "class", "service", "minimize cost"} & set(found)


def test_where_a_word_belongs_stand_params_that_are_words() -> None:
    words = 'param kind = deadline\nparam other = kind\nparam third = "x"\nparam round = round\nparam length = 3 s\n'
    choices = offered("problem schedule\n" + words + "policy { algorithm = | }")
    assert choices == ["ndasa", "mdasa", "ep_edf", "ev_edf", "frugal", "kind", "other", "third"]
    assert {"kind", "other"} <= set(offered("problem deadline\n" + words + "dag d { task t { after = [|] } }"))


def test_a_block_that_is_being_written_is_the_place() -> None:
    """Before its brace is written: the items of a class, not those of the top level; what stands there is left out."""
    found = offered(HEAD + "class more {\n  map { tasks = 3 }\n  |")
    assert "deadline" in found
    assert "map" not in found
    assert not set(TOP_LEVEL_WORDS) & set(found)
    assert "avg" in offered(HEAD + "class more {\n  map { tasks = 3, |\n")
    assert "avg" in offered(HEAD + "class more {\n  map { |\nclass other {\n  map { tasks = 1, avg = 1 s }\n}\n")


@pytest.mark.parametrize("problem", ["problem energy", "problem capacity"])
@pytest.mark.parametrize(
    "text", ["param fe|e = 2\nminimize cost + fee * cost\n", "let fe|e = 2 * cost\nminimize cost + fee\n"]
)
def test_a_quantity_of_the_plan_keeps_its_name(problem: str, text: str) -> None:
    with pytest.raises(ValueError, match="`cost` is a quantity of the plan"):
        rename(*at_cursor(f"{problem}\n{text}"), "cost")
    assert len(rename(*at_cursor(f"{problem}\n{text}"), "dear")[1]) == 2
    assert rename(*at_cursor(f"problem schedule\n{text}"), "cost")[0] == "cost"


def test_a_param_does_not_take_the_word_of_a_quantity() -> None:
    """`share(spot)` would mean the param."""
    with pytest.raises(ValueError, match="what an item may be"):
        rename(*at_cursor("problem capacity\nparam wa|y = reserved\nsubject to { share(way) <= 0.5 }"), "spot")


def test_names_are_no_snippets() -> None:
    text = HEAD + 'class "a$1}" { }\nsubject to { admitted(|'
    assert complete(*at_cursor(text))[-1].insert == '"a\\$1\\}"'


@pytest.mark.parametrize("name", ["web", "load", "word count"])
def test_a_name_that_there_is_cannot_be_had(name: str) -> None:
    with pytest.raises(ValueError, match="already"):
        rename(*at_cursor(HEAD + "class s|mall extends sort { }"), name)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[0m", "\u202ea"])
def test_a_name_that_is_none_cannot_be_had(name: str) -> None:
    with pytest.raises(ValueError, match="control characters"):
        rename(*at_cursor(HEAD.replace("class sort", "class so|rt")), name)


@pytest.mark.parametrize(("name", "why"), [("two words", "one word"), ("a-b", "one word"), ("min", "unit")])
def test_a_params_name_is_a_word(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        rename(*at_cursor(HEAD.replace("load = 1", "lo|ad = 1")), name)


@pytest.mark.parametrize(
    "name", ["class", "stage", "classes", "minimize", "subject", "with", "from", "extends", "problem"]
)
def test_a_word_of_the_language_is_no_name(name: str) -> None:
    for place in (HEAD.replace("class sort", "class so|rt"), HEAD.replace("load = 1", "lo|ad = 1")):
        with pytest.raises(ValueError, match=f"`{name}` is a word of the language"):
            rename(*at_cursor(place), name)


@pytest.mark.parametrize("name", ["upper", "auto", "no"])
def test_a_param_does_not_take_the_word_of_an_item(name: str) -> None:
    """`guarantee = upper` would mean the param; a class may be called so."""
    with pytest.raises(ValueError, match="what an item may be"):
        rename(*at_cursor(HEAD.replace("load = 1", "lo|ad = 1")), name)
    assert rename(*at_cursor(HEAD.replace("class sort", "class so|rt")), name)[0] == name


def test_a_new_name_is_written_as_the_language_has_it() -> None:
    for name, written in (("big", "big"), ("big sort", '"big sort"'), ('a "b" \\', '"a \\"b\\" \\\\"')):
        assert rename(*at_cursor(HEAD.replace("class sort", "class so|rt")), name)[0] == written
    assert rename(*at_cursor(HEAD.replace("class sort", "class so|rt")), "sort")[0] == "sort"


TYPES = """problem capacity
vm m5 { }
vm "c5.large" { }
class sort { stage scan { } }
"""


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("class a { types = |", ["one", "m5", "c5.large"]),
        ("class a { types = [|] }", ["m5", "c5.large"]),
        ("class a { types = [m5, | }", ["m5", "c5.large"]),
        ("class a { on | }", ["m5", "c5.large"]),
        ("class a {\n  on |", ["m5", "c5.large"]),
        ("class a { stage s { after = [| } }", ["scan", "s"]),
        ("subject to { vms(| }", ["m5", "c5.large"]),
        ("subject to { cost <= 3, cost(| <= 4 }", ["m5", "c5.large"]),
        ("subject to { share(| }", ["on_demand", "reserved", "spot"]),
        ("subject to { share(spot, | }", ["m5", "c5.large", "largest"]),
        ("subject to { cost <= 3, cores(spot, | <= 4 }", ["m5", "c5.large", "largest"]),
    ],
)
def test_names_of_vm_types_are_offered_where_they_are_meant(place: str, names: list[str]) -> None:
    assert offered(TYPES + place) == names


@pytest.mark.parametrize("place", ['types = ["|', 'types = [m5, "c|', 'types = ["c5.|', 'on "|', 'on "c5.la|'])
def test_within_quotes_names_come_without_their_own(place: str) -> None:
    found = complete(*at_cursor(TYPES + "class a { " + place))
    assert [one.insert for one in found] == ["m5", "c5.large"]


def test_within_quotes_of_a_quantity_names_come_without_their_own() -> None:
    assert [one.insert for one in complete(*at_cursor(TYPES + 'subject to { vms("|'))] == ["m5", "c5.large"]
