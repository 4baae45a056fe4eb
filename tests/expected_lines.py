"""Wrong specs that name their own diagnostics: lines ``#! place severity[code] message`` at their end."""

from __future__ import annotations

from pathlib import Path

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.language.loading import load_file


def told(diagnostic: Diagnostic, spec: Path) -> str:
    """A diagnostic as such a line says it; every one has a place and a hint."""
    span = diagnostic.span
    assert span is not None, diagnostic
    assert diagnostic.hint, diagnostic
    place = f"{span.line}:{span.column}"
    if Path(span.file).name != spec.name:
        place = f"{Path(span.file).name}:{place}"
    return f"{place} {diagnostic.severity}[{diagnostic.code}] {diagnostic.message}"


def differences(spec: Path) -> set[str]:
    """Diagnostics that are told and not named, or named and not told; a spec that names none is itself a difference."""
    lines = spec.read_text(encoding="utf-8").splitlines()
    expected = [line.removeprefix("#! ") for line in lines if line.startswith("#! ")]
    found = [told(d, spec) for d in load_file(spec).diagnostics]
    repeated = {line for line in found if found.count(line) != expected.count(line)}
    return repeated | (set(found) ^ set(expected)) if expected else {f"{spec.name} names no diagnostic"}
