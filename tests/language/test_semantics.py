"""The numbered sections of docs/reference/semantics.md and the principles of the language, one test each at least."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mrdsl.core import units
from mrdsl.core.diagnostics import MrdslError
from mrdsl.language.evaluate import evaluate
from mrdsl.language.loading import Updater, load_file, load_text
from mrdsl.language.parsing import parse_expression
from mrdsl.language.resolving import Loaded
from mrdsl.language.scope import Report, Scope
from mrdsl.reporting.diagnostics import as_json, as_text
from mrdsl.spec.columns import Columns, column
from mrdsl.spec.expression import Constant, Operation, PlanQuantity

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).parent / "data"
VM = "vm m5 { on_demand { price = 0.192 USD/h } }\n"
CLASS = (
    "class sort { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }, jobs = 4..6, "
    "deadline = 10 min, penalty = 20 USD }\n"
)


def load(text: str, **parameters: object) -> Loaded:
    return load_text(text, parameters, folder=DATA)


def spec(text: str, **parameters: object):  # type: ignore[no-untyped-def]
    loaded = load(text, **parameters)
    assert loaded.spec is not None, as_text(loaded.diagnostics, loaded.texts)
    return loaded.spec


def codes(text: str, **parameters: object) -> list[str]:
    return [d.code for d in load(text, **parameters).diagnostics]


def number(text: str) -> float:
    return float(evaluate(parse_expression(text), Scope(Report(), lambda _: None)).number)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("15 min", 900.0),
        ("0.19 USD/h", 0.19 / 3600.0),
        ("1.08 cent", 0.0108),
        ("1 Gbit/s", 125e6),
        ("1 GB", 1e9),
        ("1 GiB", 2.0**30),
        ("4 MB/s * 2 s", 8e6),
        ("85%", 0.85),
        ("1200/s", 1200.0),
        ("0.8 * 1200/s", 960.0),
        ("10 USD / 2 USD/h", 5.0 * 3600.0),
        ("1 kWh", 3.6e6),
        ("20 W * 1 min", 1200.0),
        ("1_000 + 1e3", 2000.0),
        ("2 + 3 * 4 - 6 / 3", 12.0),
        ("-(2 - 5)", 3.0),
        ("min(3, 2, 4) + max(1, 2)", 4.0),
        ("sum([1, 2, 3])", 6.0),
        ("ceil(2.1) + floor(2.9) + round(2.6)", 8.0),
        ("ceil(0.07 * 100) + floor(4.35 * 100)", 7.0 + 435.0),
    ],
)
def test_quantities_and_their_binding(text: str, value: float) -> None:
    """Semantics 6 and 7, principle 3: worked out by hand."""
    assert number(text) == pytest.approx(value, rel=1e-12)


def test_a_count_of_one_thing_is_not_a_count_of_another() -> None:
    """Semantics 6."""
    assert codes("problem capacity\n" + VM + CLASS.replace("map = 4", "map = 4 slots")) == []
    assert codes("problem capacity\n" + VM + CLASS.replace("map = 4", "map = 4 vms")) == ["wrong-unit"]


def test_no_word_is_reserved() -> None:
    """Principle 4 and the language's form: words are told apart by where they stand."""
    found = spec(
        'problem capacity\nparam from = 2\nvm "with" { on_demand { price = 0.2 USD/h } }\n'
        + CLASS.replace("sort", "class").replace("4..6", "4..from * 3")
    )
    assert [vm.name for vm in found.facts.vms] == ["with"]
    assert found.facts.classes[0].name == "class"
    assert found.facts.classes[0].jobs.high == 6.0


def test_ranges_and_numbers() -> None:
    """Semantics 14: 9..10 is a range; one value is a range of itself."""
    jobs = spec("problem capacity\n" + VM + CLASS.replace("4..6", "9..10")).facts.classes[0].jobs
    assert (jobs.low, jobs.high) == (9.0, 10.0)
    jobs = spec("problem capacity\n" + VM + CLASS.replace("4..6", "7")).facts.classes[0].jobs
    assert (jobs.low, jobs.high) == (7.0, 7.0)


