"""Workflows of other programs: tasks with run times and the order between them.

Two formats: DOT, Graphviz's language for graphs, with a duration for each node; and WfCommons' WfFormat, real workflow
executions as JSON (schema 1.4 and 1.5), https://wfcommons.org.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from itertools import pairwise
from math import isfinite
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.arguments import written_number
from mrdsl.core.diagnostics import is_printable
from mrdsl.core.json_text import json_value
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.units import UNITS, scaled
from mrdsl.exchange.text import FormatError


@dataclass(frozen=True)
class Workflow:
    """Task names, durations in seconds, and per task the numbers of those that must finish before it."""

    names: Sequence[str]
    durations: Sequence[float]
    parents: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        hidden = next((name for name in self.names if not is_printable(name)), None)
        if hidden is not None:
            raise FormatError(f"the name `{hidden}` of a task holds a control character", "leave it out")


DURATIONS = ("duration", "runtime", "time")
"""The attributes of a node that may say how long it runs, the first that is there."""
_SECONDS: Mapping[str, float] = {"": 1.0, **{name: UNITS[name].factor for name in ("s", "ms", "min", "h", "d")}}

_GRAMMAR = r"""
start: "strict"i? "digraph"i ID? "{" _statements "}"
_statements: (_statement ";"?)*
_statement: chain | defaults | setting
setting: ID "=" ID
defaults: (NODE | EDGE | GRAPH) attributes
chain: end ("->" end)* attributes?
end: ID (":" ID)* -> node
   | ("subgraph"i ID?)? "{" _statements "}" -> subgraph
attributes: ("[" (pair (","|";")?)* "]")+
pair: ID ("=" ID)?
NODE.3: /node(?![\w\x80-\xff])/i
EDGE.3: /edge(?![\w\x80-\xff])/i
GRAPH.3: /graph(?![\w\x80-\xff])/i
ID: /[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*/ | /-?(\.[0-9]+|[0-9]+(\.[0-9]*)?)/
  | /"(\\.|[^"\\])*"/s | /<[^<>]*(<[^<>]*>[^<>]*)*>/s
