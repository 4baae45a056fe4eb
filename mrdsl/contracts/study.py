"""What a study is handed: a bench that reads and solves specs for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

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
