"""Reading a spec costs what its length costs, and no file that it names makes it wait."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mrdsl.core import budgets
from mrdsl.language.loading import load_file, load_text
from mrdsl.language.resolving import Loaded

HEAD = "problem capacity\nvm m5 { on_demand { price = 0.192 USD/h } }\n"
CLASS = """  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }, jobs = 4..6, deadline = 10 min, penalty = 20 USD
"""


def calls_of(work: Callable[[], Any]) -> int:
    """How many calls of functions some work takes, Python's own included: a clock that other programs cannot stop."""
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def codes(loaded: Loaded) -> set[str]:
    return {d.code for d in loaded.diagnostics}


SIZED = {
    "classes": lambda n: "".join(f"class c{i} {{\n{CLASS}}}\n" for i in range(n)),
    "a sum over all classes": lambda n: (
        SIZED["classes"](n) + "maximize " + " + ".join(f"admitted(c{i})" for i in range(n)) + "\n"
    ),
    "a chain of params": lambda n: "".join(f"param p{i} = p{i + 1}\n" for i in range(n)) + f"param p{n} = 1\n",
    "a sum": lambda n: "param x = " + " + ".join(["1"] * n) + "\n",
    "a list": lambda n: "param x = max(" + ", ".join(["1"] * n) + ")\n",
    "a list that is not closed": lambda n: "param x = max(" + ", ".join(["1"] * n) + "\n}\n",
    "an error at the end": lambda n: "".join(f"param p{i} = 1\n" for i in range(n)) + "x = = 3\n",
    "blocks that refine": lambda n: (
        "class a {\n" + "".join(f"b{i} {{ }}\n" for i in range(n // 8)) + "}\n"
        "class c extends a {\n" + "".join(f"b{i} {{ }}\n" for i in range(n // 8)) + "}\n"
    ),
    "bad characters": lambda n: "$ " * n + "\n",
    "comments": lambda n: "# a comment\n" * n,
}


@pytest.mark.parametrize("name", SIZED)
def test_twice_the_text_takes_no_more_than_its_share(name: str) -> None:
    load_text(HEAD + SIZED[name](20))
    small, large = (calls_of(lambda n=n: load_text(HEAD + SIZED[name](n))) for n in (200, 800))  # type: ignore[misc]
    assert large < 5.0 * small


@pytest.mark.parametrize("text", ["- " * 20_000 + "1", "- " * 20_000 + "1 )", "- " * 20_000, "( " * 20_000])
def test_signs_and_brackets_have_a_budget(text: str) -> None:
    found = load_text(HEAD + f"param x = {text}\n").diagnostics
    assert "nested-too-deeply" in {d.code for d in found}
    assert all(d.span is not None for d in found)


def test_few_signs_are_arithmetic() -> None:
    spec = load_text(HEAD + "param x = - - - 2\nparam y = 1 - -2 + +3\nclass a {\n" + CLASS + "}\n").spec
    assert spec is not None
    assert (spec.parameters["x"], spec.parameters["y"]) == (-2.0, 6.0)


def test_a_chain_of_blocks_has_a_budget() -> None:
    chain = "".join(f"class c{i} extends c{i + 1} {{}}\n" for i in range(500)) + "class c500 {\n" + CLASS + "}\n"
    assert codes(load_text(HEAD + chain)) == {"nested-too-deeply"}


def test_a_thousand_mistakes_are_enough() -> None:
    found = load_text(HEAD + "".join(f"param p{i} = 1 + q{i}\n" for i in range(3000))).diagnostics
    assert len(found) == budgets.DIAGNOSTICS + 1
    assert found[-1].code == "too-many-mistakes" or "too-many-mistakes" in {d.code for d in found}


def test_a_file_is_read_once_however_often_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mrdsl.language import resolving

    for i in range(16):
        (tmp_path / f"{i}.mrspec").write_text(f'import "{i + 1}.mrspec"\nimport "{i + 1}.mrspec"\nparam p{i} = {i}\n')
    (tmp_path / "16.mrspec").write_text("param last = 16\n")
    (tmp_path / "main.mrspec").write_text(HEAD + 'import "0.mrspec"\nclass a {\n' + CLASS + "}\n")
    read: list[str] = []
    real = resolving.read_document
    monkeypatch.setattr(resolving, "read_document", lambda path: (read.append(path.name), real(path))[1])
    loaded = load_file(tmp_path / "main.mrspec")
    assert loaded.spec is not None
    assert loaded.spec.parameters["last"] == 16.0
    assert len(read) == 17


def test_imports_have_a_depth(tmp_path: Path) -> None:
    for i in range(80):
        (tmp_path / f"{i}.mrspec").write_text(f'import "{i + 1}.mrspec"\n')
    (tmp_path / "80.mrspec").write_text("param last = 1\n")
    (tmp_path / "main.mrspec").write_text(HEAD + 'import "0.mrspec"\nclass a {\n' + CLASS + "}\n")
    found = [d for d in load_file(tmp_path / "main.mrspec").diagnostics if d.code == "too-many-imports"]
    assert len(found) == 1
    assert found[0].span is not None


def test_a_table_has_a_budget_of_columns(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("name," + ",".join(f"x{i}" for i in range(200_000)) + "\n")
    found = load_text(HEAD + 'classes from "c.csv"\n', folder=tmp_path).diagnostics
    assert [(d.code, d.span is not None) for d in found] == [("unreadable-table", True)]


def test_a_document_has_a_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(budgets, "DOCUMENT_BYTES", 1000)
    monkeypatch.setattr(budgets, "DOCUMENT_LINES", 100)
    (tmp_path / "long.mrspec").write_text("#" * 1001)
    (tmp_path / "lines.mrspec").write_text("\n" * 100)
    for name in ("long", "lines"):
        assert codes(load_file(tmp_path / f"{name}.mrspec")) == {"unreadable-file"}
    assert codes(load_text("#" * 1001)) == {"unreadable-file"}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def circle(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
@pytest.mark.parametrize("make", [pipe, listening, device, circle])
@pytest.mark.parametrize("statement", ['import "it"', 'classes from "it"'])
def test_what_is_no_file_is_not_waited_for(make: Callable[[Path], None], statement: str, tmp_path: Path) -> None:
    make(tmp_path / "it")
    (tmp_path / "main.mrspec").write_text(HEAD + statement + "\n")
    found = load_file(tmp_path / "main.mrspec", outside=True).diagnostics
    assert [d.code for d in found if d.code != "missing-block"] == ["unreadable-file"]
    assert found[-1].span is not None
    assert codes(load_file(tmp_path / "it")) == {"unreadable-file"}


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5000, "a\\0b"])
def test_a_name_that_no_file_has_is_told_in_short(name: str) -> None:
    found = load_text(HEAD + f'import "{name}"\n').diagnostics
    assert {d.code for d in found} & {"unreadable-file", "missing-file"}
    assert all(len(d.message) < 300 for d in found)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything may be read there")
def test_an_import_that_may_not_be_read_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "secret.mrspec").write_text("param x = 1\n")
    (tmp_path / "secret.mrspec").chmod(0)
    assert "unreadable-file" in codes(load_text(HEAD + 'import "secret.mrspec"\n', folder=tmp_path))


def test_an_import_that_the_system_refuses_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mrdsl.core.reading import UnreadableError

    def refused(*_: Any) -> bytes:
        raise UnreadableError("permission denied")

    (tmp_path / "secret.mrspec").write_text("param x = 1\n")
    monkeypatch.setattr("mrdsl.exchange.text.read_bytes", refused)
    assert "unreadable-file" in codes(load_text(HEAD + 'import "secret.mrspec"\n', folder=tmp_path))
