"""What somebody who runs a hybrid cloud sets: its VMs, and the weights of the controller, which decides the rest."""

from __future__ import annotations

from typing import Any

from mrdsl.contracts.operated import RUN, Operated, Setting, settings_of
from mrdsl.families.hybrid.facts import Control
from mrdsl.spec.spec import Spec

OWN = "which tasks are admitted or leave, the controller decides as they come; `mrdsl compare` shows what that came to"


def operated(spec: Spec, _: Any) -> Operated:
    """The VMs of the private cloud, and the options of the controller."""
    vms = tuple(Setting(RUN, vm.name, vm.available) for vm in spec.facts.vms)
    return Operated((*vms, *settings_of(spec.facts.control or Control(), "control")), OWN)
