"""A plan, run: events come at random, so that some seconds bring more than the average."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.settings import Settings
from mrdsl.spec.spec import Spec

from streams.plan import StreamPlan

SECONDS = 1000


def simulate_plan(spec: Spec, plan: StreamPlan, settings: Settings) -> tuple[StreamPlan, tuple[Diagnostic, ...]]:
    """The share of seconds in which what came (Poisson) was no more than a topic's executors process."""
    kept_up = {}
    for topic in spec.facts.topics:
        most = plan.executors[topic.name] * spec.facts.executor.throughput
        runs = [stream(settings.seed, run, topic.name).poisson(topic.rate, SECONDS) for run in range(settings.runs)]
        kept_up[topic.name] = float(np.mean([(come <= most).mean() for come in runs]))
    return replace(plan, kept_up=kept_up), ()
