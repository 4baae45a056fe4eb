"""What ``direct`` says of comparisons under ``subject to``: which it does not know, and which contradict the spec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, impossible
from mrdsl.families.capacity.class_bounds import class_bounds_of, quotas_in
from mrdsl.families.capacity.facts import MACHINES
from mrdsl.families.capacity.shape import is_plain
from mrdsl.families.capacity.wholeness import wholeness_of
from mrdsl.spec.spec import Constraint, Spec


def serves(spec: Spec) -> bool:
    """Whether ``direct`` knows every comparison of the spec."""
    others = class_bounds_of(spec).others
    priced_apart = not is_plain(spec.facts) or wholeness_of(spec.facts) == MACHINES
    return not (quotas_in(others)[1] if priced_apart else others)


def refuse(constraints: Iterable[Constraint], known: str) -> None:
    """Refuses comparisons beside those that are ``known``.

    Raises MrdslError with one diagnostic each.
    """
    found = [
        error(
            "unable-solver",
            f"direct knows bounds on {known} only, not `{constraint.text or constraint.comparison}`: it prices VMs one "
            "by one, and this comparison weighs them against each other or asks for some that no job takes",
            constraint.span,
            "solve with --solver highs, which is what auto takes here, and say how near: --gap 0.1%",
        )
        for constraint in constraints
    ]
    if found:
        raise MrdslError(found)


def contradictions_of(spec: Spec, names: Sequence[str], flags: NDArray[np.bool_]) -> tuple[Diagnostic, ...]:
    """The comparisons that leave no number of jobs for the classes flagged."""
    concerned = {names[int(index)] for index in flags.nonzero()[0]}
    return tuple(
        impossible(
            "impossible-admission",
            f"{constraint.text or 'this comparison'} leaves no number of jobs for class {bound.name}",
            constraint.span,
            "compare admitted(c) with a number inside the class's range of jobs",
        )
        for constraint in spec.constraints
        for bound in class_bounds_of(replace(spec, constraints=(constraint,))).bounds
        if bound.quantity == "admitted" and bound.name in concerned
    )