%ignore /\s+/
%ignore /\/\/[^\n]*/
%ignore /^#[^\n]*/m
%ignore /\/\*.*?\*\//s
"""


@dataclass
class _Graph:
    """Nodes in order of appearance with their attributes, and the predecessors of each."""

    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    parents: dict[str, dict[str, None]] = field(default_factory=dict)


def read_dot(path: str) -> Workflow:
    """Return the nodes of a digraph, in order of appearance; an edge a -> b means that b runs after a.

    A node's duration is its attribute ``duration`` (or ``runtime``, ``time``): seconds, or a number with ``ms``, ``s``,
    ``min``, ``h`` or ``d``. Defaults (``node [duration=5]``), chains and subgraphs are supported. Raises FormatError.
    """
    graph = _parsed(path)
    numbers = {name: number for number, name in enumerate(graph.attributes)}
    durations = [_duration(name, attributes) for name, attributes in graph.attributes.items()]
    parents = [tuple(numbers[parent] for parent in graph.parents[name]) for name in numbers]
    return Workflow(tuple(numbers), tuple(durations), tuple(parents))


def _parsed(path: str) -> _Graph:
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput

    try:
        text = read_bytes(path, budgets.DOT_BYTES).decode("utf-8-sig")
    except UnreadableError as problem:
        raise FormatError(str(problem)) from None
    except UnicodeDecodeError:
        raise FormatError("it is not UTF-8 text") from None
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as problem:
        shown = "" if isinstance(problem, UnexpectedCharacters) else f" at {str(getattr(problem, 'token', ''))!r}"
        raise FormatError(
            f"it is not DOT: line {problem.line}, column {problem.column}{shown}",
            "write digraph NAME { a [duration=60]; a -> b }",
        ) from None
    graph = _Graph()
    try:
        _walk(tree.children, graph, {})
    except RecursionError:
        raise FormatError("its subgraphs are nested too deeply", "write them one after the other") from None
    return graph


@cache
def _parser() -> Any:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", lexer="contextual")


def _walk(statements: Sequence[Any], graph: _Graph, defaults: dict[str, str]) -> dict[str, None]:
    """Add the statements to the graph; the names of the nodes that they mention, in order."""
    mentioned: dict[str, None] = {}
    for statement in statements:
        kind = getattr(statement, "data", "")
        if kind == "defaults" and statement.children[0].type == "NODE":
            defaults.update(_attributes(statement.children[1]))
        elif kind == "chain":
            mentioned.update(_chain(statement.children, graph, defaults))
    return mentioned


def _chain(parts: Sequence[Any], graph: _Graph, defaults: dict[str, str]) -> dict[str, None]:
    ends = [part for part in parts if part.data != "attributes"]
    given = [part for part in parts if part.data == "attributes"]
    named = [_names(end, graph, defaults) for end in ends]
    if len(ends) == 1 and ends[0].data == "node":
        for attributes in given:
            graph.attributes[next(iter(named[0]))].update(_attributes(attributes))
    for before, after in pairwise(named):
        for name in after:
            graph.parents[name].update(before)
    return {name: None for names in named for name in names}


def _names(end: Any, graph: _Graph, defaults: dict[str, str]) -> dict[str, None]:
    if end.data == "subgraph":
        return _walk(end.children, graph, dict(defaults))
    name = _text(end.children[0])
    if name not in graph.attributes:
        graph.attributes[name] = dict(defaults)
        graph.parents[name] = {}
    return {name: None}


def _attributes(tree: Any) -> dict[str, str]:
    return {
        _text(pair.children[0]): _text(pair.children[1]) if len(pair.children) > 1 else "true" for pair in tree.children
    }


def _text(token: str) -> str:
    if token.startswith('"'):
        return token[1:-1].replace("\\\n", "").replace('\\"', '"')
    return unescape(token[1:-1]) if token.startswith("<") else str(token)


def _duration(name: str, attributes: Mapping[str, str]) -> float:
    written = next((attributes[key] for key in DURATIONS if key in attributes), None)
    if written is None:
        raise FormatError(f"node {name} has no duration", f"write {name} [duration=60], in seconds")
    text = written.strip()
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    try:
        value = float(scaled(written_number(digits), _SECONDS[text[len(digits) :].strip()]))
    except (ValueError, KeyError):
        value = -1.0
    if not isfinite(value) or value < 0:
        raise FormatError(
            f"node {name} has the duration `{written}`", 'write seconds, or a number and a unit: 60, "90 s", "1.5 min"'
        )
    return value


_RUNTIMES = ("runtimeInSeconds", "runtime")
MOST = sys.float_info.max
_WANTED = "give a WfFormat file, as wfcommons.org offers them"


def read_wfcommons(path: str) -> Workflow:
    """Return the tasks of a WfFormat file in file order, with the run times of its recorded execution.

    Parents come from ``parents`` and from ``children``, which must not contradict the tasks there are. Raises
    FormatError.
    """
    workflow = _workflow(path)
    specified = workflow.get("specification")
    if isinstance(specified, Mapping):
        tasks = _list_of_tasks(specified, "workflow.specification")
        runtimes = _runtimes(_list_of_tasks(workflow.get("execution") or {}, "workflow.execution"))
    else:
        tasks = _list_of_tasks(workflow, "workflow")
        runtimes = _runtimes(tasks)
    numbers = _numbers(tasks)
    missing = [name for name in numbers if name not in runtimes]
    if missing:
        raise FormatError(
            f"task {missing[0]} has no run time" + _and_more(missing),
            "take an instance of an execution, not a bare recipe",
        )
    parents: list[dict[int, None]] = [{} for _ in tasks]
    for number, task in enumerate(tasks):
        for parent in _known(task.get("parents"), numbers, task):
            parents[number][parent] = None
        for child in _known(task.get("children"), numbers, task):
            parents[child][number] = None
    return Workflow(tuple(numbers), tuple(runtimes[name] for name in numbers), tuple(map(tuple, parents)))


def _workflow(path: str) -> Mapping[str, Any]:
    try:
        document = json_value(read_bytes(path))
    except UnreadableError as problem:
        raise FormatError(str(problem)) from None
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"it is not JSON ({problem})", _WANTED) from None
    workflow = document.get("workflow") if isinstance(document, Mapping) else None
    if not isinstance(workflow, Mapping):
        raise FormatError("it has no object `workflow`", _WANTED)
    return workflow


def _list_of_tasks(holder: Any, where: str) -> list[Mapping[str, Any]]:
    tasks = holder.get("tasks", holder.get("jobs")) if isinstance(holder, Mapping) else None
    if not isinstance(tasks, list) or not all(isinstance(task, Mapping) for task in tasks):
        raise FormatError(f"{where} has no list `tasks`")
    return tasks


def _name(task: Mapping[str, Any]) -> str:
    name = task.get("id", task.get("name"))
    if not isinstance(name, str) or not name:
        raise FormatError("a task has neither `id` nor `name`")
    return name


def _numbers(tasks: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, task in enumerate(tasks):
        name = _name(task)
        if name in numbers:
            raise FormatError(f"task {name} is defined twice")
        numbers[name] = number
    return numbers


def _runtimes(tasks: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    runtimes = {}
    for task in tasks:
        value = next((task[key] for key in _RUNTIMES if task.get(key) is not None), None)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
            raise FormatError(f"task {_name(task)} has the run time `{value}`", "run times are seconds, at least 0")
        runtimes[_name(task)] = float(value)
    return runtimes


def _known(names: Any, numbers: Mapping[str, int], task: Mapping[str, Any]) -> Iterator[int]:
    if names is not None and not isinstance(names, list):
        raise FormatError(f"task {_name(task)} has `{names}` instead of a list of tasks", _WANTED)
    for name in names or ():
        if not isinstance(name, str) or name not in numbers:
            raise FormatError(f"task {_name(task)} is tied to {name}, which is not in it")
        yield numbers[name]


def _and_more(missing: list[str]) -> str:
    return f", nor have {len(missing) - 1} more" if len(missing) > 1 else ""
