"""Groups of classes of which at most one runs at a time, and their VMs: those of the most demanding class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, Related, did_you_mean, error, one_error
from mrdsl.families.capacity.facts import MACHINES, CapacityFacts
from mrdsl.formulas.stage_checks import at_path
from mrdsl.spec.columns import names_of

if TYPE_CHECKING:
    from mrdsl.spec.spec import Spec

Groups = NDArray[np.int64]
"""The number of each class's group: 0 for the first ``never_together``; a class in no group has a number of its own."""
Floats = NDArray[np.float64]


def groups_in(facts: CapacityFacts) -> Groups | None:
    """Return the group of each class, shape (classes,); None if the spec has no ``never_together``."""
    if not len(facts.never_together):
        return None
    place = {name: index for index, name in enumerate(names_of(facts.classes))}
    found = len(facts.never_together) + np.arange(len(place), dtype=np.int64)
    for number, group in enumerate(facts.never_together):
        found[[place[name] for name in group.classes]] = number
    return found


def total(values: Floats, groups: Groups | None) -> Floats:
    """Sum values of shape (..., classes) over the classes; a group counts as its largest class."""
    if groups is None:
        return np.asarray(values.sum(axis=-1))
    order = np.argsort(groups, kind="stable")
    first = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.asarray(np.maximum.reduceat(values[..., order], first, axis=-1).sum(axis=-1))


def check_groups(spec: Spec) -> Iterator[Diagnostic]:
    """Yield unknown and repeated classes of groups, and settings for which groups have no meaning."""
    facts: CapacityFacts = spec.facts
    names = list(names_of(facts.classes)) if len(facts.never_together) else []
    known, seen = set(names), dict[str, int]()
    for number, group in enumerate(facts.never_together):
        at, place = f"never_together[{number}].classes", group.span_of("classes")
        for name in group.classes:
            if name not in known:
                message = f"never_together {group.name} names class `{name}`, but there is no such class"
                yield at_path(error("unknown-name", message, place, did_you_mean(name, names, "classes: ")), at)
            elif name in seen:
                first = facts.never_together[seen[name]]
                related = Related("its first mention is here", first.span_of("classes"))
                message = f"class {name} is named twice by never_together blocks"
                yield at_path(error("duplicate", message, place, "name each class once", related), at)
            seen.setdefault(name, number)
        if len(set(group.classes)) < 2:
            message = f"never_together {group.name} names fewer than two classes"
            yield at_path(error("missing-item", message, place, "write classes = [a, b], or remove the block"), at)
    if len(facts.never_together):
        yield from _refused(facts)


def _refused(facts: CapacityFacts) -> Iterator[Diagnostic]:
    group = facts.never_together[0]
    rules = facts.simulation
    for flag, what, place in (
        (facts.whole == MACHINES, "`whole = machines`: classes that share no VM cannot take turns", "whole"),
        (facts.demand is not None, "`demand`: its periods have their own jobs", "demand"),
        (rules is not None and rules.work_conserving == "yes", "`work_conserving = yes`", "simulation"),
    ):
        if flag:
            message = f"never_together {group.name} does not support {what}"
            hint = "remove one of them"
            yield error("never-together", message, group.span, hint, Related("it is here", facts.span_of(place)))


def refuse_groups(facts: CapacityFacts, method: str) -> None:
    """Reject a spec with ``never_together``. Raises MrdslError."""
    if len(facts.never_together):
        group = facts.never_together[0]
        message = f"{method} does not support `never_together {group.name}`: it adds up the VMs of all classes"
        raise one_error("unable-solver", message, group.span, "solve with --solver highs, the default here")
