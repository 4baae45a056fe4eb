"""Reports of plug-in checks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mrdsl import families
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.core.plugins import fault_of_a_plugin
from mrdsl.solving import registry

FAULTS = ("broken-plugin", "broken-family", "bad-solver-file", "broken-plan", "internal")
"""The codes of diagnostics that say that a part of mrdsl or a plug-in is wrong, not a spec."""


@dataclass(frozen=True)
class Checked:
    """One check with its complaints; it passes without complaints."""

    what: str
    complaints: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class PluginReport:
    """All checks of a plug-in, in order."""

    checked: tuple[Checked, ...]

    @property
    def complaints(self) -> tuple[Diagnostic, ...]:
        """All complaints, with their locations if known."""
        return tuple(dict.fromkeys(each for one in self.checked for each in one.complaints))

    @property
    def passes(self) -> bool:
        """Return True if there were checks and all passed."""
        return bool(self.checked) and not self.complaints

    def __str__(self) -> str:
        return "".join(f"{'fails' if one.complaints else 'passes'}: {one.what}\n" for one in self.checked)


@dataclass
class Trial:
    """A check in progress that collects complaints."""

    what: str
    complaints: list[Diagnostic] = field(default_factory=list)

    def wrong(self, message: str, place: Span | None = None) -> None:
        """Add a complaint.

        Args:
            message: The complaint in words.
            place: Its location.
        """
        self.complaints.append(complaint(message, place))

    @contextmanager
    def going(self, refusing: bool = False) -> Iterator[None]:
        """Convert an error that is raised meanwhile to a complaint.

        Args:
            refusing: Accept errors that state why a spec cannot be solved.

        Yields:
            Nothing.
        """
        try:
            yield
        except MrdslError as mistake:
            self.complaints.extend(each for each in mistake.diagnostics if not refusing or each.code in FAULTS)
        except Exception as cause:  # whatever a plug-in does that no guard has seen
            told = fault_of_a_plugin(cause, (families.ENTRY_POINTS, registry.ENTRY_POINTS))
            self.complaints.append(told or complaint(f"{self.what}: {type(cause).__name__}: {cause}"))

    def done(self) -> Checked:
        """Return the check with its complaints."""
        return Checked(self.what, tuple(self.complaints))


def complaint(message: str, place: Span | None = None) -> Diagnostic:
    """Return the diagnostic of a complaint about a plug-in.

    Args:
        message: The complaint in words.
        place: Its location.

    Returns:
        The diagnostic.
    """
    return error("broken-plugin", message, place)
