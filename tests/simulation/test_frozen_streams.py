"""Every number drawn is the one that the seed promises, on every machine: drawn again here without numpy.

Python's own ``random`` is the same Mersenne Twister (MT19937, ``init_by_array``, 53-bit fractions); on top of it stand
the textbook ways from uniform numbers to the others that numpy's legacy streams are frozen to: inversion, Marsaglia's
polar method, Knuth's product for Poisson, rejection of masked bits for whole numbers.
"""

from __future__ import annotations

import random
from hashlib import blake2s
from itertools import permutations
from math import exp, log, sqrt

import numpy as np
import pytest

from mrdsl import loads
from mrdsl.families.capacity.periods.table import demand_of
from mrdsl.families.joint.workload import expected_demand
from mrdsl.formulas.workloads import DAYS, typical_demand
from mrdsl.language.scope import Draws
from mrdsl.simulation.sampling import draws, stream, stream_again
from mrdsl.spec.schema import Distribution, Item

COUNT = 7


class Twister:
    """The same numbers from Python's generator."""

    def __init__(self, key: str) -> None:
        digest = blake2s(key.encode(), digest_size=16).digest()
        self.bits = random.Random(int.from_bytes(digest, "little"))
        self.spare: float | None = None

    def fraction(self) -> float:
        return self.bits.random()

    def normal(self) -> float:
        if self.spare is not None:
            found, self.spare = self.spare, None
            return found
        while True:
            x, y = 2.0 * self.fraction() - 1.0, 2.0 * self.fraction() - 1.0
            square = x * x + y * y
            if 0.0 < square < 1.0:
                factor = sqrt(-2.0 * log(square) / square)
                self.spare = factor * x
                return factor * y

    def whole(self, below: int) -> int:
        mask = 2 ** (below - 1).bit_length() - 1
        while True:
            drawn = self.bits.getrandbits(32) & mask
            if drawn < below:
                return drawn

    def poisson(self, rate: float) -> int:
        count, product = 0, self.fraction()
        while product > exp(-rate):
            count, product = count + 1, product * self.fraction()
        return count


def again(name: str, p: tuple, twister: Twister) -> list[float]:
    match name:
        case "uniform":
            return [p[0] + (p[1] - p[0]) * twister.fraction() for _ in range(COUNT)]
        case "uniform_int":
            return [p[0] + twister.whole(int(p[1] - p[0]) + 1) for _ in range(COUNT)]
        case "normal":
            return [p[0] + p[1] * twister.normal() for _ in range(COUNT)]
        case "exponential":
            return [-p[0] * log(1.0 - twister.fraction()) for _ in range(COUNT)]
        case "poisson":
            return [twister.poisson(p[0]) for _ in range(COUNT)]
        case "choice":
            return [p[0][twister.whole(len(p[0]))] for _ in range(COUNT)]
    weights, means, deviations = p
    shares = [twister.fraction() * sum(weights) for _ in range(COUNT)]
    parts = [next(i for i in range(len(weights)) if share < sum(weights[: i + 1])) for share in shares]
    return [means[part] + deviations[part] * twister.normal() for part in parts]


KINDS = {
    "uniform": (2.0, 5.0),
    "uniform_int": (3.0, 12.0),
    "normal": (100.0, 5.0),
    "exponential": (30.0,),
    "poisson": (4.0,),
    "choice": ((1.0, 2.0, 4.0, 8.0, 16.0),),
    "mixture": ((1.0, 3.0), (50.0, 90.0), (2.0, 4.0)),
}


@pytest.mark.parametrize("name", KINDS)
def test_facts_are_drawn_as_ever(name: str) -> None:
    drawn = Draws(11, "classes.deadline", COUNT, Item("quantity", ""), turns=1).draw(name, KINDS[name])
    assert drawn.tolist() == pytest.approx(again(name, KINDS[name], Twister("11/classes.deadline/2")), rel=1e-14)


@pytest.mark.parametrize("name", KINDS)
def test_simulated_values_are_drawn_as_ever(name: str) -> None:
    drawn = draws(Distribution(name, KINDS[name]), stream(5, "arrivals", "etl"), COUNT)
    twister = Twister(repr((5, "arrivals", "etl")))
    assert drawn.tolist() == pytest.approx(again(name, KINDS[name], twister), rel=1e-14)


def test_a_stream_in_the_place_of_another_is_that_of_its_own_place() -> None:
    random = stream(5, "arrivals")
    for run in range(3):
        random.standard_normal(3)  # of a pair of normal values one is left
        again = stream_again(random, run, "arrivals", "etl").standard_normal(5)
        assert again.tolist() == stream(run, "arrivals", "etl").standard_normal(5).tolist()


