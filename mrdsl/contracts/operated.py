"""What somebody who runs a plan sets: machines to rent, slots to give, jobs to place. Two plans differ in these."""

from __future__ import annotations

from dataclasses import dataclass

from mrdsl.core.units import KINDS
from mrdsl.spec.schema import Item, Node, declarations

RENT, RUN, GIVE, ADMIT, SET, PLACE = "rent", "run", "give", "admit", "set", "place"


@dataclass(frozen=True)
class Setting:
    """One thing that is set: ``action`` says of which kind, ``what`` names it, ``when`` its period of several.

    ``rent``: so many machines of a kind are rented; ``run``: are switched on; ``give``: a class or a job has so many
    slots, VMs or tasks, as ``unit`` says; ``admit``: so many jobs of a class, or requests of a service, are let in;
    ``set``: an option has that value; ``place``: a job or task stands there.
    """

    action: str
    what: str
    value: float | str
    unit: str = ""
    when: str = ""


@dataclass(frozen=True)
class Operated:
    """All settings of a plan. ``note`` says, where that is so, what a plan of the family leaves to the run."""

    settings: tuple[Setting, ...]
    note: str = ""


def settings_of(node: Node, block: str) -> tuple[Setting, ...]:
    """The items of a block as options to set; those that are None are left to mrdsl."""
    found = []
    for name, declared in declarations(type(node)).items():
        value = getattr(node, name)
        if isinstance(declared, Item) and value is not None:
            shown = value if isinstance(value, str | int | float) else str(value)
            unit = KINDS[declared.kind].si if declared.form == "quantity" else ""
            found.append(Setting(SET, f"`{name}` of `{block}`", shown, "" if "{" in unit else unit))
    return tuple(found)
