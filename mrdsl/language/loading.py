"""From a file or a text to a Spec with its diagnostics: all stages of the language side in order."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mrdsl.diagnostics import Diagnostic, Severity, error, has_errors
from mrdsl.language.parsing import parse
from mrdsl.language.resolving import resolve
from mrdsl.problems import family as find_family
from mrdsl.reading.text import decode
from mrdsl.source import Span
from mrdsl.spec.spec import Checked, Spec

TEXT_NAME = "<text>"
_FOLLOW_UPS = frozenset({"missing-item", "missing-block", "unknown-name", "missing-problem", "unused"})


@dataclass(frozen=True)
class Loaded:
    """A spec and all that is to be said of its text. ``spec`` is None where there is an error.

    ``texts`` maps the shown names of the files that were read to their contents, for messages that quote them.
    """

    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]


def load_file(
    path: str | Path, parameters: Mapping[str, Any] | None = None, *, seed: int | None = None, outside: bool = False
) -> Loaded:
    """Reads a spec from a file; a file that cannot be read is a diagnostic too."""
    shown = str(path)
    path = Path(path)
    text, problem = _read(path)
    if text is None:
        return Loaded(
            None, (error("unreadable-file", f"`{shown}` cannot be read: {problem}", Span(shown, 1, 1, 1, 1)),), {}
        )
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
    return _load(text.removeprefix("\ufeff"), name, Path(folder), None, parameters or {}, seed, outside)


def _read(path: Path) -> tuple[str | None, str]:
    try:
        if path.is_dir():
            return None, "it is a folder"
        text, problem = decode(path.read_bytes())
    except FileNotFoundError:
        return None, "there is no such file"
    except OSError as failure:
        return None, failure.strerror or "the system refuses"
    if text is not None and not text.strip():
        return None, "it is empty"
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
        document, syntax = parse(text, shown)
        resolved = resolve(document, folder, path, parameters, seed, outside)
    found = [*syntax, *_causes(resolved.diagnostics, syntax)]
    spec = resolved.spec
    if spec is not None:
        said = _family_checks(spec)
        spec = replace(spec, checked=Checked(spec.facts, spec.constraints, spec.seed, said))
        follows = _FOLLOW_UPS if has_errors(found) else frozenset()
        found += [d for d in said if d.code not in follows]
    found = sort(found)
    usable = not has_errors(d for d in found if not d.impossible)
    return Loaded(spec if usable else None, tuple(found), resolved.texts)


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


def _causes(found: Iterable[Diagnostic], syntax: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without what a syntax error has caused: on its own lines, and what is missing because it was not read."""
    lines = {
        (d.span.file, line) for d in syntax if d.span is not None for line in range(d.span.line, d.span.end_line + 1)
    }
    if not lines:
        return list(found)
    return [
        d for d in found if d.code not in _FOLLOW_UPS and (d.span is None or (d.span.file, d.span.line) not in lines)
    ]


def _family_checks(spec: Spec) -> tuple[Diagnostic, ...]:
    family = find_family(spec.problem)
    assert family is not None
    found = tuple(family.check(spec))
    return found if has_errors(found) else (*found, *family.impossible(spec))


def sort(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """In file order, the same diagnostic once; those without a place first."""
    unique = dict.fromkeys(found)
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    return sorted(
        unique,
        key=lambda d: (
            ("", 0, 0, order[d.severity])
            if d.span is None
            else (d.span.file, d.span.line, d.span.column, order[d.severity])
        ),
    )
