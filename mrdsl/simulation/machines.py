"""The machine that is rented, and how its time is billed."""

from __future__ import annotations

from dataclasses import dataclass

from mrdsl.core.whole_numbers import begun


@dataclass(frozen=True, slots=True)
class MachineType:
    """The one VM type: slots, on-demand price per second, billing period and start-up time in seconds.

    ``broken_free``: the period in which the market takes a spot VM is not paid, as on EC2 until 2017.
    """

    map_slots: int
    reduce_slots: int
    price: float
    billing: float
    boot: float = 0.0
    broken_free: bool = True

    @property
    def slots(self) -> tuple[int, int]:
        return self.map_slots, self.reduce_slots


def started_periods(start: float, end: float, period: float) -> int:
    """How many billing periods have started by ``end`` (one that would start exactly there has not)."""
    return max(int(begun((end - start) / period)), 0)
