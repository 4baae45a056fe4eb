"""Limits on texts of users hold before a library parses them, so that a small file never takes much memory."""

from __future__ import annotations

import csv
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from mrdsl.core import budgets
from mrdsl.core.csv_text import CsvError, csv_rows
from mrdsl.core.json_text import json_value
from mrdsl.core.toml_text import TomlError, read_toml
from mrdsl.exchange.logs import formats
from mrdsl.exchange.logs.opening import UnreadableLogError
from mrdsl.exchange.text import FormatError
from mrdsl.exchange.workflows import read_dot
from tests.command_lines import run_here

PARTS = 16_000
LONG_KEYS = {
    "a dotted key": ".".join(["a"] * PARTS) + " = 1",
    "with spaces": " . ".join(["a"] * PARTS) + " = 1",
    "quoted": ".".join(['"a.b"'] * PARTS) + " = 1",
    "of a table": "\n[" + ".".join(["a"] * PARTS) + "]",
    "of a list of tables": "b = 1\n[[" + ".".join(["'a'"] * PARTS) + "]]",
    "in a table": "x = { " + ".".join(["a"] * PARTS) + " = 1 }",
    "one part too many": ".".join(["a"] * (budgets.KEY_PARTS + 1)) + " = 1",
}
SHORT_KEYS = {
    "as many parts as there may be": ".".join(["a"] * budgets.KEY_PARTS) + " = 1",
    "a text with points": 'x = "' + ".".join(["a"] * PARTS) + '"',
    "a text of lines": 'x = """\n' + ".".join(["a"] * PARTS) + '\n"""',
    "a comment": "x = 1 # " + ".".join(["a"] * PARTS),
    "many numbers": "x = [" + "1.5, " * PARTS + "]",
    "many keys": "\n".join(f"a{i}.b.c = 1.5" for i in range(1000)),
    "one long part": "a" * 100_000 + " = 1",
}


def peak(call: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("case", LONG_KEYS)
def test_a_key_of_many_parts_is_refused_in_little_memory(case: str) -> None:
    def refuse() -> None:
        with pytest.raises(TomlError, match=f"a key has more than {budgets.KEY_PARTS} parts") as refused:
            read_toml(LONG_KEYS[case], "x.toml")
        line = LONG_KEYS[case].split("\n")[refused.value.span.line - 1]
        assert line[refused.value.span.column - 1] in "a\"'"

    assert peak(refuse) < 20 * PARTS * 16


@pytest.mark.parametrize("case", SHORT_KEYS)
def test_other_texts_with_many_points_are_read(case: str) -> None:
    assert read_toml(SHORT_KEYS[case], "x.toml").data


@pytest.mark.parametrize("name", ["values.toml", "values"])
def test_a_file_of_params_keeps_the_limit(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LONG_KEYS["a dotted key"])
    (tmp_path / "x.mrspec").write_text('problem capacity "x"\n')
    found = run_here(("check", "x.mrspec", "--data", name), tmp_path)
    assert found.exit_code == 2
    assert f"a key has more than {budgets.KEY_PARTS} parts" in found.output


def test_json_of_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "JSON_VALUES", 10)
    assert json_value("[" + "{}," * 8 + "{}]") == [{}] * 9
    for text in ("[" + "{}," * 9 + "{}]", b"[" * 11 + b"]" * 11):
        with pytest.raises(ValueError, match="more than 10 objects and lists"):
            json_value(text)


def test_a_line_of_too_many_cells_is_refused() -> None:
    lines = ["a,b\n", "1" + "," * (budgets.CELLS + 1) + "\n"]
    with pytest.raises(CsvError, match="more than 200,000 cells") as refused:
        list(csv_rows(lines))
    assert refused.value.line == 2
    assert csv.field_size_limit() < budgets.CELLS


def test_the_list_of_an_archive_is_limited_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "logs.zip"
    with ZipFile(path, "w") as zipped:
        zipped.comment = b"c" * 65_535
        for number in range(100):
            zipped.writestr(f"{number:03}", b"x")
    with formats.archive(str(path)) as held:
        assert len(held.names()) == 100
    monkeypatch.setattr(formats, "_LARGEST_DIRECTORY", 100 * (46 + 3) - 1)
    with pytest.raises(UnreadableLogError, match="list of files"), formats.archive(str(path)):
        pass


def test_a_graph_is_limited_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.dot"
    path.write_text("digraph { " + "{" * 5000 + " a [duration=1] " + "}" * 5000 + " }")
    with pytest.raises(FormatError, match="nested too deeply"):
        read_dot(str(path))
    monkeypatch.setattr(budgets, "DOT_BYTES", 1000)
    with pytest.raises(FormatError, match="the most that is read"):
        read_dot(str(path))
