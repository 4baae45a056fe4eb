"""Packing of whole slots on whole VMs, by listed or generated patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, lcm

from mrdsl.core.rounding import FEASIBILITY, ROUNDING

ROUNDS = 200
MOST_GENERATED = 20_000
"""Most contents that are searched for the most valuable one; if there are more, nothing is proven."""

Counts = tuple[int, ...]
Room = tuple[int, ...]
Size = int | tuple[Fraction, ...]
"""Number of slots of the size on a VM, or the part of each resource that one slot takes."""


@dataclass(frozen=True)
class Units:
    """Sizes in whole units: a VM has ``wholes`` of each resource, of which a slot of the size k takes ``parts[k]``.

    A resource of which no slot takes more than of another is left out.
    """

    wholes: Room
    parts: tuple[Room, ...]

    @cached_property
    def alone(self) -> Counts:
        """Slots of each size on a VM that hosts no other size."""
        return tuple(fitting_in(self.wholes, part) for part in self.parts)

    @cached_property
    def by_size(self) -> list[int]:
        """The sizes, the largest first: those that take the most of the resource of which they take most."""
        largest = [max(Fraction(p, w) for p, w in zip(part, self.wholes, strict=True)) for part in self.parts]
        return sorted(range(len(self.parts)), key=lambda k: -largest[k])

    def least(self, slots: Sequence[int]) -> int:
        """Return the VMs that the parts of slots add up to, of the resource that they fill most."""
        return max(-(-each // whole) for each, whole in zip(self.taken(slots), self.wholes, strict=True))

    def taken(self, slots: Sequence[int]) -> Room:
        """Return the units that slots take."""
        rows = zip(*self.parts, strict=True)
        return tuple(sum(part * count for part, count in zip(row, slots, strict=True)) for row in rows)

    def weights(self, slots: Sequence[int]) -> Room:
        """Return the weight of a unit of each resource, given the demand of ``slots``."""
        if len(self.wholes) == 1:
            return (1,)
        taken, wholes = self.taken(slots), self.wholes
        return taken[0] * wholes[1] * wholes[1], taken[1] * wholes[0] * wholes[0]


def units_of(sizes: Sequence[Size]) -> Units:
    """Write sizes in whole units."""
    count = max((len(size) for size in sizes if not isinstance(size, int)), default=1)
    rows = [
        [Fraction(1, size) if isinstance(size, int) else size[resource] for size in sizes] for resource in range(count)
    ]
    kept = [
        row
        for place, row in enumerate(rows)
        if not any(
            all(a <= b for a, b in zip(row, other, strict=True)) and (row != other or there < place)
            for there, other in enumerate(rows)
            if there != place
        )
    ]
    wholes = tuple(lcm(*(part.denominator for part in row)) for row in kept)
    parts = [[int(part * whole) for part in row] for row, whole in zip(kept, wholes, strict=True)]
    return Units(wholes, tuple(zip(*parts, strict=True)))


def fitting_in(room: Room, part: Room) -> int:
    """Return how many slots fit the free part of each resource."""
    return min(free // each for free, each in zip(room, part, strict=True) if each)


def without(room: Room, part: Room, count: int) -> Room:
    """Return the free room after ``count`` more slots."""
    return tuple(free - count * each for free, each in zip(room, part, strict=True))


@dataclass(frozen=True)
class Generated:
    """Patterns, and a lower bound on the VMs that hold the slots; 0 if none is known.

    At the ``prices`` of slots no content of a VM is worth more than 1; there are none if that is not proven.
    """

    patterns: tuple[Counts, ...]
    least: int
    prices: tuple[float, ...] = ()


def generated_patterns(sizes: Sequence[Size], slots: Sequence[int]) -> Generated:
    """Return the patterns of the relaxed cutting-stock problem of these slots, and VMs full of one size."""
    import numpy as np
    from scipy.optimize import linprog

    count = len(sizes)
    patterns: dict[Counts, None] = {
        tuple(size if other == place else 0 for other in range(count)): None
        for place, size in enumerate(units_of(sizes).alone)
    }
    for _ in range(ROUNDS):
        columns = np.array(list(patterns), dtype=float).T
        found = linprog(np.ones(len(patterns)), A_ub=-columns, b_ub=-np.array(slots, dtype=float), method="highs")
        prices = np.maximum(-found.ineqlin.marginals, 0.0)
        pattern, value, proven = dearest(sizes, prices.tolist())
        if value <= 1.0 + ROUNDING:
            least = ceil(float(found.fun) * (1.0 - FEASIBILITY)) if proven else 0
            scaled = tuple((prices / max(1.0, value * (1.0 + ROUNDING))).tolist()) if proven else ()
            return Generated(tuple(patterns), least, scaled)
        patterns[pattern] = None
    return Generated(tuple(patterns), 0)


def dearest(sizes: Sequence[Size], prices: Sequence[float]) -> tuple[Counts, float, bool]:
    """Return the most valuable content of a VM, given a price of a slot of each size, its value, and True if proven.

    This is an integer knapsack of one or two resources, solved depth first: sizes by the value of a whole VM of them.
    The rest of any resource is worth no more than with the size whose slots are worth most per part of it.
    """
    units = units_of(sizes)
    wholes, parts = units.wholes, units.parts
    order = sorted((k for k in range(len(sizes)) if prices[k] > 0.0), key=lambda k: -prices[k] * units.alone[k])
    pattern, best, most, looked = [0] * len(sizes), (0,) * len(sizes), 0.0, 0
    dear = [
        [max((_worth(prices[k], parts[k][r]) for k in order[depth:]), default=0.0) for r in range(len(wholes))]
        for depth in range(len(order) + 1)
    ]

    def look(depth: int, room: Room, worth: float) -> None:
        nonlocal best, most, looked
        looked += 1
        if worth > most:
            best, most = tuple(pattern), worth
        if depth == len(order) or looked > MOST_GENERATED:
            return
        place = order[depth]
        left = min(free * each if each < inf else inf for free, each in zip(room, dear[depth], strict=True))
        if worth + left <= most * (1.0 + ROUNDING):
            return
        for count in range(fitting_in(room, parts[place]), -1, -1):
            pattern[place] = count
            look(depth + 1, without(room, parts[place], count), worth + count * prices[place])
        pattern[place] = 0

    look(0, wholes, 0.0)
    return best, most, looked <= MOST_GENERATED


def _worth(price: float, part: int) -> float:
    return price / part if part else inf


MOST_PATTERNS = 5_000
"""With more patterns than these the integer program has those that are generated, and proves nothing."""
MOST_NODES = 2_000

PARTS = 8

MOST_LOOKED_AT = 2_000
"""Most contents that are searched for the fullest VM."""

Fill = Callable[[Units, Sequence[int]], Counts]


@dataclass(frozen=True)
class Packed:
    """``patterns``: how many VMs hold how many slots of each size; no fewer than ``least`` VMs hold all slots."""

    patterns: tuple[tuple[int, Counts], ...]
    least: int

    @property
    def vms(self) -> int:
        """The VMs that are used."""
        return sum(count for count, _ in self.patterns)


def pack(sizes: Sequence[Size], slots: Sequence[int], enough: float = 0.0, quick: bool = False) -> Packed:
    """Return the fewest VMs for ``slots[k]`` slots of size ``sizes[k]``, as far as provable, or ``enough`` VMs.

    ``quick`` leaves integer programs out.
    """
    units = units_of(sizes)
    found = quickly_filled(units, slots, enough)
    lower, enough = found.least, max(found.least, enough)
    if found.vms > enough:
        found = min(found, Packed(_filled(units, slots, _fullest), lower), key=lambda each: each.vms)
    if found.vms <= enough or quick:
        return found
    patterns = maximal_patterns(sizes, MOST_PATTERNS)
    if patterns is not None:
        return _by_patterns(sizes, slots, patterns, found)
    generated = generated_patterns(sizes, slots)
    found = Packed(found.patterns, min(found.vms, max(lower, generated.least)))
    if found.vms == found.least:
        return found
    some = _by_patterns(sizes, slots, (*generated.patterns, *(pattern for _, pattern in found.patterns)), found)
    return Packed(some.patterns, found.least)


def quickly_filled(units: Units, slots: Sequence[int], enough: float = 0.0, most: float = inf) -> Packed:
    """Return VMs filled with the largest slots first, or with equal parts of all slots if these take fewer VMs.

    Equal parts are tried on at most ``most`` VMs.
    """
    lower = units.least(slots)
    found = Packed(_filled(units, slots, _largest_first), lower)
    first, end = int(max(lower, min(enough, found.vms))), int(min(most + 1.0, found.vms))
    fails, step = first - 1, 1
    while len(units.wholes) > 1 and fails + 1 < end:
        vms = min(fails + step, end - 1)
        patterns = _evenly_filled(units, slots, vms)
        if patterns is None:
            fails, step = vms, 2 * step
        else:
            found, end, step = Packed(patterns, lower), vms, 1
    return found


def packs_on(units: Units, slots: Sequence[int], vms: int) -> bool:
    """Return True if a quick search, as in :func:`quickly_filled`, packs the slots on ``vms`` VMs."""
    if len(units.wholes) > 1 and _evenly_filled(units, slots, vms) is not None:
        return True
    return sum(count for count, _ in _filled(units, slots, _largest_first)) <= vms


def _evenly_filled(units: Units, slots: Sequence[int], vms: int) -> tuple[tuple[int, Counts], ...] | None:
    """Return so many VMs with equal parts of what is left of each size, the largest first to fill the rest; or None.

    Slots that fit all VMs together then lose at most a slot of each size on a VM by rounding. VMs of equal parts and no
    more are alike until a part changes, others for one of ``PARTS`` of the VMs: work does not grow with them.
    """
    number, left, found = vms, list(slots), dict[Counts, int]()
    order = [(place, *units.parts[place]) for place in units.by_size if left[place]]
    while number and any(left):
        (one, other), content = units.wholes, [0] * len(left)
        shares = [-(-each // number) for each in left]
        for most in (shares, left):
            for place, first, second in order:
                count = most[place] - content[place]
                if first and one // first < count:
                    count = one // first
                if second and other // second < count:
                    count = other // second
                one, other = one - count * first, other - count * second
                content[place] += count
        if not any(content):
            return None
        times = min(there // each for there, each in zip(left, content, strict=True) if each)
        if content == shares:
            times = min(times, *(there - (each - 1) * number for there, each in zip(left, shares, strict=True) if each))
        else:
            times = min(times, max(1, number // PARTS))
        found[tuple(content)] = found.get(tuple(content), 0) + times
        left = [there - times * each for there, each in zip(left, content, strict=True)]
        number -= times
    return None if any(left) else tuple((count, content) for content, count in found.items())


def of_one_class(slots: tuple[int, int], per_vm: tuple[int, int]) -> tuple[tuple[int, int, int], ...]:
    """Return the fewest VMs for the map and reduce slots of one class: how many, with how many of each.

    VMs full of either kind leave less than a VM of each. Both rests together fit one VM, or take two and more than one.
    So the number of VMs is the sum of the slots' parts, rounded up: packing one class alone is without loss.
    """
    full = [count // size for count, size in zip(slots, per_vm, strict=True)]
    left = [count % size for count, size in zip(slots, per_vm, strict=True)]
    fits = units_of(per_vm).least(left) <= 1
    rest = [(1, left[0], left[1])] if fits else [(1, left[0], 0), (1, 0, left[1])]
    found = [(full[0], per_vm[0], 0), (full[1], 0, per_vm[1]), *rest]
    return tuple(each for each in found if each[0] and (each[1] or each[2]))


def maximal_patterns(sizes: Sequence[Size], most: int) -> tuple[Counts, ...] | None:
    """Return every pattern to which no slot of any size can be added; None if there are more than ``most``."""
    units = units_of(sizes)
    order = units.by_size  # the smallest slots last: they fill what is left
    found: list[Counts] = []
    pattern = [0] * len(sizes)

    def fill(place: int, left: Room) -> bool:
        part = units.parts[order[place]]
        fitting = fitting_in(left, part)
        if place == len(order) - 1:
            pattern[order[place]] = fitting
            found.append(tuple(pattern))
            return len(found) <= most
        for count in range(fitting, -1, -1):
            pattern[order[place]] = count
            if not fill(place + 1, without(left, part, count)):
                return False
        return True

    return tuple(found) if fill(0, units.wholes) else None


def _filled(units: Units, slots: Sequence[int], fill: Fill) -> tuple[tuple[int, Counts], ...]:
    """Return VMs full of slots of one size; the rest is put on VM after VM, each filled by ``fill``."""
    found: list[tuple[int, Counts]] = []
    left = list(slots)
    if len(units.wholes) == 1:
        for place, size in enumerate(units.alone):
            if left[place] >= size and size * units.parts[place][0] == units.wholes[0]:
                alone = tuple(size if other == place else 0 for other in range(len(left)))
                found.append((left[place] // size, alone))
                left[place] %= size
    while any(left):
        pattern = fill(units, left)
        times = min(there // taken for there, taken in zip(left, pattern, strict=True) if taken)
        found.append((times, pattern))
        left = [there - times * taken for there, taken in zip(left, pattern, strict=True)]
    return tuple(found)


def _largest_first(units: Units, left: Sequence[int]) -> Counts:
    """Return the content of one VM: the largest slots first."""
    room, pattern = units.wholes, [0] * len(left)
    for place in units.by_size:
        count, part = left[place], units.parts[place]
        if not count:
            continue
        for free, each in zip(room, part, strict=True):
            if count * each > free:
                count = free // each
        if count:
            pattern[place] = count
            room = without(room, part, count)
    return tuple(pattern)


def _fullest(units: Units, left: Sequence[int]) -> Counts:
    """Return the content of one VM that leaves least of it free, of those with the most of the largest slots.

    With two resources, the weight of each one's free part is the demand of all remaining slots for it.
    """
    order = [place for place in units.by_size if left[place]]
    weights = units.weights(left)
    best = _largest_first(units, left)

    def free(room: Room) -> int:
        return sum(weight * each for weight, each in zip(weights, room, strict=True))

    least = free(units.wholes) - sum(n * free(units.parts[place]) for place, n in enumerate(best))
    pattern, looked = [0] * len(left), 0

    def look(depth: int, room: Room) -> None:
        nonlocal best, least, looked
        looked += 1
        if (now := free(room)) < least:
            best, least = tuple(pattern), now
        if depth == len(order) or not least or looked > MOST_LOOKED_AT:
            return
        place = order[depth]
        part = units.parts[place]
        for count in range(min(left[place], fitting_in(room, part)), -1, -1):
            pattern[place] = count
            look(depth + 1, without(room, part, count))
        pattern[place] = 0

    look(0, units.wholes)
    return best


def _by_patterns(sizes: Sequence[Size], slots: Sequence[int], patterns: Sequence[Counts], known: Packed) -> Packed:
    """Return the least number of VMs by the integer program over patterns; ``known`` where it finds none with fewer."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    found = milp(
        np.ones(len(patterns)),
        constraints=LinearConstraint(np.array(patterns, dtype=float).T, np.array(slots, dtype=float), np.inf),
        integrality=np.ones(len(patterns)),
        bounds=Bounds(0, float(known.vms)),
        options={"node_limit": MOST_NODES, "mip_rel_gap": 0.0},
    )
    bound = (
        known.least
        if found.mip_dual_bound is None
        else max(known.least, ceil(found.mip_dual_bound * (1.0 - FEASIBILITY)))
    )
    if found.x is None:
        return Packed(known.patterns, min(bound, known.vms))
    cut = without_surplus([(round(n), p) for n, p in zip(found.x.tolist(), patterns, strict=True) if round(n)], slots)
    best = min(cut or known.patterns, known.patterns, key=lambda each: sum(count for count, _ in each))
    return Packed(best, min(bound, sum(count for count, _ in best)))


def without_surplus(
    patterns: Sequence[tuple[int, Counts]], slots: Sequence[int]
) -> tuple[tuple[int, Counts], ...] | None:
    """Return the patterns with exactly as many slots in all as there are; None if they do not hold all."""
    left = list(slots)
    found: list[tuple[int, Counts]] = []
    for count, pattern in patterns:
        while count:
            used = tuple(min(each, there) for each, there in zip(pattern, left, strict=True))
            if not any(used):
                break
            times = min([count, *(there // each for each, there in zip(used, left, strict=True) if each)])
            found.append((times, used))
            left = [there - times * each for there, each in zip(left, used, strict=True)]
            count -= times
    return None if any(left) else tuple(found)
