"""Declarations in the files of `solvers/`: a frozen schema that refuses unknown keys and values of a wrong type.

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

from mrdsl.core.diagnostics import MrdslError, did_you_mean, in_order
from mrdsl.core.toml_text import Path as Place
from mrdsl.core.toml_text import Read, TomlReader, TomlText, dotted, shown
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


_WAYS: Mapping[str, type] = MappingProxyType({"worker": Worker, "command": Command, "pyomo": ThroughPyomo})


def declare(data: Mapping[str, Any], source: str, origin: str, toml: TomlText | None = None) -> SolverFile:
    """Return the declaration in the data of a solver file or an entry point.

    Args:
        data: Tables and values.
        source: The file or the entry point.
        origin: The reason that this source has priority.
        toml: The text of a file, for the locations of mistakes.

    Raises:
        MrdslError: All mistakes of the data, ``bad-solver-file``.
    """
    return _Reader(source, toml).read({**_understood(data, source), **data}, origin)


def _understood(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return what a file need not state: its name is its file's, its kind shows in its tables, and Pyomo's solvers
    solve linear models.
    """
    path = PurePath(source)
    found: dict[str, Any] = {"name": path.stem} if path.suffix == ".toml" else {}
    ways = [way for way in _WAYS if way in data]
    if ways or "pipelines" in data:
        found["kind"] = "solver" if ways else "pipeline"
    pyomo = data.get("pyomo")
    if isinstance(pyomo, Mapping):
        called = f"what Pyomo calls {pyomo.get('factory')}"
        found |= {"summary": called, "install": f"install {called}", "solves": ["LP", "MILP"]}
    return found


class _Reader(TomlReader):
    """Reader of one solver file."""

    def __init__(self, source: str, toml: TomlText | None) -> None:
        super().__init__("bad-solver-file", toml)
        self.source = source
        self.forms: Mapping[str, Read] = {
            "str": self.words,
            "bool": self.flag,
            "tuple[str, ...]": self._texts,
            "Mapping[str, Any]": self._open,
            "tuple[Mapping[str, Any], ...]": lambda path, value: self.tables(path, value, self._step),
        }
        """The reader of a field by its annotation."""

    def wrong(self, path: Place, message: str, hint: str, *, key: bool = False) -> None:
        super().wrong(path, message if self.toml is not None else f"{message} in {self.source}", hint, key=key)

    def read(self, data: Mapping[str, Any], origin: str) -> SolverFile:
        kind = data.get("kind")
        if kind not in ("solver", "pipeline"):
            message = "missing key `kind`" if kind is None else f"unknown kind {shown(kind)}"
            self.wrong(("kind",), message, 'write `kind = "solver"` or `kind = "pipeline"`', key=True)
            raise MrdslError(self.mistakes, exit_code=2)
        values = self.table((), data, self._known(kind))
        self._require(data, {"name": '"..."', "summary": '"..."'})
        if kind == "solver":
            self._require(data, {"solves": '["LP", "MILP"]', "install": '"pip install ..."'})
            self._check_reach(values)
        elif not values.get("pipelines"):
            self.wrong((), "a pipeline needs steps", "write `[pipelines.FAMILY]`, and under it `steps = [...]`")
        if self.mistakes:
            raise MrdslError(in_order(self.mistakes), exit_code=2)
        return SolverFile(**values, source=self.source, origin=origin)

    def _known(self, kind: str) -> dict[str, Read]:
        about = dict.fromkeys(("kind", "name", "title", "summary", "homepage", "install"), self.words)
        if kind == "pipeline":
            return {**about, "requires": self.words, "pipelines": self._pipelines}
        ways = {name: self._made(way) for name, way in _WAYS.items()}
        kinds = {"solves": self.some_of(KINDS_OF_MODEL, "kind of model"), "offers": self.some_of(OFFERS, "offer")}
        own: dict[str, Read] = {"limits": self._limits, "options": self._open, "distrust": self._distrusts}
        return {**about, **ways, **kinds, **own}

    def _pipelines(self, path: Place, value: Any) -> Mapping[str, Pipeline]:
        families = value if isinstance(value, Mapping) else {"FAMILY": {}}
        return MappingProxyType(self.table(path, value, dict.fromkeys(families, self._made(Pipeline))))

    def _require(self, data: Mapping[str, Any], examples: Mapping[str, str], path: Place = ()) -> bool:
        missing = [key for key in examples if key not in data]
        for key in missing:
            where = f" in `{dotted(path)}`" if path else ""
            self.wrong(path, f"missing key `{key}`{where}", f"write `{key} = {examples[key]}`", key=True)
        return not missing

    def _made(self, kind: type) -> Read:
        """Return the reader of a table whose keys are the fields of a dataclass."""
        known = {each.name: self.forms[str(each.type)] for each in fields(kind)}
        required = {each.name: "..." for each in fields(kind) if each.default is MISSING}

        def read(path: Place, value: Any) -> Any:
            before = len(self.mistakes)
            found = self.table(path, value, known)
            complete = isinstance(value, Mapping) and self._require(value, required, path)
            return kind(**found) if complete and len(self.mistakes) == before else None

        return read

    def _texts(self, path: Place, value: Any) -> tuple[str, ...] | None:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        self.wrong(path, f"`{dotted(path)}` must be a list of texts", f'write `{path[-1]} = ["..."]`')
        return None

    def _open(self, path: Place, value: Any) -> Mapping[str, Any] | None:
        if isinstance(value, Mapping):
            return MappingProxyType(dict(value))
        self.wrong(path, f"`{dotted(path)}` must be a table", f'write `{path[-1]} = {{ name = "value" }}`')
        return None

    def _step(self, path: Place, value: Any) -> Mapping[str, Any] | None:
        if ":" in str(value.get("call", "")):
            return MappingProxyType(value)
        self.wrong(path, "a step needs a function", 'write `{ call = "module:function" }`')
        return None

    def _limits(self, path: Place, value: Any) -> Mapping[str, Any] | None:
        return MappingProxyType(self.table(path, value, dict.fromkeys(LIMITS, self._limit)))

    def _limit(self, path: Place, value: Any) -> Any:
        if isinstance(value, Mapping) and set(value) != {"name", "whole"}:
            self.wrong(path, f"`{dotted(path)}` needs `name` and `whole`", 'write `{ name = "tmlim", whole = true }`')
            return None
        return value

    def _distrusts(self, path: Place, value: Any) -> tuple[Distrust, ...]:
        return self.tables(path, value, self._distrust)

    def _distrust(self, path: Place, value: Any) -> Distrust | None:
        found: Distrust | None = self._made(Distrust)(path, value)
        if found is None:
            return None
        if found.kinds:
            self.some_of(KINDS_OF_MODEL, "kind of model")((*path, "kinds"), list(found.kinds))
        try:
            re.compile(found.versions)
        except re.error:
            here = (*path, "versions")
            message = f"`{dotted(here)}` must be a regular expression, got {shown(found.versions)}"
            self.wrong(here, message, "for example: `2[.]1.*`")
        return found

    def _check_reach(self, values: Mapping[str, Any]) -> None:
        if len([way for way in _WAYS if way in values]) != 1 and not self.mistakes:
            self.wrong((), "a solver needs exactly one of `worker`, `command`, `pyomo`", "write one of these tables")
        command = values.get("command")
        if command is not None and command.writes not in FORMATS:
            hint = did_you_mean(command.writes, FORMATS, "formats: ")
            self.wrong(("command", "writes"), f"unknown format {shown(command.writes)}", hint)