def test_every_node_knows_its_place() -> None:
    """Principle 4: the line that the user wrote, to the last stage."""
    found = spec("problem capacity\n" + VM + CLASS)
    span = found.facts.classes[0].span_of("deadline")
    assert (span.line, span.column) == (3, CLASS.index("deadline") + 1)
    assert found.facts.vms[0].on_demand.span_of("price").line == 2


def test_reading_is_the_same_for_every_line_ending() -> None:
    """Semantics 2."""
    text = "problem capacity\n" + VM + CLASS
    assert spec(text) == spec(text.replace("\n", "\r\n")) == spec("\ufeff" + text)


def test_params_in_any_order_and_overridden() -> None:
    """Semantics 9, principle 6."""
    text = "problem capacity\n" + VM + CLASS.replace("4..6", "4..top") + "param top = half * 2\nparam half = 3\n"
    assert spec(text).facts.classes[0].jobs.high == 6.0
    assert spec(text, half=4).facts.classes[0].jobs.high == 8.0
    assert spec(text, top="3 + half").facts.classes[0].jobs.high == 6.0
    assert codes(text, tap=1) == ["unknown-param"]
    assert codes(text, half="3 h") == ["wrong-unit"]


def test_requirements_hold_for_the_values_that_are_used() -> None:
    """Semantics 9: the comparison that fails is named, whoever gave the value."""
    text = (
        "problem capacity\n" + VM + CLASS.replace("4..6", "4..10 * peak") + "require { peak >= 0.5, peak <= most, "
        "patience / peak >= 5 min, share == 30% }\n"
        "param peak = 1\nparam most = 2\nparam patience = 10 min\nparam share = 0.1 + 0.2\n"
    )
    assert codes(text) == codes(text, peak=2) == codes(text, peak=2.5, most=3, patience="13 min") == []
    wrongs: tuple[dict[str, object], ...] = (
        {"peak": 0.4},
        {"peak": 2.5, "patience": "20 min"},
        {"most": "peak / 2"},
        {"patience": "4 min"},
        {"share": 0.31},
    )
    for wrong in wrongs:
        (found,) = load(text, **wrong).diagnostics
        assert found.code == "requirement-not-met"
        assert found.span is not None
        assert found.span.line == text[: text.index("require")].count("\n") + 1
    assert codes(text, peak="1 s") == ["wrong-unit"]


@pytest.mark.parametrize("written", ["admitted(sort) = 5", "admitted(sort) == 5", "cost = 5 USD", "cost <= 5 USD"])
def test_comparisons_are_quoted_as_written(written: str) -> None:
    text = "problem capacity\n" + VM + CLASS + f"minimize cost\nsubject to {{ {written} }}\n"
    assert spec(text).constraints[0].text == written


def test_updates_of_params_keep_the_requirements() -> None:
    """Semantics 9: the short way of sweeps refuses what reading the text anew refuses."""
    text = "problem capacity\n" + VM + CLASS.replace("4..6", "4..6 * peak") + "param peak = 1\nrequire { peak <= 2 }\n"
    updater = Updater(text, "x", DATA, None, {})
    assert updater.local
    assert updater.update({"peak": 2}).facts.classes[0].jobs.high == 12.0
    with pytest.raises(MrdslError) as caught:
        updater.update({"peak": 3})
    assert [d.code for d in caught.value.diagnostics] == codes(text, peak=3) == ["requirement-not-met"]


def test_imports_stand_for_their_statements() -> None:
    """Semantics 10; the place of an imported node is in its own file."""
    found = spec('problem capacity\nimport "machines.mrspec"\n' + CLASS)
    assert found.facts.vms[0].span_of("on_demand").file.endswith("machines.mrspec")
    assert found.facts == spec("problem capacity\n" + VM + CLASS).facts
    assert codes('problem capacity\nimport "circle.mrspec"\n' + VM + CLASS) == ["import-cycle"]


