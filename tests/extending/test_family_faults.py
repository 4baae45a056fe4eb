"""A family's faults are told as its own, with file and line; the kit's family is broken in one place each time."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.contracts.family import ArrayForm
from mrdsl.contracts.guarded_family import guarded_family
from mrdsl.core.linear_program import ProgramRows
from mrdsl.core.plugins import Plugin
from mrdsl.extending import check_plugin, named
from tests.command_lines import run_here
from tests.extending.plugins import kit, write
from tests.families.foreign.shop import FAMILY, ShopPlan

MODELLED = """            build=hook("model", "build"),
            decode=hook("model", "decode"),
"""
FAULTS: dict[str, tuple[str, str, str, str, str]] = {
    # what is wrong: the file, the text in it, what stands there instead, the message, the text of the line told
    "`build` raises": (
        "model.py",
        "    model = pyo.ConcreteModel()",
        "    model = topics['none']",
        "failed with KeyError: 'none', in `build` of whole",
        "model = topics",
    ),
    "`decode` gives no plan": (
        "model.py",
        "    return StreamPlan(",
        "    return 5 or StreamPlan(",
        "instead of a Plan, in `decode` of whole",
        "def decode",
    ),
    "`verify` fails on the way": (
        "verify.py",
        "count = plan.executors.get(topic.name, 0.0)",
        "count = plan.workers[topic.name]",
        "AttributeError: 'StreamPlan' object has no attribute 'workers', in `verify`",
        "count = plan.workers",
    ),
    "`measure` gives a word": (
        "verify.py",
        "    return float(HOUR * spec.facts.executor.price * sum(plan.executors.values()))",
        '    return "dear"',
        "returned the str 'dear' instead of a number, in `measure`",
        "def measure",
    ),
    "`impossible` ends Python": (
        "checks.py",
        "    executor = spec.facts.executor",
        "    import sys; sys.exit(0); executor = spec.facts.executor",
        "failed with SystemExit: 0, in `impossible`",
        "sys.exit(0)",
    ),
    "a module of a hook is no Python": ("model.py", "from __future__", "from from", "SyntaxError", "from from"),
    "`choose` names no solver": (
        "__init__.py",
        "    reference=reference,",
        "    reference=reference,\n    choose=lambda spec, relax, formulation: None,",
        "returned None instead of a solver's name, in `choose`",
        "choose=lambda",
    ),
    "`run` gives no Result": (
        "__init__.py",
        MODELLED,
        "            run=lambda spec, relax, limits, solve: 3,\n",
        "returned the int 3 instead of a Result, in `run` of whole",
        "run=lambda",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(kit("family", "streams"), tmp_path / "streams")
    return tmp_path / "streams"


def change(folder: Path, name: str, text: str, instead: str) -> Path:
    path = folder / "streams" / name
    before = path.read_text(encoding="utf-8")
    assert text in before
    path.write_text(before.replace(text, instead, 1), encoding="utf-8")
    return path


def reference(folder: Path) -> mrdsl.Spec:
    return mrdsl.load(folder / "streams" / "reference.mrspec")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_line(fault: str, folder: Path) -> None:
    name, text, instead, message, line = FAULTS[fault]
    path = change(folder, name, text, instead)
    with named(folder), pytest.raises(mrdsl.PluginError) as told:
        mrdsl.solve(reference(folder))
    (found,) = told.value.diagnostics
    assert found.message.startswith("the family `streams` ")
    assert message in found.message
    assert found.span is not None
    assert Path(found.span.file) == path
    assert line in path.read_text(encoding="utf-8").splitlines()[found.span.line - 1]
    assert (found.code, found.span) in [(each.code, each.span) for each in check_plugin(folder).complaints]


EXPORTS: dict[str, tuple[str, str, str]] = {
    # what is wrong: the hook `targets` (and what it is of), the message, the text of the line told
    "it raises": ("lambda: 1 / 0", "failed with ZeroDivisionError: division by zero, in `targets`", "targets="),
    "it gives no targets": ("lambda: (3,)", "gave the int 3 among targets, in `targets`", "targets="),
    "its own cannot be loaded": ("lambda: (Target('emr2', '', '', own.nothing),)", "AttributeError", "targets="),
    "its own raises": ("lambda: (Target('emr2', '', '', lambda: own.raises),)", "KeyError: 'x'", "raise KeyError"),
    "its own gives a text": (
        "lambda: (Target('emr2', '', '', lambda: own.writes),)",
        "returned the str 'text' instead of an Exported, in the target emr2",
        "def writes",
    ),
    "its clusters are none": ("lambda: (EMR,)", "gave the int 4 among deployments, in `deployments`", "deployments="),
}
OWN = """
from mrdsl.exchange.targets.deployment import Deployment

def raises(deployment, wishes):
    raise KeyError("x")

def writes(deployment, wishes):
    return "text"

def clusters():
    return (Deployment((), (), ()),)
