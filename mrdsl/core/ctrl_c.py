"""Ctrl-C in the command ``mrdsl``: delayed during start-up, raised between imports, and never lost in a callback.

A KeyboardInterrupt within an import leaves modules half made, and Python prints and forgets one within a callback of
the garbage collector. So it waits for the frame that imports, or that the callback interrupted. A program that imports
mrdsl keeps its own handler.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing is not imported for it: the handler is to be in place as early as possible
if TYPE_CHECKING:
    import signal
    from types import FrameType
    from typing import Any
else:
    import _signal as signal  # without the enumerations that signal makes, which take milliseconds

_IMPORTING = "<frozen importlib"


class _State:
    """``held``: this is the command, and its handler is in place; ``came``: a Ctrl-C waits."""

    held = False
    came = False


def hold() -> None:
    """Delay every Ctrl-C until :func:`ready`; do nothing if this process is not the command."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _note)
        _State.held = True


def ready() -> None:
    """From now on a Ctrl-C is a KeyboardInterrupt; raises it if one has come."""
    if not _State.held:
        return
    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = raised_nowhere
    if _State.came:
        _State.came = False
        raise KeyboardInterrupt


def over() -> None:
    """Ignore every Ctrl-C from now on: the exit code is known."""
    if _State.held:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or have it raised after the import that runs. The handler of SIGINT."""
    importing = importer(frame)
    if importing is None:
        raise KeyboardInterrupt
    _raise_in(importing)


def raised_nowhere(lost: Any) -> None:
    """Raise a KeyboardInterrupt of a callback in the frame that it interrupted: a hook for exceptions that cannot be
    raised.
    """
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    frame = sys._getframe(1)
    _raise_in(importer(frame) or frame)


def _is_command() -> bool:
    """Return True if Python runs `mrdsl` or `python -m mrdsl`, which has no name yet while the package is imported."""
    if sys.argv[:1] == ["-m"]:
        return "mrdsl" in sys.orig_argv
    return bool(sys.argv) and os.path.basename(sys.argv[0]) in ("mrdsl", "mrdsl.exe", "mrdsl-script.py")


def _note(number: int, frame: FrameType | None) -> None:
    _State.came = True


def importer(frame: FrameType | None) -> FrameType | None:
    """Return the frame of the outermost import that runs; None if none does."""
    found = None
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTING):
            found = frame.f_back
        frame = frame.f_back
    return found


def _raise_in(frame: FrameType) -> None:
    """Have the frame raise KeyboardInterrupt at its next line or its return."""

    def raise_now(traced: FrameType, event: str, value: Any) -> Any:
        sys.settrace(None)
        traced.f_trace = None
        raise KeyboardInterrupt

    frame.f_trace = raise_now
    sys.settrace(lambda traced, event, value: None)


hold()
