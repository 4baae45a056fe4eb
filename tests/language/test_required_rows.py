"""Semantics 12: ``require { ... }`` says which rows of a table are blocks of the spec."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.language.loading import load_text
from mrdsl.language.resolving import Loaded

DATA = Path(__file__).parent / "data"
SPEC = """problem capacity
REST
class c { coefficients { A = 10 s, B = 0 s, C = 0 s }, slots { map = 2, reduce = 1 }
          jobs = 1, deadline = 1 h, penalty = 1 USD }
minimize cost
"""


def loaded(require: str, text: str = SPEC, folder: Path = DATA) -> Loaded:
    return load_text(text.replace("REST", f'vms from "types.csv" {{ require {{ {require} }} }}'), folder=folder)


@pytest.mark.parametrize(
    ("require", "names"),
    [
        ("cores >= 4", ["small.4", "big.8", "big.16"]),
        ("cores >= 4, memory >= 16 GiB", ["small.4", "big.8", "big.16"]),
        ("memory <= 16 GiB", ["small.2", "small.4", "big.8"]),
        ("memory == 16384 MiB", ["small.4", "big.8"]),
        ("cores = 2 * 4", ["big.8"]),
        ("price <= 0.34 USD/h", ["small.2", "small.4", "big.8"]),
        ("price <= 34 cent/h, price >= 0.192 USD/h", ["small.4", "big.8"]),
        ("spot { interruptions <= 0.0002/h }", ["big.8"]),
        ("interruptions >= 0/h", ["small.4", "big.8"]),
        ("spot { price <= 1 USD/h }, on_demand { price <= 0.2 USD/h }", ["small.4"]),
        ("emr = yes", ["small.2", "small.4", "big.16"]),
        ("emr = yes, network >= 12 Gbit/s", ["big.16"]),
        ("network <= 12500 Mbit/s", ["small.2", "small.4", "big.8"]),
        ('name = "big.*"', ["big.8", "big.16"]),
        ('name = ["big.8", "small.?"]', ["small.2", "small.4", "big.8"]),
        ("emr = [yes, no]", ["small.2", "small.4", "big.8", "big.16"]),
        ("", ["small.2", "small.4", "big.8", "big.16"]),
    ],
)
def test_the_rows_that_are_left(require: str, names: list[str]) -> None:
    spec = loaded(
        f"{require}, emr = [yes, no], network >= 0 bit/s" if require else 'emr = "*", network >= 0 bit/s'
    ).spec
    assert spec is not None
    assert [vm.name for vm in spec.facts.vms] == names


def test_what_is_left_says_what_blocks_say() -> None:
    """Values, places and the blocks that a row has not are those of its own row."""
    spec = loaded("cores >= 8, emr = [yes, no], network >= 0 bit/s").spec
    assert spec is not None
    big8, big16 = spec.facts.vms
    written = mrdsl.loads(
        SPEC.replace(
            "REST",
            """vm "big.8" { cores = 8, memory = 16 GiB, on_demand { price = 0.34 USD/h }
                            spot { price = 0.14 USD/h, interruptions = 0.0001/h } }
               vm "big.16" { cores = 16, memory = 128 GiB, on_demand { price = 1.008 USD/h } }""",
        )
    )
    assert (big8, big16) == tuple(written.facts.vms)
    assert (big8.span.line, big16.span.line) == (4, 5)


def test_a_param_may_be_compared_with() -> None:
    text = SPEC.replace("problem capacity", "problem capacity\nparam least = 8\nparam platform = no")
    spec = loaded("cores = least, emr = platform, network >= 0 bit/s", text).spec
    assert spec is not None
    assert [vm.name for vm in spec.facts.vms] == ["big.8"]


REST = "emr = [yes, no], network >= 0 bit/s"


@pytest.mark.parametrize(
    ("require", "code", "said"),
    [
        ("core >= 4", "unknown-column", "did you mean `cores`?"),
        ("cores >= 4 GiB", "wrong-unit", "`cores` is a plain number, but `cores >= 4 GiB` compares it with an amount"),
        ("cores = many", "wrong-value", "`cores` is a number"),
        ("name >= 4", "wrong-value", "`name` holds words"),
        ("emr >= 4", "not-a-number", "`yes` is not a number"),
        ("4 <= cores", "wrong-statement", "`require` contains conditions on rows"),
        ("cores >= uniform(1, 2)", "random-value", "cannot be random"),
        (
            "cores >= 4, memory >= 1 TiB",
            "nothing-left",
            "nearest is big.16: its `memory` is 128 GiB (`memory >= 1 TiB`)",
        ),
        ('name = "x*"', "nothing-left", "nearest is small.2: its `name` is `small.2`"),
        ("interruptions <= 0.00001/h", "nothing-left", "nearest is big.8: its `spot.interruptions` is 0.0001/h"),
    ],
)
def test_what_is_wrong_is_told(require: str, code: str, said: str) -> None:
    found = loaded(f"{require}, {REST}" if "emr" not in require else f"{require}, network >= 0 bit/s").diagnostics
    assert [each.code for each in found][:1] == [code]
    assert said in found[0].message + " " + found[0].hint
    assert found[0].span is not None


def test_a_column_that_nobody_asks_for_is_a_mistake_as_ever() -> None:
    found = loaded("cores >= 4, emr = yes").diagnostics
    assert [each.code for each in found] == ["unknown-column"]
    assert found[0].message == "unknown attribute `network`"


def test_rows_of_classes_may_be_required_too() -> None:
    vm, classes = (
        "vm m5 { on_demand { price = 1 USD/h } }",
        'classes from "classes.csv" { require { deadline <= 1 h } }',
    )
    text = "\n".join(["problem capacity", vm, classes, "minimize cost"])
    spec = load_text(text, folder=DATA).spec
    assert spec is not None
    assert len(spec.facts.classes) > 0
    found = load_text(text.replace("<= 1 h", "<= 1 s"), folder=DATA).diagnostics
    assert [each.code for each in found] == ["nothing-left"]


LEFT_OUT = """name,cores,memory [GiB],on_demand.price [USD/h],masters
good,4,16,0.192,1
{bad}
"""


@pytest.mark.parametrize(
    ("bad", "require"),
    [
        ("r5,4,32,,1", "price >= 0 USD/h"),
        ("r5,4,32,,1", 'name = "good"'),
        ("r5,4,32,,1", "memory <= 20 GiB"),
        ("r5,4,32,-1,1", "memory <= 20 GiB"),
        ("r5,4,32,1,1.5", "memory <= 20 GiB"),
        ("r5,4,32,none,1", "memory <= 20 GiB"),
        ("r5,4,32,,1", "memory <= 20 GiB, price >= 0 USD/h"),
        (",4,32,1,1", "memory <= 20 GiB"),
        ("good,4,32,1,1", "memory <= 20 GiB"),
    ],
)
def test_rows_that_are_left_out_are_not_complained_of(bad: str, require: str, tmp_path: Path) -> None:
    """Nothing that is wrong in them is told; of a row that is kept it is."""
    (tmp_path / "types.csv").write_text(LEFT_OUT.format(bad=bad), encoding="utf-8")
    spec = loaded(require, folder=tmp_path).spec
    assert spec is not None
    assert [(vm.name, vm.cores) for vm in spec.facts.vms] == [("good", 4)]
    kept = loaded("cores >= 4", folder=tmp_path)
    assert [str(d.span).rpartition("/")[2].split(":")[0] for d in kept.diagnostics] == ["types.csv"]


def test_what_is_asked_for_must_be_readable(tmp_path: Path) -> None:
    """A cell that is no number is told where rows are chosen by it: whether the row is meant is not known."""
    (tmp_path / "types.csv").write_text(LEFT_OUT.format(bad="r5,4,16 GB,1,1"), encoding="utf-8")
    assert [d.code for d in loaded("memory <= 20 GiB", folder=tmp_path).diagnostics] == ["not-a-number"]
