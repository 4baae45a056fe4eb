"""``-`` in the place of a file: specs and saved plans from a pipe."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.resources import resource
from tests.command_lines import Ran, run_here

MODELS = Path(str(resource("models")))
QUICKSTART = (MODELS / "capacity/quickstart.mrspec").read_bytes()


class Piped:
    """A command with bytes on its standard input."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch) -> None:
        self.place, self.patch = place, patch

    def __call__(self, line: str, given: bytes) -> Ran:
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        return run_here(tuple(line.split()), self.place)


@pytest.fixture
def piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Piped:
    return Piped(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def plan() -> bytes:
    return mrdsl.solve(mrdsl.loads(QUICKSTART.decode())).to_json().encode()


SHOWN = {
    "check -": "1 file checked: no problems",
    "show -": "CapacityFacts",
    "solve -": "cost",
    "why - --no-sensitivity": "thumbnails",
    "simulate - --runs 2 --jobs 3": "Simulated",
}


@pytest.mark.parametrize("line", SHOWN)
def test_a_spec_and_a_saved_plan_come_from_a_pipe(piped: Piped, plan: bytes, line: str) -> None:
    for given in (QUICKSTART, plan):
        done = piped(line, given)
        assert done.exit_code == 0, done.output
        assert SHOWN[line] in done.output


def test_verify_takes_a_saved_plan_only(piped: Piped, plan: bytes) -> None:
    assert "meets its constraints" in piped("verify -", plan).output
    assert piped("verify -", QUICKSTART).exit_code == 2


def test_the_plan_is_that_of_the_file(piped: Piped) -> None:
    (piped.place / "quickstart.mrspec").write_bytes(QUICKSTART)
    read, given = (piped(f"solve {name} --json", QUICKSTART).output for name in ("quickstart.mrspec", "-"))
    objective = '"value": '
    assert [line for line in read.splitlines() if objective in line] == [
        line for line in given.splitlines() if objective in line
    ]
    assert objective in given


def test_imports_and_tables_lie_in_the_current_folder(piped: Piped) -> None:
    (piped.place / "machines.mrspec").write_text("vm m5 { on_demand { price = 0.2 USD/h } }\n")
    text = b"""import "machines.mrspec"
problem capacity "piped"
class a { coefficients { A = 100 s, B = 50 s, C = 5 s }, slots { map = 2, reduce = 1 }, jobs = 2, deadline = 1 min,
  penalty = 5 USD }
"""
    assert piped("solve -", text).exit_code == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"hello", "<stdin>:1:1: error[missing-problem]"),
        (b"{", "<stdin>"),
        (b"\xef\xbb\xbfproblem capacty", "did you mean `capacity`"),
    ],
)
@pytest.mark.parametrize("command", ["solve", "check", "why"])
def test_what_is_no_spec_is_told(piped: Piped, command: str, given: bytes, said: str) -> None:
    done = piped(f"{command} -", given)
    assert done.exit_code == 2
    assert said in done.output


def test_params_and_seed_override_what_was_piped(piped: Piped, plan: bytes) -> None:
    text = QUICKSTART.replace(b"minimize cost", b"param dear = 2\nminimize cost")
    assert piped("solve - -D dear=3", text).exit_code == 0
    done = piped("solve - -D dear=3", plan)
    assert done.exit_code == 2
    assert "saved plan" in done.output
