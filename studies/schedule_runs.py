"""One run of a schedule spec in files: its decisions as lines of JSON, and plots of price, fleet, backlog, lateness."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.diagnostics import one_error
from mrdsl.core.units import HOUR
from mrdsl.core.writer import Together, make_folder
from mrdsl.families.schedule.methods.policy import simulation
from mrdsl.families.schedule.simulate import OWN_POLICY, run_of_method
from mrdsl.reporting.report_files import write_chart
from mrdsl.simulation.fleet import Entry
from mrdsl.spec.spec import Spec

POINTS = 1000


class Recorder:
    """Observer of a run: writes each decision as a line of JSON, and stores price, fleet and backlog as steps."""

    def __init__(self, log: IO[str] | None = None) -> None:
        self._log = log
        self._fleet = {"on_demand": 0, "spot": 0}
        self._kinds: dict[int, str] = {}
        self._backlog = self.jobs = 0
        self.late: list[float] = []
        self.steps: dict[str, list[tuple[float, float]]] = {"price": [], "on_demand": [], "spot": [], "backlog": []}

    def __call__(self, what: str, time: float, facts: Mapping[str, Any]) -> None:
        if self._log is not None:
            self._log.write(json.dumps({"time": round(time, 9), "what": what, **facts}) + "\n")
        match what:
            case "price":
                self.steps["price"].append((time, facts["price"] * HOUR))
            case "arrive" | "finish":
                self._backlog += 1 if what == "arrive" else -1
                self.steps["backlog"].append((time, float(self._backlog)))
                if what == "finish":
                    self.jobs += 1
                    if facts["tardy"]:
                        self.late.append(time - facts["due"])
            case "rent":
                self._kinds[facts["cohort"]] = facts["kind"]
                self._resize(time, facts["kind"], facts["vms"])
            case "release" | "evict":
                self._resize(time, self._kinds[facts["cohort"]], -facts["vms"])

    def _resize(self, time: float, kind: str, vms: int) -> None:
        self._fleet[kind] += vms
        self.steps[kind].append((time, float(self._fleet[kind])))


def watch(spec: Spec, seed: int | None, folder: Path) -> tuple[Path, ...]:
    """Write one run into a folder: ``decisions.jsonl``, and plots of price, fleet, backlog and lateness.

    Raises MrdslError if the method of `solve with` has no log of a run.
    """
    entries = _log_of_method(spec, seed or 0)
    make_folder(folder)
    with Together() as files, files.text(folder / "decisions.jsonl") as log:
        recorder = Recorder(log)
        run = simulation(spec.facts, seed or 0, recorder)
        if run.prices is not None:
            recorder("price", 0.0, {"price": run.prices.current})
        if entries is None:
            seen = run.run()
            start, end = seen.start, seen.end
        else:
            for entry in entries:
                recorder(entry.what, entry.time, entry.facts)
            start, end = (entries[0].time, entries[-1].time) if entries else (0.0, 0.0)
    return folder / "decisions.jsonl", *draw(recorder, start, end, folder, spec.currency)


def _log_of_method(spec: Spec, seed: int) -> Sequence[Entry] | None:
    """Return the log of a run by the method of ``solve with``; None if the spec's policy decides."""
    method = spec.method
    once = run_of_method(spec)
    if method is None or once is None or method.name in ("auto", OWN_POLICY):
        return None
    plan = once(seed)
    if plan.log is None:
        message = f"`{method.name}` keeps no log of its decisions"
        raise one_error("no-simulation", message, method.span, "remove `solve with`")
    return plan.log()


def draw(recorder: Recorder, start: float, end: float, folder: Path, currency: str) -> tuple[Path, ...]:
    """Return the plots of a run."""
    lines = {
        name: _sampled(name.replace("_", " "), steps, start, end) for name, steps in recorder.steps.items() if steps
    }
    charts = {
        "price": ([lines["price"]] if "price" in lines else [], "Spot price of one VM", f"{currency} per hour"),
        "fleet": ([lines[name] for name in ("on_demand", "spot") if name in lines], "Rented VMs", "VMs"),
        "backlog": ([lines["backlog"]] if "backlog" in lines else [], "Jobs in the system", "jobs"),
    }
    written = []
    for name, (series, title, unit) in charts.items():
        if series:
            file = folder / f"{name}.svg"
            write_chart(file, LineChart(title, "hours", unit, tuple(series), y_zero=True))
            written.append(file)
    if recorder.late:
        late = [0.0, *sorted(recorder.late)]
        ended = [100.0 * (recorder.jobs - len(late) + 1 + i) / recorder.jobs for i in range(len(late))]
        few = sorted({round(i) for i in np.linspace(0, len(late) - 1, POINTS)})
        file = folder / "lateness.svg"
        curve = Series("jobs", [late[i] for i in few], [ended[i] for i in few])
        write_chart(file, LineChart("Jobs that have ended", "seconds after the due time", "%", (curve,)))
        written.append(file)
    return tuple(written)


def _sampled(name: str, steps: Sequence[tuple[float, float]], start: float, end: float) -> Series:
    """Return a step function at evenly spaced moments, the highest value of each stretch that has several."""
    times = [time for time, _ in steps]
    edges = np.linspace(start, end, POINTS)
    values = []
    for left, right in zip(edges, [*edges[1:], end], strict=True):
        first, last = bisect_right(times, left) - 1, bisect_right(times, right)
        inside = [value for _, value in steps[max(first, 0) : max(last, first + 1)]]
        values.append(max(inside) if inside and first >= 0 else 0.0)
    return Series(name, (edges / HOUR).tolist(), values)
