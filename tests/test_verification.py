"""What checks a plan shares no code with what builds one: imports, and defects that are planted in builders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sources import Source, modules

SHARED = ("mrdsl.core", "mrdsl.spec", "mrdsl.checking", "mrdsl.exchange", "mrdsl.model.check", "mrdsl.model.ledger")
"""What anybody may read: the facts as they are written, in specs and files, and the formulas for verification alone."""
DRAWN = ("mrdsl.formulas.workloads", "mrdsl.simulation.sampling", "mrdsl.simulation.stated")
"""What draws numbers from a seed: they are facts that a seed stands for, and another program draws other ones."""
VALUES = ("facts", "plan", "plan_parts", "packing", "periods.table", "periods.plan")
"""Modules whose dataclasses are what is checked, or the facts of a table; what else stands there is not followed."""


def _read_by(entry: str, known: dict[str, Source]) -> Iterator[tuple[str, str]]:
    waiting, seen = [entry], {entry}
    while waiting:
        name = waiting.pop()
        for wanted in known[name].wants(known):
            if not wanted.startswith("mrdsl.") or wanted in seen:
                continue
            seen.add(wanted)
            yield name, wanted
            family = ".".join(entry.split(".")[:3])
            shared = wanted.startswith((*SHARED, *DRAWN)) or wanted in {f"{family}.{each}" for each in VALUES}
            if not shared and wanted in known:
                waiting.append(wanted)


REWRITTEN = (
    "bounds",
    "capacity",
    "capacity.periods",
    "deadline",
    "energy",
    "joint",
    "makespan",
    "hybrid",
    "schedule",
    "timetable",
)


@pytest.mark.parametrize("family", REWRITTEN)
def test_verification_imports_no_builder(family: str) -> None:
    known, home = modules(), f"mrdsl.families.{family.partition('.')[0]}"
    for name, wanted in _read_by(f"mrdsl.families.{family}.verify", known):
        checking = wanted.startswith(f"{home}.verify")
        values = wanted in {f"{home}.{each}" for each in VALUES}
        assert wanted.startswith((*SHARED, *DRAWN)) or checking or values, f"{name} imports {wanted}"
