"""What every solver must do: the cases of ``planning/solver_contract.py`` that it claims, and every family's models."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.source import Span
from mrdsl.extending.report import Checked, Trial
from mrdsl.planning import solver_contract as contract
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.installed import require


def checked_solver(declared: SolverFile) -> Iterator[Checked]:
    """All trials of a solver: small models with known answers, then each formulation of each family."""
    place = Span(declared.source, 1, 1, 1, 1)
    trial = Trial(f"{declared.shown} is installed")
    with trial.going():
        require(declared, place)
    yield trial.done()
    if trial.complaints:
        return
    for case in contract.CASES:
        if case.kind in declared.solves:
            trial = Trial(f"{declared.shown} on {case.kind} `{case}`")
            with trial.going():
                for message in contract.complaints(declared, case):
                    trial.wrong(f"{declared.shown}: {message}", place)
            yield trial.done()
    for real in contract.real_models():
        if real.kind in declared.solves:
            trial = Trial(f"{declared.shown} on the model {real}")
            with trial.going():
                for message in contract.complaints_of_real(declared, real):
                    trial.wrong(f"{declared.shown}: {message}", place)
            yield trial.done()
