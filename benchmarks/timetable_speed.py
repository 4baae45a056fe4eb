"""CPU time and memory of timetables: python benchmarks/timetable_speed.py [SWIM_TRACE]

Whole processes, one after the other: nights of 200 and 2,000 runs, SWIM's day, verification of its plan, and a night of
up to 10 million machines with windows of months. The limits in the last column are those of the project.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NIGHT = """
problem timetable "Night"
param way = constant
rent = way
vm m5 {{ on_demand {{ price = 0.192 USD/h }}, boot = 2 min }}
class clicks {{
  stage scan {{ tasks = 32, avg = 5 s, max = 8 s }}
  stage sum  {{ tasks = 8, avg = 5 s, max = 8 s, after = [scan] }}
  slots {{ task = 8 }}
  runs {{ from = 22:00, every = {every} s, times = {times} }}
  deadline = 280 s
}}
minimize cost
"""
DAY = """
problem timetable "SWIM"
param way = constant
rent = way
vm m5 { on_demand { price = 0.192 USD/h }, boot = 2 min }
arrivals from swim("swim.tsv") {
  block = 64 MB, map_speed = 20 MB/s, reduce_input = 512 MB, shuffle_speed = 10 MB/s, reduce_speed = 20 MB/s
  task_overhead = 1 s, deadline_factor = 3
  slots { map = 8, reduce = 8 }
}
minimize cost
"""
HUGE = """
problem timetable "Huge"
param way = constant
param size = 8e6
rent = way
vm m5 { on_demand { price = 0.192 USD/h }, boot = 2 min }
class a {
  stage s { tasks = size, avg = 50 s, max = 80 s }
  stage t { tasks = 80, avg = 5 s, max = 8 s, after = [s] }
  slots { task = 8 }, runs { from = 0 s, every = 2 min, times = 50 }, deadline = 100 s
}
class b {
  stage s { tasks = 77777, avg = 7 s, max = 80 s }
  slots { task = 8 }, runs { from = 7 s, every = 3 min, times = 20 }, deadline = 2000 s
}
class c {
  stage s { tasks = 3, avg = 3 s, max = 80 s }
  slots { task = 8 }, runs { from = 7 s, every = 20 d, times = 5 }, deadline = 90 d
}
minimize cost
"""
WAYS = ("constant", "elastic", "per_job")


def measured(folder: Path, *arguments: str) -> tuple[float, float, str]:
    """Return CPU seconds and peak memory [MB] of a process of mrdsl, and its last line about the cost."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "mrdsl", *arguments]
    with (
        open(folder / "out.txt", "w") as out,
        subprocess.Popen(command, cwd=folder, stdout=out, env=environment) as ran,
    ):
        _, status, used = os.wait4(ran.pid, 0)
        ran.returncode = os.waitstatus_to_exitcode(status)
    if ran.returncode:
        raise SystemExit(f"{' '.join(arguments)} ends with {ran.returncode}")
    lines = re.findall(r"^\w+: cost.*", (folder / "out.txt").read_text(), re.MULTILINE)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, lines[-1] if lines else ""


def main() -> None:
    trace = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "200 runs.mrspec").write_text(NIGHT.format(every=120, times=200))
        (folder / "2,000 runs.mrspec").write_text(NIGHT.format(every=30, times=2000))
        (folder / "huge.mrspec").write_text(HUGE)
        cases = [("200 runs", (), "3"), ("2,000 runs", (), "10")]
        if trace is not None:
            (folder / "swim.tsv").write_text(trace)
            (folder / "SWIM day.mrspec").write_text(DAY)
            cases.append(("SWIM day", (), "30"))
        cases += [("huge", ("-D", "size=8e6"), ""), ("huge", ("-D", "size=8e7"), "")]
        print("| night | rented | CPU [s] | peak [MB] | result | CPU at most [s] |\n|---|---|---|---|---|---|")
        for case, options, limit in cases:
            for way in WAYS:
                plan = f"{case} {way}.json"
                spent, peak, result = measured(
                    folder, "solve", f"{case}.mrspec", "-D", f"way={way}", *options, "-o", plan, "--force"
                )
                print(f"| {case} {' '.join(options[1:])} | {way} | {spent:.2f} | {peak:.0f} | {result} | {limit} |")
                if case == "SWIM day":
                    spent, peak, _ = measured(folder, "verify", plan)
                    print(f"| verify | {way} | {spent:.2f} | {peak:.0f} | | 1 |")


if __name__ == "__main__":
    main()
