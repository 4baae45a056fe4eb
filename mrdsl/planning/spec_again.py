"""The spec of a saved plan, resolved again from its text and its data, and the comparison of plain values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from mrdsl.core.diagnostics import MrdslError, has_errors
from mrdsl.core.reading import read_bytes
from mrdsl.language.loading import TEXT_NAME, load_text
from mrdsl.planning.saved_specs import PLAIN, SAME, SavedFile, is_own, unpacked
from mrdsl.spec.encoding import encoded
from mrdsl.spec.spec import Spec


def resolved_again(spec: Spec, files: Sequence[SavedFile]) -> tuple[Spec | None, Any]:
    """Return the spec that the text gives and its own seed, or the name of a file that it needs and that is lost.

    Raises MrdslError with the errors of the text.
    """
    used = [each for each in files if not is_own(each.name, spec.file)]
    same = [each.state() == SAME for each in used]
    lost = next((each.name for each, there in zip(used, same, strict=True) if not there and each.content is None), None)
    if lost is not None:
        return None, lost
    folder = _folder(spec, files) if all(same) else _copied(used, same)
    outside = any(Path(each.name).is_absolute() or ".." in Path(each.name).parts for each in used)

    def load(seed: int | None) -> Spec:
        name = spec.file or TEXT_NAME
        loaded = load_text(spec.text, spec.given, name=name, folder=folder, seed=seed, outside=outside)
        if loaded.spec is None or has_errors(each for each in loaded.diagnostics if not each.impossible):
            raise MrdslError([each for each in loaded.diagnostics if each.severity == "error"])
        return loaded.spec

    found = load(None)
    return found if found.seed == spec.seed else load(spec.seed), found.seed


def _folder(spec: Spec, files: Sequence[SavedFile]) -> Path:
    """Return the folder of a text whose files are all there: their names are as it sees them."""
    for each in files:
        name = os.path.normpath(each.name)
        if each.path.endswith(os.sep + name):
            return Path(each.path[: -len(name)])
    return Path(spec.file).parent


def _copied(files: Sequence[SavedFile], same: Sequence[bool]) -> Path:
    """Return a folder of this process with copies of the files in the places that the text names."""
    above = max(Path(os.path.normpath(each.name)).parts.count("..") for each in files)
    folder = unpacked() / f"text-{len(os.listdir(unpacked()))}"
    folder = folder.joinpath(*["above"] * above)
    folder.mkdir(parents=True)
    for each, there in zip(files, same, strict=True):
        place = Path(os.path.normpath(folder / each.name))
        if place.is_relative_to(unpacked()):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(read_bytes(each.path) if there else each.content or b"")
    return folder


def plain_spec(spec: Spec) -> dict[str, Any]:
    """Return a spec as plain JSON values, see :func:`by_content`."""
    return {
        "problem": spec.problem,
        **{key: by_content(getattr(spec, key)) for key in PLAIN},
        "facts": by_content(spec.facts),
    }


def by_content(value: Any) -> Any:
    """Return a value of a spec or plan as plain JSON values, with its files of data as the hashes of their contents."""
    return encoded(value, lambda source: sha256(read_bytes(source.path)).hexdigest())  # type: ignore[arg-type,return-value]


LACKS, UNKNOWN_PART, OTHER = "lacks", "is unknown", "differs"


def differences(stored: Any, shown: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the paths at which two values differ: ``stored`` lacks the value, or only it has one, or another one."""
    if stored == shown and isinstance(stored, bool) == isinstance(shown, bool):
        return
    if isinstance(stored, Mapping) and isinstance(shown, Mapping):
        for key in dict.fromkeys((*stored, *shown)):
            at = f"{path}.{key}" if path else key
            if key in stored and key in shown:
                yield from differences(stored[key], shown[key], at)
            else:
                yield at, LACKS if key not in stored else UNKNOWN_PART
    elif _is_list(stored) and _is_list(shown):
        if len(stored) != len(shown):
            yield path, OTHER
        for index, (one, other) in enumerate(zip(stored, shown, strict=False)):
            yield from differences(one, other, f"{path}[{index}]")
    elif isinstance(stored, int | float) and isinstance(shown, int | float) and not isinstance(stored, bool):
        exact = isinstance(stored, int) and isinstance(shown, int)
        if exact or abs(stored - shown) > _EQUAL * max(abs(stored), abs(shown)):
            yield path, OTHER
    elif not (isinstance(stored, str) and isinstance(shown, str) and _without_folder(stored) == _without_folder(shown)):
        yield path, OTHER


_EQUAL = 1e-9
"""Relative distance of numbers that are the same: those of a file are exact, but another machine may add in another
order."""
_PLACE = re.compile(r"(?:.*[/\\\\])?([^/\\\\]*:[0-9]+:[0-9]+-[0-9]+:[0-9]+)", re.DOTALL)


def _without_folder(text: str) -> str:
    """Return a place in a file without its folder, which is as the command saw it; any other text as it is."""
    found = _PLACE.fullmatch(text)
    return text if found is None else found[1]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
