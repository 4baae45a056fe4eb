"""The solvers that Pyomo knows by a name."""

from __future__ import annotations

import subprocess
from typing import Any

VERSION_SECONDS = 60.0
"""How long a program may take to tell its version, before it is asked anything: Pyomo waits two seconds."""


def factory_named(name: str) -> Any:
    """Pyomo's interface of that name, patient with programs that start slowly."""
    import pyomo.environ as pyo

    factory = pyo.SolverFactory(name)
    if hasattr(factory, "_version_timeout"):
        factory._version_timeout = VERSION_SECONDS
    return factory


def is_there(name: str) -> bool:
    """Whether Pyomo knows the name, and what it stands for is installed."""
    factory = factory_named(name)
    try:
        return factory is not None and bool(factory.available(exception_flag=False))
    except (OSError, subprocess.SubprocessError):  # a program that cannot be run, or does not tell its version
        return False
