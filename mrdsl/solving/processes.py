"""Child processes that end when they must: with their group, and with their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any

_SET_PARENT_DEATH_SIGNAL = 1


def _load_libc() -> Any:
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)


_LIBC = _load_libc()


def die_with_parent(parent: int) -> None:
    """Called in a child: the kernel ends it when its parent dies, however that happens (Linux only)."""
    if _LIBC is not None:
        _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def end_group(leader: int) -> None:
    """Ends a process that leads its own group, and everything that it started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
    else:
        with contextlib.suppress(OSError):
            os.kill(leader, signal.SIGTERM)
