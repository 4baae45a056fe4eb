"""Runs of simulated scenarios, shared among processes."""

from __future__ import annotations

from collections.abc import Sequence

from mrdsl.simulation.engine.scenario import Scenario, Seen, run_once
from mrdsl.simulation.settings import Settings
from mrdsl.solving.parallel import in_processes


def seen_of(scenarios: Sequence[Scenario], settings: Settings, apart: bool = False) -> list[list[Seen]]:
    """What every run of every scenario showed; nothing of it depends on the number of processes.

    Scenarios may have the same jobs in the same run, unless they are ``apart``: then no two of them do.
    """
    requests = [
        (scenario, settings.seed, run + at * settings.runs * apart)
        for at, scenario in enumerate(scenarios)
        for run in range(settings.runs)
    ]
    seen: list[Seen] = in_processes(_run, requests, settings.processes)
    return [seen[at * settings.runs : (at + 1) * settings.runs] for at in range(len(scenarios))]


def _run(request: tuple[Scenario, int, int], report: object) -> Seen:
    return run_once(*request)
