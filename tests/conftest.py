"""Settings of every test: signals interrupt, drawn tests don't depend on the machine's speed, modules compile once.

Ctrl-C interrupts even if the shell started the tests in the background. The tests start hundreds of processes, and each
would compile every module again if the environment forbids `.pyc` files. The search for cyclic garbage skips the
thousands of collected tests. A fifth of the seeds of drawn tests run, and with `--all` every test. If SIGTERM ends a
run, as `.ci/run` does after its limit, the run prints which tests ran.
"""

import gc
import os
import signal
import sys
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("without a clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("without a clock")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run drawn tests with all their seeds, and those for a night")


EACH = 5
"""Of so many seeds of a drawn test, one runs by default, the first one at least."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all") or any("::" in argument for argument in config.args):
        return
    left: dict[bool, list[pytest.Item]] = {False: [], True: []}
    for item in items:
        place = getattr(getattr(item, "callspec", None), "indices", {}).get("seed", 0)
        left[bool(place % EACH or item.get_closest_marker("nightly"))].append(item)
    config.hook.pytest_deselected(items=left[True])
    items[:] = left[False]


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


RUNNING: dict[str, None] = {}
"""The tests that run now, in the order of their starts."""


def pytest_configure(config: pytest.Config) -> None:
    def end(signum: int, frame: FrameType | None) -> None:
        if (terminal := config.pluginmanager.get_plugin("terminalreporter")) is not None:
            count = "1 test was" if len(RUNNING) == 1 else f"{len(RUNNING)} tests were"
            terminal.write_line(
                "\n".join((f"\nended by a signal, {count} running:", *(f"  {test}" for test in RUNNING)))
            )
        raise KeyboardInterrupt

    if not hasattr(config, "workerinput"):
        signal.signal(signal.SIGTERM, end)
    if hasattr(os, "getloadavg"):  # programs that wait for a processor make tests slower: the limit of each is longer
        limit = "faulthandler_timeout"
        busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        getattr(config, "_inicache", {})[limit] = float(config.getini(limit)) * busy


def pytest_runtest_logstart(nodeid: str) -> None:
    RUNNING[nodeid] = None


def pytest_runtest_logfinish(nodeid: str) -> None:
    RUNNING.pop(nodeid, None)
