"""Quotas: limits on the cores of groups of VM types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol

from mrdsl.core.diagnostics import Diagnostic, Related, did_you_mean, error, warning
from mrdsl.formulas.stage_checks import at_path
from mrdsl.spec.blocks import Quota
from mrdsl.spec.columns import column, matching, names_of

if TYPE_CHECKING:
    from mrdsl.formulas.pairs import Floats

PATTERN = frozenset("*?[")
"""Characters of patterns of names."""


class Rented(Protocol):
    """Facts with VM types and quotas."""

    @property
    def vms(self) -> Sequence[Any]:
        """The VM types."""

    @property
    def quotas(self) -> Sequence[Quota]:
        """The quotas."""


@dataclass(frozen=True, eq=False)
class CoreQuota:
    """A limit on cores: those of one VM of each type that counts, 0 of the others, of firm or of ``spot`` VMs."""

    name: str
    limit: float
    cores: Floats
    spot: bool


def is_named(name: str, types: Sequence[str]) -> bool:
    """Return True if a type is one of the names or patterns, or if there are none."""
    return not types or any(name == each or fnmatchcase(name, each) for each in types)


EC2_FAMILIES = re.compile("a|c|d|dl|f|g|gr|h|hpc|i|im|inf|is|m|mac|p|r|t|trn|u|vt|x|z")
"""Families of EC2: a quota may name those of which a spec has no type, as EC2's own quotas do."""


def family_of(name: str) -> str:
    """Return the family of a VM type, the letters at the beginning of its name; the name if it begins with none."""
    letters = next((place for place, letter in enumerate(name) if not letter.isalpha()), len(name))
    return name[:letters] or name


def counts(quota: Quota, name: str) -> bool:
    """Return True if a quota counts a VM type: by its name or a pattern, by its family, or as any type."""
    if not quota.families:
        return is_named(name, quota.types)
    return family_of(name) in quota.families or (bool(quota.types) and is_named(name, quota.types))


def core_quotas(facts: Rented) -> tuple[CoreQuota, ...]:
    """Return the quotas of a spec, with the cores of the types that count."""
    if not len(facts.quotas):
        return ()
    import numpy as np

    names, cores = names_of(facts.vms), np.nan_to_num(column(facts.vms, "cores"))
    return tuple(
        CoreQuota(
            each.name,
            each.cores,
            np.where([counts(each, name) for name in names], cores, 0.0),
            each.spot == "yes",
        )
        for each in facts.quotas
    )


def check_quotas(facts: Rented) -> Iterator[Diagnostic]:
    """Yield an error for each type of a quota that is unknown, and for quotas without types or cores."""
    names = list(names_of(facts.vms))
    for index, quota in enumerate(facts.quotas):
        for each in _quota(facts, names, index):
            yield at_path(each, f"quotas[{index}]")
        for item in ("types", "families"):
            if item in quota.spans and not getattr(quota, item):
                message = f"the {item} of quota {quota.name} are an empty list"
                hint = "leave the line out for all types"
                yield at_path(error("missing-item", message, quota.span_of(item), hint), f"quotas[{index}].{item}")


def _quota(facts: Rented, names: list[str], index: int) -> Iterator[Diagnostic]:
    """Yield names of unknown types and families, and types without cores."""
    quota = facts.quotas[index]
    families = {family_of(name) for name in names} if quota.families else set()
    for family in quota.families:
        if family not in families and not EC2_FAMILIES.fullmatch(family):
            message = f"quota {quota.name} names the family `{family}`, but no vm is of it"
            hint = did_you_mean(family, sorted(families), "families: ")
            yield error("unknown-name", message, quota.span_of("families"), hint)
    for name in quota.types:
        if name not in names and not PATTERN & set(name):
            message = f"quota {quota.name} names the VM type `{name}`, but there is no such vm"
            hint = did_you_mean(name, names, "VM types: ")
            yield error("unknown-name", message, quota.span_of("types"), hint)
    for place in matching(facts.vms, lambda vm: vm.lacks("cores")):
        vm = facts.vms[place]
        if counts(quota, vm.name):
            message = f"vm {vm.name} has no `cores`, which quota {quota.name} counts"
            yield error("missing-item", message, vm.span, "add cores = 4", Related("the quota is here", quota.span))
            return


def unused_quotas(facts: Rented) -> Iterator[Diagnostic]:
    """Yield a warning for each quota that counts no VMs."""
    for index, quota in enumerate(facts.quotas):
        named = [vm for vm in facts.vms if counts(quota, vm.name)]
        by = "families" if quota.families else "types"
        if not named and quota.families:
            some = ", ".join(sorted({family_of(vm.name) for vm in facts.vms})[:5])
            what, hint = "no vm is of its `families`", f"write families = [{some}], or leave the quota out"
        elif not named:
            what, hint = "no vm matches its `types`", 'write a pattern such as types = ["m5.*"], or leave `types` out'
        elif quota.spot == "yes" and all(vm.spot is None for vm in named):
            what, hint = "no vm that it counts has a spot price", "write spot = no, or leave the quota out"
        else:
            continue
        place = quota.span_of(by if not named else "spot")
        yield at_path(warning("unused", f"quota {quota.name} has no effect: {what}", place, hint), f"quotas[{index}]")
