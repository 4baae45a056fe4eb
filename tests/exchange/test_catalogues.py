"""Catalogues of VM types: EC2's, a region in one table, and pages of ``describe-instance-types``."""

from __future__ import annotations

import csv
import json
from math import exp, inf, isnan
from pathlib import Path
from random import Random

import numpy as np
import pytest

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.units import HOUR
from mrdsl.exchange.catalogues import INTERRUPTIONS, PRICE, SPOT_PRICE, Catalogue, rate_of_share
from mrdsl.exchange.registry import CATALOGUES, Reader, named
from mrdsl.exchange.spot_history import SpotRecord, mean_prices
from mrdsl.exchange.text import FormatError
from tests.shared_data import shared

DATA = Path(__file__).parents[1] / "language" / "data"
HEAD = "instance_type,vcpu,memory_mib,on_demand_usd_h,spot_saving_percent,interruption_per_month,emr"
GIB = 2.0**30


def reader(name: str) -> Reader[Catalogue]:
    found = named(CATALOGUES, name)
    assert found is not None
    return found


def read(name: str, path: Path) -> tuple[Catalogue | None, list[str]]:
    """The catalogue, and `line:column code` of every mistake."""
    mistakes: list[Diagnostic] = []
    try:
        found = reader(name).read(path, mistakes)
    except FormatError as problem:
        return None, [f"{problem.line} {problem}"]
    return found, [f"{each.span.line}:{each.span.column} {each.code}" for each in mistakes if each.span is not None]


def test_five_percent_a_month_are_seven_in_a_hundred_thousand_an_hour() -> None:
    """In 730 hours an exponential clock of the rate rings with the share's probability."""
    assert rate_of_share(0.05) * HOUR == pytest.approx(7.03e-5, rel=1e-3)
    for share in (0.05, 0.1, 0.15, 0.2, 0.9):
        assert 1.0 - exp(-rate_of_share(share) * HOUR * 730.0) == pytest.approx(share)


def test_a_region_is_read_in_si() -> None:
    found, mistakes = read("ec2", DATA / "region.csv")
    assert not mistakes
    assert found is not None
    assert found.names[:2] == ("alpha.xlarge", "alpha.2xlarge")
    assert found.values["cores"].tolist() == [4, 8, 4, 16, 96]
    assert (found.values["memory"] / GIB).tolist() == [16, 32, 32, 128, 768]
    assert found.values[PRICE] * HOUR == pytest.approx([0.2, 0.4, 0.25, 1.0, 12.5])
    assert found.values[SPOT_PRICE][:4] * HOUR == pytest.approx([0.08, 0.2, 0.0625, 0.6])
    assert isnan(found.values[SPOT_PRICE][4])
    rates = found.values[INTERRUPTIONS]
    assert rates[[0, 1, 3]] == pytest.approx([rate_of_share(0.05), rate_of_share(0.1), rate_of_share(0.2)])
    assert rates[2] == inf
    assert isnan(rates[4])
    assert found.words["emr"] == ["yes", "yes", "yes", "no", "no"]
    assert found.numbers["gpus"][0].tolist() == [0, 0, 0, 0, 8]
    assert (found.place(2, INTERRUPTIONS).line, found.place(2, INTERRUPTIONS).column) == (4, 54)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["a,4,16384,0.2,60,<5%,yes", "a,8,1,0.2,60,<5%,yes"], ["3:1 duplicate"]),
        ([",4,16384,0.2,60,<5%,yes"], ["2:1 empty-cell"]),
        (["a,,16384,0.2,60,<5%,yes"], ["2:3 empty-cell"]),
        (["a,four,16384,0.2,60,<5%,yes"], ["2:3 not-a-number"]),
        (["a,0,16384,0.2,60,<5%,yes"], ["2:3 out-of-range"]),
        (["a,4,-1,0.2,60,<5%,yes"], ["2:5 out-of-range"]),
        (["a,4,nan,0.2,60,<5%,yes"], ["2:5 not-a-number"]),
        (["a,4,1e300,0.2,60,<5%,yes"], ["2:5 out-of-range"]),
        (["a,4,16384,-0.2,60,<5%,yes"], ["2:11 out-of-range"]),
        (["a,4,16384,0.2,101,<5%,yes"], ["2:15 out-of-range"]),
        (["a,4,16384,0.2,60,often,yes"], ["2:18 wrong-value"]),
        (["a,4,16384,0.2,60,<100%,yes"], ["2:18 wrong-value"]),
        (["a,4,16384,0.2,60,<5%"], ["2 this row has 6 cells, the header 7"]),
        ([], ["1 the table has no rows"]),
    ],
)
def test_what_is_wrong_in_a_region_is_told_at_its_cell(rows: list[str], told: list[str], tmp_path: Path) -> None:
    path = tmp_path / "region.csv"
    path.write_text("\n".join([HEAD, *rows, ""]))
    assert read("ec2", path)[1] == told


