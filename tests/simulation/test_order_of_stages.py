"""Ordering the stages of a class takes a number of steps in proportion to them."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mrdsl.formulas.stages import in_order


@st.composite
def graphs(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    count = draw(st.integers(0, 9))
    written = draw(st.permutations(range(count)))  # stage number of each place in a feasible order
    parents: list[tuple[int, ...]] = [()] * count
    for place, number in enumerate(written):
        parents[number] = tuple(draw(st.sets(st.sampled_from(written[:place])))) if place else ()
    return tuple(parents)


@given(graphs())
def test_each_next_stage_is_the_first_written_one_that_may_run(parents: tuple[tuple[int, ...], ...]) -> None:
    order = in_order(parents)
    for place, number in enumerate(order):
        done = set(order[:place])
        assert number == min(i for i, before in enumerate(parents) if i not in done and done.issuperset(before))
    assert sorted(order) == list(range(len(parents)))


def steps(count: int) -> int:
    """The lines that run for a chain of stages, written from its start."""
    found = 0

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal found
        found += 1
        return traced

    chain = ((), *((number,) for number in range(count - 1)))
    before = sys.gettrace()
    sys.settrace(traced)
    try:
        in_order(chain)
    finally:
        sys.settrace(before)
    return found


def test_a_chain_ten_times_as_long_takes_ten_times_the_steps() -> None:
    assert steps(2_000) <= 11 * steps(200)
