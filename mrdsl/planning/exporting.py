"""Export of plans to other systems: the family describes the plan, and the target writes its files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import PurePath

from mrdsl.contracts.family import Export, Family, kind_words
from mrdsl.core.diagnostics import Diagnostic, did_you_mean, nearest, one_error
from mrdsl.core.result import Plan, Table, plain
from mrdsl.core.version import __version__
from mrdsl.exchange.registry import TARGETS, Target, names
from mrdsl.exchange.targets.deployment import Deployment, Exported, Origin, Setting, TargetError, Wishes, file_words
from mrdsl.exchange.targets.emr_rules import MOST_TYPES, RESERVATION, STRATEGIES
from mrdsl.exchange.targets.spark import mib
from mrdsl.families.diagnosis import find_family
from mrdsl.spec.spec import Spec

Write = Callable[[Spec, Plan, Wishes], Exported]


def export(spec: Spec, plan: Plan, form: str, wishes: Wishes) -> Exported:
    """Return a plan in a form. Raises MrdslError if the form does not exist or the target would reject the plan."""
    return writer_of(spec, form)(spec, plan, wishes)


def writer_of(spec: Spec, form: str) -> Write:
    """Return the writer of plans of a spec in a form. Raises MrdslError ``unknown-form`` with the possible forms."""
    family = find_family(spec)
    for own in family.exports:
        if own.name == form:
            return partial(_told, form, partial(_of_family, own))
    targets = family.targets() if family.targets is not None else ()
    for target in targets:
        if target.name == form:
            return partial(_told, form, partial(_of_target, family, target))
    known = [*(own.name for own in family.exports), *names(targets)]
    what = f"{kind_words(family.name)} plan"
    near = nearest(form, known)
    listed = "supported formats: " + ", ".join(f"`{name}`" for name in known)
    hint = f"use `mrdsl solve --json` for {what}"
    if known:
        hint = did_you_mean(form, known) if near and form not in names(TARGETS) else listed
    raise one_error("unknown-form", f"{what} cannot be written as `{form}`", None, hint)


def _told(form: str, write: Write, spec: Spec, plan: Plan, wishes: Wishes) -> Exported:
    try:
        return write(spec, plan, wishes)
    except TargetError as problem:
        message = f"format `{form}` does not support the plan: {problem}"
        raise one_error("target-refuses", message, None, problem.hint) from None
    except ValueError as problem:
        message = f"the plan cannot be written as {form}: {problem}"
        raise one_error("nothing-to-export", message, spec.span, "`mrdsl solve` shows the plan") from None


def _of_family(own: Export, spec: Spec, plan: Plan, _: Wishes) -> Exported:
    return Exported(own.write(spec, plan))


def _of_target(family: Family, target: Target, spec: Spec, plan: Plan, wishes: Wishes) -> Exported:
    assert family.deployments is not None
    _refuse_others(target, wishes)
    files: dict[str, str] = {}
    notes: dict[str, None] = {}
    diagnostics: dict[Diagnostic, None] = {}
    settings: list[Setting] = []
    origin = _origin(spec, plan)
    clusters = family.deployments(spec, plan)
    for part, one in zip(file_words(each.part for each in clusters), clusters, strict=True):
        told = () if target.disks else tuple(_notes_on_disks(one))
        deployment = as_wished(replace(one, origin=origin, notes=(*one.notes, *told)), wishes)
        written = target.load()(deployment, replace(wishes, master=wishes.names.get(wishes.master, wishes.master)))
        files |= {_part(name, part): text for name, text in written.files.items()}
        notes |= dict.fromkeys(written.notes)
        diagnostics |= dict.fromkeys(written.diagnostics)
        settings += written.settings
    return Exported(files, tuple(notes), tuple(diagnostics), tuple(settings))


def _notes_on_disks(deployment: Deployment) -> Iterator[str]:
    """Yield the disks of the plan's types, for targets that do not describe machines."""
    used = {group.vm for group in deployment.groups}
    for each in deployment.types:
        size = deployment.disk_of(each.name)
        if each.name in used and size is not None:
            yield f"the disk of each {each.name}, {size:g} GiB - the target describes no machines"


def changes(exported: Exported, settings: Mapping[str, str]) -> Table:
    """Return the Spark settings of an export that differ from given ones, with their reasons.

    Sizes in other units are the same. Raises MrdslError if the export has no Spark settings.
    """
    if not exported.settings:
        message = "`--against` compares Spark settings, and the export has none"
        hint = "export to `spark`, or to `emr` a plan with executors"
        raise one_error("wrong-option", message, None, hint)
    rows = [
        (each.of, each.name, settings.get(each.name), each.value, each.why)
        for each in exported.settings
        if not _same(settings.get(each.name), each.value)
    ]
    return Table("Settings that change", ("class", "setting", "now", "planned", "why"), rows)


