"""A service that solves again and again holds no more memory after many rounds than after a few."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

import mrdsl
from mrdsl.core.resources import resource_text

TEXT = resource_text("models/capacity/quickstart.mrspec")
GREEN = TEXT.replace("minimize cost", "let dear = cost + 1 USD/vm * vms\nminimize dear")
A_ROUND = 4_000.0
"""Bytes that a round may leave: a tenth of what its result and its spec take, and more than what is made once."""


def solved() -> None:
    mrdsl.solve(mrdsl.loads(TEXT), "direct")


def solved_by_a_solver() -> None:
    mrdsl.solve(mrdsl.loads(TEXT), "highs")


def solved_for_an_own_goal() -> None:
    mrdsl.solve(mrdsl.loads(GREEN), "highs")


def saved_and_read() -> None:
    mrdsl.Result.from_json(mrdsl.solve(mrdsl.loads(TEXT), "direct").to_json())


def kept_after(rounds: int, one: Callable[[], None]) -> int:
    for _ in range(rounds):
        one()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize(
    ("one", "rounds"),
    [
        (solved, 10),
        pytest.param(solved_by_a_solver, 10, marks=pytest.mark.nightly),
        pytest.param(solved_for_an_own_goal, 10, marks=pytest.mark.nightly),
        pytest.param(saved_and_read, 10, marks=pytest.mark.nightly),
    ],
)
def test_rounds_leave_nothing(one: Callable[[], None], rounds: int) -> None:
    tracemalloc.start()
    try:
        before = kept_after(10, one)
        left = kept_after(rounds, one) - before
    finally:
        tracemalloc.stop()
    assert left / rounds < A_ROUND


def test_a_round_that_is_kept_is_seen() -> None:
    held = []
    tracemalloc.start()
    try:
        before = kept_after(5, solved)
        left = kept_after(10, lambda: held.append(mrdsl.solve(mrdsl.loads(TEXT), "direct"))) - before
    finally:
        tracemalloc.stop()
    assert left / 10 > 4 * A_ROUND
