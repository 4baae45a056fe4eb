"""A pipeline's faults are told as its own, with file and line; the kit's pipeline is broken in one place each time."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl import extending
from mrdsl.core.resources import resource
from mrdsl.extending import check_plugin, named
from mrdsl.solving import pipelines as runs
from mrdsl.solving import registry
from mrdsl.solving.claims import TOLERANCE
from tests.command_lines import run_here
from tests.extending.plugins import kit, write

SPEC = Path(__file__).resolve().parents[2] / "models" / "makespan" / "two-jobs.mrspec"
LAST = "    return offer(draft, progress, whole_cluster(batch, order))"
AFTER = '  { call = "mrdsl.families.makespan.methods.orders:conclude" },\n'
SPOILED = """

def spoil(draft: Draft) -> Draft:
    from dataclasses import replace

    return replace(draft, plan=PLAN)
"""

FAULTS: dict[str, tuple[str, str, str, str, str]] = {
    # what is wrong: the file, the text in it, what stands there instead, the message, the text of the line told
    "it raises": ("steps.py", LAST, "    raise KeyError(7)", "failed with KeyError: 7, in step", "raise KeyError"),
    "it ends Python": ("steps.py", LAST, "    raise SystemExit(0)", "failed with SystemExit: 0", "raise SystemExit"),
    "it returns nothing": ("steps.py", LAST, "    offer(draft, progress, ())", "returned None", "def longest_first"),
    "its module is not there": (
        "steps.py",
        "from __future__",
        "import nothing_at_all\nfrom __future__",
        "failed with",
        "",
    ),
    "it imports what is not there": (
        "steps.py",
        "\n\ndef longest_first",
        "\nimport nothing_at_all\n\ndef longest_first",
        "No module named 'nothing_at_all'",
        "import nothing_at_all",
    ),
    "it is no Python": ("steps.py", LAST, "    return offer(", "SyntaxError", "return offer("),
    "its file names no function": ("broken.toml", ":longest_first", ":longest", "AttributeError", ":longest"),
    "its file names another parameter": ("broken.toml", "rounds = 3", "round = 3", "its parameters: rounds", "round ="),
    "its file gives a word": ("broken.toml", "rounds = 3", 'rounds = "3"', "takes rounds as a whole number", "rounds"),
    "its draft means nothing to the next step": (
        "steps.py",
        LAST,
        "    from dataclasses import replace\n\n    return replace(draft, state=5)",
        "AttributeError: 'int' object has no attribute",
        "",
    ),
    "its plan violates the spec": ("steps.py", "", "replace(draft.plan, waves=())", "violates the spec", "def spoil"),
    "its plan is none": ("steps.py", "", "3.0", "left the float 3.0 as the draft's `plan`", "def spoil"),
    "its plan is another family's": ("steps.py", "", "ELSE", "no MakespanPlan", "def spoil"),
    "its plan cannot be read": ("steps.py", "", "replace(draft.plan, pools=5)", "was held to the spec", "def spoil"),
}
ELSE = "__import__('mrdsl').Plan()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(kit("pipeline", "broken"), tmp_path / "broken")
    return tmp_path / "broken"


def break_it(folder: Path, fault: str) -> tuple[Path, str, str]:
    """Breaks the plug-in; the file, the message and the text of the line that are to be told."""
    name, text, instead, message, line = FAULTS[fault]
    path = folder / "broken" / name
    before = path.read_text(encoding="utf-8")
    if not text:
        declared = folder / "broken" / "broken.toml"
        steps = declared.read_text(encoding="utf-8").replace(AFTER, AFTER + '  { call = "broken.steps:spoil" },\n')
        declared.write_text(steps, encoding="utf-8")
        path.write_text(before + SPOILED.replace("PLAN", instead.replace("ELSE", ELSE)), encoding="utf-8")
    else:
        assert text in before
        path.write_text(before.replace(text, instead, 1), encoding="utf-8")
    return path, message, line


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_line(fault: str, folder: Path) -> None:
    path, message, line = break_it(folder, fault)
    with named(folder):
        try:
            diagnostics = mrdsl.solve(mrdsl.load(SPEC), "broken").diagnostics
        except mrdsl.PluginError as told:
            diagnostics = told.diagnostics
    found = next(each for each in diagnostics if each.code == "broken-plugin")
    assert message in found.message
    assert "the pipeline `broken`" in found.message
    assert found.span is not None
    assert Path(found.span.file) == path
    assert line in path.read_text(encoding="utf-8").splitlines()[found.span.line - 1]
    report = check_plugin(folder)
    assert found in report.complaints
    assert not report.passes


ODD = """

