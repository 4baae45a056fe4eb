"""What a run may be told, declared once: for ``solve with NAME { ... }``, the command line and the Python API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.spec.declared import python_number_mistake
from mrdsl.spec.schema import Item

SEED = Item("quantity", "seed of all random values", at_least=0.0, at_most=2.0**32 - 1, whole=True)

METHOD_OPTIONS = MappingProxyType(
    {
        "time_limit": Item("quantity", "when to stop", "time", default=None, above=0.0),
        "gap": Item("quantity", "relative gap at which to stop", "share", default=None, at_least=0.0),
        "node_limit": Item("quantity", "how many nodes to search", default=None, at_least=0.0, whole=True),
        "threads": Item(
            "quantity", "how many threads to use", default=None, at_least=1.0, at_most=budgets.THREADS, whole=True
        ),
        "seed": Item("quantity", "the solver's own seed", default=None, at_least=0.0, whole=True),
        "formulation": Item("name", "which formulation to solve", default=None),
        "relax": Item("choice", "whether whole numbers may be fractions", default=None, choices=("yes", "no")),
    }
)
LIMIT_OF_OPTION = MappingProxyType(
    {"time_limit": "time", "gap": "gap", "node_limit": "nodes", "threads": "threads", "seed": "seed"}
)
"""The option of ``solve with`` behind each field of :class:`mrdsl.core.result.Limits`."""

LIMITS = MappingProxyType(
    {
        **{limit: METHOD_OPTIONS[option] for option, limit in LIMIT_OF_OPTION.items()},
        # No time at all is a limit that a caller may reach, not one that a spec states.
        "time": replace(METHOD_OPTIONS["time_limit"], above=None, at_least=0.0),
    }
)
"""The fields of :class:`mrdsl.core.result.Limits`."""

SIMULATION = MappingProxyType(
    {
        "runs": Item("quantity", "independent runs", at_least=1.0, at_most=budgets.RUNS, whole=True),
        "jobs": Item(
            "quantity", "completed jobs per user in each run", at_least=2.0, at_most=budgets.SIMULATED_JOBS, whole=True
        ),
        "processes": Item(
            "quantity", "processes that runs are shared among", at_least=1.0, at_most=budgets.THREADS, whole=True
        ),
        "seed": SEED,
        "slowstart": Item(
            "quantity", "part of the map tasks after which reduces may start", "share", at_least=0.0, at_most=1.0
        ),
        "stragglers": Item("quantity", "part of the attempts that take long", "share", at_least=0.0, at_most=1.0),
        "factor": Item("quantity", "how many times as long they take", at_least=1.0),
        "lose": Item("quantity", "machines of every class that go after the warm-up", at_least=0.0, whole=True),
        "burst": Item("quantity", "jobs that come with each arrival", at_least=1.0, whole=True),
    }
)


def option_mistakes(declared: Mapping[str, Item], given: Mapping[str, Any], prefix: str = "") -> Iterator[Diagnostic]:
    """What is wrong with numbers given in Python; None is left to the default. ``prefix`` begins each path."""
    for key, item in declared.items():
        value = given.get(key)
        if value is None or item.form != "quantity":
            continue
        mistake = python_number_mistake(key, item, value)
        if mistake is not None:
            yield replace(error(mistake.code, mistake.message, None, mistake.hint), path=prefix + key)


def require_options(declared: Mapping[str, Item], given: Mapping[str, Any], prefix: str = "") -> None:
    """Raises MrdslError with :func:`option_mistakes`, if there are any."""
    mistakes = tuple(option_mistakes(declared, given, prefix))
    if mistakes:
        raise MrdslError(mistakes)
