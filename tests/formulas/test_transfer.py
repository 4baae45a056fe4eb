"""Transfer times against hand-worked figures, and what must hold whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrdsl.formulas.transfer import placement_time, reduce_share, shuffle_time


def test_word_count_by_hand() -> None:
    """17 blocks of 256 MB, half of it to 2 reduce tasks, ports of 125 MB/s: a VM with 12 blocks and one reduce task
    receives 3,072 MB, sends 1,536 MB and fetches 17 * 128 / 2 = 1,088 MB."""
    fetched = reduce_share(17, 2, 256e6, 0.5)
    assert fetched == 1088e6
    assert placement_time(12, 256e6, 125e6) == pytest.approx(24.576)
    assert shuffle_time(12, 1, 256e6, 0.5, fetched, 125e6) == pytest.approx((1536 + 1088) / 125)


def test_nothing_to_move() -> None:
    assert reduce_share(17, 0, 256e6, 0.5) == 0.0
    assert placement_time(12, 0.0, 125e6) == 0.0


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8),
    st.floats(0, 1e9),
    st.floats(0, 5),
    st.floats(1e6, 1e10),
)
def test_what_is_sent_is_what_is_fetched(vms: list[tuple[int, int]], block: float, out: float, speed: float) -> None:
    """Summed over the VMs, sending and fetching take the same time, and so the sum depends on no assignment."""
    maps, reduces = np.array(vms).T
    if reduces.sum() == 0:
        return
    fetched = reduce_share(int(maps.sum()), int(reduces.sum()), block, out)
    total = shuffle_time(maps, reduces, block, out, fetched, speed).sum()
    assert total == pytest.approx(2 * maps.sum() * block * out / speed, rel=1e-9)
