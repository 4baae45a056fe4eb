"""Least energy of one job on a given set of machines: the inner problem of ``mrdsl-energy``.

For a given set of machines, the budget is a limit on the uptime (``budget / sum of prices``), and only the lengths of
the phases couple the VMs. The map and the reduce phase end when some type has run a whole number of waves. So only a
few lengths matter. A limit on the tasks of one VM bounds its transfers. For given lengths and limits, tasks fill the
types in the order of their energy, which is exact. The search tries all lengths together, as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from mrdsl.core.rounding import FEASIBILITY, ROUNDING, floor
from mrdsl.families.energy.assignment import Share, phases_of
from mrdsl.families.energy.cluster import Floats, Ints, JobData, Machines, paid_time

LEVELS = (1.0, 0.75, 0.5, 0.35, 0.25, 0.15)
FRONTIER = 24
LENGTHS = 400
MORE = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Placement:
    """Best placement found for a set: VMs and tasks per type.

    ``lacking`` is 0 if a plan meets its constraints. Otherwise it is the share by which the shortest plan's uptime
    exceeds the limit of deadline and budget, and there are no tasks.
    """

    vms: Ints
    lacking: float
    energy: float = inf
    maps: Ints | None = None
    reduces: Ints | None = None

    @property
    def score(self) -> tuple[float, float]:
        """Smaller is better: first a plan, then its energy."""
        return (self.lacking, self.energy)


@dataclass(frozen=True)
class _Phase:
    """One kind of task over all types: every length that the phase may have, and what each type then holds."""

    tasks: int
    energy: Floats
    ends: Floats
    owner: Ints
    room: Ints

    def order(self, vms: Ints) -> Ints:
        """Return the kinds in a set that can run the tasks, least energy first."""
        order = np.argsort(self.energy, kind="stable")
        return np.asarray(order[np.isfinite(self.energy[order]) & (vms[order] > 0)])

    def rows(self, vms: Ints, limit: float) -> Ints:
        """Return the lengths that make sense for a set: whole waves of a type in it, within the limit, room for all.

        Of very many (short tasks, a far deadline) an even choice: waves are then too short to matter one by one.
        """
        fit = (vms[self.owner] > 0) & (self.ends <= limit * (1 + ROUNDING))
        return _thinned(np.flatnonzero(fit & (self.room @ vms >= self.tasks)), LENGTHS)


def _phase(tasks: int, slots: Ints, time: Floats, energy: Floats, limit: float) -> _Phase:
    ends, owner = [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    for kind in np.flatnonzero(np.isfinite(time)):
        rounds = int(np.ceil(tasks / slots[kind]))
        if np.isfinite(limit):
            rounds = min(rounds, int(floor(limit / float(time[kind]))))
        ends.append(time[kind] * np.arange(1, rounds + 1))
        owner.append(np.full(rounds, kind))
    every, whose = np.concatenate(ends), np.concatenate(owner)
    by_length = np.argsort(every, kind="stable")
    every, whose = every[by_length], whose[by_length]
    room = floor(every[:, None] / time[None, :]).astype(np.int64) * slots[None, :]
    return _Phase(tasks, energy, every, whose, np.minimum(room, tasks))


@dataclass
class SetSearch:
    """Search for placements of one job on sets of machines, with a cache of its results."""

    machines: Machines
    job: JobData
    known: dict[bytes, Placement] = field(default_factory=dict)

    def __post_init__(self) -> None:
        job, machines = self.job, self.machines
        limit = min(job.deadline, float(paid_time(job, machines.price.min())))
        self._maps = _phase(job.map_tasks, machines.map_slots, job.map_time, job.map_energy, limit)
        self._reduces = _phase(job.reduce_tasks, machines.reduce_slots, job.reduce_time, job.reduce_energy, limit)

    def place(self, vms: Ints) -> Placement:
        """Return the best placement found on ``vms[k]`` VMs of every type ``k``."""
        key = vms.tobytes()
        if key not in self.known:
            self.known[key] = self._place(vms)
        return self.known[key]

    def share(self, placement: Placement) -> Share:
        """Return the placement VM by VM; a type's VMs share its reduce tasks evenly.

        VMs with one reduce task more have fewer map tasks if that shortens placement and shuffle without another wave.
        """
        assert placement.maps is not None
        assert placement.reduces is not None
        types = np.repeat(np.arange(len(self.machines)), placement.vms)
        maps, reduces = [], []
        for kind in np.flatnonzero(placement.vms):
            count, slots = int(placement.vms[kind]), int(self.machines.map_slots[kind])
            own = _even(int(placement.reduces[kind]), count)
            reduces.append(own)
            maps.append(self._spread(int(placement.maps[kind]), own, slots))
        return Share(types, np.concatenate(maps), np.concatenate(reduces)).used()

    def _spread(self, tasks: int, reduces: Ints, slots: int) -> Ints:
        """Map tasks of a type's VMs, of which the first have a reduce task more."""
        count, more = len(reduces), int((reduces > reduces[-1]).sum())
        best = _even(tasks, count)[::-1]
        if more == 0 or tasks == 0:
            return best
        widest = -(-int(best.max()) // slots) * slots
        for fewer in range(int(best.min()), -1, -1):
            rest = tasks - fewer * more
            maps = np.concatenate([np.full(more, fewer), _even(rest, count - more)[::-1]])
            if maps.max() > widest or self._port(maps, reduces) > self._port(best, reduces):
                break
            best = maps
        return best

    def _port(self, maps: Ints, reduces: Ints) -> float:
        """Placement and shuffle of a type's VMs, s."""
        job = self.job
        return job.place * float(maps.max()) + float((job.send * maps + job.fetch * reduces).max())

    def limit(self, vms: Ints) -> float:
        """Return the uptime that deadline and budget leave to a set."""
        if not vms.any():
            return 0.0
        return min(self.job.deadline, float(paid_time(self.job, self.machines.price @ vms)))

    def _place(self, vms: Ints) -> Placement:
        """Return the best placement on a set that really meets the limit.

        The search adds the longest sending to the longest fetching, although rarely one VM does both. So it runs again
        with the time that the placements found leave over, or some of a shuffle's time if it finds none.
        """
        limit = self.limit(vms)
        best, allowed = Placement(vms, inf), limit
        for _ in range(3):
            placement, left = self._checked(vms, allowed, limit)
            if placement is None or placement.score >= best.score:
                break
            best, allowed = placement, allowed + left
            if left <= limit * FEASIBILITY or not np.isfinite(limit):
                break
        shuffle = self._mean_shuffle(vms)
        if best.lacking and shuffle > 0.01 * limit:
            for part in MORE:
                placement, _ = self._checked(vms, limit + part * shuffle, limit)
                if placement is not None:
                    return placement
        return best if best.lacking == 0 else Placement(vms, self._lacking(vms, limit))

    def _checked(self, vms: Ints, allowed: float, limit: float) -> tuple[Placement | None, float]:
        """Return the placement found within ``allowed``, if it really meets the limit, and its spare time."""
        placement = self._search(vms, allowed)
        if placement is None:
            return None, 0.0
        uptime = phases_of(self.machines, self.job, self.share(placement)).total
        return (placement, limit - uptime) if uptime <= limit * (1 + ROUNDING) else (None, 0.0)

    def _mean_shuffle(self, vms: Ints) -> float:
        moved = self.job.send * self.job.map_tasks + self.job.fetch * self.job.reduce_tasks
        return moved / max(int(vms.sum()), 1)

    def _search(self, vms: Ints, limit: float) -> Placement | None:
        times, energies, reduces = self._reduce_frontier(vms, limit)
        rows = self._maps.rows(vms, limit)
        if len(times) == 0 or len(rows) == 0:
            return None
        left = limit - times[:, None] - self._maps.ends[None, rows]
        port = self.job.place + self.job.send
        if not np.isfinite(limit):
            most = np.full(left.shape, float(self.job.map_tasks))
        elif port > 0:
            most = floor(left / port)
        else:
            most = np.where(left >= -ROUNDING * limit, float(self.job.map_tasks), 0.0)
        points, lengths = np.nonzero(most * int(vms.sum()) >= self._maps.tasks)
        order = self._maps.order(vms)
        caps = np.minimum(self._maps.room[np.ix_(rows, order)][lengths], most[points, lengths, None])
        counts, energy = _fill(self._maps, vms, order, caps)
        total = energy + energies[points]
        at = int(np.argmin(total)) if len(total) else -1
        if at < 0 or not np.isfinite(total[at]):
            return None
        return Placement(vms, 0.0, float(total[at]), _of_all(counts[at], order, vms), reduces[points[at]])

    def _reduce_frontier(self, vms: Ints, limit: float) -> tuple[Floats, Floats, Ints]:
        """Time (phase and fetching), energy and tasks per type of the reduce side, none worse in both than another."""
        if self.job.reduce_tasks == 0:
            return np.zeros(1), np.zeros(1), np.zeros((1, len(vms)), dtype=np.int64)
        rows = self._reduces.rows(vms, limit)
        order = self._reduces.order(vms)
        room = self._reduces.room[np.ix_(rows, order)]
        widest = room.max(axis=1, initial=0)
        caps = np.concatenate([np.minimum(room, np.ceil(widest * level)[:, None]) for level in LEVELS])
        counts, energy = _fill(self._reduces, vms, order, caps)
        most = np.ceil(counts / vms[order]).max(axis=1, initial=0)
        times = np.tile(self._reduces.ends[rows], len(LEVELS)) + self.job.fetch * most
        keep = np.flatnonzero(np.isfinite(energy) & (times <= limit * (1 + ROUNDING)))
        keep = keep[np.lexsort((energy[keep], times[keep]))]
        lowest = np.minimum.accumulate(energy[keep]) if len(keep) else energy[keep]
        first = np.ones(len(keep), dtype=np.bool_)
        first[1:] = lowest[1:] < lowest[:-1]
        keep = _thinned(keep[first], FRONTIER)
        return times[keep], energy[keep], _of_all(counts[keep], order, vms)

    def _lacking(self, vms: Ints, limit: float) -> float:
        """By which share the shortest uptime on the set exceeds the limit, at least a little."""
        shortest = self._shortest(vms)
        if not np.isfinite(shortest) or limit <= 0:
            return 1e6 - float(vms.sum())
        return max(shortest / limit - 1.0, FEASIBILITY)

    def _shortest(self, vms: Ints) -> float:
        """Return the shortest uptime on a set, at most."""
        return float(self._lengths(vms)[0].min(initial=inf))

    def _lengths(self, vms: Ints) -> tuple[Floats, Ints, Ints, Ints, Ints]:
        """Return an uptime for every pair of phase lengths, those lengths (rows), and the tasks on each fullest VM.

        The shuffle is as long as on a VM that sends and fetches most, or, if none does both, the longer of the two.
        """
        job = self.job
        rows, most = _shortest(self._maps, vms)
        ends = self._maps.ends[rows] + job.place * most
        if not job.reduce_tasks:
            none = np.zeros(1, dtype=np.int64)
            return ends[:, None], rows, most, none, none
        reduce_rows, reduce_most = _shortest(self._reduces, vms)
        both = np.isfinite(job.map_time) & np.isfinite(job.reduce_time) & (vms > 0)
        sent, fetched = job.send * most[:, None], job.fetch * reduce_most[None, :]
        shuffle = sent + fetched if both.any() else np.maximum(sent, fetched)
        return (
            ends[:, None] + shuffle + self._reduces.ends[reduce_rows][None, :],
            rows,
            most,
            reduce_rows,
            reduce_most,
        )

    def shortest(self, vms: Ints) -> Placement | None:
        """Return a short placement on a set, whatever the limits; None if the set cannot run all tasks."""
        uptimes, rows, most, reduce_rows, reduce_most = self._lengths(vms)
        if uptimes.size == 0:
            return None
        i, j = np.unravel_index(int(np.argmin(uptimes)), uptimes.shape)
        maps = _filled(self._maps, vms, rows[i], most[i])
        reduces = np.zeros_like(maps)
        if self.job.reduce_tasks:
            reduces = _filled(self._reduces, vms, reduce_rows[j], reduce_most[j])
        return Placement(vms, 0.0, 0.0, maps, reduces)

    def phase_bounds(self, sets: Ints) -> tuple[Floats, Floats]:
        """For every set (a row of numbers of VMs) the least lengths of the map and of the reduce phase."""
        return _first_ends(self._maps, sets), _first_ends(self._reduces, sets)


def _first_ends(phase: _Phase, sets: Ints) -> Floats:
    """Return for every set the least length in which whole waves hold all tasks; infinite if no length does."""
    if phase.tasks == 0:
        return np.zeros(len(sets))
    if len(phase.ends) == 0:
        return np.full(len(sets), inf)
    low, high = np.zeros(len(sets), dtype=np.int64), np.full(len(sets), len(phase.ends), dtype=np.int64)
    while np.any(low < high):
        middle = (low + high) // 2
        at = np.minimum(middle, len(phase.ends) - 1)
        holds = np.einsum("ij,ij->i", phase.room[at], sets) >= phase.tasks
        high, low = np.where(holds, middle, high), np.where(holds, low, np.minimum(middle + 1, high))
    return np.where(low < len(phase.ends), phase.ends[np.minimum(low, len(phase.ends) - 1)], inf)


def _shortest(phase: _Phase, vms: Ints) -> tuple[Ints, Ints]:
    """Return the shortest lengths (rows) of a phase on a set, and for each the tasks on the fullest VM, as few as can
    be.
    """
    rows, taken = phase.rows(vms, inf)[:64], np.flatnonzero(vms)
    room, number = phase.room[np.ix_(rows, taken)], vms[taken]
    low = np.full(len(rows), -(-phase.tasks // max(int(vms.sum()), 1)), dtype=np.int64)
    high = room.max(axis=1, initial=0)
    while np.any(low < high):
        middle = (low + high) // 2
        holds = (np.minimum(room, middle[:, None]) @ number) >= phase.tasks
        high = np.where(holds, middle, high)
        low = np.where(holds, low, middle + 1)
    return rows, low


def _fill(phase: _Phase, vms: Ints, order: Ints, caps: Floats | Ints) -> tuple[Floats, Floats]:
    """Return the tasks per kind of ``order`` and their energy if each VM holds ``caps[..., k]`` of its ``k``-th kind;
    infinite if not all tasks fit.
    """
    filled = np.minimum(np.cumsum(caps * vms[order], axis=-1), phase.tasks)
    counts = np.diff(filled, axis=-1, prepend=0.0)
    enough = filled[..., -1] >= phase.tasks if len(order) else np.zeros(caps.shape[:-1], dtype=np.bool_)
    return counts, np.where(enough, counts @ phase.energy[order], inf)


def _filled(phase: _Phase, vms: Ints, row: int, most: int) -> Ints:
    order = phase.order(vms)
    return _of_all(_fill(phase, vms, order, np.minimum(phase.room[row, order], most))[0], order, vms)


def _of_all(counts: Floats, order: Ints, vms: Ints) -> Ints:
    """Return the tasks of all kinds from those of ``order``."""
    found = np.zeros((*counts.shape[:-1], len(vms)), dtype=np.int64)
    found[..., order] = counts
    return found


def _thinned(points: Ints, most: int) -> Ints:
    """Return at most ``most`` evenly chosen points, with the first and the last."""
    if len(points) <= most:
        return points
    return points[np.unique(np.linspace(0, len(points) - 1, most).round().astype(np.int64))]


def _even(tasks: int, vms: int) -> Ints:
    """Tasks per VM, the fuller VMs first."""
    if vms == 0:
        return np.zeros(0, dtype=np.int64)
    each, more = divmod(tasks, vms)
    return np.array([each + 1] * more + [each] * (vms - more), dtype=np.int64)