from functools import partial
from typing import Optional, Sequence, Union

class Called:
    def __call__(self, draft: Draft, rounds: int = 3) -> Draft:
        return exchange_neighbours(draft, rounds)

def odd(draft, many: list[float] = (), some: Sequence[int] = (), pair: tuple[int, ...] = (), one: Optional[int] = None,
        either: Union[int, float] = 1, listed: [] = 1, **more: int):
    return draft

def unread(draft, bare: no.such = 1):
    return draft

called, bound = Called(), partial(exchange_neighbours)
"""
CALLS: dict[str, tuple[str, str]] = {
    # what a file says of a step, and the mistake in it
    "a list of numbers": ("odd, many = [1.0, 2.0]", ""),
    "whole numbers": ("odd, some = [1, 2], pair = [1, 2]", ""),
    "what may be left out": ("odd, one = 1, either = 2.5", ""),
    "either of two kinds": ("odd, either = 'x'", "`odd` takes either as a whole number"),
    "annotations that are no types": ("odd, listed = 2, other = 'x'", ""),
    "annotations that cannot be read": ("unread, bare = 'x'", ""),
    "a called object": ("called, rounds = 2", ""),
    "a partial function": ("bound, rounds = 2", ""),
    "a called object's word": ("called, rounds = 'x'", "`Called` takes rounds as a whole number"),
    "a partial function's word": ("bound, rounds = 'x'", "`partial` takes rounds as a whole number"),
    "a parameter of none": ("bound, round = 2", "wrong parameters for `partial`"),
    "no function": ("CONSTANT", "the int 5 is not a function"),
}


@pytest.mark.parametrize("case", CALLS)
def test_steps_are_whatever_is_called(case: str, folder: Path) -> None:
    said, message = CALLS[case]
    path = folder / "broken" / "steps.py"
    path.write_text(path.read_text(encoding="utf-8") + ODD + "CONSTANT = 5\n", encoding="utf-8")
    toml = folder / "broken" / "broken.toml"
    name, _, given = said.partition(",")
    call = f'  {{ call = "broken.steps:{name}"{"," if given else ""}{given} }},\n'
    toml.write_text(toml.read_text(encoding="utf-8").replace(AFTER, call + AFTER), encoding="utf-8")
    with named(folder):
        if not message:
            assert mrdsl.solve(mrdsl.load(SPEC), "broken").plan is not None
            return
        with pytest.raises(mrdsl.PluginError, match=message) as told:
            mrdsl.solve(mrdsl.load(SPEC), "broken")
    assert all(each.code == "broken-plugin" and each.span is not None for each in told.value.diagnostics)


def test_a_model_that_is_not_tried_is_not_said_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Johnson's rule honours no `subject to`."""
    text = SPEC.read_text(encoding="utf-8")
    specs = {"free": mrdsl.loads(text), "bound": mrdsl.loads(text + "subject to { makespan <= 1 h }\n")}
    monkeypatch.setattr(extending, "models_of", lambda name: specs.items())
    tried = [one.what for one in extending.of_pipeline(registry.find("johnson"))]
    assert any(what.endswith(" free") for what in tried)
    assert not any(what.endswith(" bound") for what in tried)


