"""Every quantity of a rented fleet: 0, left out, negative, of another kind, without a unit, in another currency."""

from __future__ import annotations

import re

import pytest

from mrdsl.language.loading import load_text

TEXT = """problem capacity
period = 1 h
vm m5 {
  cores = 4
  memory = 16 GiB
  available = 20
  on_demand { price = 0.2 USD/h }
  reserved { price = 0.1 USD/h, available = 2 }
  spot { price = 0.05 USD/h, interruptions = 0.0001/h }
  fee = 25%
  disk { size = 100 GiB, price = 0.0001 USD/GiB/h }
}
master { vm = m5, count = 1 }
hdfs { data = 40 GiB, replication = 2 }
quota all { cores = 64 }
transfer { input = 0.01 USD/GiB, output = 0.09 USD/GiB }
class c {
  map { tasks = 8, avg = 30 s, max = 40 s }
  container { cores = 1, memory = 2 GiB }
  transfer { input = 1 GiB, output = 2 GiB }
  spot = 50%
  jobs = 2
  deadline = 10 min
  penalty = 9 USD
}
minimize cost
subject to { cores(spot, largest) <= 40 }
"""
RANGE, MISSING = "out-of-range", "missing-item"
FINE = ""
"""The value is as meaningful as any: VMs of one's own cost nothing, and a provider may not bill moved data."""
WORDS = [  # block, item, and what is told of 0 and of an item that is left out
    ("", "period", RANGE, FINE),
    ("", "available", "impossible-quota", FINE),
    ("", "fee", FINE, FINE),
    ("on_demand", "price", "reserved-not-cheaper", MISSING),
    ("reserved", "price", FINE, MISSING),
    ("reserved", "available", FINE, MISSING),
    ("spot", "price", "implausible-price", MISSING),
    ("spot", "interruptions", FINE, MISSING),
    ("disk", "size", RANGE, MISSING),
    ("disk", "price", FINE, FINE),
    ("master", "count", RANGE, FINE),
    ("hdfs", "data", FINE, MISSING),
    ("hdfs", "replication", RANGE, FINE),
    ("quota all", "cores", "impossible-quota", MISSING),
    ("transfer", "input", FINE, MISSING),
    ("transfer", "output", FINE, MISSING),
    ("  transfer", "input", "unused", "unused"),
    ("  transfer", "output", "unused", "unused"),
    ("container", "cores", RANGE, FINE),
    ("container", "memory", RANGE, FINE),
    ("", "spot", FINE, FINE),
    ("", "penalty", FINE, MISSING),
]


def changed(block: str, item: str, value: str | None) -> tuple[str, str]:
    """Return the spec with an item of a block changed or left out, and the value that it had."""
    before = rf"(^{block} {{[^\n]*?" if block.startswith((" ", "hdfs", "quota", "master", "transfer")) else r"(^ *"
    inner = rf"{before}\b" if block == "" or before != r"(^ *" else rf"(\b{block} {{[^\n]*?\b"
    found = re.search(rf"{inner}{item} = )([^,}}\n]*[^,}}\n ])(,? ?)", TEXT, re.MULTILINE)
    assert found is not None, (block, item)
    if value is None:
        start = found.end(1) - len(f"{item} = ")
        return TEXT[:start] + TEXT[found.end() :], found[2]
    return TEXT[: found.start(2)] + value + TEXT[found.end(2) :], found[2]


def codes(block: str, item: str, value: str | None) -> list[str]:
    return [each.code for each in load_text(changed(block, item, value)[0]).diagnostics]


def usual(block: str, item: str) -> str:
    return changed(block, item, None)[1]


def test_the_spec_is_right() -> None:
    assert not load_text(TEXT).diagnostics


