"""The schema of a file in ``solvers/``: frozen, with an error for unknown keys.

There are three ways to call a solver: ``[worker]``, a Python function that runs in its own process; ``[command]``, a
program that reads a model file and writes a solution file; ``[pyomo]``, a name in Pyomo's own SolverFactory. A pipeline
names the steps of a heuristic, per problem family.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.exchange.registry import MODELS
from mrdsl.spec.declared import LIMITS

FORMATS = tuple(one.name for one in MODELS if one.linear)
KINDS_OF_MODEL = ("LP", "MILP", "NLP", "MINLP")
OFFERS = ("duals", "start", "bound", "incumbents", "iis")
SHIPPED = "shipped"
"""The origin of the solvers that come with mrdsl."""
ENTRY_POINT = "entry point"
"""The origin of those that an installed package declares, or a folder that counts as one."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Worker:
    """``[worker]``: ``call`` is ``"module:function"``, ``requires`` the module that must be importable."""

    call: str
    requires: str = ""


@dataclass(frozen=True)
class Command:
    """``[command]``: a program and its arguments.

    ``places`` are paths below the package folder of the running Python, searched before ``PATH``; ``libraries`` are
    folders for the library path of programs found there. ``arguments`` can contain ``{model}``, ``{solution}`` and
    ``{limits}`` (otherwise the limits come last). ``writes`` is the model format (``lp`` or ``mps``), ``reads`` the
    reader of its solution file. ``version`` are the arguments that print the version, ``start`` those for a file
    ``{start}`` of names and values to start from.
    """

    program: str
    arguments: tuple[str, ...]
    reads: str
    writes: str = "mps"
    places: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    start: tuple[str, ...] = ()


@dataclass(frozen=True)
class ThroughPyomo:
    """``[pyomo]``: ``factory`` is the solver's name in ``pyomo.environ.SolverFactory``."""

    factory: str


@dataclass(frozen=True)
class Pipeline:
    """``[pipelines.FAMILY]``: the steps, each ``{ call = "module:function", …parameters }``.

    ``relax``: the steps support the continuous relaxation; ``subject_to``: they support comparisons; ``exact``: they
    prove their plan optimal.
    """

    steps: tuple[Mapping[str, Any], ...]
    relax: bool = False
    subject_to: bool = False
    exact: bool = False


@dataclass(frozen=True)
class Distrust:
    """``[[distrust]]``: versions with known errors, and the options that avoid them.

    ``versions`` is a regular expression for the whole version, ``kinds`` the kinds of model (all if empty), ``reason``
    the observed error. ``options`` are added to the solver's own in every call.
    """

    versions: str
    reason: str
    options: Mapping[str, Any]
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class SolverFile:
    """One declared solver or pipeline; ``source`` is the file that declares it and ``origin`` the reason why that file
    is used.
    """

    kind: str
    name: str
    summary: str
    install: str = ""
    title: str = ""
    homepage: str = ""
    solves: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    worker: Worker | None = None
    command: Command | None = None
    pyomo: ThroughPyomo | None = None
    limits: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    options: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    distrust: tuple[Distrust, ...] = ()
    requires: str = ""
    pipelines: Mapping[str, Pipeline] = field(default_factory=lambda: _NOTHING)
    source: str = field(default="", compare=False)
    origin: str = field(default="", compare=False)

    @property
    def is_pipeline(self) -> bool:
        return self.kind == "pipeline"

    def parameters(self, family: str) -> dict[str, Any]:
        """Return the parameters of a pipeline's steps for a family, with their defaults."""
        pipeline = self.pipelines.get(family)
        steps = pipeline.steps if pipeline else ()
        return {key: value for step in reversed(steps) for key, value in step.items() if key != "call"}

    @property
    def foreign_file(self) -> str | None:
        """The file or entry point that declares it, or None for solvers of mrdsl."""
        return None if self.origin == SHIPPED else self.source

    @property
    def folder(self) -> Path | None:
        """The folder that the user named, which may contain its modules; None for installed ones."""
        return Path(self.source).parent if self.origin not in (SHIPPED, ENTRY_POINT) else None

    @property
    def shown(self) -> str:
        """The kind and name, for messages."""
        return f"the {self.kind} `{self.name}`"

    def distrusted(self, version: str | None, kind: str) -> tuple[Distrust, ...]:
        """Return the known errors of a version on a kind of model; an unknown version counts as affected."""
        return tuple(
            d
            for d in self.distrust
            if (not d.kinds or kind in d.kinds) and (version is None or re.fullmatch(d.versions, version))
        )

    def careful(self, version: str | None, kind: str) -> SolverFile:
        """Return the same solver with the options that keep a distrusted version from erring."""
        options = dict(self.options)
        for distrust in self.distrusted(version, kind):
            options.update(distrust.options)
        return replace(self, options=MappingProxyType(options))

    @property
    def reach(self) -> Worker | Command | ThroughPyomo:
        """The way to call the solver."""
        way = self.worker or self.command or self.pyomo
        assert way is not None, "checked when the file was read"
        return way


