"""From a file or a text to a Spec with its diagnostics: all stages of the language side in order."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Severity, error, has_errors, in_order, note
from mrdsl.core.regular_files import shown_name
from mrdsl.core.source import Span
from mrdsl.exchange.text import read_document, within_budget
from mrdsl.families.diagnosis import diagnose
from mrdsl.language.parsing import parse_in_rows
from mrdsl.language.resolving import resolve
from mrdsl.spec.schema import mark_valid
from mrdsl.spec.spec import Checked, Spec

TEXT_NAME = "<text>"
_FOLLOW_UPS = frozenset(
    {
        "missing-item",
        "missing-block",
        "unknown-name",
        "missing-problem",
        "unused",
        "shares-do-not-add-up",
        "impossible-quota",
        "no-vm-type",
    }
)


@dataclass(frozen=True)
class Loaded:
    """A spec and all that is to be said of its text. ``spec`` is None where there is an error.

    ``texts`` maps the shown names of the files that were read to their contents, for messages that quote them;
    ``files`` are the imports, tables and data files that it names.
    """

    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    files: tuple[Path, ...] = ()


def load_file(
    path: str | Path, parameters: Mapping[str, Any] | None = None, *, seed: int | None = None, outside: bool = False
) -> Loaded:
    """Reads a spec from a file; a file that cannot be read is a diagnostic too."""
    shown = str(path)
    path = Path(path)
    text, problem = _read(path)
    if text is None:
        return _unreadable(shown, problem)
    return _load(text, shown, path.parent, path, parameters or {}, seed, outside)


def load_text(
    text: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    name: str = TEXT_NAME,
    folder: str | Path = ".",
    seed: int | None = None,
    outside: bool = False,
) -> Loaded:
    """Reads a spec from a text; ``folder`` is where its imports and tables are looked up."""
    whole, problem = within_budget(text.removeprefix("\ufeff"))
    if whole is None:
        return _unreadable(name, problem)
    return _load(whole, name, Path(folder), None, parameters or {}, seed, outside)


def _unreadable(shown: str, problem: str) -> Loaded:
    message = f"`{shown_name(shown)}` cannot be read: {problem}"
    return Loaded(None, (error("unreadable-file", message, Span(shown, 1, 1, 1, 1)),), {})


def _read(path: Path) -> tuple[str | None, str]:
    text, problem = read_document(path, own_descriptors=True)
    if text is not None and not text.strip():
        return None, "it is empty"
    if text is not None and text.lstrip().startswith("{"):
        return None, "it is JSON, such as a saved plan, and here a spec is wanted"
    return text, problem


def _load(
    text: str,
    shown: str,
    folder: Path,
    path: Path | None,
    parameters: Mapping[str, Any],
    seed: int | None,
    outside: bool,
) -> Loaded:
    with _collection_paused():
        document, syntax = parse_in_rows(text, shown)
        resolved = resolve(document, folder, path, parameters, seed, outside)
    diagnostics = [*syntax, *_causes(resolved.diagnostics, syntax)]
    spec = resolved.spec
    if spec is not None:
        mark_valid(spec.facts)
        said = diagnose(spec)
        spec = replace(spec, checked=Checked(spec.facts, spec.goal, spec.constraints, spec.lets, spec.seed, said))
        follows = _FOLLOW_UPS if has_errors(diagnostics) else frozenset()
        diagnostics += [d for d in said if d.code not in follows]
    diagnostics = _first(in_order(diagnostics))
    usable = not has_errors(d for d in diagnostics if not d.impossible)
    return Loaded(spec if usable else None, tuple(diagnostics), resolved.texts, resolved.files)


def _first(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """What is told of a spec that is wrong in thousands of places; what is left out is no other severity alone."""
    if len(diagnostics) <= budgets.DIAGNOSTICS:
        return diagnostics
    diagnostics.sort(key=lambda d: d.severity is not Severity.ERROR)
    told, last = diagnostics[: budgets.DIAGNOSTICS], diagnostics[budgets.DIAGNOSTICS - 1]
    more = f"{len(diagnostics) - len(told)} more mistakes and warnings are left out"
    return [*in_order(told), note("too-many-mistakes", more, last.span, "mend these first, then check again")]


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Without searches for cyclic garbage: trees and facts hold none, and grow by millions of objects that stay."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _causes(diagnostics: Iterable[Diagnostic], syntax: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without what a syntax error has caused: on its own lines, and what is missing because it was not read."""
    lines = {
        (d.span.file, line) for d in syntax if d.span is not None for line in range(d.span.line, d.span.end_line + 1)
    }
    if not lines:
        return list(diagnostics)
    return [
        d
        for d in diagnostics
        if d.code not in _FOLLOW_UPS and (d.span is None or (d.span.file, d.span.line) not in lines)
    ]