def test_columns_that_are_needed_and_columns_that_are_not(tmp_path: Path) -> None:
    path = tmp_path / "region.csv"
    path.write_text("instance_type,vcpu,on_demand_usd_h\na,4,0.2\n")
    assert read("ec2", path)[1] == ["1 it has no column `memory_mib`"]
    path.write_text("instance_type,vcpu,vcpu,on_demand_usd_h,memory_mib\na,4,4,0.2,8\n")
    assert read("ec2", path)[1] == ["1 it has two columns `vcpu`"]
    path.write_text("on_demand_usd_h,memory_mib,instance_type,more,vcpu\n,8,a,x,4\n")
    found, mistakes = read("ec2", path)
    assert not mistakes
    assert found is not None
    assert INTERRUPTIONS not in found.values
    assert isnan(found.values[PRICE][0])


def test_more_types_than_a_catalogue_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "CATALOGUE_TYPES", 2)
    path = tmp_path / "region.csv"
    path.write_text("\n".join([HEAD, *(f"t{n},4,8,0.2,60,<5%,yes" for n in range(3)), ""]))
    assert read("ec2", path)[1] == ["1 it has 3 types, more than the 2 that are read"]
    page = tmp_path / "page.json"
    page.write_text(json.dumps([{}] * 3))
    assert read("instance_types", page)[1] == ["1 it has 3 types, more than the 2 that are read"]


def test_a_page_is_read_in_si() -> None:
    found, mistakes = read("instance_types", DATA / "page.json")
    assert not mistakes
    assert found is not None
    assert found.names == ("alpha.xlarge", "alpha.2xlarge", "old.large")
    assert found.values["cores"].tolist() == [4, 8, 2]
    assert (found.values["memory"] / GIB).tolist() == [16, 32, 7.5]
    assert np.isnan(found.values[PRICE]).all()
    assert found.values[INTERRUPTIONS][[0, 2]].tolist() == [inf, inf]
    assert isnan(found.values[INTERRUPTIONS][1])
    assert list(found.words["arch"]) == ["x86_64"] * 3
    text = (DATA / "page.json").read_text().splitlines()
    for row, name in enumerate(found.names):
        assert f'"{name}"' in text[found.place(row, "").line - 1]


def test_a_list_alone_is_a_page_too(tmp_path: Path) -> None:
    whole = json.loads((DATA / "page.json").read_text())["InstanceTypes"]
    path = tmp_path / "page.json"
    path.write_text(json.dumps(whole))
    found, mistakes = read("instance_types", path)
    assert not mistakes
    assert found is not None
    assert len(found.names) == 3