_TABLES: Mapping[str, type] = MappingProxyType({"worker": Worker, "command": Command, "pyomo": ThroughPyomo})
_OF_SOLVER = (
    "kind",
    "name",
    "title",
    "summary",
    "homepage",
    "install",
    "solves",
    "offers",
    "worker",
    "command",
    "pyomo",
    "limits",
    "options",
    "distrust",
)
_OF_PIPELINE = ("kind", "name", "title", "summary", "homepage", "install", "requires", "pipelines")


def declare(data: Mapping[str, Any], source: str, origin: str, text: str = "") -> SolverFile:
    """Return the declaration in ``data`` (a parsed TOML file), all its mistakes reported at once as a MrdslError."""
    return _Reader(source, origin, text).read({**_understood(data, source), **data})


def _understood(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the data with defaults: the name of the file, the kind from its tables, and linear models for solvers of
    Pyomo.
    """
    path = PurePath(source)
    found: dict[str, Any] = {"name": path.stem} if path.suffix == ".toml" else {}
    ways = [way for way in _TABLES if way in data]
    if ways or "pipelines" in data:
        found["kind"] = "solver" if ways else "pipeline"
    pyomo = data.get("pyomo")
    if isinstance(pyomo, Mapping):
        called = f"what Pyomo calls {pyomo.get('factory')}"
        found |= {"summary": called, "install": f"install {called}", "solves": ["LP", "MILP"]}
    return found


class _Reader:
    """Collects every mistake of one file."""

    def __init__(self, source: str, origin: str, text: str) -> None:
        self.source, self.origin, self.text = source, origin, text
        self.problems: list[Diagnostic] = []

    def wrong(self, key: str, message: str, hint: str = "") -> None:
        self.problems.append(error("bad-solver-file", f"{message} in {self.source}", self._place(key), hint))

    def _place(self, key: str) -> Span | None:
        pattern = re.compile(rf"\s*\[?[\"']?(?:pipelines\.)?{re.escape(key)}\b")
        for number, line in enumerate(self.text.splitlines(), 1):
            if pattern.match(line):
                return Span(self.source, number, 1, number, len(line) + 1)
        return Span(self.source, 1, 1, 1, 1) if self.text else None

    def read(self, data: Mapping[str, Any]) -> SolverFile:
        kind = data.get("kind")
        if kind not in ("solver", "pipeline"):
            self.wrong("kind", f"kind is {kind!r}", 'write kind = "solver" or kind = "pipeline"')
            raise MrdslError(self.problems, exit_code=2)
        allowed = _OF_SOLVER if kind == "solver" else _OF_PIPELINE
        self._unknown(data, allowed, "")
        for key in ("name", "summary"):
            if not isinstance(data.get(key), str):
                self.wrong(key, f"{key} is missing or no text", f'write {key} = "…"')
        values = {key: self._value(key, value) for key, value in data.items() if key in allowed}
        if kind == "solver":
            self._check_solver(values)
        elif not values.get("pipelines"):
            self.wrong("pipelines", "a pipeline has no steps", "write [pipelines.FAMILY] with steps = […]")
        if self.problems:
            raise MrdslError(self.problems, exit_code=2)
        return SolverFile(**values, source=self.source, origin=self.origin)

    def _unknown(self, data: Mapping[str, Any], allowed: tuple[str, ...], where: str) -> None:
        for key in data:
            if key not in allowed:
                self.wrong(key, f"unknown key {where}{key}", "known keys: " + ", ".join(allowed))

    def _value(self, key: str, value: Any) -> Any:
        if key in _TABLES:
            return self._table(key, _TABLES[key], value)
        if key in ("solves", "offers"):
            known = KINDS_OF_MODEL if key == "solves" else OFFERS
            for word in value:
                if word not in known:
                    self.wrong(key, f"{key} holds {word!r}", "known: " + ", ".join(known))
            return tuple(value)
        if key == "pipelines":
            return MappingProxyType({name: self._pipeline(name, item) for name, item in value.items()})
        if key == "distrust":
            return self._distrust(value)
        if key == "limits":
            self._unknown(value, tuple(LIMITS), "limits.")
            for name, own in value.items():
                if isinstance(own, Mapping) and set(own) != {"name", "whole"}:
                    self.wrong("limits", f"limits.{name} is {dict(own)!r}", 'write { name = "tmlim", whole = true }')
            return MappingProxyType(dict(value))
        return MappingProxyType(dict(value)) if isinstance(value, Mapping) else value

    def _table(self, where: str, made: type, data: Any) -> Any:
        if not isinstance(data, Mapping):
            self.wrong(where, f"{where} is not a table", f"write [{where}]")
            return None
        declared = fields(made)
        self._unknown(data, tuple(f.name for f in declared), where + ".")
        for f in declared:
            if f.default is MISSING and f.name not in data:
                self.wrong(where, f"{where}.{f.name} is missing")
                return None
        known = {f.name for f in declared}
        return made(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known})

    def _distrust(self, value: Any) -> tuple[Distrust, ...]:
        if not isinstance(value, list):
            self.wrong("distrust", "distrust is not a list of tables", "write [[distrust]]")
            return ()
        entries = tuple(self._table("distrust", Distrust, item) for item in value)
        for each in entries:
            if each is None:
                return ()
            try:
                re.compile(each.versions)
            except (re.error, TypeError):
                self.wrong("versions", f"distrust.versions is {each.versions!r}", "write a regular expression")
            if not isinstance(each.options, Mapping):
                self.wrong("options", "distrust.options is not a table", 'write options = { name = "value" }')
            for kind in each.kinds:
                if kind not in KINDS_OF_MODEL:
                    self.wrong("kinds", f"distrust.kinds holds {kind!r}", "known: " + ", ".join(KINDS_OF_MODEL))
        return entries

    def _pipeline(self, family: str, data: Any) -> Pipeline | None:
        pipeline = self._table(family, Pipeline, data)
        for step in pipeline.steps if pipeline else ():
            if ":" not in str(step.get("call", "")):
                self.wrong(family, f"a step of {family} has no call", 'write { call = "module:function" }')
                return None
        return (
            pipeline
            if pipeline is None
            else replace(pipeline, steps=tuple(MappingProxyType(s) for s in pipeline.steps))
        )

    def _check_solver(self, values: Mapping[str, Any]) -> None:
        reaches = [key for key in _TABLES if values.get(key) is not None]
        if len(reaches) != 1 and not self.problems:
            self.wrong("kind", "a solver needs exactly one of [worker], [command], [pyomo]")
        command = values.get("command")
        if command is not None and command.writes not in FORMATS:
            self.wrong("writes", f"writes is {command.writes!r}", "known: " + ", ".join(FORMATS))
        if not values.get("solves"):
            self.wrong("solves", "solves is missing", 'for example: solves = ["LP", "MILP"]')
        if not values.get("install"):
            self.wrong("install", "install is missing", 'write install = "pip install …"')