def test_the_command_tells_it_as_the_plugins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_it(folder, "it raises")
    with named(folder):
        done = run_here(("solve", str(SPEC), "--solver", "broken"), folder)
    assert done.exit_code == 3
    assert "steps.py:16:1: error[broken-plugin]: the pipeline `broken` failed with KeyError: 7" in done.output
    assert "a fault of mrdsl" not in done.output
    assert "Traceback" not in done.output
    monkeypatch.setenv("MRDSL_DEBUG", "1")
    with named(folder):
        assert "Traceback" in run_here(("solve", str(SPEC), "--solver", "broken"), folder).output


def test_the_cause_is_kept(folder: Path) -> None:
    break_it(folder, "it raises")
    with named(folder), pytest.raises(mrdsl.PluginError) as told:
        mrdsl.solve(mrdsl.load(SPEC), "broken")
    assert isinstance(told.value.__cause__, KeyError)
    assert told.value.exit_code == 3


LIMIT = mrdsl.Limits(time=60.0)
IN_A_PROCESS: dict[str, tuple[str, str, str]] = {
    # under a time limit: what the step does instead of its last line, the message, the text of the line told
    "it raises": ("    raise KeyError(7)", "failed with KeyError: 7, in step", "raise KeyError"),
    "it ends Python": ("    raise SystemExit(0)", "failed with SystemExit: 0", "raise SystemExit"),
    "it ends its process": ("    import os; os._exit(0)", "ended its process: it ended without an answer", ""),
    "its exception cannot be sent": (
        "    raise type('Own', (Exception,), {'x': lambda: 1})(draft)",
        "failed with Own",
        "raise type",
    ),
}


@pytest.mark.parametrize("fault", IN_A_PROCESS)
def test_a_fault_under_a_time_limit_is_told_with_its_line(fault: str, folder: Path) -> None:
    instead, message, line = IN_A_PROCESS[fault]
    path = folder / "broken" / "steps.py"
    path.write_text(path.read_text(encoding="utf-8").replace(LAST, instead), encoding="utf-8")
    with named(folder), pytest.raises(mrdsl.PluginError) as told:
        mrdsl.solve(mrdsl.load(SPEC), "broken", limits=LIMIT)
    (found,) = told.value.diagnostics
    assert message in found.message
    assert found.span is not None
    assert Path(found.span.file) == path
    assert line in path.read_text(encoding="utf-8").splitlines()[found.span.line - 1]
    cause = told.value.__cause__
    assert (cause is None) is (fault == "it ends its process")
    if cause is not None:
        assert "Traceback" in "".join([*getattr(cause, "__notes__", ()), str(cause)])


def test_a_plan_that_cannot_be_sent_is_a_fault(folder: Path) -> None:
    path, _, line = break_it(folder, "its plan violates the spec")
    path.write_text(path.read_text(encoding="utf-8").replace("waves=()", "waves=lambda: 1"), encoding="utf-8")
    with named(folder), pytest.raises(mrdsl.PluginError, match="cannot be sent from its process") as told:
        mrdsl.solve(mrdsl.load(SPEC), "broken", limits=LIMIT)
    (found,) = told.value.diagnostics
    assert found.span is not None
    assert line in path.read_text(encoding="utf-8").splitlines()[found.span.line - 1]


def test_a_time_limit_changes_no_plan(folder: Path) -> None:
    with named(folder):
        spec = mrdsl.load(SPEC)
        free, limited = mrdsl.solve(spec, "broken"), mrdsl.solve(spec, "broken", limits=LIMIT)
    assert free.plan is not None
    assert (limited.plan, limited.value, limited.bound) == (free.plan, free.value, free.bound)


LOOP = "    while True:\n        order.sort()"


