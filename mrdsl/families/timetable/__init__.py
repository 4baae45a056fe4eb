"""Timetable: jobs that start at given times, and the cheapest machines that meet every deadline."""

from __future__ import annotations

from mrdsl.contracts.family import Export, Family, GoalKind, Promise, hooks_in
from mrdsl.core.lazy import lazy
from mrdsl.exchange.registry import AIRFLOW, CRON, YARN_RESERVATIONS
from mrdsl.families.timetable.checks import check, find_impossible
from mrdsl.families.timetable.facts import TimetableFacts

FAMILY = Family(
    name="timetable",
    summary="Jobs that start at given times: which machines to rent from when to when, and when each job runs",
    paper="none",
    facts=TimetableFacts,
    goals=(
        GoalKind("minimize", "cost", "currency", "what the machines cost from their first boot to their last end", 0.0),
    ),
    method="timetable",
    promises=(
        Promise("classes.deadline", 1),
        Promise("classes.start_within", 1),
        Promise("vms.available", 1),
        Promise("vms.reserved.available", 1),
        Promise("vms.masters", -1),
        Promise("quotas.cores", 1),
        Promise("classes.types", -1),
    ),
    check=check,
    impossible=find_impossible,
    exports=(
        Export(CRON, lazy("mrdsl.families.timetable.export", "cron")),
        Export(AIRFLOW, lazy("mrdsl.families.timetable.export", "airflow")),
        Export(YARN_RESERVATIONS, lazy("mrdsl.families.timetable.export", "yarn_reservations")),
    ),
    **hooks_in(
        __name__,
        verify="plan_warnings",
        repeat_runs="simulate",
        report="report",
        today="report",
        operated="plan",
        simulate_plan="simulate",
    ),
)
