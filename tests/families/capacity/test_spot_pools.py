"""Shares of single VM types, and of the type with most VMs."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import inf
from random import Random

import pytest

import mrdsl
from mrdsl.checking.comparisons import broken
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity.plan_warnings import verify
from mrdsl.families.capacity.verify import quantity
from mrdsl.families.capacity.why import why

TEXT = """problem capacity, estimates = paper
vm m5 { cores = 4, on_demand { price = 0.2 USD/h }, spot { price = 0.05 USD/h, interruptions = 0/h } }
vm c5 { cores = 2, on_demand { price = 0.2 USD/h }, spot { price = 0.06 USD/h, interruptions = 0/h } }
vm "r5.x" { cores = 1, on_demand { price = 0.3 USD/h }, spot { price = 0.09 USD/h, interruptions = 0/h } }
class c { coefficients { A = 3600 s, B = 0 s, C = 0 s }, slots { map = 2 }
          jobs = 20, deadline = 1 h, penalty = 9 USD }
minimize cost
"""


def cost(comparison: str, solver: str = "highs") -> float:
    spec = mrdsl.loads(TEXT + f"subject to {{ {comparison} }}\n")
    assert mrdsl.loads(spec.to_mrspec()) == spec
    assert mrdsl.Spec.from_json(spec.to_json()) == spec
    result = mrdsl.solve(spec, solver=solver)
    assert result.termination == "optimal"
    assert not has_errors(tuple(verify(spec, result.plan_of(mrdsl.CapacityPlan), relax=False)))
    return float(result.value or 0.0)


@pytest.mark.parametrize(
    ("comparison", "least"),
    [  # 10 VMs, on m5 0.05, on c5 0.06, on r5 0.09, on demand 0.2 USD
        ("share(spot, m5) <= 30%", 3 * 0.05 + 7 * 0.06),
        ("share(spot, largest) <= 50%", 5 * 0.05 + 5 * 0.06),
        ("share(spot, largest) <= 40% * share(spot)", 4 * 0.05 + 4 * 0.06 + 2 * 0.09),
        ("0.5 * share(spot) >= share(spot, largest)", 5 * 0.05 + 5 * 0.06),
        ("share(spot, m5) + share(spot, c5) <= 70%", 7 * 0.05 + 3 * 0.09),
        ("share(spot, m5) / 2 <= 10%", 2 * 0.05 + 8 * 0.06),
        ("max(share(spot, m5), share(spot, c5)) <= 40%", 4 * 0.05 + 4 * 0.06 + 2 * 0.09),
        ('share(spot, "r5.x") >= share(spot, m5) + 20%', 8 * 0.06 + 2 * 0.09),
        ("share(on_demand, largest) <= 0%", 10 * 0.05),
        ("share(reserved, m5) <= 10%", 10 * 0.05),
        ("cores(spot, m5) <= 30", 7 * 0.05 + 3 * 0.06),
        ("cores(spot, largest) <= 16", 4 * 0.05 + 6 * 0.06),
        ("cores(spot, largest) <= 60% * cores(spot)", 4 * 0.05 + 6 * 0.06),
        ("cores(spot) <= 38", 9 * 0.05 + 0.06),
        ("cores(on_demand) >= 8", 8 * 0.05 + 2 * 0.2),
        ("cores(reserved, largest) <= 0", 10 * 0.05),
    ],
)
def test_shares_of_types(comparison: str, least: float) -> None:
    for solver in ("highs", "scip"):
        assert cost(comparison, solver) == pytest.approx(least)


@pytest.mark.parametrize(
    ("comparison", "code", "said"),
    [
        ("share(spot, m6) <= 3%", "unknown-name", "did you mean `spot, m5`?"),
        ("share(m5, spot) <= 3%", "unknown-name", "no `m5, spot`"),
        ("share(spot, m5, c5) <= 3%", "wrong-arguments", "one name or two"),
        ("share(spot, m5) <= 3 USD", "wrong-unit", "money"),
        ("share(spot, largest) >= 40%", "wrong-statement", "at most"),
        ("share(spot, largest) == 40%", "wrong-statement", "at most"),
        ("share(spot) <= 3 * share(spot, largest)", "wrong-statement", "at most"),
        ("share(spot, largest) / share(spot) <= 50%", "wrong-statement", "at most"),
        ("max(share(spot, m5), 10%) + 1% <= 40%", "unable-solver", "linear"),
        ("vms >= 40 * share(spot, m5)", "unable-solver", "linear"),
        ("1 / share(spot, m5) <= 40", "unable-solver", "linear"),
        ("cores(spot, largest) >= 4", "wrong-statement", "at most"),
        ("cores(spot) <= 3 * cores(spot, largest)", "wrong-statement", "at most"),
        ("cores <= 4", "wrong-arguments", "one name or two"),
        ("cores(spot) <= 4 GiB", "wrong-unit", "data"),
        ("cores(spot) <= 4 * share(spot)", "unable-solver", "linear"),
    ],
)
def test_wrong_shares_of_types(comparison: str, code: str, said: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.solve(mrdsl.loads(TEXT + f"subject to {{ {comparison} }}\n"))
    told = refused.value.diagnostics[0]
    assert told.code == code
    assert said in f"{told.message} {told.hint}"
    assert told.span is not None


def test_a_vm_named_largest_is_ambiguous() -> None:
    text = TEXT.replace("vm c5", "vm largest") + "subject to { share(spot, largest) <= 30% }\n"
    with pytest.raises(mrdsl.MrdslError, match="but a vm is also called so"):
        mrdsl.loads(text)


def test_cores_that_are_missing_are_told() -> None:
    text = TEXT.replace("cores = 2, ", "") + "subject to { cores(spot) <= 30 }\n"
    with pytest.raises(mrdsl.MrdslError, match="vm c5 has no `cores`"):
        mrdsl.loads(text)


def test_the_largest_share_is_not_an_objective() -> None:
    with pytest.raises(mrdsl.MrdslError, match="cannot be part of an objective"):
        mrdsl.loads(TEXT.replace("minimize cost", "minimize share(spot, largest)"))


@pytest.mark.parametrize(
    ("comparison", "said"),
    [  # 10 VMs, those of m5 have 4 cores, those of c5 2
        ("share(spot, largest) <= 60%", "6 of 10 VMs on spot are of m5"),
        ("cores(spot, largest) <= 16", "16 of 28 cores on spot are of m5"),
        ("cores(on_demand, largest) <= 16", ""),
    ],
)
def test_why_shows_the_largest_pool(comparison: str, said: str) -> None:
    spec = mrdsl.loads(TEXT + f"subject to {{ {comparison} }}\n")
    told = [str(each) for each in why(spec, mrdsl.solve(spec))]
    assert any(said in each for each in told)
    assert any("are of" in each for each in told) == bool(said)


def test_direct_refuses_shares_of_types() -> None:
    spec = mrdsl.loads(TEXT + "subject to { share(spot, largest) <= 30% }\n")
    with pytest.raises(mrdsl.MrdslError, match="direct knows bounds"):
        mrdsl.solve(spec, solver="direct")


def test_one_plain_type_has_one_share() -> None:
    text = TEXT.split("vm c5")[0].replace(", spot { price = 0.05 USD/h, interruptions = 0/h }", "")
    text += TEXT[TEXT.index("class c") :]
    for limit, right in (
        ("share(on_demand, m5) >= 100%", "optimal"),
        ("share(on_demand, largest) <= 90%", "infeasible"),
        ("cores(on_demand, m5) <= 40", "optimal"),
        ("cores(on_demand) <= 39", "infeasible"),
    ):
        assert mrdsl.solve(mrdsl.loads(f"{text}subject to {{ {limit} }}\n")).termination == right


def test_verification_counts_shares_of_types_itself() -> None:
    plan = mrdsl.solve(mrdsl.loads(TEXT)).plan_of(mrdsl.CapacityPlan)  # 10 VMs of m5 on spot
    for comparison, kept in (("spot, m5) <= 99%", False), ("spot, largest) <= 99%", False), ("spot, c5) <= 0%", True)):
        spec = mrdsl.loads(TEXT + f"subject to {{ share({comparison} }}\n")
        assert (not list(broken(spec, partial(quantity, spec, plan)))) == kept


def drawn(seed: int) -> tuple[str, float]:
    """Draw types on spot and a limit; return the spec and its least cost by trying all numbers of VMs."""
    random = Random(seed)
    prices = [(random.choice([2, 3, 5]), random.choice([5, 6, 9])) for _ in range(random.randint(1, 3))]
    jobs, penalty, limit = random.randint(1, 4), random.choice([0, 4, 30]), random.choice([0, 30, 34, 50, 100])
    of_spot, low = random.random() < 0.5, random.choice([0, 1])
    vms = [
        f"vm t{n} {{ on_demand {{ price = {firm} USD/h }}, spot {{ price = {spot} USD/h, interruptions = 0/h }} }}"
        for n, (spot, firm) in enumerate(prices)
    ]
    text = "\n".join(
        [
            "problem capacity",
            *vms,
            "class c { coefficients { A = 3600 s, B = 0 s, C = 0 s }, slots { map = 1 }",
            f"jobs = {low} .. {jobs}, deadline = 1 h, penalty = {penalty} USD }}",
            f"minimize cost\nsubject to {{ share(spot, largest) <= {limit}%{' * share(spot)' * of_spot} }}\n",
        ]
    )
    best = inf
    for counts in product(range(jobs + 3), repeat=2 * len(prices)):
        spot, firm = counts[::2], counts[1::2]
        if 100 * max(spot) > limit * (sum(spot) if of_spot else sum(counts)):
            continue
        placed = min(jobs, sum(counts))
        if placed >= low:
            paid = sum(s * a + f * b for s, f, (a, b) in zip(spot, firm, prices, strict=True))
            best = min(best, paid + penalty * (jobs - placed))
    return text, best


@pytest.mark.parametrize("first", [0, 10, 20])
def test_limits_of_pools_are_those_of_an_enumeration(first: int) -> None:
    for seed in range(first, first + 10):
        text, best = drawn(seed)
        result = mrdsl.solve(mrdsl.loads(text), limits=mrdsl.Limits(gap=0.0))
        assert result.value == pytest.approx(best), text


def test_one_vm_is_not_spread() -> None:
    """One job cannot be spread: it runs on demand, or beside idle VMs if those are cheaper."""
    text = TEXT.replace("jobs = 20", "jobs = 2") + "subject to { share(spot, largest) <= 34% * share(spot) }\n"
    result = mrdsl.solve(mrdsl.loads(text))
    assert result.value == pytest.approx(min(0.2, 0.05 + 0.06 + 0.09))
