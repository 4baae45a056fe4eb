"""What holds for every test: Ctrl-C means an interrupt, also where the shell started the tests in the background."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