"""


@pytest.mark.parametrize("fault", EXPORTS)
def test_a_fault_of_an_export_is_told_with_its_line(fault: str, folder: Path) -> None:
    targets, message, line = EXPORTS[fault]
    (folder / "streams" / "own.py").write_text(OWN, encoding="utf-8")
    deployments = "lambda spec, plan: (4,)" if "EMR" in targets else "lambda spec, plan: own.clusters()"
    hooks = f"    reference=reference,\n    deployments={deployments},\n    targets={targets},\n"
    change(folder, "__init__.py", "    reference=reference,\n", hooks)
    imported = "from mrdsl.exchange.registry import EMR, Target\nfrom streams import own\nfrom streams.checks"
    change(folder, "__init__.py", "from streams.checks", imported)
    with named(folder), pytest.raises(mrdsl.PluginError) as told:
        mrdsl.export(reference(folder), "emr" if "EMR" in targets else "emr2")
    (found,) = told.value.diagnostics
    assert message in found.message
    assert found.span is not None
    assert line in Path(found.span.file).read_text(encoding="utf-8").splitlines()[found.span.line - 1]


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ("decode", "returned the int 5 instead of a Plan, in `decode` of arrays"),
        ("row_name", "returned the int 5 instead of a row's name, in `row_name` of arrays"),
        ("point", "returned the int 5 instead of an array of 1 values, in `point` of arrays"),
    ],
)
def test_hooks_of_arrays_are_guarded(hook: str, message: str) -> None:
    """What each raises, and what it gives, is told as the family's."""
    program = ProgramRows(costs=[1.0], lower=[0.0], upper=[1.0]).program()
    raised = f"ZeroDivisionError: division by zero, in `{hook}` of arrays"
    form = ArrayForm(program, str, lambda _: ShopPlan(1.0))
    for wrong, told_so in ((lambda _: 5, message), (lambda _: 1 / 0, raised)):
        broken: Any = replace(form, **{hook: wrong})
        formulation = replace(FAMILY.formulations[0], arrays=lambda spec, relax, broken=broken: broken)
        guarded = guarded_family(replace(FAMILY, formulations=(formulation,)), Plugin("the family `shop`", (__file__,)))
        arrays: Any = guarded.formulations[0].arrays
        with pytest.raises(mrdsl.PluginError, match=re.escape(told_so)):
            getattr(arrays(None, False), hook)(0)


NONE: dict[str, tuple[str, str, str, str]] = {
    "its module is no Python": ("checks.py", "def impossible", "@@", "SyntaxError"),
    "its facts import what is not there": ("facts.py", "from mrdsl.spec.schema", "from mrdsl.spec.scheme", "No module"),
    "no way to be solved": (
        "__init__.py",
        MODELLED,
        "",
        "lacks a hook: its formulation",
    ),
    "quantities without their hook": ("__init__.py", ', quantity="verify"', "", "has no `quantity`"),
    "targets without clusters": (
        "__init__.py",
        "    reference=reference,",
        "    reference=reference,\n    targets=lambda: (),",
        "`targets`, but no `deployments`",
    ),
    "another name": ("__init__.py", 'name="streams"', 'name="rivers"', "calls itself `rivers`"),
    "no goal": ("__init__.py", "goals=(GoalKind(", "goals=() and (GoalKind(", "names no goal"),
}


@pytest.mark.parametrize("fault", NONE)
def test_a_family_that_cannot_be_is_told_where_it_fails(fault: str, folder: Path) -> None:
    name, text, instead, message = NONE[fault]
    path = change(folder, name, text, instead)
    with named(folder), pytest.raises(mrdsl.MrdslError, match=message) as told:
        mrdsl.load(folder / "streams" / "reference.mrspec")
    (found,) = told.value.diagnostics
    assert found.code == "broken-family"
    assert found.span is not None  # the word in the spec
    if name != "__init__.py":
        (where,) = found.related
        assert where.span is not None
        assert Path(where.span.file) == path
        assert instead in path.read_text(encoding="utf-8").splitlines()[where.span.line - 1]
    assert [each.code for each in check_plugin(folder).complaints] == ["broken-family"]


@pytest.mark.parametrize(("hook", "words"), [("verify", "the hook `verify`"), ("plans", "the hook `plans`")])
def test_a_missing_hook_is_found_by_the_check(hook: str, words: str, folder: Path) -> None:
    change(folder, "__init__.py", 'simulate_plan="simulate"),', f'simulate_plan="simulate") | {{{hook!r}: None}},')
    told = [each.message for each in check_plugin(folder).complaints]
    assert any(words in message and "lacks " in message for message in told), told


def test_a_plan_that_breaks_the_spec_is_found_by_the_check(folder: Path) -> None:
    change(folder, "model.py", ">= topics[name].rate", ">= 0.5 * topics[name].rate")
    report = check_plugin(folder)
    assert not report.passes
    assert any("topic clicks gets 3 executors, too few" in each.message for each in report.complaints)


def test_seeds_share_no_run(folder: Path) -> None:
    """The mean of two runs is not that of the first one and of the next seed's first."""
    text = (folder / "streams" / "reference.mrspec").read_text(encoding="utf-8").replace("2100/s", "2390/s")
    with named(folder):
        spec = mrdsl.loads(text)

        def kept_up(seed: int, runs: int) -> float:
            return mrdsl.simulate(spec, seed=seed, runs=runs).plan.kept_up["clicks"]  # type: ignore[union-attr]

        assert 0.5 < kept_up(1, 1) < 0.7  # a Poisson(2390) is at most 2400 with 0.586
        assert kept_up(1, 2) != pytest.approx((kept_up(1, 1) + kept_up(2, 1)) / 2)


def test_tables_of_a_plan_that_fail_are_the_plugins(folder: Path) -> None:
    """No hook, but code of the plug-in that the terminal asks: told by the command as the plug-in's all the same."""
    path = change(folder, "plan.py", "        return (Table(", "        1 / 0\n        return (Table(")
    with named(folder):
        done = run_here(("solve", str(folder / "streams" / "reference.mrspec")), folder)
    assert done.exit_code == 3
    line = 1 + path.read_text(encoding="utf-8").splitlines().index("        1 / 0")
    assert f"plan.py:{line}:1: error[broken-plugin]: the plug-in `streams` failed with ZeroDivisionError" in done.output
    assert "a fault of mrdsl" not in done.output
