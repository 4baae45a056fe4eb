"""Runs with drawn times of plans that fix the time of every task, without queues.

Every task takes its stated time multiplied by a factor, whose mean is 1 without stragglers. The factors of a job in a
run depend only on the seed, the run and the job, so that two plans are compared with the same factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, note
from mrdsl.simulation.engine.draws import Sampler, Straggling, sampler
from mrdsl.simulation.observed import Observed, Simulated
from mrdsl.simulation.planned import override_notes
from mrdsl.simulation.sampling import stream_again
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import Promised, observed_of
from mrdsl.spec.simulated import Spread, Stragglers
from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]
RANKED = 99
"""Number of tasks whose expected longest time is the `longest` of a lognormal time."""
MOST_TASKS = 10_000_000
"""Most times that are drawn in one run."""


@dataclass(frozen=True)
class Factors:
    """Factors of the stated times of tasks, drawn for a job in a run; ``random`` has a key for each."""

    draw: Sampler | None
    seed: int
    random: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0), compare=False, repr=False)

    def of(self, run: int, count: int, *place: object) -> Floats:
        """``count`` factors of what ``place`` names, in the order of its tasks."""
        if self.draw is None:
            return np.ones(count)
        return self.draw(stream_again(self.random, self.seed, run, "times", *place), count)


@dataclass(frozen=True)
class Drawing:
    """Runs of a spec's plan: the settings, the rules of the spec, and the factors."""

    spec: Spec
    settings: Settings
    rules: Spread
    factors: Factors

    @property
    def simulated(self) -> Simulated:
        """The settings of the runs: every run is one execution of the plan, without warm-up."""
        return Simulated(self.settings.runs, self.settings.seed, 1, 0.0, self.settings.what_if.said())

    def promise(self, limit: float | None) -> Promised | None:
        """Return the promise of a limit on an event that happens once in each run."""
        return None if limit is None else Promised(limit, self.rules.service_level)

    def once(self, times: Sequence[float] | Floats, limit: float | None, utilisation: float | None = None) -> Observed:
        """Return the observations of an event that happens once in each run; a ``limit`` on it is a promise."""
        found = observed_of([[float(time)] for time in times], limit, utilisation, self.promise(limit))
        assert found is not None
        return found

    def told(self, own: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of the runs: the family's ``own``, times without spread, and options of the
        command.
        """
        return (*own, *_spread_notes(self.spec, self.rules), *override_notes(self.settings))


def drawing(spec: Spec, settings: Settings, tasks: int, *, slowstart: str, lose: str, once: str) -> Drawing:
    """Return the runs with drawn times of a plan with that number of tasks.

    Only the option for slow tasks applies here: ``slowstart``, ``lose`` and ``once`` are the reasons why the others do
    not. Raises MrdslError for each of them, and for too many tasks.
    """
    reasons = {"slowstart": slowstart, "lose": lose, "burst": once, "jobs": once}
    wrong = list(options_without_effect(spec, settings, reasons))
    if tasks > MOST_TASKS:
        message = f"the plan has {tasks:,} tasks, and no more than {MOST_TASKS:,} are drawn in a run"
        wrong.append(error("too-large", message, spec.span, "simulate a part of it"))
    if wrong:
        raise MrdslError(wrong)
    rules = _rules_of(spec, settings)
    return Drawing(spec, settings, rules, _factors_of(rules, settings))


def options_without_effect(spec: Spec, settings: Settings, reasons: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield an error for each given option of a command that has a reason why it has no effect."""
    said = settings.what_if.said() | ({} if settings.jobs is None else {"jobs": settings.jobs})
    for name in said:
        if name in reasons:
            option = "--fail-machines" if name == "lose" else f"--{name}"
            yield error("wrong-option", f"`{option}` has no effect: {reasons[name]}", spec.span, f"remove `{option}`")


def _rules_of(spec: Spec, settings: Settings) -> Spread:
    """Return the spread of times in the spec, overridden by the command."""
    rules: Spread = spec.facts.simulation or Spread()
    slow = settings.what_if.stragglers
    return rules if slow is None else replace(rules, stragglers=Stragglers(share=slow[0], factor=slow[1]))


def _factors_of(rules: Spread, settings: Settings) -> Factors:
    if not rules.spreads:
        return Factors(None, settings.seed)
    drawn = sampler(rules.distribution, max(0.0, 2.0 - rules.longest), 1.0, rules.longest, RANKED)
    if rules.stragglers is not None:
        drawn = Straggling(drawn, rules.stragglers.share, rules.stragglers.factor)
    return Factors(drawn, settings.seed)


def _spread_notes(spec: Spec, rules: Spread) -> Iterator[Diagnostic]:
    if not rules.spreads:
        yield note(
            "nothing-spreads",
            "all times are as they are stated, so every run is the plan itself",
            spec.span,
            "write simulation { distribution = lognormal, longest = 2 }, or --stragglers 2%:4",
        )
