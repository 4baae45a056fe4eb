"""Input that looks like something else: digits and letters of other scripts, options, devices, deep folders."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core import writer
from mrdsl.core.arguments import written_number
from mrdsl.core.reading import UnreadableError, read_bytes, walked
from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.reading import find_logs
from mrdsl.exchange.schedulers import Event, airflow_dag, crontab
from mrdsl.sweeping.cells import parse_seeds
from tests.command_lines import ROOT, run_here

SPEC = """problem capacity "Night"
vm m5 { on_demand { price = 0.2 USD/h } }
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 2..3, deadline = 10 min, penalty = 20 USD
}
minimize cost
"""
ARABIC, WIDE = "\u0663", "\uff13"


@pytest.mark.parametrize("digit", [ARABIC, WIDE, "3" + ARABIC, WIDE + ".5", "1e" + ARABIC])
def test_digits_of_other_scripts_are_not_numbers_of_a_spec(digit: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.loads(SPEC.replace("map = 4", f"map = {digit}"))
    assert any(each.severity == "error" for each in refused.value.diagnostics)


def test_the_hint_names_the_digits() -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.loads(SPEC.replace("map = 4", f"map = {ARABIC}"))
    assert refused.value.diagnostics[0].hint == "write numbers with the digits 0 to 9"


@pytest.mark.parametrize("text", [ARABIC, WIDE, "1_0", "", "x", "1" + ARABIC])
def test_a_written_number_has_ascii_digits(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        written_number(text)
    assert written_number(" -1.5e2 ") == -150.0


@pytest.mark.parametrize(("cell", "code"), [("3", 0), (ARABIC, 2), (WIDE, 2)])
def test_digits_of_other_scripts_are_not_numbers_of_a_table(cell: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"name,slots.map\na,1\nb,{cell}\n", encoding="utf-8")
    text = SPEC.replace("class sort {", 'classes from "t.csv" {').replace("map = 4, ", "")
    (tmp_path / "s.mrspec").write_text(text)
    found = run_here(("check", "s.mrspec"), tmp_path)
    assert found.exit_code == code, found.output
    assert ("t.csv:3:3: error[not-a-number]" in found.output) == bool(code)


@pytest.mark.parametrize("text", [ARABIC, f"1..{ARABIC}", f"1,{WIDE}"])
def test_digits_of_other_scripts_are_not_seeds(text: str) -> None:
    with pytest.raises(mrdsl.MrdslError):
        parse_seeds(text)
    assert parse_seeds("1..3") == (1, 2, 3)


def test_patterns_know_no_digits_of_other_scripts() -> None:
    """`\\d`, isdigit and isdecimal accept them; a name can have them after its first letter."""
    loose = re.compile(r"\\d")
    found = []
    for path in sorted((ROOT / "mrdsl").rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            left = line.replace(r"[^\W\d]", "").replace(r"[\W\d_]", "").replace(r"[\\W\\d_]", "")
            digits = re.search(r"\.is(digit|decimal|numeric)\(\)", line) and "isascii()" not in line
            if (loose.search(left) and "rb" not in line and '"pattern"' not in line) or (
                digits and "character" not in line
            ):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    known = (
        "spec/changing.py",
        "language/table_heads.py",
        "language/evaluate.py",
        "solving/processes.py",
        "cli/options.py",
    )
    assert [each for each in found if not any(name in each for name in known)] == []


LOOK_ALIKE = {
    "a Cyrillic letter": ("sort", "s\u043ert"),
    "a Greek letter": ('"A"', '"\u0391"'),
    "a composed accent": ('"caf\u00e9"', '"cafe\u0301"'),
    "wide letters": ('"sort"', '"\uff53ort"'),
    "no width": ('"sort"', '"so\u200brt"'),
    "a soft hyphen": ('"sort"', '"so\u00adrt"'),
    "both of another script": ("s\u043ert", "so\u0433t".replace("\u0433", "r")),
}
DISTINCT = {
    "another letter": ("sort", "sorted"),
    "an accent": ('"cafe"', '"caf\u00e9"'),
    "another script": ('"\u0436"', '"\u0448"'),
    "case": ("sort", "Sort"),
}


def with_classes(first: str, second: str) -> str:
    head, _, rest = SPEC.partition("class sort")
    body, _, tail = rest.partition("\n}\n")
    return f"{head}class {first}{body}\n}}\nclass {second}{body}\n}}\n{tail}"


@pytest.mark.parametrize("case", LOOK_ALIKE)
def test_names_that_look_equal_get_a_warning(case: str) -> None:
    spec = mrdsl.loads(with_classes(*LOOK_ALIKE[case]))
    found = [each for each in mrdsl.check(spec) if each.code == "look-alike-names"]
    assert [each.span.line for each in found if each.span is not None] == [8]


@pytest.mark.parametrize("case", DISTINCT)
def test_names_that_differ_get_none(case: str) -> None:
    spec = mrdsl.loads(with_classes(*DISTINCT[case]))
    assert not [each for each in mrdsl.check(spec) if each.code == "look-alike-names"]


def test_names_of_stages_and_types_are_compared_too() -> None:
    text = SPEC.replace(
        "class", "vm m\u0435 { on_demand { price = 1 USD/h } }\nvm me { on_demand { price = 1 USD/h } }\nclass"
    )
    assert [each.message for each in mrdsl.check(mrdsl.loads(text)) if each.code == "look-alike-names"] == [
        "`vm me` looks like another one, `m\u0435`"
    ]


@pytest.mark.parametrize("name", ["-rf", "--help", "-"])
def test_a_name_is_not_an_option_of_a_program(name: str) -> None:
    events = [Event(60.0, "START", (name, "1")), Event(120.0, "START", ("sort", "1"))]
    lines = crontab(events, None, ()).splitlines()[-2:]
    assert lines == [f"1 0 * * * $START -- {name} 1", "2 0 * * * $START sort 1"]
    assert f"('--', '{name}', '1')" in airflow_dag(events, None, "night", ())


def test_a_link_to_a_device_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "s.mrspec").write_text(SPEC)
    (tmp_path / "plan.json").symlink_to("/dev/null")
    for words in ((), ("--force",)):
        found = run_here(("solve", "s.mrspec", "-o", "plan.json", *words), tmp_path)
        assert found.exit_code != 0
        assert "`plan.json` cannot be written: it is a link to a device" in found.output
    assert run_here(("solve", "s.mrspec", "-o", "/dev/null"), tmp_path).exit_code == 0


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/fd/../zero", "/dev/stdin/../zero"])
def test_a_device_is_not_an_open_descriptor(name: str) -> None:
    with pytest.raises(UnreadableError):
        read_bytes(name, 1000, own_descriptors=True)


def deep(folder: Path, levels: int, name: str = "d") -> None:
    """Make a chain of folders that no absolute path can name."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        for _ in range(levels):
            os.mkdir(name)
            os.chdir(name)
    finally:
        os.chdir(before)