@pytest.mark.parametrize(("block", "item", "of_zero", "of_none"), WORDS)
def test_wrong_quantities_are_told(block: str, item: str, of_zero: str, of_none: str) -> None:
    value = usual(block, item)
    number = re.match(r"[\d.]+", value)
    assert number is not None
    unit = value[number.end() :]
    assert codes(block, item, f"0{unit}")[:1] == [of_zero][: bool(of_zero)]
    assert codes(block, item, None)[:1] == [of_none][: bool(of_none)]
    assert codes(block, item, f"-{value}") == [RANGE]
    assert codes(block, item, "3 GiB" if "GiB" not in unit or "USD" in unit else "3 USD") == ["wrong-unit"]
    assert codes(block, item, "3 USD" if unit.strip() in ("", "%", "/h") else "3") == ["wrong-unit"]
    if "USD" in value:
        assert "mixed-currencies" in codes(block, item, value.replace("USD", "EUR"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("price = 0.0001 USD/GiB/h", "price = 0.08 USD/GiB/h", "write `0.08 USD/GiB / 730 h`"),
        ("output = 0.09 USD/GiB", "output = 0.09 USD/MB", "usually per GiB, such as output = 0.09 USD/GiB"),
        ("spot { price = 0.05 USD/h", "spot { price = 0 USD/h", "leave `spot` out"),
    ],
)
def test_prices_beyond_all_on_sale_are_told(before: str, after: str, said: str) -> None:
    assert before in TEXT
    (told,) = load_text(TEXT.replace(before, after)).diagnostics
    assert told.code == "implausible-price"
    assert said in told.hint
    assert told.span is not None


def test_limits_of_prices_are_those_of_the_currency() -> None:
    text = TEXT.replace("USD", "JPY").replace("0.0001 JPY/GiB/h", "12 JPY/GiB / 730 h").replace("0.09 JPY", "14 JPY")
    assert [each.code for each in load_text(text).diagnostics if each.code == "implausible-price"] == []


@pytest.mark.parametrize(
    ("comparison", "code"),
    [
        ("cores(spot, largest) <= -1", "out-of-range"),
        ("cores(spot, m5) == -1", "out-of-range"),
        ("cores(spot) <= 0", FINE),
        ("cores(spot) <= 4 GiB", "wrong-unit"),
        ("cores(spot) <= 4 USD", "wrong-unit"),
        ("share(spot) <= -10%", "out-of-range"),
        ("share(spot, m5) >= 110%", "out-of-range"),
        ("share(spot) == 3", "out-of-range"),
        ("share(spot, largest) <= 100%", FINE),
        ("share(spot, m5) <= 3 USD", "wrong-unit"),
    ],
)
def test_wrong_limits_of_pools_are_told(comparison: str, code: str) -> None:
    found = load_text(TEXT.replace("cores(spot, largest) <= 40", comparison)).diagnostics
    assert [each.code for each in found] == [code][: bool(code)]


SAVINGS = """problem capacity
vm m5 { on_demand { price = 0.2 USD/h }, reserved { price = 0.1 USD/h, available = 4 } }
vm c5 { on_demand { price = 0.2 USD/h } }
savings_plan all { DISCOUNT, AVAILABLE, types = [c5] }
demand { PERIODS }
class c { map { tasks = 8, avg = 30 s, max = 40 s }, slots { map = 2 }, jobs = 2, deadline = 10 min, penalty = 9 USD }
minimize cost
"""
RIGHT = {"DISCOUNT": "discount = 28%", "AVAILABLE": "available = 3 USD/h", "PERIODS": "periods = 3"}


@pytest.mark.parametrize(
    ("word", "written", "code"),
    [
        ("DISCOUNT", "discount = 28%", FINE),
        ("DISCOUNT", "discount = 0%", "reserved-not-cheaper"),
        ("DISCOUNT", "types = [c5]", MISSING),
        ("DISCOUNT", "discount = -28%", RANGE),
        ("DISCOUNT", "discount = 28", RANGE),
        ("DISCOUNT", "discount = 28 USD", "wrong-unit"),
        ("AVAILABLE", "available = 0 USD/h", "unused"),
        ("AVAILABLE", "available = -3 USD/h", RANGE),
        ("AVAILABLE", "available = 3 USD", "wrong-unit"),
        ("AVAILABLE", "available = 3", "wrong-unit"),
        ("AVAILABLE", "available = 3 EUR/h", "mixed-currencies"),
        ("PERIODS", "periods = 0", RANGE),
        ("PERIODS", "periods = -3", RANGE),
        ("PERIODS", "periods = 3 GiB", "wrong-unit"),
        ("PERIODS", "", MISSING),
    ],
)
def test_wrong_savings_plans_are_told(word: str, written: str, code: str) -> None:
    text = SAVINGS
    for each, right in RIGHT.items():
        text = text.replace(each, written if each == word else right)
    if written.startswith("types"):
        text = text.replace("types = [c5], ", "", 1)
    assert [each.code for each in load_text(text).diagnostics][:1] == [code][: bool(code)]
