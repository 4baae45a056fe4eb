"""Specs for `mrdsl new FAMILY` from the user's own files: a catalogue of VM types, a table of classes, logs."""

from __future__ import annotations

import os
from pathlib import Path

from mrdsl.core.diagnostics import MrdslError, one_error
from mrdsl.exchange.cells import read_raw, unreadable
from mrdsl.exchange.text import FormatError
from mrdsl.families import family as family_named
from mrdsl.language import tree
from mrdsl.language.formatting import format_text
from mrdsl.language.parsing import parse
from mrdsl.language.vocabulary import quoted, vocabulary
from mrdsl.profiling.family_texts import FAMILIES
from mrdsl.profiling.profiles import profile
from mrdsl.spec.schema import Node, Source


def reads(family: str) -> frozenset[str]:
    """Return what a spec of a family can read from files of the user: `vm`, `class` or `logs`."""
    found = family_named(family)
    words = set(vocabulary(found.facts).repeated) if found is not None else set()
    return frozenset(words & {"vm", "class"} | ({"logs"} if family in FAMILIES else set()))


def own_spec(
    family: str, folder: Path, vms: Path | None = None, classes: Path | None = None, logs: tuple[str, ...] = ()
) -> str:
    """Return a spec that reads the user's files.

    Args:
        family: Name of the family.
        folder: Folder of the spec, for relative names of the files.
        vms: Catalogue of VM types: a table, EC2 types, or what `aws ec2 describe-instance-types` prints.
        classes: Table of classes.
        logs: Logs of jobs that become classes.

    Returns:
        Text of the spec, in its canonical form.

    Raises:
        MrdslError: A file cannot be read, or the family has no such blocks.
    """
    found = family_named(family)
    words = vocabulary(found.facts) if found is not None else None
    for option, word, given in (("--catalogue", "vm", vms), ("--class-table", "class", classes)):
        if given is not None and (words is None or word not in words.repeated):
            raise _wrong(f"`{family}` has no `{word}` blocks for `{option}`", f"remove `{option}`")
    if classes is not None and logs:
        raise _wrong("`--logs` and `--class-table` both give the classes", "remove one of them")
    goal = f"{found.goals[0].sense} {found.goals[0].quantity}" if found is not None and found.goals else ""
    text = _from_logs(family, logs) if logs else f'problem {family} "From own files"\n\n'
    if vms is not None:
        call, file = catalogue_reader(vms, found.facts if found is not None else Node), quoted(_relative(vms, folder))
        text = _replaced(text, f"vms from {call}({file})" if call else f"vms from {file}")
    elif not logs and words is not None and "vm" in words.repeated:
        text += f"vm NAME {words.repeated['vm'][1].node.EXAMPLE}\n"
    if classes is not None:
        text += f"classes from {quoted(_relative(classes, folder))}\n"
    if not logs:
        text += f"\n{goal}\n"
    return format_text(text, "<new>")[0] or text


def _from_logs(family: str, logs: tuple[str, ...]) -> str:
    try:
        return profile(list(logs)).to_mrspec(family)
    except ValueError as problem:
        raise _wrong(str(problem), "write `mrdsl new capacity --logs ...`") from None


def _replaced(text: str, types: str) -> str:
    """Return the text with a statement for all VM types, in place of its `vm` block and the param of its price."""
    document, _ = parse(text, "<new>")
    lines, put = text.split("\n"), False
    for statement in reversed(document.statements):
        block = isinstance(statement, tree.Block) and statement.words[0] == "vm"
        if block or (isinstance(statement, tree.Assignment) and statement.words == ("param", "price")):
            span = tree.span_of(statement)
            lines[span.line - 1 : span.end_line] = [types] if block else []
            put = put or block
    return "\n".join(lines) if put else f"{text}{types}\n"


def catalogue_reader(path: Path, facts: type[Node]) -> str:
    """Return the reader of a catalogue, "" for a table of blocks. Raises MrdslError."""
    readers = vocabulary(facts).repeated["vm"][1].catalogues
    if path.suffix.lower() == ".json":
        return _supported("instance_types", readers, path)
    source = Source("table", str(path.absolute()), str(path))
    try:
        header = {head.strip() for head in read_raw(source, str(path)).header}
    except FormatError as problem:
        raise MrdslError([unreadable(source, problem)]) from None
    return _supported("ec2", readers, path) if {"instance_type", "vcpu"} <= header else ""


def _supported(reader: str, readers: tuple[str, ...], path: Path) -> str:
    if reader not in readers:
        raise _wrong(f"the family does not read `{path}` as VM types", "pass a table with a row for each type")
    return reader


def _relative(path: Path, folder: Path) -> str:
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return str(path.absolute())


def _wrong(message: str, hint: str) -> MrdslError:
    return one_error("wrong-option", message, None, hint)
