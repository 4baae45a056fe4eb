"""An option that several commands have is one option: declared once, with the same type, default and words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest

from mrdsl.cli import COMMANDS, cli, options
from mrdsl.core.resources import resource
from tests.command_lines import run_here

OWN_MEANING = {
    "--output": "what is written differs; where it is the JSON object it is the shared one",
    "--format": "of diagnostics, of a model, of a solution",
    "--jobs": "simulated jobs, a table of jobs, the former name of --processes",
    "--check": "of files, of solvers",
    "--plot": "objectives of a sweep, times of a prediction",
    "--by": "classes of a spec, jobs of a prediction",
    "--gantt": "of a plan, of a run",
    "--report": "a file about a study, a table about logs",
}
"""Options whose name means what the command is about."""
ELSEWHERE = {
    ("read", "--gap"): "what was proven, not when to stop",
    ("profile", "--seed"): "no spec has one yet",
    ("predict", "--seed"): "no spec has one yet",
    ("predict", "--catalogue"): "for costs, not for a spec",
    ("predict", "--allow-outside"): "links in folders of logs, not files that specs name",
    ("profile", "--allow-outside"): "links in folders of logs, not files that specs name",
}


def name_of(option: click.Option) -> str:
    return option.opts[-1]


def told(option: click.Option) -> dict[str, Any]:
    return dict(option.to_info_dict())


def parameters(command: str) -> list[click.Parameter]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return found.params


def test_options_of_one_name_are_one_option() -> None:
    seen: dict[str, tuple[str, dict[str, Any]]] = {}
    compared = 0
    for command in COMMANDS:
        for option in parameters(command):
            name = name_of(option) if isinstance(option, click.Option) else ""
            if not name or name in OWN_MEANING or (command, name) in ELSEWHERE:
                continue
            first, known = seen.setdefault(name, (command, told(option)))
            assert told(option) == known, f"{name} of {command} and of {first}"
            compared += first != command
    assert compared > 30


def test_no_command_declares_a_shared_option_itself() -> None:
    folder = Path(options.__file__).parent
    allowed = {(COMMANDS[command], name) for command, name in ELSEWHERE}
    declared = set(re.findall(r'"(--[a-z-]+)"', Path(options.__file__).read_text(encoding="utf-8"))) - set(OWN_MEANING)
    assert {"--solver", "--data", "--seed", "--force", "--json", "--time-limit", "--relax"} <= declared
    for path in folder.glob("*.py"):
        if path.name == "options.py":
            continue
        own = re.findall(r'option\(\s*(?:"-\w", )?"(--[a-z-]+)"', path.read_text(encoding="utf-8"))
        twice = {name for name in own if name in declared and (path.stem, name) not in allowed}
        assert not twice, f"{path.name} declares {twice}"


def test_a_file_of_json_is_the_shared_one() -> None:
    words = {
        option.help
        for command in COMMANDS
        for option in parameters(command)
        if isinstance(option, click.Option) and name_of(option) == "--output" and "JSON" in (option.help or "")
    }
    assert len(words) == 1


def test_former_names_of_options_are_read_and_not_listed(tmp_path: Path) -> None:
    text = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
    (tmp_path / "q.mrspec").write_text(text, encoding="utf-8")
    for option in ("-j", "--processes", "--jobs"):
        command = ("sweep", "q.mrspec", "--seeds", "1..2", "-o", f"{option.strip('-')}.csv", option)
        assert run_here((*command, "0"), tmp_path).exit_code == 2, "it is a number of processes"
        assert run_here((*command, "1"), tmp_path).exit_code == 0
    listed = run_here(("sweep", "--help"), tmp_path).output
    assert "--jobs" not in listed
    assert "-j, --processes" in listed
    assert "--executor" in listed


@pytest.mark.parametrize("option", [("-D", "peak=1", "-D", "peak = 2"), ("--scale", "jobs=1", "--scale", "jobs=1.1")])
def test_one_name_has_one_value(option: tuple[str, ...], tmp_path: Path) -> None:
    text = (resource("models") / "joint" / "reference.mrspec").read_text(encoding="utf-8")
    (tmp_path / "j.mrspec").write_text(text, encoding="utf-8")
    ended = run_here(("check", "j.mrspec", *option), tmp_path)
    assert ended.exit_code == 2
    assert f"`{option[0]} {option[1].split('=')[0]}` is passed twice" in ended.output
    assert run_here(("check", "j.mrspec", *option[:2]), tmp_path).exit_code == 0


@pytest.mark.parametrize("option", [("--family", "joint"), ("--on", "r5", "logs")])
def test_options_of_a_spec_require_that_it_is_written(option: tuple[str, ...], tmp_path: Path) -> None:
    refused = run_here(("profile", ".", *option), tmp_path)
    assert (refused.exit_code, f"`{option[0]}` requires `-o`" in refused.output) == (2, True)


def test_numbers_are_written_in_ascii_digits() -> None:
    numbers = (click.types.IntParamType, click.types.FloatParamType)
    found = {
        (command, option.opts[-1]): option.type
        for command in COMMANDS
        for option in parameters(command)
        if isinstance(option.type, numbers)
    }
    assert found
    assert {name for name, kind in found.items() if not isinstance(kind, options.Whole | options.Decimal)} == set()


@pytest.mark.parametrize("option", ["--fail-machines", "--burst"])
@pytest.mark.parametrize("number", ["٣", "１", "1_0"])
def test_other_digits_are_refused(option: str, number: str, tmp_path: Path) -> None:
    run = run_here(("simulate", "none.mrspec", option, number), tmp_path)
    assert run.exit_code == 2
    assert f"`{number}` is not a whole number" in run.output