def test_a_typical_day_is_drawn_as_ever() -> None:
    """At the length of a sample a period's mean is the sample; two units, the second three samples ahead."""
    found = typical_demand(stream(9, "bimodal day"), ["a", "b"], np.array([0.0, 1800.0]), 144, 600.0, 0.1)
    np.testing.assert_allclose(found, two_typical_days(Twister(repr((9, "bimodal day")))), rtol=1e-9)


def two_typical_days(twister: Twister) -> list[list[float]]:
    hours = [i / 6.0 for i in range(144)]
    days = [[0.25] * 144 for _ in range(DAYS)]
    for center, width, height in ((11.0, 1.75, 0.75), (16.0, 2.5, 0.7)):
        centers = [center + 0.5 * twister.normal() for _ in range(DAYS)]
        heights = [height * (1.0 + 0.2 * twister.normal()) for _ in range(DAYS)]
        for day, middle, top in zip(days, centers, heights, strict=True):
            for i, hour in enumerate(hours):
                day[i] += top * exp(-0.5 * (((hour - middle + 12.0) % 24.0 - 12.0) / width) ** 2)
    days = [[level * (1.0 + 0.03 * twister.normal()) for level in day] for day in days]
    days = [[level / max(day) for level in day] for day in days]
    mine = [days[twister.whole(DAYS)] for _ in range(2)]
    return [
        [max(mine[u][(t + 3 * u) % 144] * (1.0 + 0.1 * twister.normal()), 0.0) for u in range(2)] for t in range(144)
    ]


def test_the_days_of_a_spec_are_those_of_its_seed() -> None:
    """The stream of the demand is keyed by the spec's seed."""
    text = (
        'problem joint "one service"\nseed = {seed}\ncluster {{ size = 30 vms, vm_cost = 1 cent/h, period = 600 s }}\n'
        "demand {{ periods = 144, day = bimodal, floor = 100% }}\n"
        "service a {{ rate = 100/s, service_rate = 10/s, response = 1 s, penalty = 1 cent }}\n"
        "service b {{ rate = 100/s, service_rate = 10/s, response = 1 s, penalty = 1 cent, shift = 0.5 h }}\n"
        "minimize cost\n"
    )
    for seed in (0, 9):
        spec = loads(text.format(seed=seed))
        expected = typical_demand(stream(seed, "bimodal day"), ["a", "b"], np.array([0.0, 1800.0]), 144, 600.0, 0.0)
        np.testing.assert_allclose(expected_demand(spec)[1], 100.0 * expected)


BLOCKS = {
    name: f"service {name} {{ rate = {rate}/s, service_rate = 10/s, response = 1 s, penalty = 1 cent }}\n"
    for name, rate in {"s2": 40, "s10": 90, "a": 70}.items()
}


@pytest.mark.parametrize("order", list(permutations(BLOCKS)))
def test_random_days_do_not_depend_on_the_order_of_blocks(order: tuple[str, ...]) -> None:
    """Services draw in the order a, s2, s10, after the class, wherever their blocks are."""
    head = (
        'problem joint "order"\nseed = 3\ncluster { size = 30 vms, vm_cost = 1 cent/h, period = 600 s }\n'
        "demand { periods = 144, day = bimodal, floor = 100%, noise = 5% }\n"
    )
    jobs = (
        "class z { map { tasks = 2, avg = 5 s, max = 9 s }, slots { map = 2, reduce = 2 }\n"
        "  jobs = 3..5, deadline = 60 s, penalty = 1 cent, guarantee = upper }\n"
    )
    spec = loads(head + "".join(BLOCKS[name] for name in order) + jobs + "minimize cost\n")
    drawn = typical_demand(stream(3, "bimodal day"), ["1", "2", "3", "4"], np.zeros(4), 144, 600.0, 0.05)
    column = {"a": 1, "s2": 2, "s10": 3}
    expected = np.stack(
        [5.0 * drawn[:, 0], *({"s2": 40, "s10": 90, "a": 70}[n] * drawn[:, column[n]] for n in order)], 1
    )
    np.testing.assert_allclose(expected_demand(spec)[1], expected)


def test_random_days_of_capacity_do_not_depend_on_the_order_of_blocks() -> None:
    head = (
        'problem capacity "order"\nseed = 3\ndemand { periods = 24, day = bimodal, floor = 50%, noise = 5% }\n'
        "vm m { on_demand { price = 1 USD/h } }\n"
    )
    blocks = [
        f"class {name} {{ map {{ tasks = {tasks}, avg = 5 s, max = 9 s }}, slots {{ map = 2 }}, jobs = {tasks}\n"
        "  deadline = 60 s, penalty = 1 USD }\n"
        for name, tasks in (("b", 50), ("a", 90))
    ]
    one, other = (demand_of(loads(head + "".join(each) + "minimize cost\n"))[1] for each in (blocks, blocks[::-1]))
    np.testing.assert_allclose(one, other[:, ::-1])
