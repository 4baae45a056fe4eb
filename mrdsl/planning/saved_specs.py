"""Saved specs: a Spec as JSON and back, the data files that it reads, and migrations of older formats."""

from __future__ import annotations

import atexit
import base64
import binascii
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import MrdslError, Span, did_you_mean, error
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.json_text import json_text, json_value
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.result import Plan
from mrdsl.core.version import __version__
from mrdsl.families import family as family_named
from mrdsl.families import family_names
from mrdsl.families.diagnosis import schema_mistakes
from mrdsl.reporting.document import FORMAT as FORMAT
from mrdsl.spec.encoding import Decoder, MalformedError, encoded
from mrdsl.spec.estimates import PAPER
from mrdsl.spec.schema import Node, Source
from mrdsl.spec.spec import Constraint, FileRead, Goal, Let, Method, Spec

SAME, CHANGED, MISSING, UNKNOWN = "same", "changed", "missing", "unknown"


@dataclass(frozen=True)
class SavedFile:
    """A file in a saved plan: ``name`` relative to the spec's folder, and the size and hash of its bytes.

    ``sha256`` is "" if the file had changed before the plan was saved. ``content`` is there for data that a spec reads
    on use, within the budget.
    """

    name: str
    path: str
    size: int | None
    sha256: str
    content: bytes | None = None

    def state(self) -> str:
        """Return the state of the file in its place: ``same``, ``changed``, ``missing`` or ``unknown``."""
        if not self.sha256:
            return UNKNOWN
        try:
            data = read_bytes(self.path)
        except UnreadableError:
            return MISSING
        return SAME if _sha256(data) == self.sha256 else CHANGED


@dataclass
class Collected:
    """The files of a spec that is being saved, numbered in order; a :class:`Source` asks for its own."""

    spec: Spec
    files: dict[str, FileRead | None] = field(default_factory=dict)
    data: dict[str, None] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files |= {read.path: read for read in self.spec.files}
        self.elsewhere = {read.place: read.path for read in self.spec.files if read.place}

    def number(self, source: Source) -> int:
        """Return the number of the file that a source names."""
        path = str(Path(source.path).resolve())
        path = self.elsewhere.get(path, path)
        self.files.setdefault(path, None)
        self.data[path] = None
        return list(self.files).index(path)

    def documents(self, folder: str | None) -> list[dict[str, Any]]:
        """Return the files as JSON, their paths relative to a folder if it is given."""
        left = budgets.SAVED_BYTES
        documents = []
        for path, read in self.files.items():
            data = _unchanged(path, read)
            known = read.sha256 if read is not None else ""
            saved: dict[str, Any] = {
                "name": _name(path, self.spec.file, folder is None),
                "path": path if folder is None else _relative(path, folder),
                "bytes": len(data) if data is not None else read.size if read is not None else None,
                "sha256": known or None if data is None else _sha256(data),
            }
            if not is_own(saved["name"], self.spec.file) and data is not None and len(data) <= left:
                left -= len(data)
                saved["content"] = base64.b64encode(zlib.compress(data, 9)).decode("ascii")
            documents.append(saved)
        return documents


def is_own(name: str, spec_file: str) -> bool:
    """Return True if a file, as the spec's folder sees it, is that of the spec's text, which a saved plan has too."""
    return bool(spec_file) and name == Path(spec_file).name


def _relative(path: str, folder: str) -> str:
    """Return the path as seen from a folder, with ``/``; as it is if none leads there, as between drives."""
    try:
        return Path(os.path.relpath(path, Path(folder).resolve())).as_posix()
    except ValueError:
        return path


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _unchanged(path: str, read: FileRead | None) -> bytes | None:
    """Return the bytes of a file, None where it is not the one that was read, or is not there."""
    place = read.place or path if read is not None else path
    try:
        if read is not None and not read.sha256:
            status = os.stat(place)
            if (status.st_size, status.st_mtime_ns) != (read.size, read.changed):
                return None
        data = read_bytes(place)
    except (OSError, UnreadableError):
        return None
    return data if read is None or not read.sha256 or _sha256(data) == read.sha256 else None


def _name(path: str, spec_file: str, absolute: bool) -> str:
    """Return the path as the spec's folder sees it; ``absolute``: as it is if it lies outside of that folder."""
    folder = Path(spec_file).resolve().parent if spec_file else Path.cwd()
    return path if absolute and not Path(path).is_relative_to(folder) else _relative(path, str(folder))


