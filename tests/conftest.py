"""Settings of every test: Ctrl-C interrupts, drawn tests don't depend on the machine's speed, modules compile once.

Ctrl-C interrupts even if the shell started the tests in the background. The tests start hundreds of processes, and each
would compile every module again if the environment forbids `.pyc` files. The search for cyclic garbage skips the
thousands of collected tests.
"""

import gc
import os
import signal
import sys

from hypothesis import HealthCheck, settings

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("without a clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("without a clock")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
