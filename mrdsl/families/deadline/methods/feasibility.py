"""Whether any partition keeps what `subject to` asks for: a linear program, where closed forms do not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrdsl.core.program_rows import ProgramRows
from mrdsl.core.result import Limits
from mrdsl.solving.programs import UnsolvedError, optimum

if TYPE_CHECKING:
    from mrdsl.families.deadline.methods.direct import SlackSearch

LIMITS = Limits(time=60.0, threads=1)


def impossible(search: SlackSearch) -> bool:
    """Whether it is proven that no slacks keep all limits and the network; False where that is not known."""
    network, limits = search.small, search.limits
    program = ProgramRows()
    for event in range(network.events):
        known = network.times[event] if event < network.fixed else None
        program.column(lower=0.0 if known is None else known, upper=network.deadlines.max() if known is None else known)
    slacks = [
        program.column(lower=low, upper=high)
        for low, high in zip(limits.lower.tolist(), limits.upper.tolist(), strict=True)
    ]
    ends = zip(slacks, network.tail.tolist(), network.head.tolist(), network.duration.tolist(), strict=True)
    for slack, tail, head, duration in ends:
        program.at_most({slack: 1.0, tail: 1.0, head: -1.0}, -duration)
    for before, later in zip(network.before.tolist(), network.later.tolist(), strict=True):
        program.at_most({before: 1.0, later: -1.0}, 0.0)
    for each in limits.sums:
        terms = {slacks[task]: factor for task, factor in zip(each.tasks.tolist(), each.factors.tolist(), strict=True)}
        (program.exactly if each.equal else program.at_most)(terms, each.most)
    try:
        return optimum(program.program(), LIMITS) is None
    except UnsolvedError:
        return False
