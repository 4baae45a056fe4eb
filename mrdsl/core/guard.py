"""The guard: a small process that outlives its parent for a moment and ends the processes that the parent cannot end.

It runs as a script and imports as little as possible. Lines on its pipe add or remove items of its lists: ``+g PID``
and ``-g PID`` a process group, ``+d PATH`` and ``-d PATH`` a folder of temporary files. When its parent is gone, for
any reason, it kills the groups and removes the folders that are still on its lists.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

_EVERY = 0.1
_AFTERWARDS = 1.0
"""Seconds for which it still listens to the parent's children, which may be starting children of their own."""


class Lists:
    """Process groups and folders to end, as read so far."""

    def __init__(self) -> None:
        self.groups: set[int] = set()
        self.folders: set[str] = set()
        self.rest = b""

    def take(self, received: bytes) -> None:
        *lines, self.rest = (self.rest + received).split(b"\n")
        for line in lines:
            sign, kind, what = chr(line[0]), chr(line[1]), os.fsdecode(line[3:])
            if kind == "g":
                (self.groups.add if sign == "+" else self.groups.discard)(int(what))
            else:
                (self.folders.add if sign == "+" else self.folders.discard)(what)

    def end(self) -> None:
        for group in self.groups:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        if self.folders:
            import shutil

            for folder in self.folders:
                shutil.rmtree(folder, ignore_errors=True)


def watch(pipe: int, parent: int) -> None:
    """Run until the parent is gone, then end the rest."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    lists = Lists()
    while os.getppid() == parent and _listen(pipe, lists):
        pass
    until = time.monotonic() + _AFTERWARDS
    lists.end()
    while time.monotonic() < until and _listen(pipe, lists):
        lists.end()
    lists.end()


def _listen(pipe: int, lists: Lists) -> bool:
    """Read new lines for a while; return False if no process can write any more."""
    if not select.select([pipe], [], [], _EVERY)[0]:
        return True
    received = os.read(pipe, 1 << 16)
    lists.take(received)
    return bool(received)


if __name__ == "__main__":
    watch(int(sys.argv[1]), int(sys.argv[2]))
