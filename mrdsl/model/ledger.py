"""The ledger of a plan: what is rented from when to when, and which jobs take which VMs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ON_DEMAND, RESERVED, SPOT = WAYS = ("on_demand", "reserved", "spot")
"""Ways of buying a VM."""
Way = tuple[str, str, str]
"""A VM type, a way of buying, and the name of the contract, if it has one."""


@dataclass(frozen=True)
class Rental:
    """VMs of one type, bought in one way, from when to when [s]; ``term`` names one of several contracts.

    A ``master`` holds no slots.
    """

    vm: str
    count: float
    begin: float
    end: float
    way: str = ON_DEMAND
    term: str = ""
    master: bool = False

    @property
    def bought(self) -> Way:
        """The type, the way of buying and the contract."""
        return self.vm, self.way, self.term

    @property
    def spot(self) -> bool:
        """True if the provider may take the VMs back."""
        return self.way == SPOT

    def of(self, count: float, master: bool = False) -> Rental:
        """Return a part of the rental."""
        return replace(self, count=count, master=master)


@dataclass(frozen=True, eq=False)
class Placements:
    """Jobs of a class, or a run, on VMs of one type, firm or on spot: columns.

    ``of_class`` and ``of_vm`` number the classes and types of the spec, ``period`` the periods; ``vms`` are those that
    the slots take.
    """

    of_class: NDArray[np.int64]
    of_vm: NDArray[np.int64]
    spot: NDArray[np.bool_]
    vms: NDArray[np.float64]
    period: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Ledger:
    """Rentals and placements of a plan.

    Attributes:
        rentals: All rented VMs.
        placements: The jobs on them.
        room: VMs that stay free, such as those of second attempts: within the limits, but not paid.
        managed: Times in which masters of every type are rented, others at each [s].
        masters_count: Masters are among the `available` VMs of their type.
    """

    rentals: Sequence[Rental]
    placements: Placements | None = None
    room: Sequence[Rental] = ()
    managed: Sequence[tuple[float, float]] = ()
    masters_count: bool = True

    @property
    def workers(self) -> list[Rental]:
        """The rentals that hold slots."""
        return [each for each in self.rentals if not each.master]
