"""Hybrid control at scale: CPU seconds of every policy on 100 queues, `python benchmarks/hybrid_speed.py SLOTS`."""

from __future__ import annotations

import sys
import time

from mrdsl.families.hybrid.facts import Control, HybridFacts, Queue, Vm
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec

QUEUES, TYPES = 100, 10


def main() -> None:
    slots = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    vms = tuple(Vm(name=f"vm{i}", available=60, preemption_cost=0.5) for i in range(TYPES))
    queues = tuple(
        Queue(
            name=f"q{i}",
            vm=f"vm{i % TYPES}",
            size=1 + i % 4,
            delay=40 + i % 20,
            arrivals_max=14,
            arrivals=Distribution("poisson", (2.0 + i % 3,)),
            outsourcing=2.0 + i % 5,
        )
        for i in range(QUEUES)
    )
    facts = HybridFacts(horizon=slots, vms=vms, queues=queues, control=Control(V=1.0, outsource_limit=60))
    spec = Spec(problem="hybrid", facts=facts, seed=1)
    print("| policy | CPU s | queue-slots per second | cost per slot |\n|---|---|---|---|")
    for method in ("controller", "calendar"):
        started = time.process_time()
        result = solve(spec, method)
        taken = time.process_time() - started
        assert result.objective.value is not None, result.diagnostics
        print(f"| {method} | {taken:.1f} | {QUEUES * slots / taken:,.0f} | {result.objective.value:.2f} |")


if __name__ == "__main__":
    main()