def removed(folder: Path) -> None:
    """Remove a chain of folders from its end; other ways to remove call themselves for each level."""
    os.system(f"rm -rf '{folder}'")


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "ok.mrspec").write_text(SPEC)
    deep(folder, 1500)
    yield folder
    removed(folder)


def test_a_deep_folder_of_logs_is_read(chain: Path) -> None:
    telling = Telling()
    assert [log.name for log in find_logs([chain], telling)] == [str(chain / "ok.mrspec")]
    assert find_logs([f"{chain}/**"], telling) == ()
    assert [each.code for each in telling.diagnostics()] == ["unreadable-log"]


def test_a_deep_folder_of_specs_is_checked(chain: Path) -> None:
    assert run_here(("check", "logs"), chain.parent).exit_code == 0


def test_a_folder_without_a_path_ends_only_itself(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "ok.mrspec").write_text(SPEC)
    deep(folder, 30, "d" * 200)
    try:
        telling = Telling()
        assert len(find_logs([folder], telling)) == 1
        assert [each.code for each in telling.diagnostics()] == ["unreadable-log"]
        found = run_here(("check", "logs"), tmp_path)
        assert "2 files checked: 1 error" in found.output
    finally:
        removed(folder)


def test_a_walk_is_that_of_the_library(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "f").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for links in (True, False):
        ours = {home: (set(inside), set(names)) for home, inside, names in walked(str(tmp_path), print, links)}
        library: dict[str, Any] = {}
        for home, inside, names in os.walk(tmp_path, followlinks=links):
            links_to = {each for each in inside if not links and os.path.islink(os.path.join(home, each))}
            library[home] = (set(inside) - links_to, set(names) | links_to)
        assert ours == library


def test_a_full_disk_leaves_no_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.json").write_text(mrdsl.solve(mrdsl.loads(SPEC)).to_json())
    words = ("export", "plan.json", "yarn", "-o", "out/new", "--vm", "m5=m5.xlarge")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def left() -> list[str]:
        return sorted(each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*"))

    for there in (["plan.json"], ["out", "plan.json"]):
        with monkeypatch.context() as patched:
            patched.setattr(writer._Waiting, "seal", full)
            found = run_here(words, tmp_path)
            assert found.exit_code != 0
            assert "No space left on device" in found.output
            assert left() == there
        (tmp_path / "out").mkdir(exist_ok=True)
    assert run_here(words, tmp_path).exit_code == 0


def test_a_claimed_folder_goes_if_nothing_is_in_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), writer.claimed(tmp_path / "a" / "b"):
        raise OSError("full")
    assert list(tmp_path.iterdir()) == []
    with writer.claimed(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "rows.csv").write_text("")
    assert (tmp_path / "a" / "b").is_dir()
