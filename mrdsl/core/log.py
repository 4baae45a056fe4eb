"""What goes on, for the loggers of a program that embeds mrdsl: those below ``mrdsl``.

Where nobody has loaded ``logging``, nobody listens, and it is not loaded for that.
"""

from __future__ import annotations

import sys

DEBUG, INFO = 10, 20


def log(name: str, level: int, message: str, *arguments: object) -> None:
    """Logs to ``mrdsl.NAME``; ``arguments`` go into the message where it is wanted."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger(f"mrdsl.{name}").log(level, message, *arguments)


def is_wanted(name: str, level: int) -> bool:
    """Whether what is logged to ``mrdsl.NAME`` goes anywhere."""
    logging = sys.modules.get("logging")
    return logging is not None and bool(logging.getLogger(f"mrdsl.{name}").isEnabledFor(level))
