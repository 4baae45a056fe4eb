"""What a study is handed: a bench that reads and solves specs for it, and who goes through its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.core.result import Limits, Result
from mrdsl.spec.spec import Spec


class Bench(Protocol):
    """Specs read and solved as a user would have them; :mod:`mrdsl.api` is one."""

    def load(self, path: str | Path, parameters: Mapping[str, Any] | None = None, *, seed: int | None = None) -> Spec:
        """The spec in a file."""

    def solve(
        self,
        spec: Spec,
        solver: str = "auto",
        *,
        formulation: str | None = None,
        relax: bool = False,
        limits: Limits | None = None,
    ) -> Result:
        """A checked plan, or why there is none."""

    def fmt(self, text: str) -> str:
        """The text of a spec in its canonical form."""


class Case(Protocol):
    """A part of a study that needs no other part: all that it needs but the bench. It and what it finds are pickled."""

    @property
    def name(self) -> str:
        """What tells it apart where it fails."""

    def found(self, bench: Bench) -> Any:
        """What the study asks of it."""


Mapper = Callable[[Bench, Sequence[Case]], Iterator[tuple[int, Any]]]
"""Goes through cases, wherever: the place of each and what it found, as they end, in any order.

A case that raises MrdslError does not keep the others: at the end MrdslError tells all of them, each by its name.
"""


def one_by_one(bench: Bench, cases: Sequence[Case]) -> Iterator[tuple[int, Any]]:
    """The mapper that takes one case after another in this process."""
    failures: list[Failure] = []
    for place, case in enumerate(cases):
        try:
            found = case.found(bench)
        except MrdslError as failure:
            failures.append((case, failure))
            continue
        yield place, found
    tell_failures(failures)


Failure = tuple[Case, MrdslError]


def tell_failures(failures: Sequence[Failure]) -> None:
    """Raises MrdslError with what every failed case says, if any did, and the exit code of the first."""
    if failures:
        told = [_named(case, each) for case, failure in failures for each in failure.diagnostics]
        raise MrdslError(told, failures[0][1].exit_code)


def _named(case: Case, diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, message=f"{case.name}: {diagnostic.message}")
