"""Long work tells how far it is: to a watcher, and to a terminal as a bar that comes late and goes at the end."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

import mrdsl
from mrdsl.cli.progress import WorkBar, bar_of_work, words_of
from mrdsl.core.resources import resource
from mrdsl.core.watching import Progress, counted, is_watched, of_the_goal, tell, times, watched, work

MODELS = Path(str(resource("models")))


def test_work_tells_its_beginning_what_is_done_and_its_end() -> None:
    told: list[Progress] = []
    with watched(told.append):
        assert is_watched()
        assert [piece * 2 for piece in counted("runs", [1, 2, 3])] == [2, 4, 6]
    assert [(one.done, one.total, one.over) for one in told] == [
        (0, 3, False),
        (1, 3, False),
        (2, 3, False),
        (3, 3, False),
        (3, 3, True),
    ]


def test_work_within_work_is_a_part_of_it() -> None:
    told: list[Progress] = []
    with watched(told.append), work("a study"):
        with of_the_goal(), work("solving"), times(0.5):
            tell(value=6.0, bound=4.0)
        with work("solving a part"):
            tell(value=9.0)
        with of_the_goal():
            tell(value=2.5)
    assert [(one.what, one.value, one.bound, one.over) for one in told] == [
        ("a study", None, None, False),
        ("a study", 3.0, 2.0, False),
        ("a study", 3.0, 2.0, False),
        ("a study", 2.5, 2.0, False),
        ("a study", 2.5, 2.0, True),
    ]


def test_nobody_is_told_where_nobody_watches() -> None:
    with work("solving"):
        tell(value=1.0)
    assert not is_watched()
    told: list[Progress] = []
    with watched(told.append), watched(None), work("solving"):
        tell(value=1.0)
    assert told == []


def test_work_that_fails_is_over_too() -> None:
    told: list[Progress] = []
    with pytest.raises(KeyError), watched(told.append), work("solving"):
        raise KeyError
    assert told[-1].over


def test_a_solve_tells_its_incumbents() -> None:
    told: list[Progress] = []
    with watched(told.append):
        result = mrdsl.solve(mrdsl.load(MODELS / "capacity" / "table2_20.mrspec"), "highs")
    assert told[0].what == "solving"
    assert told[-1].over
    best = [one.value for one in told if one.value is not None]
    assert best
    assert best[-1] == pytest.approx(result.value, rel=1e-3)
    bounds = [one.bound for one in told if one.bound is not None]
    assert all(bound <= value * (1 + 1e-9) for bound, value in zip(bounds, best[-len(bounds) :], strict=False))


def test_a_simulation_tells_its_runs() -> None:
    told: list[Progress] = []
    with watched(told.append):
        mrdsl.simulate(mrdsl.load(MODELS / "schedule" / "small.mrspec"), runs=3)
        mrdsl.simulate(mrdsl.load(MODELS / "bounds" / "table3.mrspec"), runs=2, jobs=3)
    assert {(3, 3), (2, 2)} <= {(one.done, one.total) for one in told}


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bar_comes_after_a_moment_and_goes_at_the_end() -> None:
    clock, shown = Clock(), io.StringIO()
    bar = WorkBar(clock, Console(file=shown, force_terminal=True, width=100))
    bar(Progress("solving"))
    clock.now += 0.4
    bar(Progress("solving", value=44.0))
    assert shown.getvalue() == ""
    clock.now += 0.2
    bar(Progress("solving", value=43.54, bound=43.1))
    assert "solving, 1 s: best 43.54, bound 43.1, gap 1.01 %" in shown.getvalue()
    clock.now += 0.01
    length = len(shown.getvalue())
    bar(Progress("solving", value=43.5, bound=43.1))
    assert len(shown.getvalue()) == length
    bar(Progress("solving", over=True))
    assert bar.bars is None
    assert shown.getvalue().endswith("\x1b[2K")


def test_a_bar_ends_with_all_that_was_done() -> None:
    """The last picture but the empty one is that of the end, however little time has passed since the one before."""
    times, shown = iter([0.0, 1.0, 1.01]), io.StringIO()
    bar = WorkBar(lambda: next(times), Console(file=shown, force_terminal=True, width=100))
    for told in (Progress("runs", 0, 7), Progress("runs", 5, 7), Progress("runs", 7, 7, over=True)):
        bar(told)
    assert "7/7" in shown.getvalue()


def test_words_say_what_is_known() -> None:
    assert words_of(Progress("simulating", 3, 10), 12.3) == "simulating, 12 s"
    assert words_of(Progress("solving", value=0.5), 1.0) == "solving, 1 s: best 0.5"
    assert words_of(Progress("solving", bound=0.5), 1.0) == "solving, 1 s: bound 0.5"


def test_there_is_no_bar_where_there_is_no_terminal() -> None:
    assert bar_of_work() is None
    done = subprocess.run(
        [sys.executable, "-m", "mrdsl", "solve", str(MODELS / "capacity" / "quickstart.mrspec"), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\x1b" not in done.stdout + done.stderr
    assert "solving" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
def test_a_terminal_shows_a_bar_and_is_clean_at_the_end() -> None:
    """Work of a second in a terminal of its own: the bar is seen, and its line is erased before anything is printed."""
    code = (
        "import time; from mrdsl.core.watching import of_the_goal, work, tell, watched\n"
        "from mrdsl.cli.progress import bar_of_work\n"
        "with watched(bar_of_work()), of_the_goal(), work('solving'):\n"
        "    for _ in range(12): time.sleep(0.1); tell(value=7.5)\n"
        "print('done')"
    )
    terminal, inside = pty.openpty()
    child = subprocess.Popen([sys.executable, "-c", code], stdin=inside, stdout=inside, stderr=inside)
    os.close(inside)
    shown = b""
    ends = time.monotonic() + 60.0
    while time.monotonic() < ends:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    assert child.wait(30) == 0
    os.close(terminal)
    assert b"solving, " in shown
    assert b"best 7.5" in shown
    assert shown.rindex(b"\x1b[2K") > shown.rindex(b"best 7.5")
    assert shown.rstrip().endswith(b"done")