@pytest.mark.parametrize("wrong", [None, True, "4", 0, -1, [], {}, 1e999, float("nan"), 10**400, 1e16])
@pytest.mark.parametrize("keys", [("VCpuInfo", "DefaultVCpus"), ("MemoryInfo", "SizeInMiB")])
def test_a_size_that_is_none_is_told_at_its_type(keys: tuple[str, str], wrong: object, tmp_path: Path) -> None:
    page = json.loads((DATA / "page.json").read_text())
    page["InstanceTypes"][1][keys[0]][keys[1]] = wrong
    path = tmp_path / "page.json"
    path.write_text(json.dumps(page, indent=1))
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if '"alpha.2xlarge"' in text)
    assert read("instance_types", path)[1] == [f"{line}:1 broken-catalogue"]


@pytest.mark.parametrize(
    "text", ["{}", "[]", "5", '{"InstanceTypes": 5}', "[" * 100_000, '[{"InstanceType": 5}]', "[5]", "[[]]"]
)
def test_what_is_no_page_is_told(text: str, tmp_path: Path) -> None:
    path = tmp_path / "page.json"
    path.write_text(text)
    assert read("instance_types", path)[1]


def test_a_page_one_token_away_from_a_good_one_is_read_or_refused(tmp_path: Path) -> None:
    good = (DATA / "page.json").read_text()
    random, path = Random(19), tmp_path / "page.json"
    for _ in range(300):
        at = random.randrange(len(good))
        path.write_text(good[:at] + random.choice(["", "5", "[", "{", "null", '"', "1e999"]) + good[at + 1 :])
        found, mistakes = read("instance_types", path)
        assert found is not None or mistakes


def record(time: float, price: float, zone: str, name: str) -> SpotRecord:
    return SpotRecord(time, price, zone, name, "Linux/UNIX")


def test_a_spot_price_is_the_mean_over_time_and_zones() -> None:
    """By hand: in zone a 1 for 10 s and 4 for 20 s, in zone b 6 all the time; of the other type one record alone."""
    records = [record(10, 4, "a", "x"), record(0, 1, "a", "x"), record(5, 6, "b", "x"), record(30, 2, "b", "y")]
    assert mean_prices(records) == {"x": (90.0 / 30.0 + 6.0) / 2.0, "y": 2.0}


def test_the_types_of_us_east_1_are_those_that_a_plain_reading_gives() -> None:
    path = shared("data/cloud/ec2_us-east-1.csv")
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    found, mistakes = read("ec2", path)
    assert not mistakes
    assert found is not None
    assert len(found.names) == len(rows) == 1345
    assert sum(word == "yes" for word in found.words["emr"]) == 634
    ends = {"<5%": 0.05, "5-10%": 0.1, "10-15%": 0.15, "15-20%": 0.2}
    for number, row in enumerate(rows):
        assert found.names[number] == row["instance_type"]
        assert found.values["cores"][number] == float(row["vcpu"])
        assert found.values["memory"][number] == float(row["memory_mib"]) * 2**20
        price = float(row["on_demand_usd_h"])
        assert found.values[PRICE][number] * HOUR == pytest.approx(price)
        band, rate = row["interruption_per_month"], found.values[INTERRUPTIONS][number]
        if not band:
            assert isnan(rate)
            continue
        assert rate == (inf if band == ">20%" else pytest.approx(rate_of_share(ends[band])))
        paid = price * (100.0 - float(row["spot_saving_percent"])) / 100.0
        assert found.values[SPOT_PRICE][number] * HOUR == pytest.approx(paid)


@pytest.mark.parametrize("page", [1, 5])
def test_the_types_of_real_pages_have_the_sizes_of_the_region(page: int) -> None:
    """Two sources of the same facts: pages of 100 types, and the region's table, which knows most of them."""
    region, _ = read("ec2", shared("data/cloud/ec2_us-east-1.csv"))
    found, mistakes = read("instance_types", shared(f"data/cloud/describe-instance-types_page{page}.json"))
    assert not mistakes
    assert found is not None
    assert region is not None
    assert len(found.names) == 100
    places = {name: number for number, name in enumerate(region.names)}
    both = [(number, places[name]) for number, name in enumerate(found.names) if name in places]
    assert len(both) > 80
    for here, there in both:
        assert found.values["cores"][here] == region.values["cores"][there], found.names[here]