def saved_files(documents: Any, path: str, saved: str = "") -> tuple[SavedFile, ...]:
    """Return the files that a plan remembers; relative paths are seen from the file ``saved``. Raises
    MalformedError.
    """
    if not isinstance(documents, Sequence) or isinstance(documents, str):
        raise MalformedError(path, "is not a list of files")
    left = budgets.SAVED_BYTES
    found = []
    for index, document in enumerate(documents):
        found.append(
            _saved_file(document, f"{path}[{index}]", Path(saved).resolve().parent if saved else Path.cwd(), left)
        )
        left -= len(found[-1].content or b"")
    return tuple(found)


def _saved_file(document: Any, path: str, folder: Path, left: int) -> SavedFile:
    if not isinstance(document, Mapping):
        raise MalformedError(path, "is not an object")
    name, place = (_file_name(document.get(key), f"{path}.{key}") for key in ("name", "path"))
    place = os.path.normpath(folder / place)
    size, sha256, content = document.get("bytes"), document.get("sha256"), document.get("content")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        raise MalformedError(f"{path}.bytes", "is not a number of bytes")
    if sha256 is not None and not isinstance(sha256, str):
        raise MalformedError(f"{path}.sha256", "is not a SHA-256 fingerprint")
    if content is None:
        return SavedFile(name, place, size, sha256 or "")
    data = _expanded(content, f"{path}.content", left)
    if _sha256(data) != sha256:
        raise MalformedError(f"{path}.content", "does not match its fingerprint")
    return SavedFile(name, place, size, sha256 or "", data)


