"""What holds for every test: Ctrl-C means an interrupt, and no drawn test depends on how fast the machine is.

Ctrl-C means one also where the shell started the tests in the background.
"""

import signal

from hypothesis import HealthCheck, settings

signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("without a clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("without a clock")
