"""A plug-in's call under a time limit ends in time, and leaves the interpreter as it was."""

from __future__ import annotations

import pytest

from tests.command_lines import run_python

CALL = """
import sys, time
from mrdsl.core import plugins
from mrdsl.core.stopping import ending

plugins.PATIENCE = 0.05

def endless():
    while True:
        pass

def patient():
    try:
        endless()
    except BaseException:
        return 7

plugin = plugins.Plugin("the step `slow`", ())
for function in {functions}:
    try:
        with ending(time.monotonic() + {seconds}):
            print(plugin.guarded(function, "it")())
    except plugins.PluginError as late:
        print(late.diagnostics[0].message)
calls = []
sys.setprofile(lambda frame, event, argument: calls.append(event))
(lambda n: n + 1)(1)
sys.setprofile(None)
print(calls[0])
"""
LATE = "the step `slow` did not end within 0.05 s after its time limit, in it"


@pytest.mark.parametrize(
    ("functions", "seconds", "expected"),
    [
        ("[lambda: 3]", 60.0, ["3"]),
        ("[endless]", 0.0, [LATE]),
        ("[patient]", 0.0, ["7"]),
        ("[endless, patient, lambda: 3] * 3", 0.0, [LATE, "7", "3"] * 3),
    ],
)
def test_who_counts_its_calls_afterwards_is_not_caught_in_a_loop(
    functions: str, seconds: float, expected: list[str]
) -> None:
    """CPython's PyThreadState_SetAsyncExc(.., NULL) sets a flag that only an exception takes back (ceval.c)."""
    code = CALL.format(functions=functions, seconds=seconds)
    assert run_python(code).stdout.splitlines() == [*expected, "call"]
