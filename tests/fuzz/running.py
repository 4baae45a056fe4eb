"""One command in this process, and all that must hold of it, whatever it was given."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from tests.cli.tree_driver import seen

SECONDS = 20
"""A command that computes longer hangs; the machine may be busy with other things, for six times as long."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class HangError(BaseException):
    """No answer in time; not an Exception, so that no command makes a message of it."""


@contextmanager
def budget() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise HangError

    timers = ((signal.SIGALRM, signal.ITIMER_REAL, 6 * SECONDS), (signal.SIGPROF, signal.ITIMER_PROF, SECONDS))
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def faults(arguments: list[str], outputs: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with a command's behaviour in the folder it stands in: no answer to a spec, but to any bytes."""
    before = seen(Path())
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    interrupts, sys.argv = signal.getsignal(signal.SIGINT), ["mrdsl", *arguments]
    try:
        with budget(), redirect_stdout(out), redirect_stderr(err):
            code = run(cli)
    except HangError:
        return [f"no answer in {SECONDS} s"]
    except BaseException as failure:
        return [f"{type(failure).__name__} passes: {failure}"]
    finally:
        signal.signal(signal.SIGINT, interrupts)
    out.flush()
    err.flush()
    said, told = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    found = []
    if code not in range(5):
        found.append(f"exit code {code}")
    if code == 2 and "rror" not in said + told:
        found.append("exit code 2 without an error")
    for text in (said, told):
        if "Traceback" in text or "[internal]" in text or '"internal"' in text:
            found.append(f"a fault of mrdsl: {text[-600:]}")
        control = CONTROL.search(text.replace("\r\n", "\n"))
        if control is not None:
            found.append(
                f"a control character {control[0]!r} at {text[max(0, control.start() - 60) : control.end()]!r}"
            )
    if "--json" in arguments:
        try:
            json.loads(said, parse_constant=lambda name: found.append(f"{name} in JSON"))
        except ValueError:
            found.append(f"this is no JSON: {said[:200]!r}")
    after = seen(Path())
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if set(changed) - set(outputs):
        found.append(f"changed: {changed}")
    return found
