"""The spec of a saved plan, resolved again from its text and its data."""

from __future__ import annotations

import os
from collections.abc import Sequence
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
