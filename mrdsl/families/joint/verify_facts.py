"""Numbers of a joint spec that its verification works out anew: demand, times, slots per VM, parts of the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.fewest import fewest_vms
from mrdsl.checking.work import Work, described, estimates, promised, tasks_at_once
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.joint.facts import JointFacts
from mrdsl.formulas.typical_days import typical_demand
from mrdsl.simulation.sampling import stream
from mrdsl.spec.columns import column, words
from mrdsl.spec.spec import Spec
from mrdsl.spec.stages import any_stages, stages_of

Floats = NDArray[np.float64]

MOST_TURNS = 100_000
"""Turns in a period, or periods of a turn, up to which they are played through."""


@dataclass(frozen=True)
class Facts:
    """A joint spec, whose slots are ``whole`` or not; units are its classes, then its services."""

    spec: Spec
    whole: bool

    @property
    def facts(self) -> JointFacts:
        facts: JointFacts = self.spec.facts
        return facts

    @property
    def classes(self) -> int:
        return len(self.facts.classes)

    @cached_property
    def work(self) -> Work:
        """A, B and C of one job by the estimate that each class promises."""
        classes = self.facts.classes
        return promised(estimates(described(classes)), words(classes, "guarantee"))

    @cached_property
    def tasks(self) -> tuple[Floats, Floats]:
        """Map and reduce tasks of one job that can run at once."""
        return tasks_at_once(described(self.facts.classes))

    @cached_property
    def hosted(self) -> tuple[Floats, Floats]:
        """The map and the reduce slots that one VM hosts; NaN where nothing is said of a kind."""
        classes = self.facts.classes
        maps, reduces, tasks = (column(classes, f"slots.{kind}") for kind in ("map", "reduce", "task"))
        if any_stages(classes):
            staged = np.array([bool(stages) for stages in stages_of(classes)])
            maps, reduces = np.where(staged, tasks, maps), np.where(staged, tasks, reduces)
        return maps, reduces

    @cached_property
    def demand(self) -> tuple[Floats, Floats]:
        """The least and the expected demand, (periods, units)."""
        facts = self.facts
        low, high = (
            np.concatenate([column(facts.classes, f"jobs.{end}"), column(facts.services, f"rate.{end}")])[None, :]
            for end in ("low", "high")
        )
        demand = facts.demand
        if demand is None:
            return low, high
        part = np.where(high > 0.0, low / np.where(high > 0.0, high, 1.0), 1.0)
        part = np.where(np.isnan(part), 1.0, part) if demand.floor is None else np.full_like(part, demand.floor)
        shifts = np.concatenate([column(facts.classes, "shift"), column(facts.services, "shift")])
        if demand.from_ is not None:
            table = _table(self.spec)
            steps = [int(np.rint(shift / facts.cluster.period)) for shift in shifts.tolist()]
            expected = np.stack([np.roll(table[:, unit], -step) for unit, step in enumerate(steps)], axis=1)
        elif demand.day == "bimodal":
            drawn = stream(self.spec.seed or 0, "bimodal day")
            expected = high * typical_demand(drawn, shifts, demand.periods, facts.cluster.period, demand.noise)
        else:
            expected = np.repeat(high, demand.periods, axis=0)
        return expected * part, expected

    @cached_property
    def turns(self) -> Floats:
        """The jobs that one place of each class takes in a period."""
        cluster, deadlines = self.facts.cluster, column(self.facts.classes, "deadline")
        if cluster.concurrency != "whole" and cluster.reuse != "floor":
            return cluster.period / deadlines
        known = {each: _turns_of(cluster.period, each) for each in set(deadlines.tolist())}
        return np.array([known[each] for each in deadlines.tolist()])

    @property
    def penalties(self) -> Floats:
        """Money for each job that is turned away, and for each request per second over a period."""
        facts = self.facts
        per_rate = facts.cluster.period * column(facts.services, "penalty")
        return np.concatenate([column(facts.classes, "penalty"), per_rate])

    def response(self, rate: Floats, vms: Floats) -> Floats:
        """Compute the mean response of each service, (2) [s]: infinite if its VMs are full, NaN without a VM."""
        services = self.facts.services
        mu, delay = column(services, "service_rate"), column(services, "delay")
        with np.errstate(divide="ignore", invalid="ignore"):
            time = np.where(mu * vms > rate, vms / (mu * vms - rate), np.inf) + delay
        return np.where(vms > 0.0, time, np.nan)

    @cached_property
    def parts(self) -> tuple[tuple[slice, float], ...]:
        """The units that share VMs, and how many: all, or classes and services apart, split by their daily peaks."""
        cluster, units = self.facts.cluster, self.classes + len(self.facts.services)
        if cluster.sharing == "shared" or self.classes in (0, units):
            return ((slice(0, units), float(cluster.size)),)
        first, second = (float(part.sum(axis=1).max()) for part in self._needs())
        share = first / (first + second) if first + second > 0.0 else 0.5
        held = float(np.floor(cluster.size * share + 0.5))
        return (slice(0, self.classes), held), (slice(self.classes, units), cluster.size - held)

    def _needs(self) -> tuple[Floats, Floats]:
        """The VMs for all expected demand, of classes and of services, (periods, classes or services)."""
        high, services = self.demand[1], self.facts.services
        whole = self.facts.cluster.concurrency == "whole"
        spare = column(services, "response") - column(services, "delay")
        for number, service in enumerate(services):
            spare[number] = self.response_limit(service.name, service.response) - service.delay
        rates = high[:, self.classes :] / (column(services, "service_rate") - 1.0 / spare)
        jobs = high[:, : self.classes] / self.turns
        vms = (ceiling(jobs) if whole else jobs) * np.array([self._vms_of_job(i) for i in range(self.classes)])
        return (ceiling(vms), ceiling(rates)) if whole else (vms, rates)

    def response_limit(self, name: str, limit: float) -> float:
        """Read the tightest limit on a service's response: ``response(s) <= t``, or ``limit`` [s]."""
        from mrdsl.spec.comparisons import tightest

        found = tightest(self.spec).get(("response", name))
        return limit if found is None else min(limit, found.value)

    def _vms_of_job(self, index: int) -> float:
        left = float(column(self.facts.classes, "deadline")[index] - self.work.rest[index])
        work = float(self.work.maps[index]), float(self.work.reduces[index])
        most = float(self.tasks[0][index]), float(self.tasks[1][index])
        hosted = float(self.hosted[0][index]), float(np.nan_to_num(self.hosted[1][index], nan=1.0))
        maps, reduces = next(fewest_vms(work, left, most, hosted, self.whole), (np.inf, np.inf))
        return maps / hosted[0] + reduces / hosted[1]


def _turns_of(period: float, deadline: float) -> float:
    """The jobs that one place takes in a period, played through."""
    if deadline <= period * (1 + FEASIBILITY):
        starts, now = 0, 0.0
        while now + deadline <= period * (1 + FEASIBILITY) and starts < MOST_TURNS:
            starts += 1
            now = starts * deadline
        return float(starts) if starts < MOST_TURNS else period // deadline
    periods = 1
    while periods * period < deadline * (1 - FEASIBILITY) and periods < MOST_TURNS:
        periods += 1
    return 1.0 / periods if periods < MOST_TURNS else period / deadline


def _table(spec: Spec) -> Floats:
    """Read the demand table, (periods, units)."""
    from mrdsl.exchange.demand import Wanted, read_demand

    facts: JointFacts = spec.facts
    assert facts.demand is not None
    assert facts.demand.from_ is not None
    wanted = [Wanted("class", node.name, node.span) for node in facts.classes]
    wanted += [Wanted("service", node.name, node.span) for node in facts.services]
    source = facts.demand.from_
    return read_demand(source, wanted, facts.demand.periods, facts.demand.span_of("periods"), source.written)[0]
