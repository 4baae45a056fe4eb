"""What a study file may say: every mistake is told in one run, with its place, its reason and what to write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.diagnostics import Diagnostic, MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits
from mrdsl.sweeping.study.planned import Planned, planned
from mrdsl.sweeping.study.reader import read_study, study_of

SPEC = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
WITH_PARAMS = "param more = 1\nparam limit = 15 min\n" + SPEC.replace("9..10", "9..10 * more").replace(
    "deadline = 15 min", "deadline = limit"
)

MISTAKES = {
    'titel = "x"': "1:1",
    "title = 3": "1:9",
    'title = "a\\u001b"': "1:9",
    "runs = 3": "1:1",
    "[runs]\nspecs = 3": "1:2",
    "[[runs]]\nspec = 'a'": "2:1",
    "[[runs]]": "1:3",
    "[[runs]]\nspecs = []": "2:9",
    "[[runs]]\nspecs = ['a', 1]": "2:15",
    "[[runs]]\nspecs = 'a'\nmethods = ['b', '../c']": "3:17",
    "[[runs]]\nspecs = 'a'\nmethods = ['b', 'b']": "3:17",
    "[[runs]]\nspecs = 'a'\nmethods = [{ relax = 1 }]": "3:22",
    "[[runs]]\nspecs = 'a'\nmethods = [1]": "3:12",
    "[[runs]]\nspecs = 'a'\nseeds = '4..1'": "3:9",
    "[[runs]]\nspecs = 'a'\nseeds = '0..99999999999999'": "3:9",
    "[[runs]]\nspecs = 'a'\nseeds = [4294967296]": "3:9",
    "[[runs]]\nspecs = 'a'\nlimits.time = '10 parsecs'": "3:15",
    "[[runs]]\nspecs = 'a'\nlimits = [{ time = 1 }, { gap = -1 }]": "3:33",
    "[[runs]]\nspecs = 'a'\nlimits = { threads = 1.5 }": "3:22",
    "[[runs]]\nspecs = 'a'\nlimits = { times = 1 }": "3:12",
    "[[runs]]\nspecs = 'a'\nparams = { p = '1:2' }": "3:16",
    "[[runs]]\nspecs = 'a'\nparams = { p = '1:1e999999:1' }": "3:16",
    "[[runs]]\nspecs = 'a'\nparams = { p = [true] }": "3:16",
    "[[runs]]\nspecs = 'a'\n[[tables]]\nrows = 'V'": "3:3",
    "[[runs]]\nspecs = 'a'\n[[tables]]\nvalue = 'value'\nstatistic = 'avg'": "5:13",
    "[[runs]]\nspecs = 'a'\nname = 'small'\n[[tables]]\nvalue = 'value'\nruns = 'smal'": "6:8",
    "[[runs]]\nspecs = 'a'\nmethods = 'x'\n[[runs]]\nspecs = 'a'\nmethods = [{ solver = 'y', name = 'x' }]": "6:11",
    "[[runs]]\nspecs = 'a'\n[[profiles]]\nwithin = 1": "3:3",
    "[[runs]]\nspecs = 'a'\nmethods = ['x', 'best']": "3:17",
    "[[runs]]\nspecs = 'a'\nmethods = { solver = 'x', name = 'bound' }": "3:11",
    "[[runs]]\nspecs = 'a'\n[[tables]]\nvalue = 'seconds'\nabove = 'bound'": "5:9",
    "[[runs]]\nspecs = 'a'\n[[tables]]\nvalue = 'value'\nabove = 'bound'\nshare_of = 'seconds'": "5:9",
    "[[runs]]\nspecs = 'a'\n[[tables]]\nvalue = 'valu'\nrows = 'plan.vms'": "4:9",
    "[[runs]]\nspecs = 'a'\nname = 'x'\nparams.p = 1\n[[runs]]\nspecs = 'a'\nname = 'y'\nparams.q = 1\n"
    "[[tables]]\nvalue = 'value'\nrows = 'p'\nruns = 'x'\n[[tables]]\nvalue = 'value'\nrows = 'q'\nruns = 'x'": "15:8",
    "[[runs]]\nspecs = 'a'\nmethods = ['highs', 'direct']\n[[tables]]\nvalue = 'value'\nabove = 'higs'": "6:9",
    "[[runs]]\nspecs = 'a'\nmethods = 'highs'\nname = 'x'\n[[runs]]\nspecs = 'a'\nmethods = 'direct'\nname = 'y'\n"
    "[[tables]]\nvalue = 'value'\nabove = 'highs'\nruns = 'y'": "11:9",
    "[[runs]]\nspecs = 'a'\nmethods = 'highs'\nlimits = [{ time = 1 }, {}]\n"
    "[[tables]]\nvalue = 'value'\nabove = 'highs'": "7:9",
    "[[runs]]\nspecs = 'a'\nmethods = '../highs'\n[[tables]]\nvalue = 'value'\nabove = 'highs'": "3:11",
    "[[runs]]\nspecs = 'a'\n[[profiles]]\nmeasure = 'cpu_secnds'": "4:11",
    "[[runs]]\nspecs = 'a'\n[[profiles]]\nmeasure = 'value'\nwithin = -1": "5:10",
    "": "1:1",
    "a = ": "1:5",
}
"""Study files with one mistake each, and its line and column."""


def told(mistakes: tuple[Diagnostic, ...]) -> list[str]:
    return [f"{each.span.line}:{each.span.column} {each.message}; {each.hint}" for each in mistakes if each.span]


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake(text: str) -> None:
    with pytest.raises(MrdslError) as failure:
        study_of(text, "night.toml")
    assert [each.split(" ", 1)[0] for each in told(failure.value.diagnostics)] == [MISTAKES[text]]
    assert {each.code for each in failure.value.diagnostics} == {"bad-study-file"}


def test_all_mistakes_are_told_in_one_run() -> None:
    texts = [
        text.removeprefix("[[runs]]\nspecs = 'a'\n")
        for text in MISTAKES
        if text.startswith("[[runs]]\nspecs = 'a'\n")
        and not any(word in text for word in ("tables", "profiles", "'x'"))
    ]
    whole = "".join(f"[[runs]]\nspecs = 'a'\n{text}\n" for text in texts)
    with pytest.raises(MrdslError) as failure:
        study_of(whole, "night.toml")
    assert len(failure.value.diagnostics) == len(texts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "b.mrspec").write_text(WITH_PARAMS, encoding="utf-8")
    (tmp_path / "specs" / "a.mrspec").write_text(WITH_PARAMS, encoding="utf-8")
    (tmp_path / "specs" / "notes.txt").write_text("no spec", encoding="utf-8")
    (tmp_path / "one.mrspec").write_text(SPEC, encoding="utf-8")
    return tmp_path


def plan(folder: Path, text: str) -> Planned:
    (folder / "night.toml").write_text(text, encoding="utf-8")
    return planned(read_study(folder / "night.toml"), folder)


def test_every_combination_in_order(folder: Path) -> None:
    found = plan(
        folder,
        """
        [[runs]]
        specs = "specs"
        methods = ["direct", { solver = "highs", relax = true }]
        params = { more = [1, 2], limit = "15 min:20 min:5 min" }
        seeds = [3, 1]
        [[runs]]
        specs = ["one.mrspec", "specs/?.mrspec"]
        methods = "direct"
        limits = [{ time = "1 min", gap = "1%" }, {}]
        """,
    )
    rows = [run.told() for run in found.runs]
    first = [(r["spec"], r["param.more"], r["param.limit [min]"], r["seed"], r["method"]) for r in rows[:5]]
    assert first == [
        ("specs/a.mrspec", 1, 15, 3, "direct (no limit)"),
        ("specs/a.mrspec", 1, 15, 3, "highs relaxed"),
        ("specs/a.mrspec", 1, 15, 1, "direct (no limit)"),
        ("specs/a.mrspec", 1, 15, 1, "highs relaxed"),
        ("specs/a.mrspec", 1, 20, 3, "direct (no limit)"),
    ]
    assert len(rows) == 2 * 2 * 2 * 2 * 2 + 3 * 2
    assert [run.number for run in found.runs] == list(range(1, len(rows) + 1))
    assert [(run.spec, run.name, run.limits) for run in found.runs[32:34]] == [
        ("one.mrspec", "direct (60 s, gap 0.01)", Limits(time=60.0, gap=0.01)),
        ("one.mrspec", "direct (no limit)", Limits()),
    ]


def test_specs_of_one_content_share_their_runs(folder: Path) -> None:
    """Each is a row, and what it takes is done once."""
    found = plan(folder, '[[runs]]\nspecs = "specs"\nseeds = [1, 2]\n').runs
    assert [run.spec for run in found] == ["specs/a.mrspec"] * 2 + ["specs/b.mrspec"] * 2
    assert [run.key for run in found[:2]] == [run.key for run in found[2:]]
    assert found[0].key != found[1].key


def test_a_spec_that_changed_since_the_study_began_is_not_run_under_its_key(folder: Path) -> None:
    (folder / "part.mrspec").write_text("param x = 1\n", encoding="utf-8")
    (folder / "one.mrspec").write_text('import "part.mrspec"\n' + SPEC, encoding="utf-8")
    (run,) = plan(folder, '[[runs]]\nspecs = "one.mrspec"\nmethods = "direct"\n').runs
    assert run.row()["termination"] == "optimal"
    (folder / "part.mrspec").write_text("param x = 2\n", encoding="utf-8")
    assert (run.row()["termination"], run.row()["key"]) == ("error", run.key)
    assert "changed since the study began" in run.row()["message"]


def test_the_same_run_in_two_places_is_one(folder: Path) -> None:
    found = plan(folder, '[[runs]]\nspecs = "one.mrspec"\n[[runs]]\nspecs = ["one.mrspec", "specs/a.mrspec"]\n')
    assert [(run.number, run.spec) for run in found.runs] == [(1, "one.mrspec"), (2, "specs/a.mrspec")]


def test_a_method_has_one_name_for_one_set_of_limits_in_the_whole_study(folder: Path) -> None:
    runs = "[[runs]]\nspecs = 'one.mrspec'\nmethods = ['highs', 'direct']\nlimits.time = "
    other = runs.replace(", 'direct'", "")
    found = plan(folder, f"{runs}1\n{other}60\n{runs}1\n").runs
    assert [(run.name, run.limits.time) for run in found] == [("highs (1 s)", 1), ("direct", 1), ("highs (60 s)", 60)]
    with pytest.raises(MrdslError, match=r"two methods have the name `highs \(1 s\)`"):
        plan(
            folder,
            f"{runs}1\n{other}60\n{runs.replace('direct', 'highs (1 s)')}1\n".replace(
                "'highs (1 s)'", "{ solver = 'direct', name = 'highs (1 s)' }"
            ),
        )


def test_an_instance_is_the_same_however_it_is_written(folder: Path) -> None:
    spec, order = ("specs/a.mrspec", "./specs/a.mrspec"), ("more = 1, limit = '20 min'", "limit = '20 min', more = 1")
    text = "".join(
        f"[[runs]]\nspecs = '{one}'\nmethods = '{method}'\nparams = {{ {two} }}\n"
        for one, two, method in zip(
            (*spec, "specs/../specs/a.mrspec", str(folder / "specs" / "a.mrspec")),
            order * 2,
            ("direct", "highs") * 2,
            strict=True,
        )
    )
    found = plan(folder, text).runs
    assert [(run.spec, run.name) for run in found] == [("specs/a.mrspec", "direct"), ("specs/a.mrspec", "highs")]
    assert found[0].instance == found[1].instance


CHANGES = {
    "the spec": lambda folder: (folder / "one.mrspec").write_text(SPEC + "# more\n", encoding="utf-8"),
    "a file that it imports": lambda folder: (folder / "part.mrspec").write_text("param x = 2\n", encoding="utf-8"),
    "mrdsl": lambda folder: None,
    "a limit": lambda folder: None,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_is_of_all_that_a_run_depends_on(change: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[[runs]]\nspecs = "one.mrspec"\nmethods = "direct"\nlimits.time = 1\n'
    (folder / "part.mrspec").write_text("param x = 1\n", encoding="utf-8")
    (folder / "one.mrspec").write_text('import "part.mrspec"\n' + SPEC, encoding="utf-8")
    before = plan(folder, text).runs[0].key
    assert plan(folder, f"# a comment\n{text}").runs[0].key == before
    if change == "mrdsl":
        monkeypatch.setattr("mrdsl.sweeping.study.planned.__version__", "9")
    if change == "a limit":
        text = text.replace("time = 1", "time = 2")
    CHANGES[change](folder)
    assert plan(folder, text).runs[0].key != before


WRONG = {
    'specs = "specs/c.mrspec"': "missing-file 2:9",
    'specs = "nothing/*.mrspec"': "missing-file 2:9",
    'specs = ["one.mrspec", "empty"]': "missing-file 2:24",
    'specs = "../other.mrspec"': "file-outside 2:9",
    'specs = "/etc/passwd"': "file-outside 2:9",
    'specs = "link.mrspec"': "file-outside 2:9",
    'specs = "night.toml"': "wrong",
    'specs = "pipe.mrspec"': "missing-file 2:9",
    'specs = "a\\u0000"': "bad-study-file 2:9",
    'specs = "one.mrspec"\nparams.more = 1': "unknown-param 3:15",
    'specs = "specs"\nparams.limit = ["1 min", "1 kg"]': "wrong",
    'specs = "one.mrspec"\nmethods = ["direct", "dircet"]': "unknown-solver 3:22",
    'specs = "one.mrspec"\nmethods = ["direct", "johnson"]': "unserved-family 3:22",
    'specs = "one.mrspec"\nmethods = { solver = "highs", formulation = "nope" }': "unknown-formulation 3:11",
    'specs = "one.mrspec"\nmethods = ["direct", "highs"]\nseeds = "1..1000000"': "too-many-runs 1:3",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_run_is_told_before_anything_is(text: str, folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder.parent / "other.mrspec").write_text(SPEC, encoding="utf-8")
    (folder / "link.mrspec").symlink_to(folder.parent / "other.mrspec")
    os.mkfifo(folder / "pipe.mrspec")
    with pytest.raises(MrdslError) as failure:
        plan(folder, f"[[runs]]\n{text}\n")
    codes = [
        f"{each.code} {each.span.line}:{each.span.column}" if each.span else each.code
        for each in failure.value.diagnostics
    ]
    if WRONG[text] == "wrong":
        assert codes
    else:
        assert set(codes) == {WRONG[text]}


def test_a_folder_of_links_does_not_lead_outside(folder: Path) -> None:
    (folder.parent / "other.mrspec").write_text(SPEC, encoding="utf-8")
    (folder / "specs" / "c.mrspec").symlink_to(folder.parent / "other.mrspec")
    assert [run.spec for run in plan(folder, '[[runs]]\nspecs = "specs"\n').runs] == [
        "specs/a.mrspec",
        "specs/b.mrspec",
    ]


@pytest.mark.parametrize("outside", [False, True])
def test_a_link_that_leads_round_to_itself_is_told(outside: bool, folder: Path) -> None:
    (folder / "specs" / "loop.mrspec").symlink_to("loop.mrspec")
    for specs in ("specs", "specs/*.mrspec", "specs/loop.mrspec"):
        study = study_of(f'[[runs]]\nspecs = "{specs}"\n', "night.toml")
        with pytest.raises(MrdslError) as failure:
            planned(study, folder, outside)
        assert {each.code for each in failure.value.diagnostics} <= {"missing-file", "unreadable-file"}


def test_an_optional_method_is_left_out_where_it_is_not_installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mrdsl.solving.registry.where", lambda solver: None if solver.name == "scip" else "here")
    text = '[[runs]]\nspecs = "one.mrspec"\nmethods = ["direct", { solver = "scip", optional = true }]\n'
    found = plan(folder, text)
    assert ([run.name for run in found.runs], found.left_out) == (["direct"], ("scip",))
    with pytest.raises(MrdslError, match="not installed"):
        plan(folder, text.replace("true", "false"))


def test_mistakes_of_several_specs_are_told_in_one_run(folder: Path) -> None:
    for name in "ab":
        (folder / "specs" / f"{name}.mrspec").write_text(SPEC + "nonsense = 1\n", encoding="utf-8")
    with pytest.raises(MrdslError) as failure:
        plan(folder, '[[runs]]\nspecs = ["specs", "one.mrspec"]\nmethods = ["johnson"]\n')
    files = [Path(each.span.file).name for each in failure.value.diagnostics if each.span]
    assert sorted(files) == ["a.mrspec", "b.mrspec", "night.toml"]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text("#" * (1 << 20) + "\n", encoding="utf-8")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    os.mkfifo(tmp_path / "pipe.toml")
    for name, reason in {"long": "1 MB", "bytes": "UTF-8", "pipe": "pipe", "none": "no such file"}.items():
        with pytest.raises(MrdslError, match=reason):
            read_study(tmp_path / f"{name}.toml")


def test_nothing_is_run_of_a_study_that_is_wrong(folder: Path) -> None:
    (folder / "night.toml").write_text('[[runs]]\nspecs = ["one.mrspec", "x.mrspec"]\n', encoding="utf-8")
    with pytest.raises(MrdslError, match=r"x\.mrspec"):
        mrdsl.study(folder / "night.toml", folder / "out")
    assert not (folder / "out").exists()
