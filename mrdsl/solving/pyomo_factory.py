"""The solvers that Pyomo knows by a name."""

from __future__ import annotations

import logging
from inspect import getattr_static
from typing import Any

VERSION_SECONDS = 60.0
"""How long a program may take to tell its version, before it is asked anything: Pyomo waits two seconds."""


def factory_named(name: str) -> Any:
    """Pyomo's interface of that name, patient with programs that start slowly.

    What it cannot make is an interface that raises RuntimeError for whatever it is asked but ``available``.
    """
    import pyomo.environ as pyo

    told = logging.getLogger("pyomo.opt")
    level = told.level
    told.setLevel(logging.CRITICAL)  # of an interface that it cannot make it tells by a traceback
    try:
        factory = pyo.SolverFactory(name)
    finally:
        told.setLevel(level)
    if getattr_static(factory, "_version_timeout", None) is not None:
        factory._version_timeout = VERSION_SECONDS
    return factory


def is_there(name: str) -> bool:
    """Whether Pyomo knows the name, and what it stands for is installed and says so."""
    try:
        return bool(factory_named(name).available(exception_flag=False))
    except Exception:  # whatever an interface raises, the solver behind it cannot be called
        return False