def test_extends_copies_and_refines() -> None:
    """Semantics 11: items replace, nested blocks refine, order does not matter."""
    found = spec("problem capacity\n" + VM + "class b extends sort { slots { reduce = 3 }, jobs = 1..2 }\n" + CLASS)
    b, sort = found.facts.classes
    assert (b.slots.map, b.slots.reduce) == (4, 3)
    assert (b.jobs.low, b.deadline) == (1.0, sort.deadline)


def test_tables_are_what_is_written_out() -> None:
    """Semantics 12: a table gives the same classes as blocks do."""
    found = spec("problem capacity\n" + VM + 'classes from "classes.csv"\n').facts.classes
    assert isinstance(found, Columns)
    written = spec("problem capacity\n" + VM + CLASS).facts.classes[0]
    assert found[0] == written
    assert found[1].name == "twitter"
    assert found[1].span.file.endswith("classes.csv")
    assert found[1].span.line == 3
    np.testing.assert_array_equal(column(found, "deadline"), [600.0, 600.0])


def test_items_in_the_braces_hold_for_all_rows(tmp_path: Path) -> None:
    """Semantics 12."""
    (tmp_path / "t.csv").write_text("name,deadline [min]\na,10\nb,20\n")
    inner = CLASS[CLASS.index("{") + 1 : CLASS.rindex("}")].replace("deadline = 10 min, ", "")
    text = f'problem capacity\n{VM}classes from "t.csv" {{ {inner} }}\n'
    loaded = load_text(text, folder=tmp_path)
    assert loaded.spec is not None, as_text(loaded.diagnostics, loaded.texts)
    assert [c.deadline for c in loaded.spec.facts.classes] == [600.0, 1200.0]
    both = load_text(text.replace('.csv" { ', '.csv" { deadline = 5 min, '), folder=tmp_path)
    assert "duplicate" in [d.code for d in both.diagnostics]


def test_a_quoted_table_reads_as_a_plain_one(tmp_path: Path) -> None:
    """Semantics 12: quotes, blank lines and CR LF change nothing."""
    plain = (DATA / "classes.csv").read_text()
    (tmp_path / "classes.csv").write_text(
        "\r\n".join('"' + line.replace(",", '","') + '"' for line in plain.splitlines()) + "\r\n\r\n", newline=""
    )
    text = "problem capacity\n" + VM + 'classes from "classes.csv"\n'
    assert load_text(text, folder=tmp_path).spec == spec(text)


GENERATED = (
    "problem capacity\nseed = 42\n"
    + VM
    + "class c[1..50] { coefficients { A = uniform(1000 s, 2000 s), B = 1250 s, C = 95 s }, "
    "slots { map = uniform_int(1, 4), reduce = 2 }, jobs = 4..6, deadline = normal(10 min, 1 min), penalty = 20 USD }\n"
)


def test_generators_draw_within_their_limits() -> None:
    """Semantics 13, principle 7."""
    classes = spec(GENERATED).facts.classes
    assert len(classes) == 50
    assert classes.group == "c"
    assert (classes[0].name, classes[-1].name) == ("c1", "c50")
    work = column(classes, "coefficients.A")
    assert 1000.0 <= work.min() < work.max() <= 2000.0
    assert set(column(classes, "slots.map")) == {1.0, 2.0, 3.0, 4.0}
    assert isinstance(classes[3].slots.map, int)
    assert spec(GENERATED) == spec(GENERATED)
    assert spec(GENERATED) != spec(GENERATED.replace("42", "43"))


def test_a_new_class_does_not_change_the_draws_of_others() -> None:
    """Semantics 13."""
    more = spec(GENERATED + CLASS).facts.classes
    assert tuple(more)[:50] == tuple(spec(GENERATED).facts.classes)