def test_a_step_that_does_not_end_is_told_under_a_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PATIENCE", 0.1)
    path = folder / "broken" / "steps.py"
    path.write_text(path.read_text(encoding="utf-8").replace(LAST, LOOP), encoding="utf-8")
    with named(folder), pytest.raises(mrdsl.PluginError, match="did not end within") as told:
        mrdsl.solve(mrdsl.load(SPEC), "broken", limits=mrdsl.Limits(time=0.2))
    (found,) = told.value.diagnostics
    assert found.span is not None
    assert Path(found.span.file) == path
    assert mrdsl.solve(mrdsl.load(SPEC), "johnson", limits=mrdsl.Limits(time=10.0)).plan is not None


class CallersError(Exception):
    """What a caller of the API raises from a signal handler."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("limits", [None, LIMIT])
def test_what_the_caller_raises_passes(limits: mrdsl.Limits | None, folder: Path) -> None:
    path = folder / "broken" / "steps.py"
    path.write_text(path.read_text(encoding="utf-8").replace(LAST, LOOP), encoding="utf-8")

    def ring(*_: Any) -> None:
        raise CallersError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with named(folder), pytest.raises(CallersError):
            mrdsl.solve(mrdsl.load(SPEC), "broken", limits=limits)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "file", ["broken/steps.py", "helpers/deep/inside.py", "helpers/deep", "helpers", "beside.py", "beside.abi3.so"]
)
def test_a_module_that_others_can_write_is_not_imported(file: str, folder: Path) -> None:
    """Of the package that is declared or beside it, where that one may import it."""
    (folder / "helpers" / "deep").mkdir(parents=True)
    (folder / "helpers" / "deep" / "inside.py").touch()
    if not (folder / file).is_dir():
        (folder / file).touch()
    (folder / file).chmod(0o777)
    with named(folder), pytest.raises(mrdsl.MrdslError, match="can be written by others"):
        mrdsl.solve(mrdsl.load(SPEC), "broken")


@pytest.mark.parametrize("file", ["data/rows.csv", ".venv/bin/activate.py", "venv/setup.py", "with-dash/it.py"])
def test_what_is_no_module_may_be_written_by_others(file: str, folder: Path) -> None:
    (folder / file).parent.mkdir(parents=True)
    (folder / file).touch()
    (folder / file).chmod(0o666)
    if file.startswith("venv"):
        (folder / file).with_name("pyvenv.cfg").touch()
    with named(folder):
        assert mrdsl.solve(mrdsl.load(SPEC), "broken").plan is not None


def test_modules_beside_a_solver_file_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of steps beside the TOML in a folder that the user named needs no package."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    files = kit("pipeline", "flat")
    steps = files["flat/steps.py"]
    (tmp_path / "flatsteps.py").write_text(steps, encoding="utf-8")
    declared = files["flat/flat.toml"].replace("flat.steps:", "flatsteps:")
    (tmp_path / "flat.toml").write_text(declared, encoding="utf-8")
    done = run_here(("solve", str(SPEC), "--solver", "flat", "--solvers", "."), tmp_path)
    assert done.exit_code == 0, done.output
    (tmp_path / "flatsteps.py").chmod(0o666)
    with named(tmp_path), pytest.raises(mrdsl.MrdslError, match="can be written by others"):
        mrdsl.solve(mrdsl.load(SPEC), "flat")


def test_a_bound_is_false_where_a_plan_is_better_by_more_than_points_hold_to() -> None:
    """As everywhere: a value may lie beyond a true bound by ``TOLERANCE`` of its size."""
    spec = mrdsl.load(resource("models") / "capacity" / "quickstart.mrspec")
    best = mrdsl.solve(spec, "direct")
    assert best.value is not None
    for beyond, complaints in ((0.5 * TOLERANCE, 0), (2.0 * TOLERANCE, 1)):
        claimed = replace(best, bound=best.value * (1.0 + beyond))
        assert len(list(extending.false_claims(spec, "capacity", claimed, lambda _: best))) == complaints
