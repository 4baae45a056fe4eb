"""A Spec as JSON and back: all that it says, and the files of data that it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.printable import json_printable
from mrdsl.core.result import Plan
from mrdsl.core.source import Span
from mrdsl.core.suggestions import did_you_mean
from mrdsl.core.version import __version__
from mrdsl.families import family as family_named
from mrdsl.families import family_names
from mrdsl.families.diagnosis import schema_mistakes
from mrdsl.planning.data_files import Collected, SavedFile, place_of, saved_files
from mrdsl.planning.migrations import FORMAT, migrated
from mrdsl.spec.decoding import Decoder, MalformedError
from mrdsl.spec.encoding import encoded
from mrdsl.spec.schema import Node
from mrdsl.spec.spec import Constraint, FileRead, Goal, Let, Method, Spec

PLAIN: Mapping[str, Any] = {
    "title": str,
    "goal": Goal | None,
    "lets": tuple[Let, ...],
    "constraints": tuple[Constraint, ...],
    "method": Method | None,
    "seed": int | None,
    "currency": str,
    "parameters": Mapping[str, float | str],
    "file": str,
    "text": str,
    "given": Mapping[str, Any],
    "span": Span | None,
    "spans": Mapping[str, Span],
}
"""What a spec has besides its family and its facts, and of what types."""


def spec_document(
    spec: Spec, plan: Plan | None = None, folder: str | None = None
) -> tuple[dict[str, Any], Any, list[dict[str, Any]]]:
    """A spec, a plan of it and the input files of both as plain JSON values.

    The files' names are relative to ``folder`` if it is given.
    """
    collected = Collected(spec)
    facts = encoded(spec.facts, collected.number)
    head = {"problem": spec.problem, **{key: encoded(getattr(spec, key), collected.number) for key in PLAIN}}
    state = encoded(plan, collected.number)
    return {**head, "facts": facts}, state, collected.documents(folder)


def spec_of(document: Any, files: Sequence[SavedFile], path: str) -> Spec:
    """The spec that a document says, held against its family's declarations. Raises MalformedError, MrdslError."""
    if not isinstance(document, Mapping):
        raise MalformedError(path, "is no object")
    unknown = next((key for key in document if key not in {*PLAIN, "problem", "facts"}), None)
    if unknown is not None:
        raise MalformedError(f"{path}.{unknown}", "is unknown", did_you_mean(str(unknown), PLAIN, "known: "))
    problem = document.get("problem")
    family = family_named(problem) if isinstance(problem, str) else None
    if family is None:
        raise MalformedError(f"{path}.problem", "names no family", "there are: " + ", ".join(family_names()))
    places: dict[int, str] = {}
    decoder = Decoder(finder(files, places))
    facts: Node = decoder.instance(family.facts, document.get("facts"), f"{path}.facts")
    given = {key: decoder.value(kind, document[key], f"{path}.{key}") for key, kind in PLAIN.items() if key in document}
    read = tuple(FileRead(f.path, f.size, 0, f.sha256, places.get(i, "")) for i, f in enumerate(files))
    spec = Spec(problem=family.name, facts=facts, files=read, **given)
    wrong = schema_mistakes(spec, family)
    if wrong:
        raise MrdslError([replace(d, span=None, path=f"{path}.{d.path}" if d.path else path) for d in wrong])
    return spec


def finder(files: Sequence[SavedFile], places: dict[int, str]) -> Callable[[int], str]:
    """Where the data of the file with a number lies, kept in ``places``; raises ValueError where there is none."""

    def find(number: int) -> str:
        if not 0 <= number < len(files):
            raise ValueError(f"is {number}, and there are {len(files)} files")
        if number not in places:
            places[number] = place_of(files[number])
        return places[number]

    return find


def parsed(text: str, name: str) -> dict[str, Any]:
    """The JSON object of a saved plan or spec, as it was written. Raises MrdslError."""
    try:
        if len(text) > budgets.PLAN_BYTES:
            raise ValueError(f"it has more than {budgets.PLAN_BYTES >> 20} MB, the most that is read")
        document = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise malformed(name, "", "it is nested too deeply") from None
    except ValueError as problem:
        raise malformed(name, "", f"it is no JSON: {problem}") from None
    if not isinstance(document, dict):
        raise malformed(name, "", "it is no JSON object")
    return document


def malformed(name: str, path: str, message: str, hint: str = "") -> MrdslError:
    """What is wrong with a saved plan, and where."""
    place = name or "saved plan"
    told = f"`{path}` {message}" if path else message
    default = "write it anew with `mrdsl solve SPEC -o plan.json`"
    return MrdslError([replace(error("malformed-plan", told, None, hint or default), path=place)])


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


class SpecForm:
    """Specs as JSON text; see :meth:`mrdsl.spec.spec.Spec.to_json`."""

    def write(self, spec: Spec, folder: str | None = None) -> str:
        wrong = schema_mistakes(spec, _family(spec))
        if wrong:
            raise MrdslError(wrong)
        document, _, files = spec_document(spec, None, folder)
        whole = {"format": FORMAT, "mrdsl": __version__, "spec": document, "files": files}
        return json_printable(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"

    def read(self, text: str, name: str = "") -> Spec:
        try:
            document = migrated(parsed(text, name))
            return spec_of(document.get("spec"), saved_files(document.get("files", ()), "files", name), "spec")
        except MalformedError as problem:
            raise malformed(name, problem.path, problem.message, problem.hint) from None


def _family(spec: Spec) -> Any:
    from mrdsl.families.diagnosis import find_family

    return find_family(spec)
