"""Ledgers against the facts: each defect is planted in rentals that are right otherwise, and prices are by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.families.joint.facts import VmType as JointVm
from mrdsl.model import market
from mrdsl.model.check import (
    check,
    check_commitments,
    committed_cost,
    cost_of,
    misfit,
    most_at_once,
    offers_of,
    prepaid_cost,
    with_commitments,
)
from mrdsl.model.ledger import RESERVED, SPOT, Ledger, Placements, Rental
from mrdsl.spec.blocks import OnDemand

TEXT = """problem capacity
vm "m5.xlarge" {
  cores = 4, memory = 16 GiB, available = 9, masters = 1
  on_demand { price = 0.20 USD/h }, spot { price = 0.07 USD/h, interruptions = 0.1/h }
  reserved year { price = 0.12 USD/h, available = 3 }, reserved old { price = 0.1 USD/h, available = 2, prepaid = yes }
  fee = 0.05 USD/h, disk { size = 100 GiB, price = 0.0001 USD/GiB/h }
}
vm "c5.xlarge" { cores = 8, memory = 16 GiB, on_demand { price = 0.30 USD/h } }
quota m { cores = 24, families = [m] }
class a { coefficients { A = 10 s, B = 0 s, C = 0 s }, slots { map = 2, reduce = 1 }, spot = 50%, types = one
          jobs = 1, deadline = 1 min, penalty = 1 USD }
class b { coefficients { A = 10 s, B = 0 s, C = 0 s }, slots { map = 2, reduce = 1 }, types = ["c5.xlarge"]
          jobs = 1, deadline = 1 min, penalty = 1 USD }
