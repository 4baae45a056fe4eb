"""The output of ``mrdsl solvers`` for each solver, as plain values."""

from __future__ import annotations

from typing import Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.solving import registry
from mrdsl.solving.declaration import Distrust, SolverFile
from mrdsl.solving.registry import version, where


def entries(name: str | None = None, try_out: bool = False) -> tuple[list[dict[str, Any]], tuple[Diagnostic, ...]]:
    """Return one entry per solver or pipeline, solvers first, and the diagnostics of the files that cannot be read.

    With ``try_out`` every installed solver solves the quick case of each kind in its file, and models of the families
    of these kinds. Raises MrdslError if ``name`` is unknown.
    """
    problems: list[Diagnostic] = []
    declared: list[SolverFile] = []
    for known in [name] if name is not None else registry.names():
        try:
            declared.append(registry.find(known))
        except MrdslError as mistake:
            if name is not None:
                raise
            problems.extend(mistake.diagnostics)
    declared.sort(key=lambda solver: solver.is_pipeline)
    return [_entry(solver, try_out) for solver in declared], tuple(problems)


def _entry(solver: SolverFile, try_out: bool) -> dict[str, Any]:
    place = where(solver)
    checked, complaints = _try_out(solver) if try_out and place and not solver.is_pipeline else ([], [])
    return {
        "name": solver.name,
        "kind": solver.kind,
        "title": solver.title or solver.name,
        "summary": solver.summary,
        "installed": place is not None,
        "version": version(solver) if place else None,
        "where": place,
        "solves": list(solver.solves),
        "offers": list(solver.offers),
        "serves": list(solver.pipelines),
        "install": solver.install,
        "homepage": solver.homepage,
        "source": solver.source,
        "origin": solver.origin,
        "distrust": [_distrust(distrust) for distrust in solver.distrust],
        "checked": checked,
        "complaints": complaints,
    }


def _distrust(distrust: Distrust) -> dict[str, Any]:
    return {
        "versions": distrust.versions,
        "kinds": list(distrust.kinds),
        "reason": distrust.reason,
        "options": dict(distrust.options),
    }


def _try_out(solver: SolverFile) -> tuple[list[str], list[str]]:
    from mrdsl.planning import solver_contract as contract

    cases = [case for case in contract.CASES if case.quick and case.kind in solver.solves]
    told = [text for case in cases for text in contract.complaints(solver, case)]
    real = [case for case in contract.real_models() if case.kind in solver.solves]
    told += [text for case in real for text in contract.complaints_of_real(solver, case)]
    return [*(case.kind for case in cases), *dict.fromkeys(case.family for case in real)], told
