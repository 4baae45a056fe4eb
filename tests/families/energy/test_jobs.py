"""Several jobs in one spec against enumeration: every way of dealing the VMs, the best plan of each job on its part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl import Limits
from mrdsl.families.energy import verify
from mrdsl.families.energy.facts import Job, MapTasks, ReduceTasks
from mrdsl.spec import Spec

from .specs import enumerate_best, on, spec_of, vm


@st.composite
def two_jobs(draw: st.DrawFn) -> Spec:
    whole = st.integers
    vms = tuple(vm(f"v{k}", draw(whole(1, 3)), draw(whole(2, 20)) / 100, draw(whole(1, 2))) for k in range(2))
    jobs = [
        Job(
            name=name,
            map=MapTasks(tasks=draw(whole(1, 3)), block=draw(st.sampled_from([0.0, 1e9]))),
            reduce=ReduceTasks(tasks=draw(whole(0, 2))),
            intermediate=0.5,
            deadline=draw(st.sampled_from([None, 120.0])),
            budget=draw(st.sampled_from([None, 0.004])),
            on=tuple(
                on(v.name, draw(whole(10, 50)), draw(whole(10, 99)), draw(whole(10, 50)), draw(whole(10, 99)))
                for v in vms
            ),
        )
        for name in ("first", "second")
    ]
    return spec_of(vms, *jobs)


def parts(spec: Spec) -> Iterator[tuple[Spec, Spec]]:
    """Every split of the stock into one for each job."""
    first, second = spec.facts.jobs
    for taken in product(*(range(kind.available + 1) for kind in spec.facts.vms)):
        yield tuple(  # type: ignore[misc]
            replace(
                spec,
                facts=replace(
                    spec.facts,
                    jobs=(job,),
                    vms=tuple(
                        replace(kind, available=count if job is first else kind.available - count)
                        for kind, count in zip(spec.facts.vms, taken, strict=True)
                    ),
                ),
            )
            for job in (first, second)
        )


def best_of(spec: Spec) -> float:
    return min(
        sum(enumerate_best(one) if any(v.available for v in one.facts.vms) else inf for one in pair)
        for pair in parts(spec)
    )


@settings(max_examples=25, deadline=None, derandomize=True)
@given(two_jobs())
def test_two_jobs_are_dealt_the_stock_in_the_best_way(spec: Spec) -> None:
    best = best_of(spec)
    exact = mrdsl.solve(spec, "highs", limits=Limits(gap=0.0))
    ours = mrdsl.solve(spec, "mrdsl-energy")
    if best == inf:
        assert exact.termination == "infeasible"
        assert ours.plan is None
        return
    assert exact.objective.value == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert exact.plan is not None
    assert verify.verify(spec, exact.plan) == ()
    assert ours.plan is not None
    assert ours.objective.value <= best * 1.05 + 1e-9
    assert ours.objective.bound <= best * (1 + 1e-6) + 1e-9


def test_both_forms_agree_on_two_jobs() -> None:
    vms = (vm("small", 1, 0.04, 3), vm("large", 2, 0.09, 2))
    profiles = (on("small", 20, 50, 15, 40), on("large", 18, 44, 14, 41))
    first = Job(
        name="first",
        map=MapTasks(tasks=4, block=1e9),
        reduce=ReduceTasks(tasks=1),
        intermediate=0.5,
        deadline=130.0,
        budget=0.005,
        on=profiles,
    )
    second = Job(name="second", map=MapTasks(tasks=3), deadline=45.0, on=profiles)
    spec = spec_of(vms, first, second)
    counted, printed = (mrdsl.solve(spec, "highs", formulation=form) for form in ("counted", "per_task"))
    assert counted.solution == printed.solution == "optimal"
    assert counted.objective.value == pytest.approx(printed.objective.value, rel=1e-6)
    assert counted.objective.value == pytest.approx(best_of(spec), rel=1e-6)
