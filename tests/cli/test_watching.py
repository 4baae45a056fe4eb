"""Long work tells how far it is: to a watcher, and to a terminal as a line that comes late and goes at the end."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import mrdsl
from mrdsl.cli.outputs import STATUS, say
from mrdsl.cli.progress import StatusLine, words_of
from mrdsl.core.resources import resource
from mrdsl.core.watching import Progress, counted, is_watched, of_the_goal, setting, tell, times, watched, work

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


def test_a_line_comes_after_a_moment_and_goes_at_the_end() -> None:
    clock, shown = Clock(), list[str]()
    line = StatusLine("mrdsl solve", clock, shown.append)
    line(Progress("solving"))
    clock.now += 0.9
    line(Progress("solving", value=44.0))
    assert shown == []
    clock.now += 0.2
    line(Progress("solving", value=43.54, bound=43.1))
    assert shown == ["\rsolving, 1 s: best 43.54, bound 43.1, gap 1.01 %\x1b[K"]
    clock.now += 0.01
    line(Progress("solving", value=43.5, bound=43.1))
    assert len(shown) == 1
    line(Progress("solving", over=True))
    clock.now += 1.0
    line.draw()
    assert shown[1:] == ["\rmrdsl solve, 2 s\x1b[K"]
    line.end()
    clock.now += 1.0
    line.draw()
    assert shown[2:] == ["\r\x1b[K"]


def test_a_line_that_was_not_drawn_leaves_nothing() -> None:
    shown = list[str]()
    StatusLine("mrdsl check", Clock(), shown.append).end()
    assert shown == []


def test_what_is_printed_ends_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    clock, shown = Clock(), list[str]()
    line = StatusLine("mrdsl solve", clock, shown.append)
    clock.now += 5.0
    line.draw()
    with setting(STATUS, line):
        say("a table")
    assert shown[-1] == "\r\x1b[K"
    assert line.is_over
    assert capsys.readouterr().out == "a table\n"


def test_words_say_what_is_known() -> None:
    assert words_of(Progress("simulating", 3, 10), 12.3) == "simulating, 12 s: 3 of 10"
    assert words_of(Progress("solving", value=0.5), 1.0) == "solving, 1 s: best 0.5"
    assert words_of(Progress("solving", bound=0.5), 1.0) == "solving, 1 s: bound 0.5"


def test_there_is_no_line_where_there_is_no_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mrdsl", "solve", str(MODELS / "capacity" / "quickstart.mrspec"), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\x1b" not in done.stdout + done.stderr
    assert "solving" not in done.stderr


NIGHT = (
    """problem timetable "Night"
rent = elastic
vm m5 { on_demand { price = 0.192 USD/h }, boot = 2 min }
"""
    + "".join(
        f"class c{number} {{ stage s {{ tasks = {11 + 7 * number}, avg = {13 + number} s, max = 40 s }}\n"
        f"  slots {{ task = 4 }}, deadline = 400 s\n"
        f"  runs {{ from = {97 * number} s, every = {593 + 31 * number} s, times = 20 }} }}\n"
        for number in range(8)
    )
    + "minimize cost\n"
)


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
def test_a_terminal_shows_a_solve_and_a_ctrl_c_keeps_its_plan(tmp_path: Path) -> None:
    """The first Ctrl-C after a plan is known: the line is erased, and that plan is printed."""
    (tmp_path / "night.mrspec").write_text(NIGHT, encoding="utf-8")
    terminal, inside = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "mrdsl", "solve", str(tmp_path / "night.mrspec")],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
    )
    os.close(inside)
    shown, is_interrupted = b"", False
    ends = time.monotonic() + 100.0
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
        if b"best " in shown and not is_interrupted:
            is_interrupted = True
            os.write(terminal, b"\x03")
    assert child.wait(30) == 0
    os.close(terminal)
    assert b"solving, " in shown
    line, erased, printed = shown.rpartition(b"\r\x1b[K")
    assert b"best " in line
    assert erased
    assert b"Rentals" in printed
    assert b"interrupted" in printed
