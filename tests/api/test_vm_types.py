"""VM types from Python: of files, of a provider's list, of rows, and what is wrong with them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.units import HOUR
from mrdsl.families.capacity.facts import CapacityFacts

DATA = Path(__file__).parents[1] / "language" / "data"
MODELS = Path(__file__).parents[2] / "models" / "capacity"


def test_a_spec_with_the_types_of_a_file_is_the_one_that_reads_it() -> None:
    read = mrdsl.load(MODELS / "catalogue.mrspec")
    braces = "require { managed = yes, arch = x86, memory >= 8 GiB, price <= 1 USD/h }, fee = 0.04 USD/h"
    vms = mrdsl.vm_types(MODELS / "types.csv", braces)
    built = mrdsl.Spec(problem="capacity", facts=CapacityFacts(vms=vms, classes=tuple(read.facts.classes)))
    assert built.facts == read.facts
    assert mrdsl.solve(built, "highs").objective == mrdsl.solve(read, "highs").objective


def test_types_of_a_provider_s_list() -> None:
    found = mrdsl.vm_types(DATA / "region.csv", "spot = no, require { emr = yes }", reader="ec2")
    assert [vm.name for vm in found] == ["alpha.xlarge", "alpha.2xlarge", "beta.xlarge"]


def test_types_of_rows_are_those_of_the_same_table() -> None:
    rows = [
        {"name": "a", "cores": 4, "memory [GiB]": 16, "on_demand.price [EUR/h]": 0.2, "team": "x"},
        {"name": 'b, "large"', "cores": 8, "memory [GiB]": 32, "on_demand.price [EUR/h]": 0.4, "team": "y"},
    ]
    first, second = mrdsl.vm_types(rows, 'require { team = "*" }')
    assert (first.name, second.name) == ("a", 'b, "large"')
    assert (second.cores, second.memory) == (8.0, 32 * 2**30)
    assert second.on_demand.price * HOUR == pytest.approx(0.4)
    assert first.spot is None


PRICE = "on_demand.price [USD/h]"


def test_values_of_rows_are_what_they_are() -> None:
    """Not what a spreadsheet would be safe with, and truth as a table of another library has it."""
    rows = [
        {"name": "@gpu", "cores": np.float64(4.5), PRICE: 0.2, "emr": True},
        {"name": "=b", "cores": np.int64(4), PRICE: math.nan, "on_demand.price [USD/h]": 0.1, "emr": np.bool_(True)},
        {"name": "c", PRICE: 0.2, "emr": False},
    ]
    assert [(vm.name, vm.cores) for vm in mrdsl.vm_types(rows, "require { emr = yes }")] == [("@gpu", 4.5), ("=b", 4)]


@pytest.mark.parametrize(
    ("source", "braces", "reader", "told"),
    [
        ([{"name": "a", "cores": -4, PRICE: 0.2}], "", None, ("out-of-range", "table['cores'][0]")),
        ([{"name": "a", PRICE: 0.2}, {"name": "b"}], "", None, ("empty-cell", f"table['{PRICE}'][1]")),
        ([{"name": "a", "coers": 4, PRICE: 0.2}], "", None, ("unknown-column", "table['coers']")),
        ([{"name": "a", PRICE: 0.2}], "fee = 3 parsec", None, ("unknown-unit", "braces")),
        ([{"name": "a", PRICE: 0.2}], "} vm b {", None, ("unexpected-brace", "braces")),
        ([{"name": "a", PRICE: 0.2}], "", "ec2", ("wrong-option", "")),
        ([{"name": "a", 3: 0.2}], "", None, ("unreadable-table", "")),
        (["a"], "", None, ("unreadable-table", "")),
        (DATA / "nowhere.csv", "", None, ("missing-file", str(DATA / "nowhere.csv"))),
        (DATA / "region.csv", "", "ec3", ("unknown-reader", str(DATA / "region.csv"))),
        (DATA / "region.csv", "spot = no, require { emr = yes }, fee = 3 s", "ec2", ("wrong-unit", "braces")),
    ],
)
def test_what_is_wrong_is_told_with_its_place(source: Any, braces: str, reader: str | None, told: Any) -> None:
    with pytest.raises(mrdsl.MrdslError) as raised:
        mrdsl.vm_types(source, braces, reader=reader)
    assert [(each.code, each.path) for each in raised.value.diagnostics] == [told]
    assert all(each.span is None for each in raised.value.diagnostics)


def test_a_mistake_in_a_file_is_told_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(f"name,cores,{PRICE}\na,4,0.2\nb,-4,0.2\n", encoding="utf-8")
    with pytest.raises(mrdsl.MrdslError) as raised:
        mrdsl.vm_types(tmp_path / "own.csv")
    (told,) = raised.value.diagnostics
    assert told.span is not None
    assert (told.code, Path(told.span.file).name, told.span.line, told.span.column) == ("out-of-range", "own.csv", 3, 3)


def test_what_no_type_keeps_is_told() -> None:
    with pytest.raises(mrdsl.MrdslError) as raised:
        mrdsl.vm_types(DATA / "types.csv", "require { cores >= 4000, emr = yes, network >= 1 bit/s }")
    assert [each.code for each in raised.value.diagnostics] == ["nothing-left"]
