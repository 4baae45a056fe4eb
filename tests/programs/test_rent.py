"""The rental program against HiGHS on the whole model, on small drawn specs of every feature it has."""

from __future__ import annotations

import random

import pytest

import mrdsl
from mrdsl.core.result import Limits, SolutionStatus
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.verify import verify
from mrdsl.spec.spec import Spec


def drawn(seed: int, features: set[str]) -> Spec:
    """Draw a spec of three VM types and up to four classes."""
    draw = random.Random(seed)
    text = ["problem capacity"]
    if "quotas" in features:
        text.append(f"quota q {{ types = [a, b], cores = {draw.randint(20, 60)} }}")
    for name, cores in (("a", 2), ("b", 4), ("c", 8)):
        price = 0.05 * cores * draw.uniform(0.8, 1.2)
        more = f"spot {{ price = {0.4 * price:.4f} USD/h, interruptions = 0.01/h }}" if "spot" in features else ""
        if "contracts" in features and name != "c":
            more += f" reserved {{ price = {0.6 * price:.4f} USD/h, available = {draw.randint(1, 3)} }}"
        if "masters" in features and name == "b":
            more += " masters = 2"
        memory = draw.choice([2, 4]) * cores
        text.append(
            f"vm {name} {{ cores = {cores}, memory = {memory} GiB, on_demand {{ price = {price:.4f} USD/h }} {more} }}"
        )
    for number in range(draw.randint(2, 4)):
        low = draw.randint(0, 2)
        holds = f"container {{ cores = {draw.randint(1, 2)}, memory = {draw.randint(1, 4)} GiB }}"
        if "slots" in features:
            holds = f"slots {{ map = {draw.randint(1, 3)}, reduce = {draw.randint(1, 2)} }}"
        more = f"spot = {draw.choice([0, 40, 100])}%," if "spot" in features else ""
        more += " types = one," if "one" in features and number % 2 else ""
        work = f"A = {draw.randint(200, 1500)} s, B = {draw.randint(50, 500)} s, C = 20 s"
        text.append(
            f"class k{number} {{ coefficients {{ {work} }}, {holds}, {more}"
            f" jobs = {low}..{low + draw.randint(1, 3)}, deadline = {draw.randint(5, 12)} min,"
            f" penalty = {draw.uniform(0.1, 1.5):.3f} USD }}"
        )
    text += ["whole = no"] if "no" in features else []
    return mrdsl.loads("\n".join([*text, "minimize cost"]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "features",
    [
        "slots",
        "containers",
        "spot slots",
        "spot containers",
        "quotas containers",
        "masters contracts slots",
        "masters contracts containers",
        "one containers",
        "spot no containers",
        "quotas spot no slots",
    ],
)
def test_bounds_are_below_and_plans_near_the_optimum(features: str, seed: int) -> None:
    spec = drawn(seed, set(features.split()))
    found, best = direct(spec, False, Limits()), mrdsl.solve(spec, "highs")
    assert found is not None
    if best.plan is None:
        assert found.plan is None
        return
    assert found.bound <= best.value * (1.0 + 1e-6)
    assert best.solution is not SolutionStatus.OPTIMAL or found.value >= best.value * (1.0 - 1e-6)
    assert found.value <= best.value * 1.03
    assert not list(verify(spec, found.plan, False))
