"""VM types from Python: of files, of a provider's list, of rows, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

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


def test_what_is_wrong_is_told() -> None:
    with pytest.raises(mrdsl.MrdslError) as raised:
        mrdsl.vm_types([{"name": "a", "cores": -4, "on_demand.price [USD/h]": 0.2}])
    assert [each.code for each in raised.value.diagnostics] == ["out-of-range"]
    with pytest.raises(mrdsl.MrdslError) as raised:
        mrdsl.vm_types(DATA / "types.csv", "require { cores >= 4000, emr = yes, network >= 1 bit/s }")
    assert [each.code for each in raised.value.diagnostics] == ["nothing-left"]
