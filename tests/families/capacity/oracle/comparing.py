"""Solve drawn specs with mrdsl and with the oracle, and list what differs."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isinf

import mrdsl
from tests.families.capacity.oracle.drawing import draw
from tests.families.capacity.oracle.jobs import Losses
from tests.families.capacity.oracle.program import TooLargeError, modes, optimum
from tests.families.capacity.oracle.structure import Drawn, text_of

SAME = 1e-6
"""Relative difference of equal values: feasibility and integrality tolerances of solvers."""


@dataclass(frozen=True)
class Known:
    """The least cost is at least ``lower`` and at most ``upper``; infinite if there is no plan."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Told:
    """What mrdsl reports: infinite if it says that there is no plan, None where it says nothing."""

    value: float | None
    bound: float | None
    proven: bool


def known(drawn: Drawn, seconds: float = 20.0) -> Known:
    """Compute both values: what the docs leave open makes the lower one cheaper and the upper one dearer."""
    readings = [Losses(own=True), Losses(own=False)]
    if not lossy(drawn):
        readings = readings[:1]
    elif drawn.whole != "no":
        readings = list({modes(drawn, how): how for how in readings}.values())
    found = [optimum(drawn, how, seconds=seconds) for how in readings]
    if drawn.whole == "no" and any(node.container for node in drawn.classes):
        found += [optimum(drawn, Losses(), strict=True, seconds=seconds)]
    return Known(min(bound for _, bound in found), max(value for value, _ in found))


def lossy(drawn: Drawn) -> bool:
    """Check if any VM on spot is interrupted."""
    return any(vm.spot is not None and vm.spot[1] > 0 for vm in drawn.vms)


def told(drawn: Drawn, solver: str = "auto", seconds: float = 60.0) -> Told:
    """Solve the text of a drawn spec with mrdsl."""
    limits = mrdsl.Limits(time=seconds, gap=0.0 if solver not in {"direct", "glpk"} else None)
    try:
        result = mrdsl.solve(mrdsl.loads(text_of(drawn)), solver, limits=limits)
    except mrdsl.MrdslError as error:
        if all(found.impossible for found in error.diagnostics if found.severity == "error"):
            return Told(inf, inf, True)
        raise
    if result.solution == "infeasible" or (result.plan is None and result.termination == "infeasible"):
        return Told(inf, inf, True)
    return Told(result.value, result.bound, result.termination == "optimal" and result.solution == "optimal")


def faults(right: Known, ours: Told) -> Iterator[str]:
    """List what contradicts the oracle."""
    if ours.value is not None and below(ours.value, right.lower):
        yield "cheaper than the optimum"
    if ours.bound is not None and below(right.upper, ours.bound):
        yield "bound above the optimum"
    if ours.proven and (ours.value is None or below(right.upper, ours.value)):
        yield "proven, but not the optimum"
    if ours.value is None:
        yield "no plan"


def below(small: float, large: float) -> bool:
    """Compare with the tolerance of equal values."""
    if isinf(small) or isinf(large):
        return small < large
    return small < large - SAME * max(1.0, abs(large))


def features(drawn: Drawn) -> Iterator[str]:
    """Name what a spec has, to count what was covered."""
    yield f"whole = {drawn.whole or 'slots'}"
    if len(drawn.vms) > 1:
        yield "several types"
    for name, holds in (
        ("contracts", any(vm.contracts for vm in drawn.vms)),
        ("paid contracts", any(c.paid for vm in drawn.vms for c in vm.contracts)),
        ("spot", any(vm.spot for vm in drawn.vms)),
        ("fees", any(vm.fee for vm in drawn.vms)),
        ("quotas", any(vm.available is not None for vm in drawn.vms)),
        ("masters", any(vm.masters for vm in drawn.vms)),
        ("part on spot", any(node.spot and node.spot < 1 for node in drawn.classes) and any(v.spot for v in drawn.vms)),
        ("containers", any(node.container for node in drawn.classes)),
        ("on TYPE", any(node.on for node in drawn.classes)),
        ("types = one", any(node.types == "one" for node in drawn.classes)),
        ("types = [..]", any(isinstance(node.types, tuple) for node in drawn.classes)),
        ("stages", any(node.work.stages for node in drawn.classes)),
        ("map-only", any(node.work.map and not node.work.reduce for node in drawn.classes)),
        ("coefficients", any(node.work.coefficients for node in drawn.classes)),
    ):
        if holds:
            yield name
    for row in drawn.rows:
        yield f"subject to {row.quantity}"


def monotone(drawn: Drawn) -> Iterator[str]:
    """Check cost(no) <= cost(slots) <= cost(machines)."""
    values = [told(replace(drawn, whole=whole)) for whole in ("no", "slots", "machines")]
    for (name, less), (other, more) in zip(
        zip(("no", "slots"), values, strict=False), zip(("slots", "machines"), values[1:], strict=True), strict=False
    ):
        if less.value is not None and less.proven and more.value is not None and below(more.value, less.value):
            yield f"cost({name}) = {less.value} above cost({other}) = {more.value}"


def main() -> None:
    """Compare COUNT specs from FIRST on, and print each that differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--solvers", default="auto", help="solvers, separated by commas")
    parser.add_argument("--monotone", action="store_true", help="compare whole = no, slots and machines too")
    chosen = parser.parse_args()
    covered: Counter[str] = Counter()
    bad = exact = 0
    for seed in range(chosen.first, chosen.first + chosen.count):
        drawn = draw(seed)
        begin = time.process_time()
        try:
            right = known(drawn)
        except TooLargeError:
            covered["left out: too many contents"] += 1
            continue
        covered.update(set(features(drawn)))
        covered["optimum known exactly"] += not below(right.lower, right.upper)
        covered["no plan exists"] += isinf(right.lower)
        middle = time.process_time()
        wrong = []
        for solver in chosen.solvers.split(","):
            try:
                ours = told(drawn, solver)
                exact += ours.proven
                wrong += [f"{solver}: {fault}: {ours}" for fault in faults(right, ours)]
            except mrdsl.MrdslError as error:
                if any(found.code != "unable-solver" for found in error.diagnostics):
                    wrong.append(f"{solver}: {error}")
            except Exception as error:
                wrong.append(f"{solver}: internal error: {error!r}")
        wrong += list(monotone(drawn)) if chosen.monotone else []
        if wrong:
            bad += 1
            print(f"--- seed {seed}: {right}", *wrong, text_of(drawn), sep="\n", flush=True)
        if time.process_time() - begin > 10:
            print(
                f"seed {seed} took {middle - begin:.1f} s by the oracle, {time.process_time() - middle:.1f} s by mrdsl"
            )
    print(f"{chosen.count} specs, {bad} differ; proven by mrdsl: {exact}")
    for name, number in sorted(covered.items()):
        print(f"{number:5} {name}")
