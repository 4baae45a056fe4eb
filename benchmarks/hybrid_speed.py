"""Hybrid control at scale: CPU seconds of both policies, `python benchmarks/hybrid_speed.py SLOTS [QUEUES]`.

Ten queues to each VM type; a hundred queues unless told.
"""

from __future__ import annotations

import sys
import time

from mrdsl.families.hybrid.facts import Control, HybridFacts, Queue, Vm
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec

PER_TYPE = 10


def main() -> None:
    slots = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    types = max(1, count // PER_TYPE)
    vms = tuple(Vm(name=f"vm{i}", available=60, preemption_cost=0.5) for i in range(types))
    queues = tuple(
        Queue(
            name=f"q{i}",
            vm=f"vm{i % types}",
            size=1 + i % 4,
            delay=40 + i % 20,
            arrivals_max=14,
            arrivals=Distribution("poisson", (2.0 + i % 3,)),
            outsourcing=2.0 + i % 5,
        )
        for i in range(count)
    )
    facts = HybridFacts(horizon=slots, vms=vms, queues=queues, control=Control(V=1.0, outsource_limit=60))
    spec = Spec(problem="hybrid", facts=facts, seed=1)
    print("| policy | CPU s | queue-slots per second | cost per slot |\n|---|---|---|---|")
    for method in ("controller", "calendar"):
        started = time.process_time()
        result = solve(spec, method)
        taken = time.process_time() - started
        assert result.objective.value is not None, result.diagnostics
        print(f"| {method} | {taken:.1f} | {count * slots / taken:,.0f} | {result.objective.value:.2f} |")


if __name__ == "__main__":
    main()
