"""What a solver program starts and prints: nothing of it outlives the solve, and not all of it is held."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mrdsl.solving.backends.program import KEPT_AT_ENDS, _printed
from mrdsl.solving.processes import end, start

LEAVES = """
import os, subprocess, sys, time
way = sys.argv[1]
child = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
line = [sys.executable, "-c", child, sys.argv[2]]
if way == "daemon":
    if os.fork() == 0:
        os.setsid()
        subprocess.Popen(line)
        os._exit(0)
else:
    subprocess.Popen(line, start_new_session=way == "session")
while not os.path.exists(sys.argv[2]) or not open(sys.argv[2]).read():
    time.sleep(0.01)
print("ready", flush=True)
if sys.argv[3] == "stays":
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show the environment of a process")
@pytest.mark.parametrize("way", ["group", "session", "daemon"])
@pytest.mark.parametrize("leader", ["stays", "ends"])
def test_children_in_sessions_of_their_own_end_with_their_program(way: str, leader: str, tmp_path: Path) -> None:
    said = tmp_path / "pid"
    process = start([sys.executable, "-c", LEAVES, way, str(said), leader], {}, subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    child = int(said.read_text())
    assert os.path.exists(f"/proc/{child}")
    end(process)
    process.stdout.close()
    for _ in range(500):
        if not runs(child):
            break
        time.sleep(0.01)
    assert not runs(child)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show the environment of a process")
def test_programs_of_others_are_left_alone() -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    one, two = (start([sys.executable, "-c", "import time; time.sleep(600)"], {}, subprocess.DEVNULL) for _ in range(2))
    end(one)
    assert (other.poll(), two.poll()) == (None, None)
    end(two)
    other.kill()
    other.wait()


@pytest.mark.parametrize("more", [-1, 0, 1, 10_000_000])
def test_of_much_that_is_printed_the_beginning_and_the_end_are_kept(more: int, tmp_path: Path) -> None:
    length = 2 * KEPT_AT_ENDS + more
    with (tmp_path / "printed").open("w+b") as output:
        output.write(b"begin" + b"." * (length - 8) + b"end")
        text = _printed(output)
    assert text.startswith("begin")
    assert text.endswith("end")
    assert len(text) <= 2 * KEPT_AT_ENDS + 60
    assert ("bytes left out" in text) == (more > 0)
