"""One run of a study: its settings, its end, its time, and the versions."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.result import Limits, Result, Termination
from mrdsl.core.version import __version__
from mrdsl.core.watching import watched
from mrdsl.spec.declared import LIMIT_OF_OPTION
from mrdsl.spec.spec import Spec
from mrdsl.sweeping.cells import FINDINGS, findings, first_message, nothing
from mrdsl.sweeping.study.declaration import Method

try:
    import resource
except ImportError:  # Windows does not tell what a child has used
    resource = None  # type: ignore[assignment]

LIMIT_COLUMNS = {
    limit: {"time": "time_limit [s]", "gap": "gap_limit", "seed": "solver_seed"}.get(limit, option)
    for option, limit in LIMIT_OF_OPTION.items()
}
"""The columns of the limits, by the fields of :class:`mrdsl.core.result.Limits`."""
COLUMNS = (
    *("run", "spec", "method", "seed", "relax", *LIMIT_COLUMNS.values()),
    *("key", "problem", "title", "sense", "size", *FINDINGS, "solver_version", "cpu_seconds", "mrdsl", "python"),
)
"""Columns of the runs of every study, in addition to ``runs``, params and numbers of plans."""

WARM_UP = 0.5
"""Seconds that a method has before its first run in a process, to load what it needs."""


@dataclass(frozen=True)
class Sources:
    """The input files of a spec, itself the first, and a digest of their contents at the start of the study."""

    files: tuple[Path, ...] = ()
    digest: str = ""

    @classmethod
    def of(cls, files: Sequence[Path]) -> Sources:
        """Return the files with a digest of their current contents; unreadable files count as empty."""
        digest = hashlib.sha256()
        for path in files:
            with suppress(UnreadableError):
                digest.update(hashlib.sha256(read_bytes(path)).digest())
        return cls(tuple(files), digest.hexdigest())


@dataclass(frozen=True)
class StudyRun:
    """A run: its number in the study, the spec's file and name, and all settings.

    ``name`` is the name of the method, with its limits if there are several. ``shown`` are the values of params by
    column, ``runs`` the name of its group. ``key`` identifies the same run at any time: a digest of the spec with its
    input files, the method, params, seed, limits, and versions.
    """

    number: int
    key: str
    file: str
    spec: str
    problem: str
    name: str
    method: Method
    params: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    limits: Limits = field(default_factory=Limits)
    outside: bool = False
    runs: str = ""
    sources: Sources = Sources()

    @property
    def instance(self) -> tuple[Any, ...]:
        """The instance that it solves, by any method, independent of the order of params."""
        return (self.spec, *sorted(self.params.items()), self.seed)

    def told(self) -> dict[str, Any]:
        """Return the columns of its settings."""
        return {
            "run": self.number,
            **({"runs": self.runs} if self.runs else {}),
            "spec": self.spec,
            "method": self.name,
            **self.shown,
            "seed": self.seed,
            "relax": self.method.relax,
            **{column: getattr(self.limits, limit) for limit, column in LIMIT_COLUMNS.items()},
        }

    def row(self) -> dict[str, Any]:
        """Return the row of the run; errors make a row too. ``seconds`` and ``cpu_seconds`` are of the solve alone."""
        from mrdsl.language.loading import load_file

        if Sources.of(self.sources.files) != self.sources:
            return self.lost("the spec or one of its input files changed since the study began")
        try:
            with watched(None):
                loaded = load_file(self.file, self.params, seed=self.seed, outside=self.outside)
                if loaded.spec is None:
                    raise MrdslError(loaded.diagnostics)
                result, seconds, processor = _measured(loaded.spec, self)
            if result.termination is Termination.INTERRUPTED:
                raise KeyboardInterrupt  # the whole study is meant, not this run
            found = {
                "problem": result.problem,
                "title": result.title,
                "sense": result.sense,
                "size": result.size,
                **findings(loaded.spec, result),
                "solver_version": result.solver.get("version"),
                "cpu_seconds": processor,
                "seconds": seconds,
            }
        except MrdslError as failure:
            found = nothing(first_message(failure.diagnostics))
        return {"key": self.key, **found, **_versions()}

    def lost(self, message: str) -> dict[str, Any]:
        """Return the row of a run without a plan, with the reason."""
        return {"key": self.key, **nothing(message), **_versions()}


def _versions() -> dict[str, Any]:
    return {"mrdsl": __version__, "python": platform.python_version()}


@cache
def _warm_up(problem: str, method: Method) -> None:
    """Solve the reference spec of a family once in each process, so that the time of imports is in no run.

    Methods of the user are called only for the specs of the study.
    """
    from mrdsl.families import reference_text
    from mrdsl.language.loading import load_text
    from mrdsl.planning.solve_spec import solve
    from mrdsl.solving import registry

    if method.solver != "auto" and registry.find(method.solver).foreign_file is not None:
        return
    spec = load_text(reference_text(problem) or "").spec
    if spec is not None:
        with suppress(MrdslError):  # a method that cannot solve this one may yet solve the study's
            solve(spec, method.solver, method.formulation, method.relax, Limits(time=WARM_UP))


def _measured(spec: Spec, run: StudyRun) -> tuple[Result, float, float | None]:
    """Return the result, its elapsed time, and its processor time with that of solver processes [s].

    Each run starts new solver processes, which end with it, so that no run uses a warm one.
    """
    from mrdsl.planning.solve_spec import solve
    from mrdsl.solving.worker import close_all

    _warm_up(spec.problem, run.method)
    close_all()
    before, began = _processor_time(), time.perf_counter()
    method = run.method
    try:
        result = solve(spec, method.solver, method.formulation, method.relax, run.limits)
    finally:
        seconds = time.perf_counter() - began
        close_all()
    after = _processor_time()
    return result, round(seconds, 6), None if before is None or after is None else round(after - before, 6)


def _processor_time() -> float | None:
    if resource is None:
        return None
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
