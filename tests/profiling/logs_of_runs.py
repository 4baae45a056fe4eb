"""Spark event logs of a few lines, for tests: jobs of one stage, executors, and an end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BEGIN = 1_760_000_000_000
Task = tuple[float, float]
Executor = tuple[str, str, int, float | None, float | None]
"""Id, host, cores, when it is added and removed [s]."""


def at(second: float) -> int:
    return BEGIN + round(1000 * second)


def stage(number: int, tasks: int, **more: Any) -> dict[str, Any]:
    return {"Stage ID": number, "Stage Attempt ID": 0, "Stage Name": f"s{number}", "Number of Tasks": tasks, **more}


def job(number: int, tasks: Sequence[Task], planned: int | None = None, failed: bool = False) -> list[dict[str, Any]]:
    """A job of one stage, from its first task to its last."""
    info = stage(number, len(tasks) if planned is None else planned)
    first, last = min((begin for begin, _ in tasks), default=0.0), max((end for _, end in tasks), default=0.0)
    ended = {**info, "Failure Reason": "aborted"} if failed else info
    result = "JobFailed" if failed else "JobSucceeded"
    start = {"Job ID": number, "Submission Time": at(first), "Stage Infos": [info], "Stage IDs": [number]}
    return [
        {"Event": "SparkListenerJobStart", **start},
        {"Event": "SparkListenerStageSubmitted", "Stage Info": info},
        *(
            {
                "Event": "SparkListenerTaskEnd",
                "Stage ID": number,
                "Stage Attempt ID": 0,
                "Task Type": "ResultTask",
                "Task End Reason": {"Reason": "Success"},
                "Task Info": {
                    "Task ID": 1000 * number + place,
                    "Index": place,
                    "Launch Time": at(begin),
                    "Finish Time": at(end),
                },
            }
            for place, (begin, end) in enumerate(tasks)
        ),
        {"Event": "SparkListenerStageCompleted", "Stage Info": ended},
        {
            "Event": "SparkListenerJobEnd",
            "Job ID": number,
            "Completion Time": at(last),
            "Job Result": {"Result": result},
        },
    ]


def events(
    jobs: Sequence[list[dict[str, Any]]],
    executors: Sequence[Executor],
    span: tuple[float, float | None],
    name: str = "etl",
    attempt: str = "",
    settings: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """The log of an application over ``span`` [s]; without an end it is cut."""
    about = {"App Name": "etl", "App ID": name, "Timestamp": at(span[0])}
    if attempt:
        about["App Attempt ID"] = attempt
    found: list[dict[str, Any]] = [{"Event": "SparkListenerApplicationStart", **about}]
    if settings:
        found.append({"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": settings})
    for kind, place in (("Added", 3), ("Removed", 4)):
        for each in executors:
            if each[place] is None:
                continue
            event: dict[str, Any] = {"Event": f"SparkListenerExecutor{kind}", "Executor ID": each[0]}
            event["Timestamp"] = at(each[place])  # type: ignore[arg-type]
            if kind == "Added":
                event["Executor Info"] = {"Host": each[1], "Total Cores": each[2]}
            found.append(event)
    found += [event for each in jobs for event in each]
    if span[1] is not None:
        found.append({"Event": "SparkListenerApplicationEnd", "Timestamp": at(span[1])})
    return found


def write(path: Path, found: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    return path