minimize cost
"""
FACTS: Any = mrdsl.loads(TEXT).facts
HOUR = 3600.0
M, C = "m5.xlarge", "c5.xlarge"
MASTER = Rental(M, 1.0, 0.0, HOUR, master=True)


def rented(count: float, way: str = "on_demand", term: str = "", begin: float = 0.0, vm: str = M) -> Rental:
    return Rental(vm, count, begin, begin + HOUR, way, term)


def placed(rows: list[tuple[int, int, bool, float]]) -> Ledger:
    of_class, of_vm, spot, vms = (np.array(each) for each in zip(*rows, strict=True))
    return Ledger((), Placements(of_class, of_vm, spot, vms.astype(float)))


@pytest.mark.parametrize(
    ("rental", "cost"),
    [
        (rented(2.0), 2 * 0.26),
        (rented(2.0, SPOT), 2 * 0.13),
        (rented(2.0, RESERVED, "year"), 2 * 0.18),
        (rented(2.0, RESERVED, "old"), 2 * 0.06),  # prepaid: the fee and the disk alone
        (rented(2.0, vm=C), 2 * 0.30),
        (rented(2.0, RESERVED, vm=C), 0.0),  # which is not offered
    ],
)
def test_prices_by_hand(rental: Rental, cost: float) -> None:
    assert cost_of(FACTS, [rental]) == pytest.approx(cost)


def test_build_and_check_have_the_same_prices() -> None:
    built = {(vm.name, each.way, each.term): each for vm in FACTS.vms for each in market.offers_of(vm)}
    read = offers_of(FACTS)
    assert list(built) == [*list(read)[:1], *list(read)[2:4], list(read)[1], *list(read)[4:]]
    for way, offer in read.items():
        assert (built[way].price, built[way].available) == pytest.approx((offer.price, offer.available))
    assert sum(map(market.prepaid_price, FACTS.vms)) * HOUR == pytest.approx(prepaid_cost(FACTS, HOUR))


GOOD = Ledger([MASTER, rented(3.0), rented(2.0, SPOT), rented(2.0, RESERVED, "old")], managed=[(0.0, HOUR)])
DEFECTS: dict[str, tuple[Ledger, str]] = {
    "more than there are": (Ledger([MASTER, rented(4.0), rented(5.0, SPOT)]), "of 9"),
    "more under contract": (Ledger([rented(4.0, RESERVED, "year")]), "reserved year at once of 3"),
    "more cores than a quota": (Ledger([rented(7.0)]), "28 cores of quota m"),
    "more cores with second attempts": (Ledger([rented(6.0)], room=[rented(1.0)]), "28 cores of quota m"),
    "no master": (Ledger([rented(3.0)], managed=[(0.0, HOUR)]), "without 1 masters"),
    "a master that leaves early": (Ledger([MASTER], managed=[(0.0, HOUR + 1.0)]), "without 1 masters"),
    "one master for two": (Ledger([MASTER], managed=[(0.0, HOUR), (10.0, HOUR)]), "without 1 masters"),
    "half a VM": (Ledger([rented(0.5)]), "not a whole number"),
    "negative VMs": (Ledger([rented(-1.0)]), "negative"),
    "not a number": (Ledger([rented(float("nan"))]), "negative"),
    "too much on spot": (placed([(0, 0, True, 2.0), (0, 0, False, 1.0)]), "above 1.5"),
    "on two types": (placed([(0, 0, False, 2.0), (0, 1, False, 1.0)]), "on 2 types, not on one"),
    "on a type of others": (placed([(1, 0, False, 1.0)]), "may not use"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_planted_defects(name: str) -> None:
    assert not list(check(FACTS, GOOD, relax=False))
    ledger, words = DEFECTS[name]
    assert any(words in each.message for each in check(FACTS, ledger, relax=False))


def test_fractions_and_several_types_are_relaxed() -> None:
    assert not list(check(FACTS, Ledger([rented(0.5)]), relax=True))
    assert not list(check(FACTS, placed([(0, 0, False, 2.0), (0, 1, False, 1.0)]), relax=True))


def test_one_after_the_other_is_not_at_once() -> None:
    """Quotas of 24 cores: 6 VMs of 4 cores at a time, as often as wanted."""
    after = [rented(6.0, begin=hour * HOUR) for hour in range(3)]
    assert not list(check(FACTS, Ledger(after), relax=False))
    assert most_at_once(after) == 6.0
    assert most_at_once([*after, rented(1.0, begin=1.5 * HOUR)]) == 7.0
    assert most_at_once([Rental(M, 2.0, 0.0, 1e-9), Rental(M, 3.0, 0.0, 1e-9)]) == 5.0


def test_ways_that_are_not_offered() -> None:
    assert misfit(FACTS, [rented(1.0), rented(1.0, SPOT)]) == ""
    assert "which the spec does not have" in misfit(FACTS, [rented(1.0, vm="m6")])
    assert "is on spot" in misfit(FACTS, [rented(1.0, SPOT, vm=C)])
    assert "is reserved" in misfit(FACTS, [rented(1.0, RESERVED)])
    assert "is on spot" in misfit(FACTS, [Rental(M, 1.0, 0.0, HOUR, SPOT, master=True)])


def test_committed_vms_are_free_in_a_period_and_paid_in_all() -> None:
    counts = {(M, "year"): 2.0, (M, "old"): 2.0}
    assert committed_cost(FACTS, counts) * HOUR == pytest.approx(2 * 0.12)
    there = with_commitments(FACTS, counts)
    assert cost_of(there, [rented(2.0, RESERVED, "year")]) == pytest.approx(2 * 0.06)
    assert any("of 2" in each.message for each in check(there, Ledger([rented(3.0, RESERVED, "year")]), relax=False))
    assert not list(check_commitments(FACTS, counts, relax=False))
    for count in (4.0, 1.5, -1.0):
        assert list(check_commitments(FACTS, counts | {(M, "year"): count}, relax=False)), count
    assert list(check_commitments(FACTS, {(M, "old"): 1.0}, relax=False)), "prepaid VMs are all there"
    assert list(check_commitments(FACTS, {(C, ""): 1.0}, relax=False)), "without a contract"


def test_a_family_refuses_the_fields_that_it_leaves_out() -> None:
    with pytest.raises(TypeError, match="has no `boot`"):
        JointVm(name="a", on_demand=OnDemand(price=1.0), boot=60.0)
    with pytest.raises(mrdsl.MrdslError, match="cost of masters by hand"):
        mrdsl.loads("problem joint\ncluster { period = 1 h }\nvm a { on_demand { price = 1 USD/h }, masters = 1 }\n")
