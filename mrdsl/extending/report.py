"""What a check of plug-ins found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mrdsl import families
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.core.plugins import fault_of_a_plugin
from mrdsl.core.watching import ending
from mrdsl.solving import registry

SECONDS = 60.0
"""How long a plug-in's function may take in one trial, where it has no limit of its own."""
FAULTS = ("broken-plugin", "broken-family", "bad-solver-file", "broken-plan", "internal")
"""The codes of diagnostics that say that a part of mrdsl or a plug-in is wrong, not a spec."""


@dataclass(frozen=True)
class Checked:
    """One thing that was tried, in words, and what is wrong with it; no complaints where it passes."""

    what: str
    complaints: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class PluginReport:
    """All that was tried of a plug-in, in order."""

    checked: tuple[Checked, ...]

    @property
    def complaints(self) -> tuple[Diagnostic, ...]:
        """What is wrong, each with its place where one is known."""
        return tuple(dict.fromkeys(each for one in self.checked for each in one.complaints))

    @property
    def passes(self) -> bool:
        """Return True if something was tried, and nothing is wrong."""
        return bool(self.checked) and not self.complaints

    def __str__(self) -> str:
        return "".join(f"{'fails' if one.complaints else 'passes'}: {one.what}\n" for one in self.checked)


@dataclass
class Trial:
    """Something that is tried; what goes wrong meanwhile is complained of."""

    what: str
    complaints: list[Diagnostic] = field(default_factory=list)

    def wrong(self, message: str, place: Span | None = None) -> None:
        """A complaint in words."""
        self.complaints.append(complaint(message, place))

    @contextmanager
    def going(self, refusing: bool = False) -> Iterator[None]:
        """While it lasts, a mistake that is raised ends the trial and is complained of.

        ``refusing``: what says why a spec cannot be served is no fault.
        """
        try:
            with ending(time.monotonic() + SECONDS):
                yield
        except MrdslError as mistake:
            self.complaints.extend(each for each in mistake.diagnostics if not refusing or each.code in FAULTS)
        except Exception as cause:  # whatever a plug-in does that no guard has seen
            told = fault_of_a_plugin(cause, (families.ENTRY_POINTS, registry.ENTRY_POINTS))
            self.complaints.append(told or complaint(f"{self.what}: {type(cause).__name__}: {cause}"))

    def done(self) -> Checked:
        """What came of it."""
        return Checked(self.what, tuple(self.complaints))


def complaint(message: str, place: Span | None = None) -> Diagnostic:
    """Return a diagnostic of what a plug-in does not keep."""
    return error("broken-plugin", message, place)
