"""Peak memory of `mrdsl profile` on logs that are made here, of every kind and of two sizes.

``python benchmarks/logs_memory.py [MB]``: job histories in a folder, a Rumen trace and event logs of Spark, of MB (300
by default) and of a quarter of it; jobs of 40, 400 and 4,000 tasks. The last column is by what the peak grows for every
MB of log more.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import Case, peak_memory

BEGIN = 1_700_000_000_000
TASKS = (40, 400, 4000)
DRAW = random.Random(7)


def job_times(tasks: int) -> tuple[int, list[tuple[int, int]]]:
    """When a job begins, and starts and ends of its tasks."""
    begin = BEGIN + DRAW.randrange(10**8)
    spans = [(begin + (place % 100) * 700, DRAW.randrange(5000, 60_000)) for place in range(tasks)]
    return begin, [(start, start + length) for start, length in spans]


def rumen(number: int, tasks: int) -> bytes:
    """A job as TraceBuilder writes it."""
    begin, spans = job_times(tasks)
    tasks_of: dict[str, list[dict[str, Any]]] = {"mapTasks": [], "reduceTasks": []}
    counters = dict.fromkeys(
        ("hdfsBytesRead", "hdfsBytesWritten", "fileBytesRead", "fileBytesWritten", "mapInputRecords", "mapOutputBytes",
         "mapOutputRecords", "combineInputRecords", "reduceInputGroups", "spilledRecords"), 1234567)  # fmt: skip
    for place, (start, finish) in enumerate(spans):
        kind = "reduceTasks" if place % 10 == 9 else "mapTasks"
        done = (finish - 900, finish - 800) if kind == "reduceTasks" else (-1, -1)
        attempt = {
            "hostName": f"/rack{place % 7}/host{place % 300}.example.org", "startTime": start, "finishTime": finish,
            "shuffleFinished": done[0], "sortFinished": done[1], "result": "SUCCESS",
            "attemptID": f"attempt_{number}_{place}_0", **counters,
        }  # fmt: skip
        about = {"startTime": start, "finishTime": finish, "taskID": f"task_{number}_{place}", "inputBytes": 10**8}
        tasks_of[kind].append({"attempts": [attempt], "preferredLocations": [], "taskStatus": "SUCCESS", **about})
    job = {
        "jobID": f"job_1700_{number:06d}", "jobName": f"clicks-{number}", "user": "ops", "queue": "night",
        "outcome": "SUCCESS", "submitTime": begin, "launchTime": begin, "finishTime": max(end for _, end in spans),
        "totalMaps": len(tasks_of["mapTasks"]), "totalReduces": len(tasks_of["reduceTasks"]), **tasks_of,
    }  # fmt: skip
    return json.dumps(job, indent=1).encode() + b"\n"


def history(number: int, tasks: int) -> bytes:
    """A job's events in Avro-Json."""
    begin, spans = job_times(tasks)
    job, package = f"job_1700_{number:06d}", "org.apache.hadoop.mapreduce.jobhistory"

    def line(kind: str, record: str, fields: dict[str, Any]) -> str:
        return json.dumps({"type": kind, "event": {f"{package}.{record}": fields}}, separators=(",", ":"))

    counts = [{"name": f"COUNTER_{place}", "displayName": "a counter", "value": 10**9 + place} for place in range(30)]
    counters = {"name": "COUNTERS", "groups": [{"name": "g", "displayName": "g", "counts": counts}]}
    about = {"jobid": job, "jobName": f"clicks-{number}", "userName": "ops", "submitTime": begin}
    lines = ["Avro-Json", "{}", line("JOB_SUBMITTED", "JobSubmitted", about),
             line("JOB_INITED", "JobInited", {"jobid": job, "launchTime": begin, "totalMaps": tasks})]  # fmt: skip
    for place, (start, finish) in enumerate(spans):
        name = {"attemptId": f"attempt_1700_{number:06d}_m_{place:06d}_0"}
        lines.append(line("MAP_ATTEMPT_STARTED", "TaskAttemptStarted", {**name, "startTime": start}))
        ended = {**name, "taskStatus": "SUCCEEDED", "finishTime": finish, "hostname": f"host{place % 300}"}
        lines.append(line("MAP_ATTEMPT_FINISHED", "MapAttemptFinished", {**ended, "counters": counters}))
    lines.append(line("JOB_FINISHED", "JobFinished", {"jobid": job, "finishTime": max(end for _, end in spans)}))
    return "\n".join(lines).encode()


def spark(number: int, tasks: int) -> bytes:
    """An application of one stage."""
    begin, spans = job_times(tasks)
    info = {"Stage ID": 0, "Stage Attempt ID": 0, "Stage Name": "s", "Number of Tasks": tasks, "Parent IDs": []}
    updates = [{"ID": place, "Name": f"internal.metrics.number{place}", "Update": 10**6, "Value": 10**9,
                "Internal": True, "Count Failed Values": True} for place in range(20)]  # fmt: skip
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerApplicationStart", "App Name": "clicks", "App ID": f"a-{number}", "Timestamp": begin},
        {"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": begin, "Stage Infos": [info]},
        {"Event": "SparkListenerStageSubmitted", "Stage Info": info},
    ]
    for start, finish in spans:
        times = {"Launch Time": start, "Finish Time": finish, "Accumulables": updates}
        events.append({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0, "Task Type": "ResultTask",
                       "Task End Reason": {"Reason": "Success"}, "Task Info": times})  # fmt: skip
    events.append({"Event": "SparkListenerApplicationEnd", "Timestamp": max(end for _, end in spans)})
    return b"\n".join(json.dumps(event, separators=(",", ":")).encode() for event in events)


def until(size: int, make: Callable[[int, int], bytes], tasks: int) -> Iterator[bytes]:
    """Jobs until there are as many bytes."""
    made, number = 0, 0
    while made < size:
        text = make(number, tasks)
        made, number = made + len(text), number + 1
        yield text


def main() -> None:
    size = int(sys.argv[1] if len(sys.argv) > 1 else 300) * 10**6
    print("| kind | tasks a job | MB | peak MB | MB | peak MB | grows by |\n|---|---|---|---|---|---|---|")
    for kind, make in (("Rumen", rumen), ("job history", history), ("Spark", spark)):
        for tasks in TASKS:
            with tempfile.TemporaryDirectory() as folder:
                sizes, cases = [], []
                for part, wanted in (("few", size // 4), ("many", size)):
                    home = Path(folder, part)
                    home.mkdir()
                    sizes.append(0)
                    for number, text in enumerate(until(wanted, make, tasks)):
                        name = "trace" if kind == "Rumen" else f"log{number:06d}"
                        with (home / name).open("ab") as out:
                            sizes[-1] += out.write(text)
                    cases.append(Case(part, [sys.executable, "-m", "mrdsl", "profile", str(home)]))
                peaks = [peak_memory(case) for case in cases]
            shown = [f"{size / 1e6:.0f} | {peak:.0f}" for size, peak in zip(sizes, peaks, strict=True)]
            share = (peaks[1] - peaks[0]) * 1e6 / (sizes[1] - sizes[0])
            print(f"| {kind} | {tasks:,} | {shown[0]} | {shown[1]} | {share:.1%} |", flush=True)


if __name__ == "__main__":
    main()
