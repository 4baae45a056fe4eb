"""`fee = 25%`, a share of the price on demand, and blocks that refine a row of a table or catalogue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.units import HOUR
from mrdsl.families.capacity.facts import OnDemand, VmType
from mrdsl.families.capacity.verify import verify
from mrdsl.language.loading import load_text
from mrdsl.language.resolving import Loaded
from tests.language.test_catalogues import LEFT, types
from tests.language.test_required_rows import DATA, SPEC

TABLE = (
    "name,cores,on_demand.price [USD/h],spot.price [USD/h],spot.interruptions [1/h]\n"
    "a,4,0.2,0.1,0\nb,8,0.8,,\nc,16,2,0.5,0.001\n"
)


def loaded(vms: str, folder: Path = DATA, **params: Any) -> Loaded:
    return load_text(SPEC.replace("REST", vms), folder=folder, parameters=params or None)


def fees(vms: str, folder: Path = DATA, **params: Any) -> dict[str, float]:
    found = loaded(vms, folder, **params)
    assert found.spec is not None, found.diagnostics
    return {vm.name: round(vm.fee * HOUR, 9) for vm in found.spec.facts.vms}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "types.csv").write_text(TABLE)
    return tmp_path


@pytest.mark.parametrize(
    ("fee", "expected"),
    [
        ("25%", 0.05),
        ("0%", 0.0),
        ("120%", 0.24),
        ("2 * 10%", 0.04),
        ("part", 0.02),
        ("25% * on_demand", 0.05),
        ("on_demand / 4", 0.05),
        ("0.25 * on_demand", 0.05),
        ("min(25% * on_demand, 0.03 USD/h)", 0.03),
        ("max(25% * on_demand, 6 cent / h)", 0.06),
        ("0.01 USD/h + 10% * on_demand", 0.03),
        ("0.048 USD/h", 0.048),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_fee_by_the_price_on_demand(fee: str, expected: float, first: bool) -> None:
    """Wherever it is written in the block; on spot it is a share of the price on demand too."""
    items = [f"fee = {fee}", "on_demand { price = 0.2 USD/h }", "spot { price = 0.01 USD/h, interruptions = 0/h }"]
    body = "\n".join(items if first else reversed(items))
    assert fees(f"param part = 10%\nvm m {{ {body} }}") == {"m": expected}


def test_a_fee_of_a_vm_that_costs_nothing() -> None:
    assert fees("vm m { on_demand { price = 0 USD/h }, fee = 25% }") == {"m": 0.0}


def test_every_offer_of_a_type_costs_its_fee() -> None:
    """The cost of one VM for an hour, each way of buying: 0.2, 0.12 and 0.05 USD, and 25 % of 0.2 USD."""
    head = "vm m { fee = 25%, on_demand { price = 0.2 USD/h }"
    for rest, price in [
        ("", 0.2),
        ("reserved { price = 0.12 USD/h, available = 5 }", 0.12),
        ("reserved { price = 0.12 USD/h, available = 5, prepaid = yes }", 0.0),
        ("spot { price = 0.05 USD/h, interruptions = 0/h }", 0.05),
    ]:
        spec = mrdsl.loads(SPEC.replace("REST", f"{head} {rest} }}"))
        for solver in ("highs", "direct"):
            result = mrdsl.solve(spec, solver=solver)
            assert not tuple(verify(spec, result.plan, relax=False))
            assert result.objective.value == pytest.approx(price + 0.05)


@pytest.mark.parametrize(
    ("fee", "code", "said"),
    [
        ("0.25", "wrong-unit", "`fee = 0.25 USD/h`"),
        ("1 / 4", "wrong-unit", "plain number"),
        ("-5%", "out-of-range", "must be at least 0 USD/h"),
        ("-1 cent / h", "out-of-range", "must be at least 0 USD/h"),
        ("25% * on_demnd", "unknown-name", "on_demnd"),
        ("25% * on_demand * on_demand", "wrong-unit", "`fee` must be a price per time"),
        ("25% + on_demand", "wrong-unit", "cannot add"),
        ("30 s", "wrong-unit", "`fee` must be a price per time"),
        ("25 USD", "wrong-unit", "`fee` must be a price per time"),
        ("1 EUR/h", "mixed-currencies", "counts in USD"),
        ('"25%"', "wrong-value", "not a text"),
        ("0% .. 25%", "wrong-value", "not a range"),
    ],
)
@pytest.mark.parametrize(
    "form", ["vm m { on_demand { price = 0.2 USD/h }, fee = FEE }", 'vms from "t.csv" { fee = FEE }']
)
def test_wrong_fees(fee: str, code: str, said: str, form: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,on_demand.price [USD/h]\na,0.2\nb,0.3\n")
    (found,) = loaded(form.replace("FEE", fee), tmp_path).diagnostics
    assert found.code == code
    assert said in f"{found.message} {found.hint}"
    assert found.span is not None


def test_a_fee_without_its_price_is_an_error_of_the_price_and_of_the_fee() -> None:
    found = loaded("vm m { fee = 25% }").diagnostics
    assert [each.code for each in found] == ["missing-block"]
    found = loaded("vm m { on_demand { price = 2 }, fee = 25 }").diagnostics
    assert sorted(each.code for each in found) == ["wrong-unit", "wrong-unit"]


def test_fees_of_tables_and_catalogues(folder: Path) -> None:
    assert fees('vms from "types.csv" { fee = 25% }', folder) == {"a": 0.05, "b": 0.2, "c": 0.5}
    capped = 'vms from "types.csv" { fee = min(25% * on_demand, 0.27 USD/h), require { cores >= 8 } }'
    assert fees(capped, folder) == {"b": 0.2, "c": 0.27}
    assert fees("vm m[1..2] { on_demand { price = 0.2 USD/h }, fee = 25% }") == {"m1": 0.05, "m2": 0.05}
    drawn = "seed = 1\nvm m[1..3] { on_demand { price = uniform(1, 2) * USD / h }, fee = 25% }"
    found = loaded(drawn.replace("uniform(1, 2) * USD / h", "uniform(1 USD/h, 2 USD/h)")).spec
    assert found is not None
    assert [vm.fee for vm in found.facts.vms] == pytest.approx([vm.on_demand.price / 4 for vm in found.facts.vms])
    for name, vm in types(f'vms from ec2("region.csv") {{ {LEFT}, fee = min(25% * on_demand, 1 USD/h) }}').items():
        assert vm.fee * HOUR == pytest.approx(min(vm.on_demand.price * HOUR / 4, 1.0)), name


def test_a_column_of_shares(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,fee [%],on_demand.price [USD/h]\na,25,0.2\nb,,0.8\nc,10,2\n")
    assert fees('vms from "t.csv"', tmp_path) == {"a": 0.05, "b": 0.0, "c": 0.2}
    assert fees('vms from "t.csv" { require { fee >= 20% } }', tmp_path) == {"a": 0.05}
    (found,) = loaded('vms from "t.csv" { fee = 5% }', tmp_path).diagnostics
    assert (found.code, "in the table and in the block" in found.message) == ("duplicate", True)
    (found,) = loaded('vms from ec2("region.csv") { spot = no, fee = 5%, fee = 6% }').diagnostics
    assert (found.code, "twice" in found.message) == ("duplicate", True)
    (tmp_path / "t.csv").write_text("name,fee [%],on_demand.price [USD/h]\na,-25,0.2\n")
    (found,) = loaded('vms from "t.csv"', tmp_path).diagnostics
    assert (found.code, found.span is not None) == ("out-of-range", True)


def test_a_new_value_of_a_param_changes_the_fee_too() -> None:
    text = SPEC.replace("REST", "param p = 0.2 USD/h\nparam q = 25%\nvm m { on_demand { price = p }, fee = q }")
    compiled = mrdsl.compile(mrdsl.loads(text))
    for given in ({"p": "0.4 USD/h"}, {"q": "50%"}, {"p": "1 USD/h"}):
        assert compiled.update(**given).spec == mrdsl.loads(text, compiled.spec.given)


def test_a_share_in_python() -> None:
    spec = mrdsl.loads(SPEC.replace("REST", "vm m { on_demand { price = 1 USD/h } }"))
    for fee, expected in [("25%", 0.05), ("min(25% * on_demand, 0.01 USD/h)", 0.01), ("0.04 USD/h", 0.04)]:
        vm = VmType(name="m", on_demand=OnDemand(price="0.2 USD/h"), fee=fee)
        built = mrdsl.Spec(problem="capacity", facts=replace(spec.facts, vms=(vm,)), goal=spec.goal)
        assert built.facts.vms[0].fee * HOUR == pytest.approx(expected)
        assert mrdsl.loads(built.to_mrspec()).facts == built.facts


def test_a_block_refines_the_row_of_its_name(folder: Path) -> None:
    """It changes what it mentions; the row stays in its place, and other rows as they are."""
    plain = loaded('vms from "types.csv" { fee = 25% }', folder).spec
    assert plain is not None
    for before in (True, False):
        rows, block = (
            'vms from "types.csv" { fee = 25% }',
            "vm b { fee = 10%, available = 7 }\nvm a { spot { price = 0.05 USD/h } }",
        )
        found = loaded(f"{block}\n{rows}" if before else f"{rows}\n{block}", folder).spec
        assert found is not None
        a, b, c = found.facts.vms
        assert c == plain.facts.vms[2]
        assert replace(b, fee=plain.facts.vms[1].fee, available=None) == plain.facts.vms[1]
        assert (b.available, b.fee * HOUR) == (7, pytest.approx(0.08))
        assert a == replace(plain.facts.vms[0], spot=replace(plain.facts.vms[0].spot, price=0.05 / HOUR))
        assert mrdsl.Spec.from_json(found.to_json()) == found
        assert mrdsl.loads(found.to_mrspec()).facts == found.facts


def test_what_a_row_lacks_has_to_be_whole_in_the_block(folder: Path) -> None:
    rows = 'vms from "types.csv"\n'
    (found,) = loaded(rows + "vm b { spot { price = 0.1 USD/h } }", folder).diagnostics
    assert (found.code, "interruptions" in found.message) == ("missing-item", True)
    (found,) = loaded(rows + "vm d { fee = 25% }", folder).diagnostics
    assert found.code == "missing-block"
    (found,) = loaded(rows + "vm b { fee = 25 }", folder).diagnostics
    assert found.code == "wrong-unit"
    assert found.hint is not None
    assert all(each in found.hint for each in ("`fee = 25%`", "`fee = 25 USD/h`"))
    (found,) = loaded(rows + "vm b { fe = 25% }", folder).diagnostics
    assert found.code == "unknown-item"


def test_rows_of_classes_are_not_refined(tmp_path: Path) -> None:
    """Only where blocks are read from catalogues; elsewhere two blocks of one name are a mistake."""
    (tmp_path / "classes.csv").write_text(
        "name,coefficients.A [s],coefficients.B [s],coefficients.C [s],slots.map,slots.reduce,jobs.low,jobs.high,"
        "deadline [h],penalty [USD]\nc,10,0,0,2,1,1,1,1,1\n"
    )
    text = SPEC.replace("REST", 'vm m { on_demand { price = 1 USD/h } }\nclasses from "classes.csv"')
    assert "duplicate" in [each.code for each in load_text(text, folder=tmp_path).diagnostics]
