"""WfCommons' WfFormat: real workflow executions as JSON (schema 1.4 and 1.5), https://wfcommons.org."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mrdsl.exchange.mistakes import FormatError
from mrdsl.exchange.workflow import Workflow

_RUNTIMES = ("runtimeInSeconds", "runtime")
MOST = sys.float_info.max
_WANTED = "give a WfFormat file, as wfcommons.org offers them"


def read(path: str) -> Workflow:
    """The tasks of a WfFormat file in file order, with the run times of its recorded execution.

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
        document = json.loads(Path(path).read_bytes())
    except OSError as problem:
        raise FormatError(f"it cannot be opened: {problem.strerror}") from None
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
            raise FormatError(f"task {name} stands in it twice")
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
        raise FormatError(f"task {_name(task)} has `{names}` where a list of tasks is wanted", _WANTED)
    for name in names or ():
        if not isinstance(name, str) or name not in numbers:
            raise FormatError(f"task {_name(task)} is tied to {name}, which is not in it")
        yield numbers[name]


def _and_more(missing: list[str]) -> str:
    return f", nor have {len(missing) - 1} more" if len(missing) > 1 else ""