def _file_name(value: Any, path: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise MalformedError(path, "is not a file name")
    return value


def _expanded(content: Any, path: str, left: int) -> bytes:
    try:
        expander = zlib.decompressobj()
        data = expander.decompress(base64.b64decode(content, validate=True), left + 1)
    except (TypeError, ValueError, binascii.Error, zlib.error):
        raise MalformedError(path, "is not compressed data in base64") from None
    if len(data) > left or not expander.eof:
        raise MalformedError(path, f"contains more than {budgets.SAVED_BYTES >> 20} MB of data, or is incomplete")
    return data


def place_of(file: SavedFile) -> str:
    """Return the place of the data of a file: its own if unchanged, or a copy in a temporary folder.

    Raises ValueError if it is neither there nor in the plan.
    """
    if file.state() == SAME:
        return file.path
    if file.content is None:
        raise ValueError(f"names `{file.name}`, which is not part of the plan and has changed in `{file.path}`")
    folder = unpacked() / file.sha256
    place = folder / (Path(file.name).name or "data")
    if not place.exists():
        folder.mkdir(exist_ok=True)
        place.write_bytes(file.content)
    return str(place)


@cache
def unpacked() -> Path:
    """Return a temporary folder of this process, which goes with it."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())


Migration = Callable[[dict[str, Any]], dict[str, Any]]


def _rounds_of_the_paper(document: dict[str, Any]) -> dict[str, Any]:
    """Return a plan of a joint spec with the rounds of jobs that were the default of version 4: those of the paper."""
    spec = document.get("spec")
    if not isinstance(spec, Mapping) or spec.get("problem") != "joint" or not isinstance(spec.get("facts"), Mapping):
        return document
    facts = spec["facts"]
    cluster = facts.get("cluster")
    if not isinstance(cluster, Mapping) or "reuse" in cluster or cluster.get("concurrency", "whole") != "whole":
        return document
    return {**document, "spec": {**spec, "facts": {**facts, "cluster": {**cluster, "reuse": "paper"}}}}


def _estimates_of_the_paper(document: dict[str, Any]) -> dict[str, Any]:
    """Return a plan with the estimates that were the default of version 5, and with them the guarantee `average`."""
    spec = document.get("spec")
    if not isinstance(spec, Mapping) or spec.get("problem") not in ("bounds", "capacity", "joint"):
        return document
    facts = spec.get("facts")
    if not isinstance(facts, Mapping) or "estimates" in facts:
        return document
    return {**document, "spec": {**spec, "facts": {**facts, "estimates": PAPER}}}


MIGRATIONS: Mapping[int, Migration] = {4: _rounds_of_the_paper, 5: _estimates_of_the_paper}
"""From each older version that is read to the next."""


def migrated(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document in the present version. Raises MalformedError for one that is not read, and for none."""
    version, oldest = document.get("format"), min(MIGRATIONS, default=FORMAT)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise MalformedError("format", "is not a version of the saved plan format")
    if not oldest <= version <= FORMAT:
        read = f"version {FORMAT}" if oldest == FORMAT else f"versions {oldest} to {FORMAT}"
        hint = "solve its spec again, or use the version of mrdsl that wrote it (its field `mrdsl`)"
        raise MalformedError("format", f"is {version}, and this mrdsl reads {read}", hint)
    for older in range(version, FORMAT):
        document = {**MIGRATIONS[older](document), "format": older + 1}
    return document


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
"""Fields of a spec other than its family and its facts, with their types."""


def spec_document(
    spec: Spec, plan: Plan | None = None, folder: str | None = None
) -> tuple[dict[str, Any], Any, list[dict[str, Any]]]:
    """Return a spec, a plan of it and the input files of both as plain JSON values.

    The files' names are relative to ``folder`` if it is given.
    """
    collected = Collected(spec)
    facts = encoded(spec.facts, collected.number)
    head = {"problem": spec.problem, **{key: encoded(getattr(spec, key), collected.number) for key in PLAIN}}
    if spec.checked is not None and spec.known_diagnostics is None:  # facts of a program, not those of the text
        head["text"] = ""
    state = encoded(plan, collected.number)
    documents = collected.documents(folder)
    document, state = seen_from(folder, spec, ({**head, "facts": facts}, state))
    return document, state, documents


def seen_from(folder: str | None, spec: Spec, value: Any) -> Any:
    """Return JSON values of a spec with absolute names of its files, also in places, as seen from a folder if given."""
    read = {spec.file, *(each.path for each in spec.files)} if folder is not None else ()
    names = {name: _relative(name, str(folder)) for name in read if os.path.isabs(name)}

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            name = value if value in names else value.rsplit(":", 3)[0]
            return names[name] + value[len(name) :] if name in names else value
        if isinstance(value, Mapping):
            return {key: renamed(item) for key, item in value.items()}
        return [renamed(item) for item in value] if isinstance(value, list | tuple) else value

    return renamed(value) if names else value


def spec_of(document: Any, files: Sequence[SavedFile], path: str) -> Spec:
    """Return the spec in a document, checked against the declarations of its family. Raises MalformedError,
    MrdslError.
    """
    if not isinstance(document, Mapping):
        raise MalformedError(path, "is not an object")
    unknown = next((key for key in document if key not in {*PLAIN, "problem", "facts"}), None)
    if unknown is not None:
        raise MalformedError(f"{path}.{unknown}", "is unknown", did_you_mean(str(unknown), PLAIN, "known: "))
    problem = document.get("problem")
    family = family_named(problem) if isinstance(problem, str) else None
    if family is None:
        raise MalformedError(
            f"{path}.problem", "is not a known problem kind", "known kinds: " + ", ".join(family_names())
        )
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
    """Return a function from the number of a file to the place of its data, cached in ``places``; it raises ValueError
    if there is none.
    """

    def find(number: int) -> str:
        if not 0 <= number < len(files):
            raise ValueError(f"is {number}, and there are {len(files)} files")
        if number not in places:
            places[number] = place_of(files[number])
        return places[number]

    return find


def parsed(text: str, name: str) -> dict[str, Any]:
    """Return the JSON object of a saved plan or spec, as it was written. Raises MrdslError."""
    try:
        if len(text) > budgets.PLAN_BYTES:
            raise ValueError(f"it is larger than {budgets.PLAN_BYTES >> 20} MB, the most that mrdsl reads")
        document = json_value(text, parse_constant=_no_number)
    except RecursionError:
        raise malformed(name, "", "it is nested too deeply") from None
    except json.JSONDecodeError as problem:
        if name.endswith(".mrspec"):
            raise malformed(name, "", "it is a spec, but a saved plan is required") from None
        where = f"line {problem.lineno}, column {problem.colno}"
        raise malformed(name, "", f"it is not valid JSON (first error at {where})") from None
    except ValueError as problem:
        raise malformed(name, "", str(problem)) from None
    if not isinstance(document, dict):
        raise malformed(name, "", "it is not a JSON object")
    return document


def malformed(name: str, path: str, message: str, hint: str = "") -> MrdslError:
    """Return the error of a saved plan, with its place."""
    place = name or "saved plan"
    told = f"`{path}` {message}" if path else message
    default = "save a plan with `mrdsl solve SPEC -o plan.json`"
    return MrdslError([replace(error("malformed-plan", told, None, hint or default), path=place)])


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


class SpecForm:
    """Specs as JSON text; see :meth:`mrdsl.spec.spec.Spec.to_json`."""

    def write(self, spec: Spec, folder: str | None = None) -> str:
        from mrdsl.families.diagnosis import find_family

        wrong = schema_mistakes(spec, find_family(spec))
        if wrong:
            raise MrdslError(wrong)
        document, _, files = spec_document(spec, None, folder)
        whole = {"format": FORMAT, "mrdsl": __version__, "spec": document, "files": files}
        return json_text(whole)

    def read(self, text: str, name: str = "") -> Spec:
        try:
            document = migrated(parsed(text, name))
            return spec_of(document.get("spec"), saved_files(document.get("files", ()), "files", name), "spec")
        except MalformedError as problem:
            raise malformed(name, problem.path, problem.message, problem.hint) from None
