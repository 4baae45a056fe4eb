"""A Ctrl-C at chosen moments of a command, counted in calls and not by a clock: told, never lost, never a traceback."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from types import FrameType

import pytest

from mrdsl.cli.boundary import STOPPED
from mrdsl.core import ctrl_c

SPEC = "models/capacity/quickstart.mrspec"
DRIVER = """
import signal, sys
last, left = int(sys.argv[1]), int(sys.argv[1])
sys.argv[:] = ["mrdsl", *sys.argv[2:]]
def count(frame, event, value):
    global left
    if left == last and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        return  # Python's own start, and the first lines of the package
    left -= 1
    if left == 0:
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)
def tell(code):
    sys.setprofile(None)
    print(f"calls {last - left}", file=sys.stderr)
    exit_(code)
exit_, sys.exit = sys.exit, tell
sys.setprofile(count)
from mrdsl.cli import main
main()
"""


def run(moment: int, *words: str) -> subprocess.CompletedProcess[str]:
    """The command with a Ctrl-C at its ``moment``-th call or return; it tells how many there were."""
    line = [sys.executable, "-c", DRIVER, str(moment), *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)


def told(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.partition("calls ")[0]


@pytest.mark.parametrize("command", [["check", SPEC], ["solve", SPEC, "--solver", "direct"]])
def test_a_ctrl_c_at_any_moment_is_told(command: list[str]) -> None:
    """From the first call on; the last sixth of the calls may come after the plan was printed."""
    whole = run(10**9, *command)
    calls = int(whole.stderr.rpartition("calls ")[2])
    assert whole.returncode == 0
    early = [1, 10, 100, 1000]
    for moment in [*early, *(calls * part // 6 for part in range(1, 6))]:
        done = run(moment, *command)
        assert "Traceback" not in done.stderr, (moment, done.stderr)
        assert "Exception ignored" not in done.stderr, (moment, done.stderr)
        assert done.returncode == STOPPED, (moment, calls, done.returncode, done.stderr)
        assert "interrupted" in done.stderr + done.stdout, (moment, done.stderr)


EARLY = """
import __future__, os, sys, _signal as signal
sys.argv[:] = ["mrdsl"]
before, place = set(sys.modules), signal.signal
def noted(number, handler):
    signal.signal = place
    print(*sorted(set(sys.modules) - before))
    return place(number, handler)
signal.signal = noted
import mrdsl
"""


def test_nothing_is_loaded_before_a_ctrl_c_is_held() -> None:
    """Whatever is imported before is interrupted in the middle, with a traceback."""
    line = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{EARLY}"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["mrdsl", "mrdsl.core", "mrdsl.core.ctrl_c"]


@pytest.fixture
def handler() -> Iterator[None]:
    before, hook, trace = signal.getsignal(signal.SIGINT), sys.unraisablehook, sys.gettrace()
    signal.signal(signal.SIGINT, ctrl_c.interrupt)
    sys.unraisablehook = ctrl_c.raised_nowhere
    yield
    signal.signal(signal.SIGINT, before)
    sys.unraisablehook = hook
    sys.settrace(trace)


class Thing:
    """Something that is collected."""


def interrupting(_: object = None) -> None:
    signal.raise_signal(signal.SIGINT)


def drop_one() -> list[str]:
    reached = ["before"]
    thing = Thing()
    watched = weakref.ref(thing, interrupting)
    del thing
    gc.collect()
    reached.append(str(watched))
    return reached


def test_one_in_a_callback_is_raised_after_it(handler: None) -> None:
    with pytest.raises(KeyboardInterrupt):
        drop_one()


def test_one_in_an_import_is_raised_after_it(handler: None, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is whole, and whoever imports it is interrupted."""
    (tmp_path / "interrupts_itself.py").write_text(  # type: ignore[operator]
        "import signal\nsignal.raise_signal(signal.SIGINT)\nWHOLE = True\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def importing() -> None:
        import interrupts_itself  # type: ignore[import-not-found]

        assert interrupts_itself is None, "it is not reached"

    with pytest.raises(KeyboardInterrupt):
        importing()
    assert sys.modules["interrupts_itself"].WHOLE
    monkeypatch.delitem(sys.modules, "interrupts_itself")


def test_one_elsewhere_is_raised_at_once(handler: None) -> None:
    def caught(frame: FrameType | None = None) -> str:
        try:
            interrupting()
        except KeyboardInterrupt:
            return "at once"
        return "later"

    assert caught() == "at once"


def test_a_program_that_imports_mrdsl_keeps_its_handler() -> None:
    code = "import signal, mrdsl, mrdsl.cli; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
