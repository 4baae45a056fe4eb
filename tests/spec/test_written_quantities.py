"""Quantities as texts, in Python: what they mean is what a spec's text would mean."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.units import scaled
from mrdsl.families.capacity.facts import (
    CapacityFacts,
    JobClass,
    MapPhase,
    OnDemand,
    ReducePhase,
    ShufflePhase,
    Slots,
    VmType,
)
from mrdsl.language.loading import load_text
from mrdsl.spec.schema import Range

EXACT = {
    **dict.fromkeys(("%", "cent"), Fraction(1, 100)),
    **dict.fromkeys(("ms", "g", "mW", "mJ"), Fraction(1, 1000)),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "bit": Fraction(1, 8),
    "USD/h": Fraction(1, 3600),
    "min": Fraction(60),
    "GB": Fraction(10**9),
    "kWh": Fraction(3_600_000),
}


@pytest.mark.parametrize("unit", EXACT)
def test_a_quantity_is_rounded_once(unit: str) -> None:
    """Against exact fractions: 95 % is 0.95, as written so, in a text and in a table."""
    numbers = [*range(1, 120), 997, 123456]
    expected = [float(number * EXACT[unit]) for number in numbers]
    assert [mrdsl.quantity(f"{number} {unit}") for number in numbers] == expected
    assert [scaled(float(number), float(EXACT[unit])) for number in numbers] == expected
    if "/" not in unit and unit != "%":
        by = [mrdsl.quantity(f"{number} / {unit}") for number in numbers]
        assert by == [float(number / EXACT[unit]) for number in numbers]


def test_a_price_of_a_table_is_that_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text("name,on_demand.price [USD/h]\n" + "".join(f"t{i},0.{i}\n" for i in range(1, 99)))
    lines = ['vms from "vms.csv"' if line.startswith("vm ") else line for line in TEXT.splitlines()]
    read = load_text("\n".join(lines) + "\n", folder=tmp_path).spec
    assert read is not None
    assert [vm.on_demand.price for vm in read.facts.vms] == [mrdsl.quantity(f"0.{i} USD/h") for i in range(1, 99)]


TEXT = """problem capacity "texts"
vm m5 { on_demand { price = 0.192 USD/h }, cores = 4, memory = 16 GiB }
class clicks {
  map { tasks = 370, avg = 30 s, max = 0.7 min }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce { tasks = 64, avg = 22 s, max = 44 s }
  slots { map = 2, reduce = 1 }
  jobs = 8..10
  deadline = 15 min
  penalty = 6 USD
}
minimize cost
"""
WRITTEN = {
    "0.192 USD/h": 0.192 / 3600.0,
    "15 min": 900.0,
    "2 * 15 min": 1800.0,
    "16 GiB": 16.0 * 2**30,
    "85%": 0.85,
    "1200/s": 1200.0,
    "0.25 kWh": 900_000.0,
    "1.5": 1.5,
    "12 jobs": 12.0,
}
NOT_WRITTEN = {
    "": "wrong-value",
    "8..10": "wrong-value",
    "15 mins of fame": "wrong-value",
    "15 parsecs": "unknown-unit",
    "m5": "unknown-name",
    "3 USD + 2 EUR": "mixed-currencies",
    "3 USD + 2 s": "wrong-unit",
    "1e400": "number-too-large",
    "uniform(1 s, 3 s)": "random-value",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_quantity_is_given_in_si(text: str) -> None:
    assert mrdsl.quantity(text) == pytest.approx(WRITTEN[text], rel=1e-15)


@pytest.mark.parametrize("text", NOT_WRITTEN)
def test_a_text_that_is_no_quantity_is_told(text: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.quantity(text)
    first = told.value.diagnostics[0]
    assert first.code == NOT_WRITTEN[text]
    assert first.hint
    assert first.span is None


def test_the_currency_can_be_fixed() -> None:
    assert mrdsl.quantity("3 EUR/h", currency="EUR") == pytest.approx(3 / 3600)
    with pytest.raises(mrdsl.MrdslError, match="counts in EUR"):
        mrdsl.quantity("3 USD/h", currency="EUR")


def _facts(**changes: object) -> CapacityFacts:
    given: dict[str, object] = {
        "map": MapPhase(tasks="370", avg="30 s", max="0.7 min"),  # type: ignore[arg-type]
        "shuffle": ShufflePhase(first_max="11 s", avg="37 s", max="40 s"),  # type: ignore[arg-type]
        "reduce": ReducePhase(tasks=64, avg="22 s", max=44),  # type: ignore[arg-type]
        "slots": Slots(map=2, reduce="1 slot"),  # type: ignore[arg-type]
        "jobs": "8..10",
        "deadline": "15 min",
        "penalty": "6 USD",
        **changes,
    }
    vm = VmType(
        name="m5",
        on_demand=OnDemand(price="0.192 USD/h"),  # type: ignore[arg-type]
        cores=4,
        memory="16 GiB",  # type: ignore[arg-type]
    )
    return CapacityFacts(vms=(vm,), classes=(JobClass(name="clicks", **given),))  # type: ignore[arg-type]


def test_a_spec_of_texts_is_the_spec_of_the_text() -> None:
    spec = mrdsl.Spec(problem="capacity", title="texts", facts=_facts(), goal=mrdsl.Goal("minimize", "cost"))
    read = mrdsl.loads(TEXT)
    assert spec == read
    assert isinstance(spec.facts.classes[0].map.tasks, int)
    assert spec.facts.classes[0].jobs == Range(8, 10)
    assert mrdsl.solve(spec).value == mrdsl.solve(read).value


@pytest.mark.parametrize(
    ("field", "text", "code", "said"),
    [
        ("deadline", "15 USD", "wrong-unit", "is a time"),
        ("deadline", "15 mins", "unknown-unit", "mins"),
        ("deadline", "-15 min", "out-of-range", "must be above"),
        ("penalty", "6 EUR", "mixed-currencies", "counts in USD"),
        ("jobs", "10..8", "reversed-range", "reversed"),
        ("deadline", "soon", "unknown-name", "soon"),
    ],
)
def test_a_text_in_a_field_is_told_with_its_place(field: str, text: str, code: str, said: str) -> None:
    spec = mrdsl.Spec(problem="capacity", facts=_facts(**{field: text}))
    diagnostics = mrdsl.check(spec)
    assert [d.code for d in diagnostics if d.severity == "error"] == [code]
    assert diagnostics[0].path == f"classes[0].{field}"
    assert said in diagnostics[0].message
    with pytest.raises(mrdsl.MrdslError):
        mrdsl.solve(spec)
