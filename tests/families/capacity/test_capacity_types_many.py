"""Many random specs of several VM types: all solvers, ``direct``, trying everything, and single types agree.

A sample of each; ``MRDSL_INSTANCES=50`` takes so many of each.
"""

import os
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from mrdsl.core.diagnostics import has_errors
from mrdsl.core.result import Termination
from mrdsl.families.capacity.methods.refusals import serves
from mrdsl.families.capacity.mix import mix_of
from mrdsl.families.capacity.verify import verify
from mrdsl.planning.solve_spec import solve
from mrdsl.spec import Spec
from tests.families.capacity import type_specs
from tests.families.capacity.test_capacity_types import EXACT, optimum

ALL = int(os.environ.get("MRDSL_INSTANCES", "0"))


def sample(few: int) -> range:
    """The seeds of a test that takes ``few`` unless more are asked for."""
    return range(ALL or few)


@pytest.mark.parametrize("seed", sample(6))
def test_solvers_agree(seed: int) -> None:
    """Spot, contracts, quotas, fees, containers, masters, `types = one` and comparisons drawn in."""
    spec = type_specs.varied_types(506 + seed)
    costs = [optimum(spec, name) for name in ("highs", "scip", "cbc", "glpk")]
    assert costs == pytest.approx([costs[0]] * 4, rel=1e-6)
    if not serves(spec):
        return
    found = solve(spec, solver="direct", limits=EXACT)
    if costs[0] == np.inf:
        assert found.termination is Termination.INFEASIBLE
        return
    relaxed = optimum(spec, relax=True)
    if mix_of(spec).sizes is None:
        assert optimum(spec, "direct", relax=True) == pytest.approx(relaxed, rel=1e-8)
    else:  # cores and memory are weighed as one: a bound, and a plan no cheaper than the optimum
        near = solve(spec, solver="direct", relax=True).objective
        assert near.bound <= relaxed * (1 + 1e-6)
        assert near.value >= relaxed * (1 - 1e-6)
    assert found.objective.bound <= costs[0] * (1 + 1e-9)
    assert costs[0] * (1 - 1e-9) <= found.objective.value <= costs[0] * (1.02 if mix_of(spec).sizes is None else 1.2)
    assert not has_errors(tuple(verify(spec, found.plan, relax=False)))


@pytest.mark.parametrize("seed", sample(6))
def test_small_ones_are_the_best_of_all_placements(seed: int) -> None:
    spec = replace(
        type_specs.varied_types(700 + seed, classes=1 + seed % 2, types=2 + seed % 2, jobs=4), constraints=()
    )
    assert optimum(spec) == pytest.approx(type_specs.best_by_trying(spec), rel=1e-6)


@pytest.mark.parametrize("seed", sample(2))
def test_one_type_each_costs_what_the_best_choice_of_single_types_does(seed: int) -> None:
    """Whatever is shared: every choice of a single type for each class is a spec of its own."""
    spec = type_specs.varied_types(800 + seed, classes=2, types=2 + seed % 2, jobs=10)
    names = [vm.name for vm in spec.facts.vms]
    alone = [optimum(_each_on(spec, [(name,) for name in chosen])) for chosen in product(names, repeat=2)]
    assert optimum(_each_on(spec, [("one",), ("one",)])) == pytest.approx(min(alone))


def _each_on(spec: Spec, types: list[tuple[str, ...]]) -> Spec:
    classes = tuple(replace(each, types=some) for each, some in zip(spec.facts.classes, types, strict=True))
    return replace(spec, facts=replace(spec.facts, classes=classes))
