"""The Python API: what an embedding program calls. Everything that the command line does is here, by the same names."""

from mrdsl.api.catalogues import vm_types
from mrdsl.api.exports import export
from mrdsl.api.plans import (
    asolve,
    check,
    compare,
    compile,
    diff,
    dumps,
    fmt,
    load,
    load_plan,
    loads,
    profile,
    quantity,
    report,
    simulate,
    solve,
    verify,
)
from mrdsl.api.plugins import check_plugin
from mrdsl.api.studies import explain, read, study, sweep, why
from mrdsl.api.tables import from_table

__all__ = [
    "asolve",
    "check",
    "check_plugin",
    "compare",
    "compile",
    "diff",
    "dumps",
    "explain",
    "export",
    "fmt",
    "from_table",
    "load",
    "load_plan",
    "loads",
    "profile",
    "quantity",
    "read",
    "report",
    "simulate",
    "solve",
    "study",
    "sweep",
    "verify",
    "vm_types",
    "why",
]