def test_the_same_draws_in_another_process() -> None:
    """Semantics 17, principle 8: hash randomisation changes nothing."""
    code = (
        "import sys; from mrdsl.language.loading import load_text; from mrdsl.spec.columns import column;"
        "c = load_text(sys.stdin.read()).spec.facts.classes; print(column(c, 'coefficients.A').tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=GENERATED,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("1", "2")
    }
    here = column(spec(GENERATED).facts.classes, "coefficients.A").tolist()
    assert [json.loads(output) for output in outputs] == [here]


def test_constraints_are_expressions_of_the_plan() -> None:
    """Principle 2: subject to compares the plan's quantities, in SI."""
    found = spec("problem capacity\n" + VM + CLASS + "subject to {\n  cost / 2 <= 50 USD\n  admitted(sort) = 5\n}\n")
    first, second = found.constraints
    assert first.left == Operation("/", (PlanQuantity("cost"), Constant(2.0)))
    assert (first.comparison, first.right) == ("<=", Constant(50.0))
    assert (second.left, second.comparison, second.right) == (PlanQuantity("admitted", "sort"), "=", Constant(5.0))
    assert second.span.line == 6


def test_a_method_and_its_options() -> None:
    """Principle 1: how to solve is a method's name and its limits."""
    found = spec("problem capacity\n" + VM + CLASS + "solve with highs { time_limit = 2 min, gap = 0.1% }\n")
    assert found.method.name == "highs"
    assert dict(found.method.options) == {"time_limit": 120.0, "gap": 0.001}


def test_all_mistakes_in_one_run_in_order() -> None:
    """Principle 5."""
    found = load(
        "problem capacity\n" + VM.replace("price", "prize") + CLASS.replace("4..6", "6..4").replace("10 min", "10")
    )
    assert [d.code for d in found.diagnostics] == ["unknown-item", "reversed-range", "wrong-unit"]
    assert [d.span.line for d in found.diagnostics] == [2, 3, 3]
    document = json.loads(as_json(found.diagnostics))
    assert document["format"] == 1
    assert document["diagnostics"][0]["range"]["start"] == {"line": 2, "column": 21}


def test_checks_of_the_family_run_beside_other_mistakes() -> None:
    """Principle 5: a broken class does not hide what is wrong with another."""
    profile = CLASS.replace("sort", "b").replace(
        "coefficients { A = 5400 s, B = 1250 s, C = 95 s }", "map { tasks = 3, avg = 4 s, max = 2 s }"
    )
    assert codes("problem capacity\n" + VM + CLASS.replace("10 min", "10 USD") + profile) == [
        "wrong-unit",
        "max-below-avg",
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "models").rglob("*.mrspec")), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_shipped_models_are_good(path: Path) -> None:
    """The reference specs parse and resolve as they stand."""
    loaded = load_file(path)
    assert loaded.spec is not None, as_text(loaded.diagnostics, loaded.texts)


def test_kinds_and_units_fit_together() -> None:
    """Semantics 6: the example of every kind is a value of that kind."""
    for kind in units.KINDS.values():
        value = evaluate(parse_expression(kind.example()), Scope(Report(), lambda _: None))
        assert units.fits(value.dimension, kind.dimension), kind.name


def test_starting_is_cheap() -> None:
    """Importing, checking and formatting load neither Pyomo nor a solver; a plain spec does not even load numpy."""
    heavy = ("pyomo", "highspy", "pyscipopt", "networkx", "numpy", "rich", "altair", "vl_convert", "jinja2")
    code = (
        "import sys, mrdsl\n"
        "from mrdsl.cli import cli\n"
        "try:\n    cli.main(sys.argv[1:], standalone_mode=False)\n"
        "finally:\n"
        f"    print([name for name in {heavy!r} if name in sys.modules])"
    )
    quick = str(ROOT / "models" / "capacity" / "quickstart.mrspec")
    for arguments in (["--help"], ["check", quick], ["fmt", "--check", quick]):
        environment = {"PYTHONPATH": str(ROOT), "HOME": str(ROOT / ".pytest_cache")}
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=ROOT,
        )
        assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
        assert "Traceback" not in done.stderr
