"""Templates of plug-ins for `mrdsl new KIND NAME`, from the folders in `extensions/`.

Files in `extensions/common/` belong to every kind without a file of that name.
"""

from __future__ import annotations

import json
import keyword
import re
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mrdsl.contracts.family import kind_words
from mrdsl.core.diagnostics import one_error
from mrdsl.core.resources import resource
from mrdsl.core.writer import Together
from mrdsl.families import KITS, family_names
from mrdsl.solving import registry
from mrdsl.spec.spec import METHOD_NAME

_TOKENS = re.compile(r"\b(?:NAME|MODULE|KIND|FAMILY|BASE|PIPELINE)\b")
_BASES = MappingProxyType(
    {
        "bounds": "formulas",
        "capacity": "direct",
        "deadline": "direct",
        "energy": "mrdsl-energy",
        "hybrid": "controller",
        "joint": "greedy",
        "makespan": "balanced-pools",
        "schedule": "policy",
        "timetable": "timetable",
    }
)
"""The shipped method of each family whose steps a new pipeline begins with."""


def kit(kind: str, name: str) -> Mapping[str, str]:
    """Return the files of a new plug-in.

    Args:
        kind: One of :data:`mrdsl.families.KITS`.
        name: Name of the plug-in; of a pipeline also a family, whose plug-in is then called `own-FAMILY`.

    Returns:
        Texts by path in the folder of the plug-in.

    Raises:
        MrdslError: `wrong-option` if the name is not valid or already in use.
    """
    words, part = {"KIND": kind}, kind
    if kind in ("pipeline", "formulation") and name in family_names():
        words |= _words_of(kind, name)
        part = kind if kind == "formulation" else "steps"
        name = f"own-{name}"
    module = name.replace("-", "_")
    reason = _refused(kind, name, module)
    if reason:
        raise one_error("wrong-option", f"{kind_words(kind)} cannot have the name `{name}`: {reason}")
    words |= {"NAME": name, "MODULE": module}

    def filled(text: str) -> str:
        return _TOKENS.sub(lambda match: filled(words[match[0]]) if match[0] in words else match[0], text)

    files = {**_files_of("common"), **_files_of(part)}
    return {filled(path): filled(file.read_text(encoding="utf-8")) for path, file in sorted(files.items())}


def _words_of(kind: str, family: str) -> dict[str, str]:
    """Return the words of templates for a family. Raises MrdslError."""
    known = ("capacity",) if kind == "formulation" else tuple(_BASES)
    if family not in known:
        hint = f"families: {', '.join(known)}"
        raise one_error("wrong-option", f"there is no template of a {kind} for `{family}`", None, hint)
    base = _BASES[family]
    return {"FAMILY": family, "BASE": base, "PIPELINE": _pipeline(family, base)}


def _pipeline(family: str, base: str) -> str:
    """Return the settings and steps of a shipped method, with the step of the template before the last one."""
    shipped = tomllib.loads(resource(f"solvers/{base}.toml").read_text(encoding="utf-8"))["pipelines"][family]
    lines = [_call(step) for step in shipped["steps"]]
    lines.insert(max(len(lines) - 1, 1), _call({"call": "MODULE.steps:improve", "rounds": 1}))
    settings = [f"{key} = {json.dumps(value)}" for key, value in shipped.items() if key != "steps"]
    return "\n".join([*settings, "steps = [", *lines, "]"])


def _call(step: Mapping[str, Any]) -> str:
    return "  { " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in step.items()) + " },"


def _files_of(part: str) -> dict[str, Path]:
    folder = resource(f"extensions/{part}")
    found = ((path.relative_to(folder), path) for path in folder.rglob("*") if path.is_file())
    return {inside.as_posix(): path for inside, path in found if not _is_left_over(inside)}


def _is_left_over(path: Path) -> bool:
    """Return True if a tool has left it: a cache."""
    return any(part.startswith((".", "__pycache__")) for part in path.parts)


def write(files: Mapping[str, str], folder: Path, *, force: bool = False) -> None:
    """Write all files into a folder, or none.

    Args:
        files: Texts by path.
        folder: The folder.
        force: Replace existing files.

    Raises:
        MrdslError: If a file exists or cannot be written.
    """
    with Together(force=force) as together:
        for path in sorted({(folder / name).parent for name in files}):
            together.folder(path)
        for name, text in files.items():
            with together.text(folder / name) as stream:
                stream.write(text)


def _refused(kind: str, name: str, module: str) -> str:
    if not METHOD_NAME.fullmatch(name) or not module.isidentifier() or keyword.iskeyword(module):
        return "write letters, digits, - and _, a letter first"
    if name in KITS:
        return f"that is what a {name} is called"
    if kind == "family" and (name in family_names() or name != module):
        return "a family already has that name" if name in family_names() else "a spec names it: write _ for -"
    if kind != "family" and name in registry.names():
        return "a solver or heuristic already has that name"
    if find_spec(module) is not None:
        return f"Python has a module `{module}`"
    return ""
