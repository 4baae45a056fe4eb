"""When a run was submitted and ended, where its log can be believed, else when its tasks say so."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_WAIT = 7 * 24 * 3_600_000
"""A week in milliseconds: no run is believed to wait longer for its first task, or to end so long after its last."""


@dataclass(frozen=True, slots=True)
class Times:
    """Begin and end in milliseconds, None where unknown; ``doubted`` where the log says otherwise."""

    begin: int | None
    end: int | None
    doubted: bool = False


def believed(
    submitted: int | None, launched: int | None, finished: int | None, first: int | None, last: int | None
) -> Times:
    """``first`` is the start of the run's first attempt, ``last`` the end of its last successful one.

    A submission after the first start, or more than :data:`LONGEST_WAIT` before it, is that of another clock or no time
    at all: the launch stands in where it can be believed, else the first start. So with an end before the last success.
    """
    begin = next((each for each in (submitted, launched) if each is not None and _before(each, first)), first)
    end = finished if finished is not None and (last is None or 0 <= finished - last <= LONGEST_WAIT) else last
    doubted = (submitted is not None and begin != submitted) or (finished is not None and end != finished)
    return Times(begin, end, doubted)


def _before(moment: int, first: int | None) -> bool:
    return first is None or 0 <= first - moment <= LONGEST_WAIT