def _same(now: str | None, planned: str) -> bool:
    if now is None or now == planned:
        return now == planned
    sizes = [None if text.isascii() and text.isdecimal() else mib(text) for text in (now, planned)]
    return sizes[0] is not None and sizes[0] == sizes[1]


def _refuse_others(target: Target, wishes: Wishes) -> None:
    """Raise MrdslError for options that the target does not support, and for invalid sizes of a machine."""
    for name in ("cores", "memory"):
        size = getattr(wishes, name)
        if size is not None and not 0 < size < inf:
            message = f"`{name}` must be above 0, got {size:g}"
            raise one_error("wrong-option", message, None, "write a number above 0")
    for wish in ("spot-strategy", "candidates", "capacity-reservation"):
        if getattr(wishes, wish.replace("-", "_")) and not wishes.fleets and "fleets" in target.wishes:
            hint = f"add `--fleets`, or remove `--{wish}`"
            raise one_error("wrong-option", f"`--{wish}` requires `--fleets`", None, hint)
    if wishes.spot_strategy and wishes.spot_strategy not in STRATEGIES:
        message = f"`spot_strategy` cannot be `{wishes.spot_strategy}`"
        raise one_error("wrong-option", message, None, f"one of {', '.join(STRATEGIES)}")
    if not 0 <= wishes.candidates < MOST_TYPES:
        message = f"`candidates` must be between 0 and {MOST_TYPES - 1}, got {wishes.candidates}"
        raise one_error("wrong-option", message, None, "EMR takes 30 types in a fleet, those of the plan included")
    if wishes.capacity_reservation and not RESERVATION.fullmatch(wishes.capacity_reservation):
        message = f"`capacity_reservation` cannot be `{wishes.capacity_reservation}`"
        hint = "write open, none, or arn:aws:resource-groups:REGION:ACCOUNT:group/NAME"
        raise one_error("wrong-option", message, None, hint)
    for wish in ("master", "fleets", "log-uri", "spot-strategy", "candidates", "capacity-reservation"):
        if getattr(wishes, wish.replace("-", "_")) and wish not in target.wishes:
            can = ", ".join(f"`{each.name}`" for each in TARGETS if wish in each.wishes)
            message = f"target `{target.name}` does not support the option `--{wish}`"
            raise one_error("wrong-option", message, None, f"remove `--{wish}`, or export to {can}")


def _part(name: str, part: str) -> str:
    """Return the file's name with the part before its ending: ``emr-sort.json``."""
    path = PurePath(name)
    return str(path.with_name(f"{path.stem}-{part}{path.suffix}")) if part else name


def _origin(spec: Spec, plan: Plan) -> Origin:
    """Return the plan's fingerprint is that of the object under ``plan`` in the JSON result: the same on every
    machine.
    """
    text = json.dumps(plain(plan.document()), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Origin(PurePath(spec.file).name, spec.title, spec.problem, f"sha256:{digest}", __version__)


def as_wished(deployment: Deployment, wishes: Wishes) -> Deployment:
    """Return the deployment with the names and sizes of types that the user gave.

    Raises MrdslError for a type that the spec does not have.
    """
    known = [each.name for each in deployment.types]
    for name in wishes.names:
        if name not in known:
            hint = did_you_mean(name, known, "VM types: ")
            raise one_error("wrong-option", f"`--vm` names `{name}`, but the spec has no such VM type", None, hint)

    def of(name: str) -> str:
        return wishes.names.get(name, name)

    return replace(
        deployment,
        types=tuple(
            replace(
                each,
                name=of(each.name),
                cores=wishes.cores if each.cores is None else each.cores,
                memory=wishes.memory if each.memory is None else each.memory,
            )
            for each in deployment.types
        ),
        groups=tuple(replace(each, vm=of(each.vm)) for each in deployment.groups),
        workloads=tuple(
            replace(load, shares=tuple(replace(share, vm=of(share.vm)) for share in load.shares))
            for load in deployment.workloads
        ),
        masters=dict(sum((Counter({of(name): count}) for name, count in deployment.masters.items()), Counter())),
    )


def named_types(given: Iterable[str]) -> dict[str, str]:
    """``NAME=TYPE`` as a mapping. Raises MrdslError."""
    found: dict[str, str] = {}
    for one in given:
        name, _, kind = (part.strip() for part in one.partition("="))
        if not name or not kind:
            message = f"`--vm {one}` must have the form NAME=TYPE"
            raise one_error("wrong-option", message, None, "for example, `--vm small=m5.xlarge`")
        found[name] = kind
    return found
