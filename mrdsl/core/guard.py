"""The guard: a small process that outlives its parent by a moment, to end what the parent can no longer end.

It is run as a script, with nothing imported that it does not need. Lines on its pipe say what to watch: ``+g PID`` and
``-g PID`` a process group, ``+d PATH`` and ``-d PATH`` a folder of temporary files. When its parent is gone, in
whatever way, it kills the groups and removes the folders that are still on its lists.
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
    """What is to be ended, as the lines have it so far."""

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
    """Run until the parent is gone, then ends what is left."""
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
    """Take what comes in a while; False where nobody is left who could write."""
    if not select.select([pipe], [], [], _EVERY)[0]:
        return True
    received = os.read(pipe, 1 << 16)
    lists.take(received)
    return bool(received)


if __name__ == "__main__":
    watch(int(sys.argv[1]), int(sys.argv[2]))
