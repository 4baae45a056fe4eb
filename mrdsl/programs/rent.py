"""Rows and columns of one rental program.

Rows are the jobs of each class, the resources of each lane, VMs of types, cores of quotas, data on disks, the part of
classes on spot, and any linear comparison. Columns are VMs of offers, admitted jobs, and jobs of a class in a lane on a
pair of slots. Jobs that lack are columns too, so dear that a solution has some only if others cannot do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mrdsl.programs.renting import Floats, Renting, Table, table_of
from mrdsl.solving.backends.growing import Entries, Program

DEAR = 100.0
"""Cost of a job that lacks, in multiples of what a job may cost or save."""
Column = tuple[int, int, int]
"""A lane, a class, and the number of one of its pairs of slots."""


@dataclass
class Master:
    """The program of a renting with the columns of jobs that are there so far."""

    renting: Renting
    program: Program = field(default_factory=Program)
    jobs: dict[Column, int] = field(default_factory=dict)
    tables: dict[int, Table] = field(default_factory=dict)
    cuts: dict[int, list[tuple[int, Floats]]] = field(default_factory=dict)
    spare: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        renting, program = self.renting, self.program
        self.settled = np.zeros(len(renting.low), dtype=bool)
        classes, lanes, none = len(renting.low), len(renting.kind), np.zeros(0)
        endless, ceiling = np.full(classes, np.inf), np.zeros(lanes)
        self.class_row = program.add_rows(np.zeros(classes), endless)
        self.lane_rows = np.stack(
            [program.add_rows(ceiling - np.inf, -renting.masters) for _ in range(renting.resources)]
        )
        types = renting.limited_types
        self.type_row = program.add_rows(np.full(len(types), -np.inf), renting.available[types])
        limits = renting.core_limits
        self.quota_row = program.add_rows(np.full(len(limits), -np.inf), limits)
        stored = [renting.stored_least] if renting.stored_least > 0.0 else none
        self.stored_row = program.add_rows(stored, np.full(len(stored), np.inf))
        most = np.array([each.most for each in renting.comparisons])
        self.comparison_row = program.add_rows(np.full(len(most), -np.inf), most)
        limited = renting.spots.limited
        self.spot_row = program.add_rows(np.full(len(limited), -np.inf), np.zeros(len(limited)))
        self.firm_row = program.add_rows(renting.has_firm_jobs[limited], np.full(len(limited), np.inf))
        self._add_offers()
        self._add_classes()

    def _add_offers(self) -> None:
        renting, offers = self.renting, np.arange(len(self.renting.prices))
        lane = renting.offer_lane
        entries = [(rows[lane], offers, np.full(len(offers), -1.0)) for rows in self.lane_rows]
        row_of_type = np.full(len(renting.available), -1)
        row_of_type[renting.limited_types] = self.type_row
        rows = row_of_type[renting.vm_of_lane[lane]]
        some = np.flatnonzero(rows >= 0)
        entries.append((rows[some], some, np.ones(len(some))))
        for row, cores in zip(self.quota_row, renting.cores, strict=True):
            entries.append((np.full(len(offers), row), offers, cores[lane]))
        for row in self.stored_row:
            entries.append((np.full(len(offers), row), offers, renting.stored[lane]))
        for row, each in zip(self.comparison_row, renting.comparisons, strict=True):
            entries.append((np.full(len(offers), row), offers, each.vms))
        self.upper = np.minimum(renting.there, renting.available[renting.vm_of_lane[lane]])
        self.offers = self.program.add(renting.prices, 0.0, self.upper, True, entries)

    def _add_classes(self) -> None:
        renting, each = self.renting, np.arange(len(self.renting.low))
        entries = [(self.class_row, each, np.full(len(each), -1.0))]
        for row, comparison in zip(self.comparison_row, renting.comparisons, strict=True):
            entries.append((np.full(len(each), row), each, comparison.jobs))
        limited = renting.spots.limited
        entries.append((self.firm_row, limited, -renting.firm_jobs_of_one[limited]))
        self.admitted = self.program.add(-renting.worth, renting.low, renting.high, True, entries)
        finite = np.where(np.isfinite(renting.least), renting.least, 0.0)
        largest = finite.max(initial=0.0)
        self.dear = DEAR * max(float(np.abs(renting.worth).max(initial=0.0)), float(renting.prices.max()) * largest)
        self.dear = self.dear or 1.0
        entries = [(self.class_row, each, np.ones(len(each))), (self.firm_row, limited, np.ones(len(limited)))]
        self.short = self.program.add(np.full(len(each), self.dear), 0.0, np.inf, False, entries)

    def table(self, kind: int) -> Table:
        """Return the choices of all classes in lanes of a kind."""
        if kind not in self.tables:
            self.tables[kind] = table_of(self.renting, kind)
        return self.tables[kind]

    def add_jobs(self, columns: Iterable[Column]) -> int:
        """Add columns of jobs that are not there yet; return how many."""
        new = [each for each in dict.fromkeys(columns) if each not in self.jobs]
        if not new:
            return 0
        lane, index, _ = np.array(new, dtype=np.int64).T
        takes, slots = self._of_columns(new)
        at = np.arange(len(new))
        entries = [(self.class_row[index], at, np.ones(len(new)))]
        entries += [(rows[lane], at, takes[:, number]) for number, rows in enumerate(self.lane_rows)]
        spots = self.renting.spots
        row_of = np.full(len(self.renting.low), -1)
        row_of[spots.limited] = self.spot_row
        some = np.flatnonzero(row_of[index] >= 0)
        if len(some):
            time = (slots[some] * spots.vm_time[lane[some], :, index[some]]).sum(axis=1)
            part = self.renting.spot[lane[some]] - spots.share[index[some]]
            entries.append((row_of[index[some]], some, time * part))
            firm = some[~self.renting.spot[lane[some]]]
            entries.append((row_of[index[firm]] + len(spots.limited), firm, np.ones(len(firm))))
        for place, (where, what) in enumerate(zip(lane.tolist(), index.tolist(), strict=True)):
            if row_of[what] >= 0 and not self.renting.spot[where]:
                entries += self._spare_of(where, what, place, slots[place], row_of[what])
            for row, prices in self.cuts.get(where, ()):
                entries.append(([row], [place], [float(prices[:, what] @ slots[place])]))  # type: ignore[arg-type]
        columns_of = self.program.add(np.zeros(len(new)), 0.0, self.renting.high[index], True, entries)
        self.jobs.update(zip(new, columns_of.tolist(), strict=True))
        return len(new)

    def _spare_of(self, lane: int, index: int, place: int, slots: Floats, spot_row: int) -> list[Entries]:
        """Return the entries of a new column of firm jobs in the rows of slots that they may hold beyond their pair.

        These slots take VM time on firm VMs, and so make room for jobs on spot VMs.
        """
        entries, spots = [], self.renting.spots
        for kind, room in enumerate(spots.more(lane, index, slots).tolist()):
            if room <= 0.0:
                continue
            if (lane, index, kind) not in self.spare:
                row = int(self.program.add_rows([-np.inf], [0.0])[0])
                time = float(spots.share[index] * spots.vm_time[lane, kind, index])
                rows = [row, spot_row, *self.lane_rows[:, lane].tolist()]
                values = [1.0, -time, *spots.parts[lane, kind, :, index].tolist()]
                for cut, prices in self.cuts.get(lane, ()):
                    rows.append(cut)
                    values.append(float(prices[kind, index]))
                most = float(spots.useful[lane, kind, index] * self.renting.high[index])
                entry = np.array(rows), np.zeros(len(rows), dtype=np.int64), np.array(values)
                column = self.program.add(np.zeros(1), 0.0, most, self.renting.whole_slots, [entry])
                self.spare[lane, index, kind] = row, int(column[0])
            entries.append((np.array([self.spare[lane, index, kind][0]]), np.array([place]), np.array([-room])))
        return entries

    def _of_columns(self, columns: Sequence[Column]) -> tuple[Floats, Floats]:
        """Return what jobs of columns take, (columns, resources), and their slots, (columns, 2)."""
        kinds = self.renting.kind[[lane for lane, _, _ in columns]].tolist()
        found = [self.renting.choices_of(kind, index) for kind, (_, index, _) in zip(kinds, columns, strict=True)]
        pairs = [pair for _, _, pair in columns]
        takes = np.array([each.takes[pair] for each, pair in zip(found, pairs, strict=True)])
        return takes, np.array([each.pairs[pair] for each, pair in zip(found, pairs, strict=True)])

    def cut(self, lanes: Iterable[int], prices: Floats) -> int:
        """Add a row for each of some lanes: slots at ``prices``, (2, classes), are worth no more than their VMs."""
        added = 0
        for lane in lanes:
            mine = [each for each in self.jobs if each[0] == lane]
            if not mine:
                continue
            slots = self._of_columns(mine)[1]
            worth = (prices[:, [index for _, index, _ in mine]].T * slots).sum(axis=1)
            offers = self.offers[self.renting.offer_lane == lane]
            more = [(index, kind, column) for (at, index, kind), (_, column) in self.spare.items() if at == lane]
            columns = np.array([*(self.jobs[each] for each in mine), *(column for *_, column in more), *offers])
            of_spare = [float(prices[kind, index]) for index, kind, _ in more]
            values = np.array([*worth, *of_spare, *np.full(len(offers), -1.0)])
            row = self.program.add_row(-np.inf, -float(self.renting.masters[lane]), columns, values)
            self.cuts.setdefault(lane, []).append((row, prices))
            added += 1
        return added

    def leave(self, vms: Floats, cores: Floats) -> None:
        """Leave VMs of types and cores of quotas to packing, but no more than there are beyond masters."""
        renting, program = self.renting, self.program
        least = np.bincount(renting.vm_of_lane, renting.masters, len(renting.available))
        rows = program.row_upper[self.type_row] - vms[renting.limited_types]
        program.limit_rows(self.type_row, np.maximum(rows, least[renting.limited_types]))
        rows = program.row_upper[self.quota_row] - cores
        program.limit_rows(self.quota_row, np.maximum(rows, renting.cores @ renting.masters))

    def keep_together(self) -> None:
        """Add the rows that keep the jobs of each class of ``together`` on one VM type, for the columns there are."""
        renting, columns = self.renting, list(self.jobs)
        for index in np.flatnonzero(renting.together).tolist():
            mine = [each for each in columns if each[1] == index]
            types = renting.vm_of_lane[[lane for lane, _, _ in mine]] if mine else np.zeros(0, dtype=np.int64)
            names = np.unique(types)
            if len(names) < 2:
                continue
            one = self.program.add_rows([-np.inf], [1.0])
            rows = self.program.add_rows(np.full(len(names), -np.inf), np.zeros(len(names)))
            each = np.arange(len(names))
            high = np.full(len(names), -float(renting.high[index]))
            entries = [(np.full(len(names), one[0]), each, np.ones(len(names))), (rows, each, high)]
            self.program.add(np.zeros(len(names)), 0.0, 1.0, True, entries)
            for row, name in zip(rows.tolist(), names.tolist(), strict=True):
                there = np.array([self.jobs[each] for each, vm in zip(mine, types, strict=True) if vm == name])
                self.program.link(row, there, np.ones(len(there)))

    def placed(self, point: Floats) -> tuple[Floats, Floats]:
        """Return jobs by lane and class, and their slots by kind of slot, lane and class, without surplus jobs."""
        renting = self.renting
        jobs, slots = np.zeros(renting.possible.shape), np.zeros((2, *renting.possible.shape))
        used = [each for each, column in self.jobs.items() if round(point[column]) > 0]
        takes, pairs = self._of_columns(used) if used else (np.zeros((0, 1)), np.zeros((0, 2)))
        counts = np.rint([point[self.jobs[each]] for each in used])
        index = np.array([each[1] for each in used], dtype=np.int64)
        surplus = np.bincount(index, counts, len(renting.low)) - np.rint(point[self.admitted])
        for place in np.argsort(-takes.sum(axis=1), kind="stable").tolist():
            fewer = min(counts[place], max(surplus[index[place]], 0.0))
            counts[place] -= fewer
            surplus[index[place]] -= fewer
        for (lane, what, _), count, pair in zip(used, counts.tolist(), pairs, strict=True):
            jobs[lane, what] += count
            slots[:, lane, what] += count * pair
        for (lane, what, kind), (_, column) in self.spare.items():
            if jobs[lane, what]:
                slots[kind, lane, what] += round(point[column]) if renting.whole_slots else point[column]
        return jobs, slots

    def lanes_alike(self, lane: int) -> list[int]:
        """Return the lanes of a lane's kind."""
        found: list[int] = np.flatnonzero(self.renting.kind == self.renting.kind[lane]).tolist()
        return found
