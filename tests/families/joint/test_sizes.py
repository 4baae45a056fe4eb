"""All sizes at once equals the greedy, size by size; the threshold fill equals the sorted one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.joint import allocation
from mrdsl.families.joint.methods import greedy as joint
from mrdsl.families.joint.workload import workload
from studies.joint_sizes import sweep

from .specs import random_spec
from .test_greedy import greedy


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("relax", [True, False])
def test_every_size_as_if_alone(seed: int, relax: bool) -> None:
    spec = random_spec(seed)
    sizes = np.arange(1.0, 18.0)
    found = sweep(workload(spec), sizes, relax)
    for size, total, classes, services in zip(
        sizes, found.total[:, 0], found.class_vms[:, 0], found.service_vms[:, 0], strict=True
    ):
        cluster = replace(spec.facts.cluster, size=int(size))
        alone = greedy(replace(spec, facts=replace(spec.facts, cluster=cluster)), relax)
        if alone.value is None:
            assert np.isnan(total)
            continue
        assert total == pytest.approx(alone.value, rel=1e-10)
        assert classes == pytest.approx(alone.plan.classes.vms.sum(), abs=1e-9)
        assert services == pytest.approx(alone.plan.services.vms.sum(), abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("distinct", [3, 40, None])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999, 2.0])
def test_threshold_fill_equals_sorting(
    seed: int, distinct: int | None, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with many equal worths, where spec order decides."""
    draw = np.random.default_rng(seed)
    worth = draw.random((2, 300)) if distinct is None else draw.integers(0, distinct, (2, 300)) / distinct
    room = draw.integers(0, 4, (2, 300)).astype(float)
    left = room.sum(axis=1) * share
    expected = allocation.fill(worth, room, left, 0.2)
    monkeypatch.setattr(allocation, "SORTED_UP_TO", 0)
    monkeypatch.setattr(allocation, "SAMPLE", 30)
    np.testing.assert_allclose(allocation.fill(worth, room, left, 0.2), expected, atol=1e-9)


def test_a_draft_leaves_its_input_alone() -> None:
    draft = joint.serve_least(Draft(random_spec(3), relax=True))
    before = draft.state.vms.copy()
    joint.fill_by_penalty(draft)
    assert (draft.state.vms == before).all()
